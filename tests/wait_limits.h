/* SPDX-License-Identifier: MIT */
/*
 * For stress tests of waits with a limit: goroutines and plain threads that do
 * the same again and again with limits of all kinds, while contexts are
 * cancelled.
 */
#ifndef WAIT_LIMITS_H
#define WAIT_LIMITS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <weft.h>

#include "t.h"

enum { CREW_GOROUTINES = 12, CREW_THREADS = 3 };

/* Each on 1, 2 and 8 procs, in a process of its own. */
#define ON_1_2_8(name)							\
	GTEST(name##_on_1, 1) { name(); }				\
	GTEST(name##_on_2, 2) { name(); }				\
	GTEST(name##_on_8, 8) { name(); }

struct crew {
	void (*work)(struct crew *c, uint32_t *seed);
	void *arg;
	weft_waitgroup wg;
	weft_context *dead;	/* cancelled */
	/* atomic */
	bool stop;
	uint32_t seeds;
	long done, late, cancelled;
	weft_mutex m;
	weft_context *live;	/* under m: to be cancelled soon */
};

static inline uint32_t
rnd(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static inline void
add_one(long *n)
{
	__atomic_add_fetch(n, 1, __ATOMIC_RELAXED);
}

static inline bool
some(long *n)
{
	return __atomic_load_n(n, __ATOMIC_RELAXED) > 0;
}

/* ---- a limit, drawn at random ---- */

struct pick {
	bool by_context;
	int64_t when;
	weft_context *ctx;
};

/* One of the caller's own. */
static inline weft_context *
context_get(weft_mutex *m, weft_context **under_m)
{
	weft_context *ctx;

	weft_mutex_lock(m);
	ctx = weft_context_retain(*under_m);
	weft_mutex_unlock(m);
	return ctx;
}

/* By a new one; the old one, if any, is cancelled. */
static inline void
context_replace(weft_mutex *m, weft_context **under_m)
{
	weft_context *old, *ctx = weft_context_make(NULL);

	weft_mutex_lock(m);
	old = *under_m;
	*under_m = ctx;
	weft_mutex_unlock(m);
	if (old)
		weft_context_cancel(old, 0);
	weft_context_release(old);
}

/* None, over, some microseconds, around what makes a mutex starve. */
static inline int64_t
pick_time(uint32_t *seed)
{
	switch (rnd(seed) % 6) {
	case 0:
		return 0;
	case 1:
		return -1;
	case 2:
		return weft_deadline(rnd(seed) % 3000 * WEFT_US);
	default:
		return weft_deadline(rnd(seed) % 60 * WEFT_US);
	}
}

static inline struct pick
pick(struct crew *c, uint32_t *seed)
{
	struct pick p = { .by_context = rnd(seed) % 2 };

	if (!p.by_context)
		p.when = pick_time(seed);
	else if (rnd(seed) % 8 == 0)
		p.ctx = weft_context_retain(c->dead);
	else if (rnd(seed) % 8)
		p.ctx = context_get(&c->m, &c->live);
	return p;
}

/* Which of the two forms of a call, with its other arguments. */
#define WITH_LIMIT(p, name, ...)					\
	((p).by_context ? name##_context(__VA_ARGS__, (p).ctx) :	\
	    name##_until(__VA_ARGS__, (p).when))

/* Was it right to give up? Ends the use of the pick. */
static inline bool
picked(struct crew *c, struct pick *p, bool done)
{
	if (done) {
		add_one(&c->done);
	} else if (p->by_context) {
		OK(weft_context_error(p->ctx) != 0);
		add_one(&c->cancelled);
	} else {
		OK(p->when != 0 && weft_now() >= p->when);
		add_one(&c->late);
	}
	weft_context_release(p->ctx);
	return done;
}

/* ---- the crew ---- */

static inline void
crew_member(struct crew *c)
{
	uint32_t seed = __atomic_add_fetch(&c->seeds, 1, __ATOMIC_RELAXED);

	while (!__atomic_load_n(&c->stop, __ATOMIC_RELAXED))
		c->work(c, &seed);
	weft_waitgroup_done(&c->wg);
}

static inline void *
crew_thread(void *arg)
{
	crew_member(arg);
	return NULL;
}

static inline void
crew_change_context(struct crew *c)
{
	context_replace(&c->m, &c->live);
}

static inline void
crew_make(struct crew *c)
{
	c->dead = weft_context_make(NULL);
	weft_context_cancel(c->dead, 0);
	crew_change_context(c);
}

static inline void
crew_free(struct crew *c)
{
	weft_context_release(c->dead);
	weft_context_release(c->live);
}

/*
 * All work for some tenths of a second, and until calls were done, were late
 * and were cancelled. Hangs if a wake-up is lost.
 */
static inline void
crew_run(struct crew *c)
{
	int64_t before = weft_goroutines();
	pthread_t t[CREW_THREADS];

	crew_make(c);
	weft_waitgroup_add(&c->wg, CREW_GOROUTINES + CREW_THREADS);
	for (int i = 0; i < CREW_GOROUTINES; i++)
		weft_go(crew_member, c);
	for (int i = 0; i < CREW_THREADS; i++)
		EQ(pthread_create(&t[i], NULL, crew_thread, c), 0);
	while (t_more(0.5) || !some(&c->done) || !some(&c->late) ||
	    !some(&c->cancelled)) {
		weft_sleep(30 * WEFT_US);
		crew_change_context(c);
	}
	__atomic_store_n(&c->stop, true, __ATOMIC_RELAXED);
	weft_waitgroup_wait(&c->wg);
	for (int i = 0; i < CREW_THREADS; i++)
		pthread_join(t[i], NULL);
	/* those that the members have started use its contexts, too */
	while (weft_goroutines() > before)
		weft_yield();
	crew_free(c);
}

#endif
