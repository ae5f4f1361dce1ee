/* SPDX-License-Identifier: MIT */
/*
 * Ordered selects and what came first. A sender sends to A, and then to B.
 * A select that finds B filled could have found A filled too, and takes A: it
 * stands first. One that looks at A, then at B, and not at both at one
 * instant, may find A still empty and B already full.
 *
 * The senders never wait for the receiver, so what is in A was sent there
 * before what is in B: when the i-th of B is taken, the i-th of A is gone.
 */
#include <errno.h>
#include <pthread.h>

#include <weft.h>

#include "plain_thread.h"
#include "t.h"

enum { ROOM = 64, LINES = 3 };

/* LINES channels, filled in order; the last one comes last. */
struct road {
	weft_chan *c[LINES];
	weft_waitgroup ended;
	bool stop;
	long sent;
	int form;
};

static bool
stopped(struct road *r)
{
	return __atomic_load_n(&r->stop, __ATOMIC_RELAXED);
}

static void
sender(struct road *r)
{
	long i;

	for (i = 0; i == 0 || !stopped(r); i++) {
		for (int k = 0; k < LINES; k++)
			weft_send(r->c[k], i);
		/* sometimes let the receiver come to wait */
		if (i % 5 == 0)
			weft_yield();
	}
	r->sent = i;
	for (int k = 0; k < LINES; k++)
		weft_chan_close(r->c[k]);
	weft_waitgroup_done(&r->ended);
}

PLAIN_THREAD(sender_plainly, sender(arg))

static int
choose(struct road *r, weft_case *k, long turn)
{
	int i;

	switch (r->form) {
	case 0:
		return weft_select_ordered(k, LINES);
	case 1:
		while ((i = weft_select_ordered(k, LINES + 1)) == LINES)
			weft_yield();
		return i;
	case 2:
		while ((i = weft_select_ordered_until(k, LINES,
		    weft_deadline(turn % 3 * 5 * WEFT_US))) == -ETIMEDOUT)
			weft_yield();
		return i;
	default:
		k[LINES] = WEFT_CASE_RECV(NULL, NULL);
		return weft_select_ordered(k, LINES + 1);
	}
}

/* Each channel by itself is in order; no channel is ahead of an earlier one. */
static void
receiver(struct road *r)
{
	long next[LINES] = {0}, v;
	weft_case k[LINES + 1];
	int open = LINES;

	for (int i = 0; i < LINES; i++)
		k[i] = WEFT_CASE_RECV(r->c[i], &v);
	k[LINES] = WEFT_CASE_DEFAULT;
	for (long turn = 0; open > 0; turn++) {
		int i = choose(r, k, turn);

		OK(i >= 0 && i < LINES);
		if (!k[i].ok) {
			k[i].chan = NULL;
			open--;
			continue;
		}
		EQ(v, next[i]);
		next[i]++;
		for (int j = 0; j < i; j++)
			OK(next[j] >= next[i]);
		if (turn % 64 == 0)
			weft_yield();
	}
	for (int i = 0; i < LINES; i++)
		EQ(next[i], r->sent);
	weft_waitgroup_done(&r->ended);
}

static void
travel(int form, bool thread)
{
	struct road r = { .form = form };
	pthread_t t;

	for (int i = 0; i < LINES; i++)
		r.c[i] = weft_chan_make(sizeof(long), ROOM);
	weft_waitgroup_add(&r.ended, 2);
	OK(weft_try_go(receiver, &r) > 0);
	if (thread)
		EQ(pthread_create(&t, NULL, sender_plainly, &r), 0);
	else
		OK(weft_try_go(sender, &r) > 0);
	for (double end = t_now() + t_share(0.1); t_more(0) || t_now() < end;)
		weft_yield();
	__atomic_store_n(&r.stop, true, __ATOMIC_RELAXED);
	weft_waitgroup_wait(&r.ended);
	OK(r.sent > 0);
	if (thread)
		pthread_join(t, NULL);
	for (int i = 0; i < LINES; i++)
		weft_chan_release(r.c[i]);
}

static void
travels(bool thread)
{
	for (int form = 0; form < 4; form++)
		travel(form, thread);
}

GTEST(first_filled_first_taken_on_1, 1) { travels(false); }
GTEST(first_filled_first_taken_on_2, 2) { travels(false); }
GTEST(first_filled_first_taken_on_4, 4) { travels(false); }
GTEST(first_filled_first_taken_on_8, 8) { travels(false); }
GTEST(filled_by_a_thread_on_2, 2) { travels(true); }

/* ---- the same from round to round, so that it is empty each time ---- */

struct round {
	weft_chan *a, *b, *go;
};

static void
fill_in_order(struct round *r)
{
	long i;

	while (weft_recv_ok(r->go, &i)) {
		weft_send(r->a, i);
		weft_send(r->b, i);
	}
}

static void
rounds(void)
{
	struct round r = {
		weft_chan_make(sizeof(long), 1),
		weft_chan_make(sizeof(long), 1),
		weft_chan_make(sizeof(long), 0)
	};

	OK(weft_try_go(fill_in_order, &r) > 0);
	for (long i = t_scale(30000); i > 0; i--) {
		long v[2] = { -1, -1 };
		weft_case k[] = {
			WEFT_CASE_RECV(r.a, &v[0]), WEFT_CASE_RECV(r.b, &v[1]),
			WEFT_CASE_DEFAULT
		};
		int got, n = 0;

		weft_send(r.go, i);
		while ((got = weft_select_ordered(k, 3)) == 2)
			if (++n % 100 == 0)
				weft_yield();
		EQ(got, 0);
		EQ(v[0], i);
		EQ(weft_select_ordered(k, 2), 1);
		EQ(v[1], i);
	}
	weft_chan_close(r.go);
	while (weft_goroutines() > 1)
		weft_yield();
	weft_chan_release(r.a);
	weft_chan_release(r.b);
	weft_chan_release(r.go);
}

GTEST(each_round_on_1, 1) { rounds(); }
GTEST(each_round_on_2, 2) { rounds(); }
GTEST(each_round_on_4, 4) { rounds(); }
