/* SPDX-License-Identifier: MIT */
/*
 * Commands on keys and their values. While shards are locked nothing is sent: a
 * reply is copied into room that was made before, or its value is held and sent
 * afterwards.
 */
#include "command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW_KEYS = 16 };

static struct store_key
key_at(struct client *c, const struct request *r, size_t i)
{
	return store_key_of(c->store, request_arg(r, i));
}

/* ---- one key ----------------------------------------------------------- */

COMMAND(cmd_get)
{
	struct store_key k = key_at(c, r, 1);
	struct value *v;

	if (!out_room(&c->out, REPLY_COPIED + 64))
		return;
	store_lock(c->store, store_bit(&k));
	v = store_get_locked(c->store, &k);
	if (v && v->len <= REPLY_COPIED) {
		reply_bulk(&c->out, v->bytes, v->len);
		store_unlock(c->store, store_bit(&k));
		return;
	}
	if (v)
		value_hold(v);
	store_unlock(c->store, store_bit(&k));
	reply_held(&c->out, v);
}

/* What may stand behind SET key value. */
struct set_options {
	bool if_missing, if_there, keep_ttl, get;
	int64_t expires;
};

/* EX or PX, at argument i. False: an error was replied. */
static bool
set_expires(struct client *c, const struct request *r, size_t i,
    struct set_options *o)
{
	if (o->expires || o->keep_ttl || i + 1 == r->n) {
		reply_syntax(c);
		return false;
	}
	return expire_parse(c, request_arg(r, i + 1),
	    slice_is(request_arg(r, i), "ex") ? 1000 : 1, true, "set",
	    &o->expires);
}

static bool
set_options(struct client *c, const struct request *r, struct set_options *o)
{
	for (size_t i = 3; i < r->n; i++) {
		struct slice word = request_arg(r, i);

		if (slice_is(word, "nx") && !o->if_there) {
			o->if_missing = true;
		} else if (slice_is(word, "xx") && !o->if_missing) {
			o->if_there = true;
		} else if (slice_is(word, "keepttl") && !o->expires) {
			o->keep_ttl = true;
		} else if (slice_is(word, "get")) {
			o->get = true;
		} else if (slice_is(word, "ex") || slice_is(word, "px")) {
			if (!set_expires(c, r, i++, o))
				return false;
		} else {
			reply_syntax(c);
			return false;
		}
	}
	return true;
}

/* Key locked. 0: it was set; 1: by its options it is not; -ENOMEM. */
static int
set_locked(struct client *c, const struct store_key *k, struct slice value,
    const struct set_options *o, struct value **old)
{
	struct value *v = o->get || o->if_missing || o->if_there ?
	    store_get_locked(c->store, k) : NULL;
	int64_t expires = o->expires;

	if (o->get && v) {
		value_hold(v);
		*old = v;
	}
	if ((o->if_missing && v) || (o->if_there && !v))
		return 1;
	if (o->keep_ttl)
		expires = store_expires_locked(c->store, k);
	return store_set_locked(c->store, k, value, expires > 0 ? expires : 0);
}

COMMAND(cmd_set)
{
	struct store_key k = key_at(c, r, 1);
	struct set_options o = {0};
	struct value *old = NULL;
	int result;

	if (r->n > 3 && !set_options(c, r, &o))
		return;
	store_lock(c->store, store_bit(&k));
	result = set_locked(c, &k, request_arg(r, 2), &o, &old);
	store_unlock(c->store, store_bit(&k));
	if (result < 0) {
		if (old)
			value_release(old);
		reply_full(c);
	} else if (o.get) {
		reply_held(&c->out, old);
	} else if (result) {
		reply_nil(&c->out);
	} else {
		reply_status(&c->out, "OK");
	}
}

/* ---- numbers ----------------------------------------------------------- */

/* Key locked. 0 and the sum; -EINVAL: no number; -ERANGE; -ENOMEM. */
static int
add_locked(struct client *c, const struct store_key *k, int64_t by,
    int64_t *sum)
{
	struct value *v = store_get_locked(c->store, k);
	int64_t expires = v ? store_expires_locked(c->store, k) : 0;
	char text[32];
	int n;

	*sum = 0;
	if (v && !slice_number((struct slice){ v->bytes, v->len }, sum))
		return -EINVAL;
	if (__builtin_add_overflow(*sum, by, sum))
		return -ERANGE;
	n = snprintf(text, sizeof text, "%lld", (long long)*sum);
	return store_set_locked(c->store, k, (struct slice){ text,
	    (size_t)n }, expires);
}

