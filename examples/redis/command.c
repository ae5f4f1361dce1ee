/* SPDX-License-Identifier: MIT */
/*
 * The table of commands, and those that have nothing to do with keys. What is
 * not in it gets an error, and so does a wrong number of arguments; the
 * connection goes on.
 */
#include "command.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- replies that several commands have -------------------------------- */

void
reply_syntax(struct client *c)
{
	reply_error(&c->out, "ERR syntax error");
}

void
reply_not_integer(struct client *c)
{
	reply_error(&c->out, "ERR value is not an integer or out of range");
}

void
reply_full(struct client *c)
{
	reply_error(&c->out, "OOM command not allowed when used memory > "
	    "'maxmemory'.");
}

/* ---- connections ------------------------------------------------------- */

static
COMMAND(cmd_ping)
{
	struct slice text;

	if (r->n == 1) {
		reply_status(&c->out, "PONG");
	} else if (r->n == 2) {
		text = request_arg(r, 1);
		reply_bulk(&c->out, text.at, text.len);
	} else {
		reply_error(&c->out, "ERR wrong number of arguments for "
		    "'ping' command");
	}
}

static
COMMAND(cmd_echo)
{
	struct slice text = request_arg(r, 1);

	reply_bulk(&c->out, text.at, text.len);
}

static
COMMAND(cmd_quit)
{
	(void)r;
	reply_status(&c->out, "OK");
	c->quit = true;
}

/* There is one database. */
static
COMMAND(cmd_select)
{
	int64_t number;

	if (!slice_number(request_arg(r, 1), &number))
		reply_not_integer(c);
	else if (number != 0)
		reply_error(&c->out, "ERR DB index is out of range");
	else
		reply_status(&c->out, "OK");
}

/* ---- the table --------------------------------------------------------- */

static const struct command commands[] = {
	{ "get", cmd_get, 2, "readonly fast", 1, 1, 1 },
	{ "set", cmd_set, -3, "write denyoom", 1, 1, 1 },
	{ "incr", cmd_incr, 2, "write denyoom fast", 1, 1, 1 },
	{ "decr", cmd_decr, 2, "write denyoom fast", 1, 1, 1 },
	{ "incrby", cmd_incrby, 3, "write denyoom fast", 1, 1, 1 },
	{ "decrby", cmd_decrby, 3, "write denyoom fast", 1, 1, 1 },
	{ "mget", cmd_mget, -2, "readonly fast", 1, -1, 1 },
	{ "mset", cmd_mset, -3, "write denyoom", 1, -1, 2 },
	{ "del", cmd_del, -2, "write", 1, -1, 1 },
	{ "exists", cmd_exists, -2, "readonly fast", 1, -1, 1 },
	{ "expire", cmd_expire, 3, "write fast", 1, 1, 1 },
	{ "pexpire", cmd_pexpire, 3, "write fast", 1, 1, 1 },
	{ "ttl", cmd_ttl, 2, "readonly fast", 1, 1, 1 },
	{ "pttl", cmd_pttl, 2, "readonly fast", 1, 1, 1 },
	{ "persist", cmd_persist, 2, "write fast", 1, 1, 1 },
	{ "ping", cmd_ping, -1, "fast", 0, 0, 0 },
	{ "echo", cmd_echo, 2, "fast", 0, 0, 0 },
	{ "select", cmd_select, 2, "loading fast", 0, 0, 0 },
	{ "quit", cmd_quit, -1, "fast", 0, 0, 0 },
	{ "command", cmd_command, -1, "loading", 0, 0, 0 },
	{ "config", cmd_config, -2, "admin", 0, 0, 0 },
	{ "info", cmd_info, -1, "loading", 0, 0, 0 },
	{ "dbsize", cmd_dbsize, 1, "readonly fast", 0, 0, 0 },
	{ "flushdb", cmd_flush, -1, "write", 0, 0, 0 },
	{ "flushall", cmd_flush, -1, "write", 0, 0, 0 },
};

const struct command *
command_at(size_t i)
{
	return i < sizeof commands / sizeof commands[0] ? &commands[i] : NULL;
}

const struct command *
command_find(struct slice name)
{
	const struct command *k;

	for (size_t i = 0; name.len && (k = command_at(i)); i++)
		if (((k->name[0] ^ name.at[0]) & ~32) == 0 &&
		    slice_is(name, k->name))
			return k;
	return NULL;
}

/* The name as far as it can be shown in an error. */
static void
unknown(struct client *c, struct slice name)
{
	char text[64];
	size_t n = name.len < sizeof text - 1 ? name.len : sizeof text - 1;

	for (size_t i = 0; i < n; i++)
		text[i] = name.at[i] < ' ' || name.at[i] > '~' ? '?' :
		    name.at[i];
	text[n] = 0;
	reply_error(&c->out, "ERR unknown command '%s'", text);
}

void
command_run(struct client *c)
{
	const struct request *r = &c->request;
	const struct command *k = command_find(request_arg(r, 0));

	__atomic_store_n(&c->commands, c->commands + 1, __ATOMIC_RELAXED);
	if (!k)
		unknown(c, request_arg(r, 0));
	else if (k->arity < 0 ? r->n < (size_t)-k->arity :
	    r->n != (size_t)k->arity)
		reply_error(&c->out, "ERR wrong number of arguments for '%s' "
		    "command", k->name);
	else
		k->run(c, r);
}
