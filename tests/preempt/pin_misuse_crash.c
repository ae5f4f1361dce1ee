/* SPDX-License-Identifier: MIT */
/* Pins and regions without preemption that are left once too often. */
#include <weft.h>

#include "t.h"

DIES(unpin, 1, "weft_unpin: the goroutine is not pinned") { weft_unpin(); }

DIES(unpin_once_more, 2, "weft_unpin: the goroutine is not pinned")
{
	for (int i = 0; i < 3; i++)
		weft_pin();
	for (int i = 0; i < 4; i++)
		weft_unpin();
}

static void
unpins(weft_waitgroup *wg)
{
	weft_unpin();
	weft_waitgroup_done(wg);
}

/* The pin is the goroutine's, not the thread's. */
DIES(unpin_of_another, 2, "weft_unpin: the goroutine is not pinned")
{
	weft_waitgroup wg = {0};

	weft_pin();
	weft_waitgroup_add(&wg, 1);
	weft_go(unpins, &wg);
	weft_waitgroup_wait(&wg);
}

DIES(on_without_off, 1, "weft_preempt_on: preemption is not off")
{
	weft_preempt_on();
}

DIES(on_once_more, 1, "weft_preempt_on: preemption is not off")
{
	weft_preempt_off();
	weft_preempt_off();
	weft_preempt_on();
	weft_preempt_on();
	weft_preempt_on();
}

static void
forever(weft_chan *c)
{
	weft_pin();
	weft_chan_recv(c, NULL);
}

static void
four_pinned(weft_chan *c)
{
	if (t_emulated())
		t_skip("the emulator has threads of its own");
	for (int i = 0; i < 4; i++)
		weft_go(forever, c);
}

/* Pinned ones that wait for each other are no less dead. */
DIES(deadlock_of_pinned_ones, 2, "all goroutines are asleep: deadlock")
{
	weft_chan *c = weft_chan_make(0, 0);

	four_pinned(c);
	forever(c);
}

static void *
nothing(void *arg)
{
	return arg;
}

/* Nor are those that were in a call once. */
DIES(deadlock_after_calls, 2, "all goroutines are asleep: deadlock")
{
	weft_chan *c = weft_chan_make(0, 0);

	four_pinned(c);
	weft_blocking(nothing, NULL);
	weft_chan_recv(c, NULL);
}
