/* SPDX-License-Identifier: MIT */
/*
 * A hash table in 64 shards, each with a lock of its own: requests for
 * different keys seldom meet. The upper bits of a key's hash are its shard, the
 * lower its chain there. A request with several keys locks all their shards, in
 * order, and so happens at once for all others.
 *
 * The hash is SipHash-1-3 with a random key, so that a client cannot choose
 * keys which all go into one chain.
 *
 * Expiry: a key whose time is over is removed by the request that finds it. One
 * that no request asks for again is found by the sweeper, a goroutine that
 * goes, ten times a second, through some chains of the shards that have keys
 * with a time.
 *
 * A table doubles when it has more keys than chains, all at once: with 64
 * shards that is a pause of some milliseconds for ten million keys.
 */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

enum {
	SHARDS = 64,
	CHAINS_MIN = 64,
	SWEEP_MS = 100,
	SWEEP_CHAINS = 1024	/* of a shard, at a time */
};

struct entry {
	struct entry *next;
	uint64_t hash;
	int64_t expires;	/* ms; 0: never */
	struct value *value;
	size_t len;
	char name[];
};

struct shard {
	weft_mutex lock;
	struct entry **chain;
	size_t chains, keys;
	size_t expiring;	/* keys with a time */
	size_t swept;		/* the chain that the sweeper looks at next */
	uint64_t expired;
} __attribute__((aligned(64)));

struct store {
	/* constant */
	uint64_t seed[2];
	size_t most;
	weft_chan *stop;	/* closed: the sweeper ends */
	weft_waitgroup sweeper;
	/* any thread, atomic */
	size_t bytes;
	struct shard shard[SHARDS];
};

int64_t
store_now_ms(void)
{
	return weft_now() / WEFT_MS;
}

/* ---- hashing ----------------------------------------------------------- */

static inline uint64_t
rotate(uint64_t x, int n)
{
	return x << n | x >> (64 - n);
}

static inline void
sip_round(uint64_t v[4])
{
	v[0] += v[1], v[1] = rotate(v[1], 13) ^ v[0], v[0] = rotate(v[0], 32);
	v[2] += v[3], v[3] = rotate(v[3], 16) ^ v[2];
	v[0] += v[3], v[3] = rotate(v[3], 21) ^ v[0];
	v[2] += v[1], v[1] = rotate(v[1], 17) ^ v[2], v[2] = rotate(v[2], 32);
}

