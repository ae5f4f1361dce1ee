/* SPDX-License-Identifier: MIT */
/*
 * The object pool. Three kinds of places hold objects:
 *
 *	hot	one object for each P, in one word. The goroutine on that P
 *		fills it, inside, if it is empty; any thread empties it, by an
 *		exchange. So a put is a plain store, and a get an exchange.
 *	stack	up to STACK_MAX objects for each P, and for all threads without
 *		one together (shard 0), under the shard's lock: the last in is
 *		the first out.
 *	depot	batches of objects, the last in first out, under its lock. A
 *		full stack sends its older half there, an empty one gets a
 *		batch from there.
 *
 * get: own hot, own stack, depot, the hot and stack of all other shards, make.
 * put: own hot, own stack, and if that is full the depot. A lock guards a few
 * dozen instructions, is the P's own in all but rare cases, and no two are
 * held at a time. Objects may be in nobody's hands for a moment, on their way
 * from stack to depot: a get that comes then makes a new one, which is always
 * allowed.
 *
 * GIVING BACK. Each stack, and the depot, notes how few objects it had since
 * the last round (`least`): so many at its bottom were not needed. A round,
 * every `idle`, takes them out and destroys them, and puts the hot object on
 * the stack, so that it is at the bottom in the next round if nobody takes it.
 *
 *	            arm, by a put
 *	not armed ----------------> armed: the timer is set, or its goroutine
 *	     ^                        |    is in `round_of`
 *	     +------------------------+
 *	       the round, if nothing is left
 *
 * under the mutex `rounds`, which a round holds while it destroys. A put, and a
 * get that puts the rest of a batch on its stack, stores and then looks whether
 * the pool is armed, without the mutex and without a barrier; the round says
 * that it is not, has all threads execute a barrier (os_barrier_all), and looks
 * for objects once more. So the put sees that, or the round sees the object.
 *
 * LIFE. The core has a reference for the pool, and one while it is armed: the
 * timer's goroutine may come to run after weft_pool_free. Then it finds
 * `closed` and touches nothing but the mutex and the references. Shards and
 * the depot end with weft_pool_free.
 *
 * Rejected: Go's deque of private and shared objects without locks. Its
 * victims (objects of the last round, looked at last) double what is kept in
 * steady state, and an exchange for every object on the stack costs what an
 * uncontended lock does.
 */
#include <stdlib.h>
#include <string.h>

#include "fatal.h"
#include "hard.h"
#include "lock.h"
#include "os.h"
#include "preempt.h"
#include "sched.h"
#include "user_block.h"
#include "weft/extra.h"

enum {
	STACK_MAX = 64,
	BATCH = STACK_MAX / 2,
	SHARDS = PROCS_MAX + 1	/* 0: threads without a P; else P id + 1 */
};
#define IDLE_DEFAULT (5 * WEFT_SECOND)

struct shard {
	APTR(void) hot;		/* see above; shard 0 has none */
	struct lock lock;
	/* under lock */
	a32 n;			/* others look at it without */
	uint32_t least;
	void *stack[STACK_MAX];
} cache_aligned;

struct batch {
	struct batch *next;
	uint32_t n;
	void *objects[BATCH];
};

struct pool_core {
	/* constant */
	void (*destroy)(void *object);
	int64_t idle;

	/* any thread, atomic: filled, never emptied */
	APTR(struct shard) shards[SHARDS];
	a32 end;		/* there are none from this one on */
	a32 refs;
	abool armed;		/* written under rounds */

	weft_mutex rounds;
	/* under rounds */
	weft_timer *timer;	/* NULL: not made yet */
	bool closed;

	struct lock depot_lock;
	/* under depot_lock */
	APTR(struct batch) first;	/* others look at it without */
	uint32_t n_batches, least;
};

struct pool {
	/* constant */
	void *(*make)(void *arg);
	void (*destroy)(void *object);
	void *arg;
	int64_t idle;
	/* any thread, atomic */
	APTR(struct pool_core) core;
};
_Static_assert(sizeof(struct pool) == sizeof(weft_pool), "extra.h");
_Static_assert(_Alignof(struct pool) == _Alignof(weft_pool), "extra.h");

static inline struct pool *
inner(weft_pool *p)
{
	return (struct pool *)(void *)p;
}

/* ---- one shard ---- */

static inline void
shard_push(struct shard *s, void *x)
{
	uint32_t n = a_load_relaxed(&s->n);

	check(lock_held(&s->lock) && n < STACK_MAX);
	s->stack[n] = x;
	a_store_relaxed(&s->n, n + 1);
}

