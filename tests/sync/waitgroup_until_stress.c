/* SPDX-License-Identifier: MIT */
/*
 * Waits for a waitgroup that give up, and begin again, while its counter goes
 * to zero. The last waiter frees it, although the last done may not have
 * returned; AddressSanitizer sees a use after that.
 */
#include <stdlib.h>

#include "wait_rounds.h"

enum { WORKERS = 3 };

struct round {
	struct wait_round w;
	weft_waitgroup wg;
	long work;		/* atomic; plain after the wait */
};

static void
work(struct wait_round *w, uint32_t seed)
{
	struct round *r = (struct round *)w;

	pause_somehow(&seed);
	add_one(&r->work);
	weft_waitgroup_done(&r->wg);
}

static void
wait_for_work(struct wait_round *w, uint32_t seed)
{
	struct round *r = (struct round *)w;

	WAIT_DONE(w, &seed, weft_waitgroup_wait, &r->wg);
	EQ(r->work, WORKERS);
	if (is_last_waiter(w)) {
		EQ(r->wg.state_, 0);
		EQ(r->wg.sema_, 0);
		free(r);
	}
}

static void
round_once(struct crew *c, uint32_t *seed)
{
	struct round *r = calloc(1, sizeof *r);

	r->w = (struct wait_round){ .c = c, .wake = work, .wakers = WORKERS,
	    .wait = wait_for_work };
	weft_waitgroup_add(&r->wg, WORKERS);
	round_run(&r->w, seed);
}

ROUNDS_ON_1_2_8(round_once)
