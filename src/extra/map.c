/* SPDX-License-Identifier: MIT */
/*
 * The concurrent map: 64 parts, each a chained hash table with a lock of one
 * writer or many readers. The upper bits of a key's hash choose the part, the
 * lower ones the chain.
 *
 * READ LOCK HELD	chains do not change, and entries stay; values may be
 *			exchanged, atomically
 * WRITE LOCK HELD	all may change
 *
 * So only a call that adds or removes a key takes the lock for writing, and
 * a call that finds what it needs is one of many readers: get, and set of a
 * key that is there. One that did not find it begins anew as the writer and
 * looks once more. Readers of an rwmutex that is mostly read write to cache
 * lines of their own P (rwmutex.c), so they do not slow each other down.
 *
 * An entry has one reference for being in a chain and one for each range that
 * is to visit it. `dead` is set when it leaves its chain, for these. A range
 * collects the entries of one part under the read lock and calls the user's
 * function without any lock; so the function may use the map. An entry that
 * is removed and added again is another entry, of a part that the range has
 * collected already or has not yet: no key is visited twice.
 *
 * Tables grow, by the factor 2, when they have as many entries as chains; they
 * do not shrink before weft_map_free. Where memory for that is refused chains
 * become longer.
 *
 * Rejected: readers without a lock. They would need a way to tell when nobody
 * looks at a removed entry any more, on every read, for goroutines and plain
 * threads; a read lock that writes to the P's own line costs little more.
 */
#include <errno.h>
#include <stdlib.h>

#include "fatal.h"
#include "hard.h"
#include "key.h"
#include "preempt.h"
#include "user_block.h"

enum { PARTS = 64, PART_SHIFT = 58, CHAINS_MIN = 8 };

struct entry {
	/* constant while it is in a chain */
	weft_key key;
	uint64_t hash;
	/* under the part's lock */
	struct entry *next;
	/* any thread, atomic; exchanged under the read lock */
	APTR(void) value;
	a32 refs;
	abool dead;
	char bytes[];		/* of the key */
};

struct part {
	weft_rwmutex lock;
	/* under lock */
	struct entry **chains;
	size_t n_chains, n;	/* a power of two, or 0; entries */
} cache_aligned;

struct map_core {
	struct part part[PARTS];
};

struct map {
	APTR(struct map_core) core;
};
_Static_assert(sizeof(struct map) == sizeof(weft_map), "extra.h");
_Static_assert(_Alignof(struct map) == _Alignof(weft_map), "extra.h");

static struct map_core *
core_of(weft_map *m)
{
	/* pairs with core_make */
	return a_load_acq(&((struct map *)(void *)m)->core);
}

/* The first call that adds something makes it. NULL if memory is refused. */
static cold struct map_core *
core_make(weft_map *m)
{
	struct map_core *c = aligned_alloc(CACHE_LINE, sizeof *c);

	if (!c)
		return NULL;
	memset(c, 0, sizeof *c);
	hard_pause();
	/* pairs with core_of */
	if (!a_cas_rel(&((struct map *)(void *)m)->core, NULL, c))
		free(c);
	return core_of(m);
}

static inline struct part *
part_of(struct map_core *c, uint64_t hash)
{
	return &c->part[hash >> PART_SHIFT];
}

/* ---- entries ---- */

static struct entry *
entry_make(weft_key key, uint64_t hash, void *value)
{
	size_t room = key_room(key);
	struct entry *e;

	if (room > SIZE_MAX / 2)
		return NULL;
	e = user_block_alloc(sizeof *e + room);
	if (!e)
		return NULL;
	e->key = key_copy(key, e->bytes);
	e->hash = hash;
	a_init(&e->value, value);
	a_init(&e->refs, 1);
	a_init(&e->dead, false);
	return e;
}

static void
entry_release(struct entry *e)
{
	/* pairs with itself: the last user frees it, after all others */
	if (a_add_acqrel(&e->refs, -1u) == 1)
		user_block_free(e);
}

