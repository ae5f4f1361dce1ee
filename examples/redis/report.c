/* SPDX-License-Identifier: MIT */
/*
 * What clients ask about the server itself. Only what is so is said: there is
 * no redis_version, no documentation of commands, and CONFIG has the few
 * settings that exist here (redis-benchmark asks for two of them).
 */
#include "command.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft.h>

enum { INFO_BYTES = 2048, SETTING_BYTES = 32 };

/* ---- COMMAND ----------------------------------------------------------- */

static void
reply_flags(struct out *o, const char *flags)
{
	size_t n = 1;

	for (const char *p = flags; *p; p++)
		n += *p == ' ';
	reply_array(o, n);
	while (n-- > 0) {
		size_t len = strcspn(flags, " ");
		char word[32];

		snprintf(word, sizeof word, "%.*s", (int)len, flags);
		reply_status(o, word);
		flags += len + 1;
	}
}

static void
reply_command(struct out *o, const struct command *k)
{
	reply_array(o, 6);
	reply_text(o, k->name);
	reply_number(o, k->arity);
	reply_flags(o, k->flags);
	reply_number(o, k->first);
	reply_number(o, k->last);
	reply_number(o, k->step);
}

static size_t
number_of_commands(void)
{
	size_t n = 0;

	while (command_at(n))
		n++;
	return n;
}

static void
command_all(struct client *c)
{
	reply_array(&c->out, number_of_commands());
	for (size_t i = 0; command_at(i); i++)
		reply_command(&c->out, command_at(i));
}

static void
command_info(struct client *c, const struct request *r)
{
	reply_array(&c->out, r->n - 2);
	for (size_t i = 2; i < r->n; i++) {
		const struct command *k = command_find(request_arg(r, i));

		if (k)
			reply_command(&c->out, k);
		else
			reply_nil(&c->out);
	}
}

COMMAND(cmd_command)
{
	struct slice what = r->n > 1 ? request_arg(r, 1) : (struct slice){0};

	if (r->n == 1 || (r->n == 2 && slice_is(what, "info")))
		command_all(c);
	else if (slice_is(what, "info"))
		command_info(c, r);
	else if (slice_is(what, "count") && r->n == 2)
		reply_number(&c->out, (int64_t)number_of_commands());
	else if (slice_is(what, "docs"))
		reply_array(&c->out, 0);
	else
		reply_error(&c->out, "ERR unknown subcommand of 'command'");
}

/* ---- CONFIG ------------------------------------------------------------ */

struct setting {
	const char *name;
	char value[SETTING_BYTES];
};

enum { SETTINGS = 8 };

static void
settings(struct client *c, struct setting s[SETTINGS])
{
	struct redis_options o = server_count(c->server).options;
	const struct {
		const char *name;
		long long value;
	} numbers[] = {
		{ "databases", 1 },
		{ "maxclients", o.max_clients },
		{ "maxmemory", (long long)o.max_memory },
		{ "proto-max-bulk-len", (long long)o.max_request },
		{ "timeout", o.idle_timeout / WEFT_SECOND }
	};

	s[0] = (struct setting){ "appendonly", "no" };
	s[1] = (struct setting){ "save", "" };
	s[2] = (struct setting){ "maxmemory-policy", "noeviction" };
	for (int i = 3; i < SETTINGS; i++) {
		s[i].name = numbers[i - 3].name;
		snprintf(s[i].value, SETTING_BYTES, "%lld",
		    numbers[i - 3].value);
	}
}

/*
 * Does the name match, where '*' is any text and '?' any character? A star that
 * does not fit is only tried again at the last one: no pattern takes long.
 */
static bool
matches(struct slice pattern, const char *name)
{
	size_t p = 0, star = SIZE_MAX;
	const char *after = name;

	while (*name) {
		if (p < pattern.len && pattern.at[p] == '*') {
			star = p++;
			after = name;
		} else if (p < pattern.len && (pattern.at[p] == '?' ||
		    tolower((unsigned char)pattern.at[p]) == *name)) {
			p++;
			name++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			name = ++after;
		} else {
			return false;
		}
	}
	while (p < pattern.len && pattern.at[p] == '*')
		p++;
	return p == pattern.len;
}

