/* SPDX-License-Identifier: MIT */
/*
 * Keys, values and times of expiry; see store.c. What is named _locked is
 * called between store_lock and store_unlock with the keys that it is given.
 */
#ifndef REDIS_STORE_H
#define REDIS_STORE_H

#include "resp.h"

struct store;

struct store_key {
	struct slice name;
	uint64_t hash;
};

/* A value has as many owners as `refs` says: the store, and replies that are
 * being sent. Its bytes do not change while it has several. */
struct value {
	int refs;		/* atomic */
	size_t len, cap;
	char bytes[];
};

/* At most so many bytes; 0: no limit. NULL: no memory. */
struct store *store_new(size_t most_bytes);
/* Stops the sweeper and frees all. No other call is under way. */
void store_free(struct store *s);

struct store_key store_key_of(const struct store *s, struct slice name);

/* The bit of a key's shard; store_lock takes all shards of a set of bits. */
uint64_t store_bit(const struct store_key *k);
void store_lock(struct store *s, uint64_t bits);
void store_unlock(struct store *s, uint64_t bits);

/* Its value, which is the store's; NULL: there is none, or it is over. */
struct value *store_get_locked(struct store *s, const struct store_key *k);
/* 0; -ENOMEM: the store is full. *expires: ms of store_now_ms, 0: never. */
int store_set_locked(struct store *s, const struct store_key *k,
    struct slice value, int64_t expires);
/* When it expires; 0: never; -1: there is no such key. */
int64_t store_expires_locked(struct store *s, const struct store_key *k);
/* The key is there. 0: never. */
void store_expire_locked(struct store *s, const struct store_key *k,
    int64_t expires);
/* Was it there? */
bool store_delete_locked(struct store *s, const struct store_key *k);

void value_hold(struct value *v);
void value_release(struct value *v);

int64_t store_now_ms(void);
void store_clear(struct store *s);

struct store_counts {
	uint64_t keys, expiring;	/* that are there; ... of these */
	uint64_t expired;		/* since the start */
	size_t bytes, most_bytes;
};
struct store_counts store_count(struct store *s);

#endif