/* ---- a part: its lock held ---- */

/* The link to the entry, or to the end of its chain; NULL: no chains. */
static inline struct entry **
link_to(struct part *p, weft_key key, uint64_t hash)
{
	struct entry **at;

	if (unlikely(!p->n_chains))
		return NULL;
	at = &p->chains[hash & (p->n_chains - 1)];
	while (*at && ((*at)->hash != hash || !key_equal((*at)->key, key)))
		at = &(*at)->next;
	return at;
}

static inline struct entry *
find(struct part *p, weft_key key, uint64_t hash)
{
	struct entry **at = link_to(p, key, hash);

	return at ? *at : NULL;
}

static void
chain_push(struct entry **chains, size_t n_chains, struct entry *e)
{
	struct entry **at = &chains[e->hash & (n_chains - 1)];

	e->next = *at;
	*at = e;
}

/* For writing: makes room for one more, if memory allows. */
static void
grow(struct part *p)
{
	size_t n = p->n_chains ? 2 * p->n_chains : CHAINS_MIN;
	struct entry **chains, *e;

	if (p->n < p->n_chains)
		return;
	chains = calloc(n, sizeof *chains);
	if (!chains)
		return;
	for (size_t i = 0; i < p->n_chains; i++)
		while ((e = p->chains[i])) {
			p->chains[i] = e->next;
			chain_push(chains, n, e);
		}
	free(p->chains);
	p->chains = chains;
	p->n_chains = n;
}

/* For writing; the key is not there. 0 or -ENOMEM. */
static int
add(struct part *p, weft_key key, uint64_t hash, void *value)
{
	struct entry *e;

	grow(p);
	if (!p->n_chains)
		return -ENOMEM;
	e = entry_make(key, hash, value);
	if (!e)
		return -ENOMEM;
	chain_push(p->chains, p->n_chains, e);
	p->n++;
	return 0;
}

/* ---- calls ---- */

public bool
weft_map_get(weft_map *m, weft_key key, void **value)
{
	struct map_core *c = core_of(m);
	uint64_t hash = key_hash(key);
	struct entry *e;
	struct part *p;

	checkpoint();
	if (!c)
		return false;
	p = part_of(c, hash);
	weft_rwmutex_rlock(&p->lock);
	e = find(p, key, hash);
	if (e && value)
		/* pairs with exchange, and with `add` by the lock */
		*value = a_load_acq(&e->value);
	weft_rwmutex_runlock(&p->lock);
	return e != NULL;
}

/* The part's lock is held, for reading at least. */
static void
exchange(struct entry *e, void *value, void **old)
{
	/* pairs with weft_map_get and itself: what old and new point to */
	void *was = a_xchg_acqrel(&e->value, value);

	if (old)
		*old = was;
}

/* Either the value is exchanged, or (keep) it is only read. */
static void
use(struct entry *e, void *value, void **out, bool keep)
{
	if (!keep)
		exchange(e, value, out);
	else if (out)
		*out = a_load_acq(&e->value);	/* pairs with exchange */
}

/* Swap, and get_or_set (keep): 1 if the key was there, 0, -ENOMEM. */
static int
put(weft_map *m, weft_key key, void *value, void **out, bool keep)
{
	struct map_core *c = core_of(m);
	uint64_t hash = key_hash(key);
	struct entry *e;
	struct part *p;
	int err = 0;

	checkpoint();
	if (!c && !(c = core_make(m)))
		return -ENOMEM;
	p = part_of(c, hash);
	weft_rwmutex_rlock(&p->lock);
	e = find(p, key, hash);
	if (e)
		use(e, value, out, keep);
	weft_rwmutex_runlock(&p->lock);
	if (e)
		return 1;
	hard_pause();
	weft_rwmutex_lock(&p->lock);
	e = find(p, key, hash);
	if (e)
		use(e, value, out, keep);
	else
		err = add(p, key, hash, value);
	weft_rwmutex_unlock(&p->lock);
	return e ? 1 : err;
}

