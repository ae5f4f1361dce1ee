/* SPDX-License-Identifier: MIT */
/*
 * Waits for a waitgroup that give up, and begin again, while its counter goes
 * to zero. The last waiter frees it, although the last done may not have
 * returned; AddressSanitizer sees a use after that.
 */
#include <stdlib.h>

#include "wait_limits.h"

enum { WORKERS = 3, WAITERS = 5 };

struct round {
	weft_waitgroup wg;
	struct crew *c;
	int refs;		/* atomic */
	long work;		/* atomic; plain after the wait */
};

static void
work(struct round *r, uint32_t seed)
{
	switch (rnd(&seed) % 4) {
	case 0:
		weft_sleep(rnd(&seed) % 80 * WEFT_US);
		break;
	case 1:
		weft_yield();
	}
	add_one(&r->work);
	weft_waitgroup_done(&r->wg);
}

static void
wait_for_work(struct round *r, uint32_t seed)
{
	struct pick p;

	if (rnd(&seed) % 4 == 0)
		weft_waitgroup_wait(&r->wg);
	else
		do
			p = pick(r->c, &seed);
		while (!picked(r->c, &p,
		    WITH_LIMIT(p, weft_waitgroup_wait, &r->wg)));
	EQ(r->work, WORKERS);
	if (__atomic_sub_fetch(&r->refs, 1, __ATOMIC_ACQ_REL) == 0) {
		EQ(r->wg.state_, 0);
		EQ(r->wg.sema_, 0);
		free(r);
	}
}

static void *
wait_plainly(void *arg)
{
	wait_for_work(arg, (uint32_t)(uintptr_t)arg);
	return NULL;
}

/* One round; the member of the crew waits, too. */
static void
round_once(struct crew *c, uint32_t *seed)
{
	struct round *r = calloc(1, sizeof *r);
	bool thread = rnd(seed) % 8 == 0;
	pthread_t t;

	r->c = c;
	r->refs = WAITERS + thread;
	weft_waitgroup_add(&r->wg, WORKERS);
	for (int i = 1; i < WAITERS; i++)
		weft_go(wait_for_work, r, rnd(seed));
	if (thread)
		EQ(pthread_create(&t, NULL, wait_plainly, r), 0);
	for (int i = 0; i < WORKERS; i++)
		weft_go(work, r, rnd(seed));
	wait_for_work(r, rnd(seed));
	if (thread)
		pthread_join(t, NULL);
}

static void
limits(void)
{
	struct crew c = { .work = round_once };
	int64_t before = weft_goroutines();

	crew_run(&c);
	while (weft_goroutines() > before)
		weft_yield();
}
ON_1_2_8(limits)
