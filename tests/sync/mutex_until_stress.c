/* SPDX-License-Identifier: MIT */
/*
 * A mutex that is locked with limits of all kinds, and without one, by
 * goroutines and plain threads. A lost wake-up hangs; a bit that is left is
 * seen in the word at the end.
 */
#include "wait_limits.h"

struct guarded {
	weft_mutex m;
	long inside, sum;	/* plain: the mutex guards them */
	long locked;		/* atomic */
};

/* Now and then long enough for others to starve. */
static void
hold(uint32_t r)
{
	int64_t end;

	if (r % 512 == 0) {
		weft_sleep(1500 * WEFT_US);
	} else if (r % 16 == 0) {
		end = weft_deadline(r % 50 * WEFT_US);
		while (weft_now() < end)
			;
	} else if (r % 4 == 0) {
		weft_yield();
	}
}

static void
lock_and_unlock(struct crew *c, uint32_t *seed)
{
	struct guarded *g = c->arg;
	struct pick p;

	if (rnd(seed) % 8 == 0) {
		weft_mutex_lock(&g->m);
	} else {
		p = pick(c, seed);
		if (!picked(c, &p, WITH_LIMIT(p, weft_mutex_lock, &g->m)))
			return;
	}
	EQ(++g->inside, 1);
	hold(rnd(seed));
	g->inside--;
	g->sum++;
	add_one(&g->locked);
	weft_mutex_unlock(&g->m);
}

static void
limits(void)
{
	struct guarded g = {0};
	struct crew c = { .work = lock_and_unlock, .arg = &g };

	crew_run(&c);
	EQ(g.sum, g.locked);
	EQ(g.m.state_, 0);
	OK(weft_mutex_try_lock(&g.m));
}
ON_1_2_8(limits)
