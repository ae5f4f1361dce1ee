/* SPDX-License-Identifier: MIT */
/*
 * For stress tests of waits that give up, and begin again, while what they
 * wait for happens. A round has an object of its own, which the last waiter
 * frees although the call that woke it may not have returned.
 */
#ifndef WAIT_ROUNDS_H
#define WAIT_ROUNDS_H

#include "plain_thread.h"
#include "wait_limits.h"

enum { WAITERS = 5 };

/* At the beginning of the round's object. */
struct wait_round {
	/* constant */
	struct crew *c;
	void (*wake)(struct wait_round *r, uint32_t seed);
	int wakers;
	void (*wait)(struct wait_round *r, uint32_t seed);
	int refs;		/* atomic: waiters that use the object */
};

/* Before a waker wakes. */
static inline void
pause_somehow(uint32_t *seed)
{
	switch (rnd(seed) % 4) {
	case 0:
		weft_sleep(rnd(seed) % 80 * WEFT_US);
		break;
	case 1:
		weft_yield();
	}
}

/* Waits with `name` or with its forms that have a limit, until it is done. */
#define WAIT_DONE(r, seed, name, obj) do {				\
	struct pick p_;							\
									\
	if (rnd(seed) % 4 == 0)						\
		name(obj);						\
	else								\
		do							\
			p_ = pick((r)->c, seed);			\
		while (!picked((r)->c, &p_, WITH_LIMIT(p_, name, obj)));\
} while (0)

/* Of a waiter that has done with the object: is it the last one? */
static inline bool
is_last_waiter(struct wait_round *r)
{
	return __atomic_sub_fetch(&r->refs, 1, __ATOMIC_ACQ_REL) == 0;
}

static inline void *
round_thread(void *arg)
{
	struct wait_round *r = arg;

	r->wait(r, (uint32_t)(uintptr_t)r);
	return NULL;
}

/* One round; the member of the crew waits, too. */
static inline void
round_run(struct wait_round *r, uint32_t *seed)
{
	bool thread = rnd(seed) % 8 == 0;
	pthread_t t;

	r->refs = WAITERS + thread;
	for (int i = 1; i < WAITERS; i++)
		weft_go(r->wait, r, rnd(seed));
	if (thread)
		t = thread_start(round_thread, r);
	for (int i = 0; i < r->wakers; i++)
		weft_go(r->wake, r, rnd(seed));
	r->wait(r, rnd(seed));
	if (thread)
		EQ(pthread_join(t, NULL), 0);
}

/* Rounds with goroutines and threads of all kinds of limits, on 1, 2 and 8. */
#define ROUNDS_ON_1_2_8(round_once)					\
	static void							\
	limits(void)							\
	{								\
		struct crew c = { .work = round_once };			\
									\
		crew_run(&c);						\
	}								\
	ON_1_2_8(limits)

#endif
