/* SPDX-License-Identifier: MIT */
/*
 * No goroutine is preempted while it holds a lock of the runtime, whatever the
 * linker puts between it and the functions that it calls: stubs that jump to
 * libc, and pieces of libgcc, are not in the runtime's section.
 *
 * Each worker has a channel of its own. One that is queued was preempted, or
 * stepped back at the start of a call: in both cases its channel is free.
 */
#include <stdlib.h>
#include <string.h>

#include "chan.h"
#include "sched.h"
#include "t.h"

enum { WORKERS = 8, BYTES = 200 };

struct worker {
	weft_chan *c;
	APTR(struct g) gp;
};

static struct worker workers[WORKERS];
static abool stop;
static void *(*volatile copy)(void *, const void *, size_t);

__attribute__((constructor)) static void
short_slices(void)
{
	setenv("WEFT_SLICE_US", "100", 1);
}

static void
work(struct worker *w)
{
	char e[BYTES] = "";

	a_store_rel(&w->gp, m_g(m_self()));	/* pairs with held */
	while (!a_load_relaxed(&stop)) {
		weft_chan_try_send(w->c, e);
		weft_chan_try_recv(w->c, e);
	}
}

/* On the only P: a RUNNABLE goroutine stays so while we look. */
static bool
held(struct worker *w)
{
	struct g *gp = a_load_acq(&w->gp);	/* pairs with work */
	bool is;

	if (!gp)
		return false;
	weft_preempt_off();
	is = a_load_relaxed(&gp->state) == G_RUNNABLE &&
	    a_load_relaxed(&w->c->lock.word) != LOCK_FREE &&
	    a_load_relaxed(&gp->state) == G_RUNNABLE;
	weft_preempt_on();
	return is;
}

GTEST(preempted_ones_hold_nothing, 1)
{
	int n = 0;

	/* The address in code: some linkers then make another kind of stub. */
	copy = memcpy;
	for (int i = 0; i < WORKERS; i++) {
		workers[i].c = weft_chan_make(BYTES, 4);
		weft_go(work, &workers[i]);
	}
	while (t_more(3) && !n) {
		for (int i = 0; i < WORKERS; i++)
			n += held(&workers[i]);
		weft_yield();
	}
	a_store_relaxed(&stop, true);
	EQ(n, 0);
}