/* Takes the n objects at the bottom; lock held. */
static void
shard_take_bottom(struct shard *s, void **out, uint32_t n)
{
	uint32_t left = a_load_relaxed(&s->n) - n;

	check(lock_held(&s->lock));
	memcpy(out, s->stack, n * sizeof *out);
	memmove(s->stack, s->stack + n, left * sizeof *s->stack);
	a_store_relaxed(&s->n, left);
	s->least = s->least > n ? s->least - n : 0;
}

static void *
shard_pop(struct shard *s)
{
	void *x = NULL;
	uint32_t n;

	lock_take(&s->lock);
	n = a_load_relaxed(&s->n);
	if (n > 0) {
		x = s->stack[--n];
		a_store_relaxed(&s->n, n);
		if (n < s->least)
			s->least = n;
	}
	lock_drop(&s->lock);
	return x;
}

/* An object, or NULL. Any thread. */
static inline void *
shard_take(struct shard *s)
{
	void *x = a_load_relaxed(&s->hot);

	if (likely(x)) {
		hard_pause();
		x = a_xchg_acq(&s->hot, NULL);	/* pairs with shard_put */
		if (likely(x))
			return x;
	}
	/* A stack that looks empty had its last object taken just now. */
	return a_load_relaxed(&s->n) ? shard_pop(s) : NULL;
}

/* False if the shard is full. own: it is the P's, and the caller inside. */
static inline bool
shard_put(struct shard *s, void *x, bool own)
{
	bool room;

	if (own && likely(!a_load_relaxed(&s->hot))) {
		hard_pause();
		a_store_rel(&s->hot, x);	/* pairs with shard_take */
		return true;
	}
	lock_take(&s->lock);
	room = a_load_relaxed(&s->n) < STACK_MAX;
	if (room)
		shard_push(s, x);
	lock_drop(&s->lock);
	return room;
}

/* ---- the shards ---- */

/* pairs with shard_make */
static inline struct shard *
shard_at(struct pool_core *c, uint32_t i)
{
	return a_load_acq(&c->shards[i]);
}

/* That of the caller, who stays inside until it is used if it has a P. */
static inline uint32_t
own_index(struct m *mp)
{
	struct p *pp = mp ? m_p(mp) : NULL;

	return likely(pp) ? pp->id + 1 : 0;
}

/* Outside: it allocates. False if memory is refused. */
static cold bool
shard_make(struct pool_core *c, uint32_t i)
{
	struct shard *s = user_block_aligned(sizeof *s);
	uint32_t end;

	if (!s)
		return false;
	memset(s, 0, sizeof *s);
	s->lock = (struct lock)LOCK_INIT(RANK_POOL);
	/* pairs with shard_at */
	if (!a_cas_rel(&c->shards[i], NULL, s))
		user_block_free(s);
	do
		end = a_load_relaxed(&c->end);
	while (end <= i && !a_cas_relaxed(&c->end, end, i + 1));
	return true;
}

/* An object of the caller's shard, or NULL. *index: which that was. */
static inline void *
take_own(struct pool_core *c, uint32_t *index)
{
	struct m *mp = m_self();
	struct shard *s;
	uint32_t was = 0;
	void *x;

	if (likely(mp))
		was = rt_enter(mp);
	*index = own_index(mp);
	s = shard_at(c, *index);
	x = likely(s) ? shard_take(s) : NULL;
	if (likely(mp))
		rt_leave(mp, was);
	return x;
}

static void *
steal(struct pool_core *c, uint32_t own)
{
	uint32_t end = a_load_relaxed(&c->end);
	void *x;

	for (uint32_t i = 1; i <= end; i++) {
		struct shard *s = shard_at(c, (own + i) % end);

		if (s && (x = shard_take(s)))
			return x;
	}
	return NULL;
}

/* ---- the depot ---- */

static void
depot_put(struct pool_core *c, struct batch *b)
{
	lock_take(&c->depot_lock);
	b->next = a_load_relaxed(&c->first);
	a_store_relaxed(&c->first, b);
	c->n_batches++;
	lock_drop(&c->depot_lock);
}

static struct batch *
depot_get(struct pool_core *c)
{
	struct batch *b;

	lock_take(&c->depot_lock);
	b = a_load_relaxed(&c->first);
	if (b) {
		a_store_relaxed(&c->first, b->next);
		if (--c->n_batches < c->least)
			c->least = c->n_batches;
	}
	lock_drop(&c->depot_lock);
	return b;
}