static void
add(struct client *c, const struct request *r, int64_t by)
{
	struct store_key k = key_at(c, r, 1);
	int64_t sum;
	int result;

	store_lock(c->store, store_bit(&k));
	result = add_locked(c, &k, by, &sum);
	store_unlock(c->store, store_bit(&k));
	if (result == 0)
		reply_number(&c->out, sum);
	else if (result == -EINVAL)
		reply_not_integer(c);
	else if (result == -ERANGE)
		reply_error(&c->out, "ERR increment or decrement would "
		    "overflow");
	else
		reply_full(c);
}

COMMAND(cmd_incr)
{
	add(c, r, 1);
}

COMMAND(cmd_decr)
{
	add(c, r, -1);
}

COMMAND(cmd_incrby)
{
	int64_t by;

	if (slice_number(request_arg(r, 2), &by))
		add(c, r, by);
	else
		reply_not_integer(c);
}

COMMAND(cmd_decrby)
{
	int64_t by;

	if (!slice_number(request_arg(r, 2), &by))
		reply_not_integer(c);
	else if (by == INT64_MIN)
		reply_error(&c->out, "ERR decrement would overflow");
	else
		add(c, r, -by);
}

/* ---- several keys ------------------------------------------------------ */

/* The keys of a request, all of whose shards are locked. */
struct keys {
	size_t n;
	uint64_t bits;
	struct store_key *at, few[FEW_KEYS];
};

/* Arguments 1, 1 + step ... False: no memory, which was replied. */
static bool
lock_keys(struct client *c, const struct request *r, size_t step,
    struct keys *k)
{
	k->n = (r->n - 1) / step;
	k->bits = 0;
	k->at = k->n <= FEW_KEYS ? k->few : malloc(k->n * sizeof *k->at);
	if (!k->at) {
		reply_error(&c->out, "ERR out of memory");
		return false;
	}
	for (size_t i = 0; i < k->n; i++) {
		k->at[i] = key_at(c, r, 1 + i * step);
		k->bits |= store_bit(&k->at[i]);
	}
	store_lock(c->store, k->bits);
	return true;
}

static void
unlock_keys(struct client *c, struct keys *k)
{
	store_unlock(c->store, k->bits);
	if (k->at != k->few)
		free(k->at);
}

COMMAND(cmd_mget)
{
	size_t n = r->n - 1;
	struct value **v = malloc(n * sizeof *v);
	struct keys k;

	if (!v || !lock_keys(c, r, 1, &k)) {
		if (!v)
			reply_error(&c->out, "ERR out of memory");
		free(v);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		v[i] = store_get_locked(c->store, &k.at[i]);
		if (v[i])
			value_hold(v[i]);
	}
	unlock_keys(c, &k);
	reply_array(&c->out, n);
	for (size_t i = 0; i < n; i++)
		reply_held(&c->out, v[i]);
	free(v);
}

/* If the store is full the keys before are set. (In Redis, too, a command that
 * has begun is not undone.) */
COMMAND(cmd_mset)
{
	struct keys k;
	int result = 0;

	if (r->n % 2 == 0) {
		reply_error(&c->out, "ERR wrong number of arguments for "
		    "'mset' command");
		return;
	}
	if (!lock_keys(c, r, 2, &k))
		return;
	for (size_t i = 0; i < k.n && result == 0; i++)
		result = store_set_locked(c->store, &k.at[i],
		    request_arg(r, 2 + 2 * i), 0);
	unlock_keys(c, &k);
	if (result == 0)
		reply_status(&c->out, "OK");
	else
		reply_full(c);
}

COMMAND(cmd_del)
{
	struct keys k;
	int64_t n = 0;

	if (!lock_keys(c, r, 1, &k))
		return;
	for (size_t i = 0; i < k.n; i++)
		n += store_delete_locked(c->store, &k.at[i]);
	unlock_keys(c, &k);
	reply_number(&c->out, n);
}

COMMAND(cmd_exists)
{
	struct keys k;
	int64_t n = 0;

	if (!lock_keys(c, r, 1, &k))
		return;
	for (size_t i = 0; i < k.n; i++)
		n += store_get_locked(c->store, &k.at[i]) != NULL;
	unlock_keys(c, &k);
	reply_number(&c->out, n);
}