/* Does one of the patterns, from argument 2 on, match? */
static bool
is_asked(const struct request *r, const char *name)
{
	for (size_t i = 2; i < r->n; i++)
		if (matches(request_arg(r, i), name))
			return true;
	return false;
}

COMMAND(cmd_config)
{
	struct setting s[SETTINGS];
	size_t n = 0;

	if (!slice_is(request_arg(r, 1), "get") || r->n < 3) {
		reply_error(&c->out, "ERR only CONFIG GET pattern is there");
		return;
	}
	settings(c, s);
	for (int i = 0; i < SETTINGS; i++)
		n += is_asked(r, s[i].name);
	reply_array(&c->out, 2 * n);
	for (int i = 0; i < SETTINGS; i++) {
		if (!is_asked(r, s[i].name))
			continue;
		reply_text(&c->out, s[i].name);
		reply_text(&c->out, s[i].value);
	}
}

/* ---- INFO -------------------------------------------------------------- */

/* One section of it: the text, if it is asked for. */
static void
section(const struct request *r, char *out, const char *name,
    const char *text)
{
	bool asked = r->n == 1;

	for (size_t i = 1; i < r->n; i++)
		asked |= slice_is(request_arg(r, i), name) ||
		    slice_is(request_arg(r, i), "all") ||
		    slice_is(request_arg(r, i), "default") ||
		    slice_is(request_arg(r, i), "everything");
	if (asked)
		snprintf(out + strlen(out), INFO_BYTES - strlen(out),
		    "%s# %s\r\n%s", *out ? "\r\n" : "", name, text);
}

static void
keyspace(const struct store_counts *k, char *text, size_t bytes)
{
	text[0] = 0;
	if (k->keys)
		snprintf(text, bytes, "db0:keys=%llu,expires=%llu\r\n",
		    (unsigned long long)k->keys,
		    (unsigned long long)k->expiring);
}

COMMAND(cmd_info)
{
	struct server_counts n = server_count(c->server);
	struct store_counts k = store_count(c->store);
	char out[INFO_BYTES] = "", text[512];

	snprintf(text, sizeof text, "server_name:weft example\r\n"
	    "process_id:%ld\r\nio_threads_active:%d\r\n"
	    "uptime_in_seconds:%lld\r\n", (long)getpid(), weft_procs(),
	    (long long)((weft_now() - n.since) / WEFT_SECOND));
	section(r, out, "Server", text);
	snprintf(text, sizeof text, "connected_clients:%d\r\n"
	    "maxclients:%d\r\n", n.clients, n.options.max_clients);
	section(r, out, "Clients", text);
	snprintf(text, sizeof text, "used_memory:%zu\r\nmaxmemory:%zu\r\n"
	    "maxmemory_policy:noeviction\r\nmem_clients_normal:%zu\r\n",
	    k.bytes, k.most_bytes, n.input);
	section(r, out, "Memory", text);
	snprintf(text, sizeof text, "total_connections_received:%llu\r\n"
	    "total_commands_processed:%llu\r\n"
	    "rejected_connections:%llu\r\nexpired_keys:%llu\r\n",
	    (unsigned long long)n.connections,
	    (unsigned long long)n.commands, (unsigned long long)n.refused,
	    (unsigned long long)k.expired);
	section(r, out, "Stats", text);
	keyspace(&k, text, sizeof text);
	section(r, out, "Keyspace", text);
	reply_text(&c->out, out);
}

/* ---- keys in total ----------------------------------------------------- */

COMMAND(cmd_dbsize)
{
	(void)r;
	reply_number(&c->out, (int64_t)store_count(c->store).keys);
}

/* Redis does it in the background if told so; here it is done when it says
 * OK, which is within what ASYNC promises. */
COMMAND(cmd_flush)
{
	if (r->n > 2 || (r->n == 2 && !slice_is(request_arg(r, 1), "sync") &&
	    !slice_is(request_arg(r, 1), "async"))) {
		reply_syntax(c);
		return;
	}
	store_clear(c->store);
	reply_status(&c->out, "OK");
}
