/* SPDX-License-Identifier: MIT */
/*
 * Units that are acquired with limits of all kinds, and without one, by
 * goroutines and plain threads: never more than there are, and all are there
 * at the end. A lost wake-up hangs.
 */
#include "wait_limits.h"

enum { TOTAL = 6 };

struct pool {
	weft_sem s;
	int used;		/* atomic */
};

static void
acquire_and_release(struct crew *c, uint32_t *seed)
{
	struct pool *pool = c->arg;
	uint64_t n = rnd(seed) % TOTAL + 1;
	struct pick p;

	if (rnd(seed) % 8 == 0) {
		weft_sem_acquire(&pool->s, n);
	} else {
		p = pick(c, seed);
		if (!picked(c, &p,
		    WITH_LIMIT(p, weft_sem_acquire, &pool->s, n)))
			return;
	}
	OK(__atomic_add_fetch(&pool->used, (int)n, __ATOMIC_SEQ_CST) <= TOTAL);
	if (rnd(seed) % 4 == 0)
		weft_sleep(rnd(seed) % 50 * WEFT_US);
	__atomic_sub_fetch(&pool->used, (int)n, __ATOMIC_SEQ_CST);
	weft_sem_release(&pool->s, n);
}

static void
limits(void)
{
	struct pool pool = { .s = WEFT_SEM(TOTAL) };
	struct crew c = { .work = acquire_and_release, .arg = &pool };

	crew_run(&c);
	EQ(pool.s.units_, TOTAL);
	OK(weft_sem_try_acquire(&pool.s, TOTAL));
	OK(!weft_sem_try_acquire(&pool.s, 1));
}
ON_1_2_8(limits)