/* One object of the depot; others of its batch go to shard s, if there is. */
static void *
take_batch(struct pool_core *c, struct shard *s)
{
	struct batch *b = a_load_relaxed(&c->first) ? depot_get(c) : NULL;
	void *x;

	if (!b)
		return NULL;
	x = b->objects[--b->n];
	if (s) {
		lock_take(&s->lock);
		while (b->n > 0 && a_load_relaxed(&s->n) < STACK_MAX)
			shard_push(s, b->objects[--b->n]);
		lock_drop(&s->lock);
	}
	if (b->n > 0)
		depot_put(c, b);
	else
		user_block_free(b);
	return x;
}

/* The shard was full. False if memory is refused. Outside. */
static cold bool
put_full(struct pool_core *c, struct shard *s, void *x)
{
	struct batch *b = user_block_alloc(sizeof *b);
	bool full;

	if (!b)
		return false;
	lock_take(&s->lock);
	full = a_load_relaxed(&s->n) == STACK_MAX;
	if (full) {
		b->n = BATCH;
		shard_take_bottom(s, b->objects, BATCH);
	}
	shard_push(s, x);
	lock_drop(&s->lock);
	if (full)
		depot_put(c, b);
	else
		user_block_free(b);
	return true;
}

/* ---- giving back ---- */

static void
core_release(struct pool_core *c)
{
	/* pairs with itself: the last user frees it, after all others */
	if (a_add_acqrel(&c->refs, -1u) == 1)
		free(c);
}

calls_out static void
destroy_all(struct pool_core *c, void **objects, uint32_t n)
{
	for (uint32_t i = 0; c->destroy && i < n; i++)
		c->destroy(objects[i]);
}

/*
 * Destroys what was not needed since the last round, or (all) everything.
 * `rounds` held, but for weft_pool_free, which is alone.
 */
calls_out static void
trim_shard(struct pool_core *c, struct shard *s, bool all)
{
	void *out[STACK_MAX + 1], *hot;
	uint32_t n;

	lock_take(&s->lock);
	hot = a_xchg_acq(&s->hot, NULL);	/* pairs with shard_put */
	n = all ? a_load_relaxed(&s->n) : s->least;
	shard_take_bottom(s, out, n);
	if (hot && (all || a_load_relaxed(&s->n) == STACK_MAX))
		out[n++] = hot;
	else if (hot)
		shard_push(s, hot);
	s->least = a_load_relaxed(&s->n);
	lock_drop(&s->lock);
	destroy_all(c, out, n);
}

calls_out static void
trim_depot(struct pool_core *c, bool all)
{
	struct batch **at, *b, *next;

	lock_take(&c->depot_lock);
	if (all)
		c->least = c->n_batches;
	c->n_batches -= c->least;
	c->least = c->n_batches;
	b = a_load_relaxed(&c->first);
	if (c->n_batches == 0) {
		a_store_relaxed(&c->first, NULL);
	} else {
		at = &b;
		for (uint32_t i = 0; i < c->n_batches; i++)
			at = &(*at)->next;
		b = *at;
		*at = NULL;
	}
	lock_drop(&c->depot_lock);
	for (; b; b = next) {
		next = b->next;
		destroy_all(c, b->objects, b->n);
		user_block_free(b);
	}
}

calls_out static void
trim(struct pool_core *c, bool all)
{
	uint32_t end = a_load_relaxed(&c->end);

	for (uint32_t i = 0; i < end; i++)
		if (shard_at(c, i))
			trim_shard(c, shard_at(c, i), all);
	trim_depot(c, all);
}

static bool
is_empty(struct pool_core *c)
{
	uint32_t end = a_load_relaxed(&c->end);

	for (uint32_t i = 0; i < end; i++) {
		struct shard *s = shard_at(c, i);

		if (s && (a_load_relaxed(&s->hot) || a_load_relaxed(&s->n)))
			return false;
	}
	return !a_load_relaxed(&c->first);
}

/* `rounds` held: true if there must be another round. */
static bool
stays_armed(struct pool_core *c)
{
	if (!is_empty(c))
		return true;
	a_store_relaxed(&c->armed, false);
	/* See above: a put that did not see this has stored its object. */
	os_barrier_all();
	if (is_empty(c))
		return false;
	a_store_relaxed(&c->armed, true);
	return true;
}

/* The timer's goroutine, which has a reference. */
calls_out static void
round_of(void *core)
{
	struct pool_core *c = core;
	bool again = false;

	weft_mutex_lock(&c->rounds);
	if (!c->closed) {
		trim(c, false);
		again = stays_armed(c);
		if (again)
			weft_timer_reset(c->timer, c->idle);
	}
	weft_mutex_unlock(&c->rounds);
	if (!again)
		core_release(c);
}

