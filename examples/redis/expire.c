/* SPDX-License-Identifier: MIT */
/*
 * Commands on the time that a key has left. Times are milliseconds of a clock
 * that only goes forward: setting the machine's date changes none of them.
 */
#include "command.h"

/* Of Redis: a time must fit when it is a date in milliseconds. */
static const int64_t most_ms = INT64_MAX / 2;

bool
expire_parse(struct client *c, struct slice text, int unit_ms, bool future,
    const char *command, int64_t *when)
{
	int64_t n;

	if (!slice_number(text, &n)) {
		reply_not_integer(c);
		return false;
	}
	if ((future && n <= 0) || n > most_ms / unit_ms ||
	    n < -most_ms / unit_ms) {
		reply_error(&c->out, "ERR invalid expire time in '%s' command",
		    command);
		return false;
	}
	*when = store_now_ms() + n * unit_ms;
	return true;
}

/* A time that is over deletes the key. */
static void
expire(struct client *c, const struct request *r, int unit_ms,
    const char *command)
{
	struct store_key k = store_key_of(c->store, request_arg(r, 1));
	int64_t when;
	bool there;

	if (!expire_parse(c, request_arg(r, 2), unit_ms, false, command,
	    &when))
		return;
	store_lock(c->store, store_bit(&k));
	there = store_get_locked(c->store, &k);
	if (there && when > store_now_ms())
		store_expire_locked(c->store, &k, when);
	else if (there)
		store_delete_locked(c->store, &k);
	store_unlock(c->store, store_bit(&k));
	reply_number(&c->out, there);
}

COMMAND(cmd_expire)
{
	expire(c, r, 1000, "expire");
}

COMMAND(cmd_pexpire)
{
	expire(c, r, 1, "pexpire");
}

/* -2: no such key; -1: it has no time. */
static int64_t
left_ms(struct client *c, const struct request *r)
{
	struct store_key k = store_key_of(c->store, request_arg(r, 1));
	int64_t when, left;

	store_lock(c->store, store_bit(&k));
	when = store_expires_locked(c->store, &k);
	store_unlock(c->store, store_bit(&k));
	if (when <= 0)
		return when == 0 ? -1 : -2;
	left = when - store_now_ms();
	return left > 0 ? left : 0;
}

COMMAND(cmd_ttl)
{
	int64_t ms = left_ms(c, r);

	reply_number(&c->out, ms < 0 ? ms : (ms + 500) / 1000);
}

COMMAND(cmd_pttl)
{
	reply_number(&c->out, left_ms(c, r));
}

COMMAND(cmd_persist)
{
	struct store_key k = store_key_of(c->store, request_arg(r, 1));
	bool had;

	store_lock(c->store, store_bit(&k));
	had = store_expires_locked(c->store, &k) > 0;
	if (had)
		store_expire_locked(c->store, &k, 0);
	store_unlock(c->store, store_bit(&k));
	reply_number(&c->out, had);
}
