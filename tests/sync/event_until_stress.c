/* SPDX-License-Identifier: MIT */
/*
 * Waits for an event that give up, and begin again, while it is set. The last
 * waiter frees it, although set may not have returned.
 */
#include <stdlib.h>

#include "wait_limits.h"

enum { WAITERS = 5 };

struct round {
	weft_event e;
	struct crew *c;
	int refs;		/* atomic */
	int value;		/* plain: the event orders it */
};

static void
set(struct round *r, uint32_t seed)
{
	switch (rnd(&seed) % 4) {
	case 0:
		weft_sleep(rnd(&seed) % 80 * WEFT_US);
		break;
	case 1:
		weft_yield();
	}
	r->value = 1;
	weft_event_set(&r->e);
}

static void
wait_for_set(struct round *r, uint32_t seed)
{
	struct pick p;

	if (rnd(&seed) % 4 == 0)
		weft_event_wait(&r->e);
	else
		do
			p = pick(r->c, &seed);
		while (!picked(r->c, &p,
		    WITH_LIMIT(p, weft_event_wait, &r->e)));
	EQ(r->value, 1);
	if (__atomic_sub_fetch(&r->refs, 1, __ATOMIC_ACQ_REL) == 0)
		free(r);
}

static void *
wait_plainly(void *arg)
{
	wait_for_set(arg, (uint32_t)(uintptr_t)arg);
	return NULL;
}

static void
round_once(struct crew *c, uint32_t *seed)
{
	struct round *r = calloc(1, sizeof *r);
	bool thread = rnd(seed) % 8 == 0;
	pthread_t t;

	r->c = c;
	r->refs = WAITERS + thread;
	for (int i = 1; i < WAITERS; i++)
		weft_go(wait_for_set, r, rnd(seed));
	if (thread)
		EQ(pthread_create(&t, NULL, wait_plainly, r), 0);
	weft_go(set, r, rnd(seed));
	wait_for_set(r, rnd(seed));
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