static uint64_t
sip_hash(const uint64_t seed[2], const char *at, size_t len)
{
	uint64_t v[4] = { seed[0] ^ 0x736f6d6570736575,
		seed[1] ^ 0x646f72616e646f6d, seed[0] ^ 0x6c7967656e657261,
		seed[1] ^ 0x7465646279746573 };
	uint64_t word;

	for (size_t i = 0; i <= len; i += 8) {
		size_t left = len - i;

		word = left < 8 ? (uint64_t)len << 56 : 0;
		memcpy(&word, at + i, left < 8 ? left : 8);
		v[3] ^= word;
		sip_round(v);
		v[0] ^= word;
	}
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

struct store_key
store_key_of(const struct store *s, struct slice name)
{
	return (struct store_key){ name, sip_hash(s->seed, name.at,
	    name.len) };
}

/* ---- locking ----------------------------------------------------------- */

static struct shard *
shard_of(struct store *s, const struct store_key *k)
{
	return &s->shard[k->hash >> 58];
}

uint64_t
store_bit(const struct store_key *k)
{
	return UINT64_C(1) << (k->hash >> 58);
}

void
store_lock(struct store *s, uint64_t bits)
{
	for (; bits; bits &= bits - 1)
		weft_mutex_lock(&s->shard[__builtin_ctzll(bits)].lock);
}

void
store_unlock(struct store *s, uint64_t bits)
{
	for (; bits; bits &= bits - 1)
		weft_mutex_unlock(&s->shard[__builtin_ctzll(bits)].lock);
}

/* ---- values ------------------------------------------------------------ */

void
value_hold(struct value *v)
{
	__atomic_add_fetch(&v->refs, 1, __ATOMIC_RELAXED);
}

void
value_release(struct value *v)
{
	if (__atomic_sub_fetch(&v->refs, 1, __ATOMIC_ACQ_REL) == 0)
		free(v);
}

static size_t
value_bytes(const struct value *v)
{
	return v ? sizeof *v + v->cap : 0;
}

/* False: that would be too much. */
static bool
count_bytes(struct store *s, size_t more, size_t less)
{
	size_t now;

	if (more == less)
		return true;
	now = __atomic_add_fetch(&s->bytes, more - less, __ATOMIC_RELAXED);
	if (more < less || !s->most || now <= s->most)
		return true;
	__atomic_sub_fetch(&s->bytes, more - less, __ATOMIC_RELAXED);
	return false;
}

/* The store's memory is reused, if no reply has it and it fits well. */
static bool
fits(const struct value *v, size_t len)
{
	return v && len <= v->cap && v->cap <= 2 * len + 64 &&
	    __atomic_load_n(&v->refs, __ATOMIC_ACQUIRE) == 1;
}

static int
set_value(struct store *s, struct entry *e, struct slice bytes)
{
	struct value *v = e->value;

	if (!fits(v, bytes.len)) {
		size_t cap = (bytes.len + 15) & ~(size_t)15;

		if (!count_bytes(s, sizeof *v + cap, value_bytes(e->value)))
			return -ENOMEM;
		v = malloc(sizeof *v + cap);
		if (!v) {
			count_bytes(s, value_bytes(e->value),
			    sizeof *v + cap);
			return -ENOMEM;
		}
		*v = (struct value){ .refs = 1, .cap = cap };
		if (e->value)
			value_release(e->value);
		e->value = v;
	}
	memcpy(v->bytes, bytes.at, bytes.len);
	v->len = bytes.len;
	return 0;
}

/* ---- entries ----------------------------------------------------------- */

static bool
is_over(const struct entry *e, int64_t now)
{
	return e->expires && e->expires <= now;
}

/* Out of its chain, and freed. */
static void
drop(struct store *s, struct shard *h, struct entry **at)
{
	struct entry *e = *at;

	*at = e->next;
	h->keys--;
	h->expiring -= e->expires != 0;
	count_bytes(s, 0, sizeof *e + e->len + value_bytes(e->value));
	if (e->value)
		value_release(e->value);
	free(e);
}

/* Where the chain has it, or ends. What is over is not there. */
static struct entry **
find(struct store *s, const struct store_key *k)
{
	struct shard *h = shard_of(s, k);
	struct entry **at, *e;

	if (!h->chain)
		return NULL;
	at = &h->chain[k->hash & (h->chains - 1)];
	for (; (e = *at); at = &e->next)
		if (e->hash == k->hash && e->len == k->name.len &&
		    memcmp(e->name, k->name.at, e->len) == 0)
			break;
	if (e && e->expires && is_over(e, store_now_ms())) {
		drop(s, h, at);
		h->expired++;
		return NULL;
	}
	return e ? at : NULL;
}

/* Twice as many chains. Without memory for them it stays as it is. */
static bool
grow(struct shard *h)
{
	size_t chains = h->chains ? h->chains * 2 : CHAINS_MIN;
	struct entry **chain = calloc(chains, sizeof *chain), *e;

	if (!chain)
		return h->chain;
	for (size_t i = 0; i < h->chains; i++) {
		while ((e = h->chain[i])) {
			struct entry **to = &chain[e->hash & (chains - 1)];

			h->chain[i] = e->next;
			e->next = *to;
			*to = e;
		}
	}
	free(h->chain);
	h->chain = chain;
	h->chains = chains;
	return true;
}

static struct entry *
add_entry(struct store *s, const struct store_key *k)
{
	struct shard *h = shard_of(s, k);
	size_t bytes = sizeof(struct entry) + k->name.len;
	struct entry *e, **at;

	if ((h->keys >= h->chains && !grow(h)) || !count_bytes(s, bytes, 0))
		return NULL;
	e = malloc(bytes);
	if (!e) {
		count_bytes(s, 0, bytes);
		return NULL;
	}
	at = &h->chain[k->hash & (h->chains - 1)];
	*e = (struct entry){ .next = *at, .hash = k->hash,
		.len = k->name.len };
	memcpy(e->name, k->name.at, e->len);
	*at = e;
	h->keys++;
	return e;
}

/* ---- for requests ------------------------------------------------------ */

struct value *
store_get_locked(struct store *s, const struct store_key *k)
{
	struct entry **at = find(s, k);

	return at ? (*at)->value : NULL;
}

static void
set_expires(struct shard *h, struct entry *e, int64_t expires)
{
	h->expiring += (expires != 0) - (size_t)(e->expires != 0);
	e->expires = expires;
}

int
store_set_locked(struct store *s, const struct store_key *k,
    struct slice value, int64_t expires)
{
	struct shard *h = shard_of(s, k);
	struct entry **at = find(s, k);
	struct entry *e = at ? *at : add_entry(s, k);

	if (!e)
		return -ENOMEM;
	if (set_value(s, e, value) != 0) {
		if (!at)	/* it is the first of its chain */
			drop(s, h, &h->chain[k->hash & (h->chains - 1)]);
		return -ENOMEM;
	}
	set_expires(h, e, expires);
	return 0;
}

int64_t
store_expires_locked(struct store *s, const struct store_key *k)
{
	struct entry **at = find(s, k);

	return at ? (*at)->expires : -1;
}

void
store_expire_locked(struct store *s, const struct store_key *k,
    int64_t expires)
{
	struct entry **at = find(s, k);

	if (at)
		set_expires(shard_of(s, k), *at, expires);
}

bool
store_delete_locked(struct store *s, const struct store_key *k)
{
	struct entry **at = find(s, k);

	if (at)
		drop(s, shard_of(s, k), at);
	return at;
}

static void
clear_shard(struct store *s, struct shard *h)
{
	for (size_t i = 0; i < h->chains; i++)
		while (h->chain[i])
			drop(s, h, &h->chain[i]);
	free(h->chain);
	h->chain = NULL;
	h->chains = h->swept = 0;
}

void
store_clear(struct store *s)
{
	store_lock(s, ~UINT64_C(0));
	for (int i = 0; i < SHARDS; i++)
		clear_shard(s, &s->shard[i]);
	store_unlock(s, ~UINT64_C(0));
}

struct store_counts
store_count(struct store *s)
{
	struct store_counts n = { .most_bytes = s->most,
		.bytes = __atomic_load_n(&s->bytes, __ATOMIC_RELAXED) };

	for (int i = 0; i < SHARDS; i++) {
		struct shard *h = &s->shard[i];

		weft_mutex_lock(&h->lock);
		n.keys += h->keys;
		n.expiring += h->expiring;
		n.expired += h->expired;
		weft_mutex_unlock(&h->lock);
	}
	return n;
}

/* ---- the sweeper ------------------------------------------------------- */

static void
sweep_chain(struct store *s, struct shard *h, struct entry **at, int64_t now)
{
	while (*at) {
		if (is_over(*at, now)) {
			drop(s, h, at);
			h->expired++;
		} else {
			at = &(*at)->next;
		}
	}
}

static void
sweep_shard(struct store *s, struct shard *h)
{
	int64_t now = store_now_ms();

	weft_mutex_lock(&h->lock);
	for (size_t i = 0; h->expiring && i < h->chains &&
	    i < SWEEP_CHAINS; i++)
		sweep_chain(s, h, &h->chain[h->swept++ & (h->chains - 1)],
		    now);
	weft_mutex_unlock(&h->lock);
}

static void
sweep(struct store *s)
{
	for (;;) {
		weft_chan_recv_until(s->stop, NULL,
		    weft_deadline(SWEEP_MS * WEFT_MS));
		if (weft_chan_is_closed(s->stop))
			break;
		for (int i = 0; i < SHARDS; i++)
			sweep_shard(s, &s->shard[i]);
	}
	weft_waitgroup_done(&s->sweeper);
}

/* ---- a store ----------------------------------------------------------- */

static bool
take_seed(uint64_t seed[2])
{
	int fd = weft_open("/dev/urandom", O_RDONLY | O_CLOEXEC, 0);
	ssize_t n = fd < 0 ? -1 : weft_read_full(fd, seed,
	    2 * sizeof seed[0], NULL);

	if (fd >= 0)
		weft_close(fd);
	return n == 2 * sizeof seed[0];
}

struct store *
store_new(size_t most_bytes)
{
	struct store *s = aligned_alloc(64, sizeof *s);

	if (!s)
		return NULL;
	memset(s, 0, sizeof *s);
	s->most = most_bytes;
	s->stop = weft_chan_of(int, 0);
	weft_waitgroup_add(&s->sweeper, 1);
	if (!s->stop || !take_seed(s->seed) || weft_try_go(sweep, s) < 0) {
		weft_chan_release(s->stop);
		free(s);
		return NULL;
	}
	return s;
}

void
store_free(struct store *s)
{
	weft_chan_close(s->stop);
	weft_waitgroup_wait(&s->sweeper);
	weft_chan_release(s->stop);
	store_clear(s);
	free(s);
}