public int
weft_map_swap(weft_map *m, weft_key key, void *value, void **old)
{
	return put(m, key, value, old, false);
}

public int
weft_map_set(weft_map *m, weft_key key, void *value)
{
	int r = put(m, key, value, NULL, false);

	return r < 0 ? r : 0;
}

public int
weft_map_get_or_set(weft_map *m, weft_key key, void *value, void **actual)
{
	int r = put(m, key, value, actual, true);

	if (r == 0 && actual)
		*actual = value;
	return r;
}

public bool
weft_map_delete(weft_map *m, weft_key key, void **old)
{
	uint64_t hash = key_hash(key);
	struct entry **at, *e;
	struct part *p;

	checkpoint();
	/* Most that are not there are seen to be so without a writer. */
	if (!weft_map_get(m, key, NULL))
		return false;
	p = part_of(core_of(m), hash);
	weft_rwmutex_lock(&p->lock);
	at = link_to(p, key, hash);
	e = at ? *at : NULL;
	if (e) {
		*at = e->next;
		p->n--;
		a_store_relaxed(&e->dead, true);
		if (old)
			*old = a_load_relaxed(&e->value);
	}
	weft_rwmutex_unlock(&p->lock);
	if (e)
		entry_release(e);
	return e != NULL;
}

/* ---- range ---- */

/* All entries of a part, each with a reference; *out is NULL if there are
 * none. How many, or -ENOMEM. */
static int64_t
collect(struct part *p, struct entry ***out)
{
	struct entry **list = NULL;
	size_t n = 0;

	weft_rwmutex_rlock(&p->lock);
	if (p->n)
		list = malloc(p->n * sizeof *list);
	for (size_t i = 0; list && i < p->n_chains; i++)
		for (struct entry *e = p->chains[i]; e; e = e->next) {
			a_add_relaxed(&e->refs, 1);
			list[n++] = e;
		}
	check(!list || n == p->n);
	*out = list;
	if (p->n && !list)
		n = SIZE_MAX;
	weft_rwmutex_runlock(&p->lock);
	return n == SIZE_MAX ? -ENOMEM : (int64_t)n;
}

/* What fn is called with, and how far it is. */
struct range {
	bool (*fn)(weft_key key, void *value, void *arg);
	void *arg;
	int64_t visited;
	bool on;
};

calls_out static void
visit(struct range *r, struct entry *e)
{
	/* pairs with exchange */
	void *value = a_load_acq(&e->value);

	if (r->on && !a_load_relaxed(&e->dead)) {
		r->visited++;
		r->on = r->fn(e->key, value, r->arg);
	}
	entry_release(e);
}

calls_out public int64_t
weft_map_range(weft_map *m,
    bool (*fn)(weft_key key, void *value, void *arg), void *arg)
{
	struct range r = { fn, arg, 0, true };
	struct map_core *c = core_of(m);
	struct entry **list;
	int64_t n;

	checkpoint();
	for (int i = 0; c && r.on && i < PARTS; i++) {
		n = collect(&c->part[i], &list);
		if (n < 0)
			return n;
		for (int64_t j = 0; j < n; j++)
			visit(&r, list[j]);
		free(list);
	}
	return r.visited;
}

public void
weft_map_free(weft_map *m)
{
	struct map_core *c = core_of(m);
	struct entry *e;

	for (int i = 0; c && i < PARTS; i++) {
		struct part *p = &c->part[i];

		for (size_t j = 0; j < p->n_chains; j++)
			while ((e = p->chains[j])) {
				p->chains[j] = e->next;
				entry_release(e);
			}
		free(p->chains);
	}
	free(c);
	a_store_relaxed(&((struct map *)(void *)m)->core, NULL);
}
