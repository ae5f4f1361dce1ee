/* SPDX-License-Identifier: MIT */
/*
 * A goroutine woken on a channel runs next: on one P, as soon as its waker
 * waits, before all others that are ready to run. So a value is used while
 * it is in the cache, and a request and its answer take no turn through the
 * queue. Hard builds leave that out at random.
 */
#include <weft.h>

#include "run_env.h"
#include "t.h"

/* The order is that of calls, also if the machine is busy for a slice. */
NO_PREEMPTION

/* Nor does one yield in a call because its slice is over. */
__attribute__((constructor)) static void
long_slices(void)
{
	setenv("WEFT_SLICE_US", "1000000", 1);
}

enum { BYSTANDERS = 20, PARTNER = 1000, MOST = 100 };

/* The goroutines that ran, in order. There is one P: no two at a time. */
static int order[MOST], ran;
static weft_chan *c, *wait_here;
static weft_waitgroup ended;

static void
bystander(int n)
{
	order[ran++] = n;
	weft_waitgroup_done(&ended);
}

static void
partner_receives(void)
{
	weft_recv(c, int);
	order[ran++] = PARTNER;
	weft_chan_close(wait_here);
	weft_waitgroup_done(&ended);
}

static void
partner_sends(void)
{
	weft_send(c, 1);
	order[ran++] = PARTNER;
	weft_chan_close(wait_here);
	weft_waitgroup_done(&ended);
}

static void
partner_selects(void)
{
	weft_case k[] = { WEFT_CASE_RECV(c, NULL), WEFT_CASE_RECV(NULL, NULL) };

	EQ(weft_select(k, 2), 0);
	order[ran++] = PARTNER;
	weft_chan_close(wait_here);
	weft_waitgroup_done(&ended);
}

static void
prepare(void (*partner)(void))
{
#ifdef WEFT_HARD
	t_skip("the order is random in a hard build");
#endif
	c = weft_chan_make(sizeof(int), 0);
	wait_here = weft_chan_make(0, 0);
	weft_waitgroup_add(&ended, BYSTANDERS + 1);
	OK(weft_try_go(partner) > 0);
	for (int i = 0; i < 10; i++)
		weft_yield();
	for (int i = 0; i < BYSTANDERS; i++)
		OK(weft_try_go(bystander, i) > 0);
	EQ(ran, 0);
}

/* Waits for the partner and looks which ran before it. */
static void
check(void)
{
	weft_chan_recv(wait_here, NULL);
	EQ(order[0], PARTNER);
	weft_waitgroup_wait(&ended);
	EQ(ran, BYSTANDERS + 1);
	for (int i = 1; i <= BYSTANDERS; i++)
		OK(order[i] >= 0 && order[i] < BYSTANDERS);
}

GTEST(receiver_runs_next, 1)
{
	prepare(partner_receives);
	weft_send(c, 1);
	check();
}

GTEST(receiver_runs_next_after_try, 1)
{
	int v = 1;

	prepare(partner_receives);
	EQ(weft_chan_try_send(c, &v), true);
	check();
}

GTEST(sender_runs_next, 1)
{
	prepare(partner_sends);
	EQ(weft_recv(c, int), 1);
	check();
}

GTEST(selecter_runs_next, 1)
{
	prepare(partner_selects);
	weft_send(c, 1);
	check();
}

GTEST(woken_by_close_runs_next, 1)
{
	prepare(partner_receives);
	weft_chan_close(c);
	check();
}

/* A lone receiver is woken by a select that sends to it, too. */
GTEST(receiver_of_a_select_runs_next, 1)
{
	int v = 1;
	weft_case k[] = {
		WEFT_CASE_SEND_FROM(c, &v), WEFT_CASE_RECV(NULL, NULL)
	};

	prepare(partner_receives);
	k[0].chan = c;
	EQ(weft_select(k, 2), 0);
	check();
}

/* ---- request and answer ---- */

static void
echo(weft_chan *in, weft_chan *out)
{
	int v;

	while (weft_recv_ok(in, &v))
		weft_send(out, v + 1);
}

static void
spinner(bool *stop)
{
	while (!*stop) {
		ran++;
		weft_yield();
	}
}

/*
 * Two that talk to each other do not starve a third that yields, although
 * each is always next for the other.
 */
GTEST(talk_does_not_starve_others, 1)
{
	weft_chan *in = weft_chan_make(4, 0), *out = weft_chan_make(4, 0);
	bool stop = false;
	int rounds = 0;

	OK(weft_try_go(echo, in, out) > 0);
	OK(weft_try_go(spinner, &stop) > 0);
	while (ran < 100) {
		weft_send(in, rounds);
		EQ(weft_recv(out, int), rounds + 1);
		rounds++;
	}
	stop = true;
	weft_chan_close(in);
	OK(rounds > 0);
}
