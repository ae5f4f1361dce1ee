/* SPDX-License-Identifier: MIT */
/* The variable WEFT_DEBUG: see the header. */
#include "debug_env.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "fatal.h"
#include "os.h"

enum kind { NUMBER, TEXT, FILE_NAME };	/* the last must be there */

/* All keys, in the order of the alphabet; docs/tuning.md explains them. */
static const struct key {
	const char *name;
	enum kind kind;
	const char *with[3];	/* it has no effect without one of these */
} keys[] = {
	/* observe/profile.c, as all profiles */
	{ "blockprofile", FILE_NAME, { NULL } },
	{ "blockprofilerate", NUMBER, { "blockprofile" } },
	{ "cpuprofile", FILE_NAME, { NULL } },
	{ "cpuprofilehz", NUMBER, { "cpuprofile" } },
	{ "cpuprofilethreads", NUMBER, { "cpuprofile" } },
	{ "crash", NUMBER, { NULL } },	/* observe/crash.c */
	{ "dumpend", NUMBER, { NULL } },	/* the same */
	{ "dumpsig", NUMBER, { NULL } },	/* the same */
	{ "flight", TEXT, { NULL } },	/* observe/trace_env.c */
	{ "gcforce", NUMBER, { NULL } },	/* libweft-gc */
	{ "gcstress", NUMBER, { NULL } },	/* the same */
	{ "gctrace", NUMBER, { NULL } },	/* the same */
	{ "leaks", NUMBER, { NULL } },	/* observe/leaks.c */
	{ "mutexprofile", FILE_NAME, { NULL } },
	{ "mutexprofilefraction", NUMBER, { "mutexprofile" } },
	{ "offcpuprofile", FILE_NAME, { NULL } },
	{ "offcpuprofilerate", NUMBER, { "offcpuprofile" } },
	{ "scheddetail", NUMBER, { "schedtrace" } },
	{ "schedtrace", NUMBER, { NULL } },	/* observe/schedtrace.c */
	{ "socket", TEXT, { NULL } },	/* observe/debug_socket.c */
	{ "stall", NUMBER, { "flight" } },
	{ "trace", TEXT, { NULL } },	/* observe/trace_env.c */
	{ "tracebytes", NUMBER, { "trace", "flight", "tracesig" } },
	{ "traceend", NUMBER, { "trace" } },
	{ "tracesig", NUMBER, { NULL } },
	{ "tracestacks", NUMBER, { "trace", "flight", "tracesig" } },
	{ "uring", NUMBER, { NULL } },	/* poll/ring.c */
};

enum { N_KEYS = sizeof keys / sizeof *keys, NUMBER_BYTES = 24 };

/* One key=value, or key, of the variable; not ended by a NUL. */
struct entry {
	const char *key, *value;	/* value NULL: there is none */
	size_t key_bytes, value_bytes;
};

static const char *
variable(void)
{
	const char *s = getenv("WEFT_DEBUG");

	return s && !getauxval(AT_SECURE) ? s : "";
}

/* The entry at s; returns where the next one begins, NULL: there is none. */
static const char *
next_entry(const char *s, struct entry *e)
{
	size_t n = strcspn(s, ",");
	const char *eq = memchr(s, '=', n);

	e->key = s;
	e->key_bytes = eq ? (size_t)(eq - s) : n;
	e->value = eq ? eq + 1 : NULL;
	e->value_bytes = eq ? n - e->key_bytes - 1 : 0;
	return s[n] ? s + n + 1 : NULL;
}

static bool
names(const struct entry *e, const char *key)
{
	return strlen(key) == e->key_bytes &&
	    memcmp(key, e->key, e->key_bytes) == 0;
}

/* The last entry of that key wins. */
static bool
find(const char *key, struct entry *found)
{
	const char *s = variable();
	bool there = false;
	struct entry e;

	while (s) {
		s = next_entry(s, &e);
		if (names(&e, key)) {
			*found = e;
			there = true;
		}
	}
	return there;
}

/* False if it does not fit. */
static bool
copy(const char *from, size_t bytes, char *to, size_t cap)
{
	if (bytes >= cap)
		return false;
	if (bytes)
		memcpy(to, from, bytes);
	to[bytes] = 0;
	return true;
}

bool
debug_env(const char *key, char *value, size_t cap)
{
	struct entry e;

	if (!find(key, &e))
		return false;
	if (copy(e.value, e.value_bytes, value, cap))
		return true;
	say("weft: WEFT_DEBUG: the value of \"%s\" is too long\n", key);
	return false;
}

/* 1 and *v, 0 if there is nothing behind the "=", -EINVAL: no number. */
static int
number(const struct entry *e, int64_t *v)
{
	char text[NUMBER_BYTES];

	*v = 1;
	if (!e->value)
		return 1;
	if (!copy(e->value, e->value_bytes, text, sizeof text))
		return -1;
	return os_number(text, v);
}

int64_t
debug_env_num(const char *key, int64_t otherwise)
{
	struct entry e;
	int64_t v;

	return find(key, &e) && number(&e, &v) == 1 ? v : otherwise;
}

static const struct key *
known(const struct entry *e)
{
	for (unsigned i = 0; i < N_KEYS; i++)
		if (names(e, keys[i].name))
			return &keys[i];
	return NULL;
}

static void
say_unknown(const char *key)
{
	char all[400];
	size_t n = 0;

	for (unsigned i = 0; i < N_KEYS; i++)
		n += format(all + n, sizeof all - n, "%s%s", i ? ", " : "",
		    keys[i].name);
	say("weft: WEFT_DEBUG: no key \"%s\"; there are: %s\n", key, all);
}

static void
check_with(const struct key *k)
{
	struct entry e;

	for (unsigned i = 0; i < countof(k->with) && k->with[i]; i++)
		if (find(k->with[i], &e))
			return;
	if (k->with[0])
		say("weft: WEFT_DEBUG: \"%s\" has no effect without \"%s\"\n",
		    k->name, k->with[0]);
}

static void
check_entry(const struct entry *e)
{
	const struct key *k = known(e);
	char key[40];
	int64_t v;

	if (!copy(e->key, e->key_bytes, key, sizeof key))
		copy(e->key, sizeof key - 1, key, sizeof key);
	if (!k)
		say_unknown(key);
	else if (k->kind == NUMBER && number(e, &v) != 1)
		say("weft: WEFT_DEBUG: \"%s\" needs a number\n", key);
	else if (k->kind == FILE_NAME && !e->value_bytes)
		say("weft: WEFT_DEBUG: \"%s\" needs the name of a file\n", key);
	else
		check_with(k);
}

void
debug_env_check(void)
{
	const char *s = variable();
	struct entry e;

	while (s && *s) {
		s = next_entry(s, &e);
		if (e.key_bytes || e.value)
			check_entry(&e);
	}
}
