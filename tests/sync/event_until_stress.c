/* SPDX-License-Identifier: MIT */
/*
 * Waits for an event that give up, and begin again, while it is set. The last
 * waiter frees it, although set may not have returned.
 */
#include <stdlib.h>

#include "wait_rounds.h"

struct round {
	struct wait_round w;
	weft_event e;
	int value;		/* plain: the event orders it */
};

static void
set(struct wait_round *w, uint32_t seed)
{
	struct round *r = (struct round *)w;

	pause_somehow(&seed);
	r->value = 1;
	weft_event_set(&r->e);
}

static void
wait_for_set(struct wait_round *w, uint32_t seed)
{
	struct round *r = (struct round *)w;

	WAIT_DONE(w, &seed, weft_event_wait, &r->e);
	EQ(r->value, 1);
	if (is_last_waiter(w))
		free(r);
}

static void
round_once(struct crew *c, uint32_t *seed)
{
	struct round *r = calloc(1, sizeof *r);

	r->w = (struct wait_round){ .c = c, .wake = set, .wakers = 1,
	    .wait = wait_for_set };
	round_run(&r->w, seed);
}

ROUNDS_ON_1_2_8(round_once)
