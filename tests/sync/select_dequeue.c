/* SPDX-License-Identifier: MIT */
/*
 * A select that went on in one case has yet to leave the queues of the others
 * when it runs next. Those channels may be released before that.
 * They are large, so that the memory of a freed one is not there any more.
 */
#include <errno.h>

#include <weft.h>

#include "t.h"

enum { LARGE = 1 << 20 };

static weft_chan *won, *other;
static weft_waitgroup over;
static int chosen, n_waits;

static void
make_both(void)
{
	won = weft_chan_make(0, 0);
	other = weft_chan_make(0x400, LARGE / 0x400);
	chosen = -1;
	n_waits = 0;
	weft_waitgroup_add(&over, 1);
}

static void
choose(void)
{
	weft_case cases[] = {
		WEFT_CASE_RECV(won, NULL), WEFT_CASE_RECV(other, NULL)
	};

	n_waits++;
	chosen = weft_select(cases, 2);
	weft_waitgroup_done(&over);
}

static void
choose_until(void)
{
	weft_case cases[] = {
		WEFT_CASE_RECV(other, NULL), WEFT_CASE_RECV(won, NULL)
	};

	n_waits++;
	chosen = 1 - weft_select_until(cases, 2,
	    weft_deadline(3600 * WEFT_SECOND));
	weft_waitgroup_done(&over);
}

/* The one that wins stands in two cases, and so does the other one. */
static void
choose_twice(void)
{
	static char room[0x400];
	weft_case cases[] = {
		WEFT_CASE_RECV(won, NULL), WEFT_CASE_RECV(other, NULL),
		WEFT_CASE_RECV(won, NULL), WEFT_CASE_RECV(other, &room),
	};

	n_waits++;
	chosen = weft_select(cases, 4) & 1;
	weft_waitgroup_done(&over);
}

/* One P: no other goroutine runs until we wait. */
static void
let_it_wait(void (*fn)(void))
{
	make_both();
	weft_go(fn);
	while (!n_waits)
		weft_yield();
	for (int i = 0; i < 10; i++)
		weft_yield();
}

static void
see_it_leave(void)
{
	weft_waitgroup_wait(&over);
	EQ(chosen, 0);
	weft_chan_release(won);
}

static void
release_behind(void (*fn)(void))
{
	let_it_wait(fn);
	weft_chan_send(won, NULL);
	weft_chan_release(other);
	see_it_leave();
}

GTEST(released_before_it_has_left, 1) { release_behind(choose); }
GTEST(with_a_deadline, 1) { release_behind(choose_until); }
GTEST(in_two_cases, 1) { release_behind(choose_twice); }

GTEST(both_released, 1)
{
	let_it_wait(choose);
	weft_chan_retain(won);
	weft_chan_send(won, NULL);
	weft_chan_release(other);
	weft_chan_release(won);
	see_it_leave();
}

GTEST(the_winner_was_closed, 1)
{
	let_it_wait(choose);
	weft_chan_close(won);
	weft_chan_release(other);
	see_it_leave();
}

/* A sender to the other one finds it in the queue, and in vain. */
GTEST(found_by_a_sender_meanwhile, 1)
{
	let_it_wait(choose);
	weft_chan_send(won, NULL);
	EQ(weft_chan_try_send(other, NULL), true);
	weft_chan_release(other);
	see_it_leave();
}

GTEST(the_other_was_closed_meanwhile, 1)
{
	let_it_wait(choose);
	weft_chan_send(won, NULL);
	weft_chan_close(other);
	weft_chan_release(other);
	see_it_leave();
}

/* The context's channel, and the timer's, are released in the same way. */
static weft_context *ctx;

static void
choose_context(void)
{
	weft_case cases[] = {
		WEFT_CASE_RECV(won, NULL),
		WEFT_CASE_RECV(weft_context_done(ctx), NULL),
	};

	n_waits++;
	chosen = weft_select(cases, 2);
	weft_waitgroup_done(&over);
}

GTEST(a_context_released, 1)
{
	ctx = weft_context_make(NULL);
	let_it_wait(choose_context);
	weft_chan_send(won, NULL);
	weft_context_release(ctx);
	weft_chan_release(other);
	see_it_leave();
}

/* ---- on several Ps ---- */

static void
choose_own(weft_chan *a, weft_chan *b)
{
	weft_case cases[] = {
		WEFT_CASE_RECV(a, NULL), WEFT_CASE_RECV(b, NULL)
	};

	EQ(weft_select(cases, 2), 0);
	weft_chan_release(a);
	weft_waitgroup_done(&over);
}

/* The send returns when it was claimed, and not before. */
static void
again_and_again(void)
{
	for (long i = t_scale(20000); i > 0; i--) {
		weft_chan *a = weft_chan_make(0, 0);
		weft_chan *b = weft_chan_make(1, 0x40);

		weft_waitgroup_add(&over, 1);
		weft_go(choose_own, weft_chan_retain(a), b);
		weft_chan_send(a, NULL);
		weft_chan_release(b);
		weft_chan_release(a);
	}
	weft_waitgroup_wait(&over);
}

ON_ALL(again_and_again)