/* No memory for a timer: a later put tries again. */
static cold void
arm(struct pool_core *c)
{
	weft_mutex_lock(&c->rounds);
	if (!a_load_relaxed(&c->armed)) {
		a_add_relaxed(&c->refs, 1);
		if (c->timer)
			weft_timer_reset(c->timer, c->idle);
		else
			c->timer = weft_after_func(c->idle, round_of, c);
		if (c->timer)
			a_store_relaxed(&c->armed, true);
		else
			core_release(c);
	}
	weft_mutex_unlock(&c->rounds);
}

/* After objects were stored: see to it that they are given back in time. */
static inline void
ensure_armed(struct pool_core *c)
{
	/* The processor's order is the concern of stays_armed. */
	__asm__ volatile("" ::: "memory");
	if (unlikely(!a_load_relaxed(&c->armed)))
		arm(c);
}

/* ---- the pool ---- */

static inline struct pool_core *
core_of(weft_pool *p)
{
	return a_load_acq(&inner(p)->core);	/* pairs with core_make */
}

/* NULL if memory is refused. */
static cold struct pool_core *
core_make(weft_pool *p)
{
	struct pool_core *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	c->destroy = p->destroy;
	c->idle = p->idle > 0 ? p->idle : IDLE_DEFAULT;
	c->depot_lock = (struct lock)LOCK_INIT(RANK_POOL);
	a_init(&c->refs, 1);
	hard_pause();
	/* pairs with core_of */
	if (!a_cas_rel(&inner(p)->core, NULL, c))
		free(c);
	return core_of(p);
}

/* An object that is not in the caller's own shard, or NULL. */
static cold void *
take_elsewhere(struct pool_core *c, uint32_t own)
{
	void *x = take_batch(c, shard_at(c, own));

	if (!x)
		return steal(c, own);
	/* A round may have come while the batch was in our hands. */
	ensure_armed(c);
	return x;
}

calls_out public void *
weft_pool_get(weft_pool *p)
{
	struct pool_core *c;
	uint32_t own;
	void *x;

	checkpoint();
	c = core_of(p);
	if (likely(c)) {
		x = take_own(c, &own);
		if (likely(x) || (x = take_elsewhere(c, own)))
			return x;
	}
	return p->make ? p->make(p->arg) : NULL;
}

enum put { PUT_DONE, PUT_FULL, PUT_NO_SHARD };

static inline enum put
put_own(struct pool_core *c, void *x, uint32_t *index)
{
	struct m *mp = m_self();
	enum put how = PUT_NO_SHARD;
	struct shard *s;
	uint32_t was = 0;

	if (likely(mp))
		was = rt_enter(mp);
	*index = own_index(mp);
	s = shard_at(c, *index);
	if (likely(s))
		how = shard_put(s, x, *index > 0) ? PUT_DONE : PUT_FULL;
	if (likely(mp))
		rt_leave(mp, was);
	return how;
}

/* False if it is not kept. */
static cold bool
put_slow(struct pool_core *c, void *x, enum put how, uint32_t own)
{
	while (how == PUT_NO_SHARD) {
		if (!shard_make(c, own))
			return false;
		how = put_own(c, x, &own);
	}
	return how == PUT_DONE || put_full(c, shard_at(c, own), x);
}

static inline bool
put(weft_pool *p, void *x)
{
	struct pool_core *c = core_of(p);
	enum put how;
	uint32_t own;

	if (unlikely(!c) && !(c = core_make(p)))
		return false;
	how = put_own(c, x, &own);
	if (unlikely(how != PUT_DONE) && !put_slow(c, x, how, own))
		return false;
	ensure_armed(c);
	return true;
}

calls_out public void
weft_pool_put(weft_pool *p, void *object)
{
	checkpoint();
	if (object && unlikely(!put(p, object)) && p->destroy)
		p->destroy(object);
}

/*
 * False if a round was under way when the runtime ended: the goroutine may
 * still run a little, and will never be done.
 */
static bool
close_rounds(struct pool_core *c)
{
	if (!weft_mutex_try_lock(&c->rounds)) {
		if (a_load_relaxed(&sched.stopping) & STOP_ENDED)
			return false;
		weft_mutex_lock(&c->rounds);
	}
	c->closed = true;
	weft_mutex_unlock(&c->rounds);
	return true;
}

calls_out public void
weft_pool_free(weft_pool *p)
{
	struct pool_core *c = core_of(p);

	checkpoint();
	a_store_relaxed(&inner(p)->core, NULL);
	if (!c || !close_rounds(c))
		return;
	/* Stopped in time: no goroutine comes for the timer's reference. */
	if (c->timer && weft_timer_stop(c->timer))
		a_add_relaxed(&c->refs, -1u);
	weft_timer_free(c->timer);
	trim(c, true);
	for (uint32_t i = 0; i < a_load_relaxed(&c->end); i++)
		user_block_free(shard_at(c, i));
	core_release(c);
}
