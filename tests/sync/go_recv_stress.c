/* SPDX-License-Identifier: MIT */
/*
 * Goroutines that begin with a receive, among all other kinds of receivers and
 * senders, while the number of procs changes and channels are closed: every
 * value that was sent is received once, and every goroutine begins.
 */
#include <stdlib.h>

#include <weft.h>

#include "t.h"

enum { SENDERS = 4, RECEIVERS = 4 };

struct round {
	weft_chan *c, *other;
	weft_waitgroup senders, receivers, lazy;
	int64_t sent, received, values, lazy_begun, lazy_spawned;
};

struct late {
	struct round *r;
	int64_t v;
	bool ok;
};

static void
add(int64_t *to, int64_t n)
{
	__atomic_add_fetch(to, n, __ATOMIC_RELAXED);
}

static void
note_value(struct round *r, int64_t v)
{
	add(&r->received, v);
	add(&r->values, 1);
}

/* It begins again and again until the channel is closed. */
static void
late_begins(struct late *l)
{
	struct round *r = l->r;

	add(&r->lazy_begun, 1);
	if (l->ok) {
		note_value(r, l->v);
		if (l->v % 3 == 0 && weft_try_recv(r->c, &l->v))
			note_value(r, l->v);
		add(&r->lazy_spawned, 1);
		OK(weft_go_recv(r->c, &l->v, &l->ok, late_begins, l) > 0);
		return;
	}
	EQ(l->v, 0);
	free(l);
	weft_waitgroup_done(&r->lazy);
}

static void
spawn_late(struct round *r)
{
	struct late *l = malloc(sizeof *l);

	*l = (struct late){ r, -1, false };
	add(&r->lazy_spawned, 1);
	OK(weft_go_recv(r->c, &l->v, &l->ok, late_begins, l) > 0);
}

static void
receiver(struct round *r, unsigned seed)
{
	int64_t v;
	bool ok = true;

	while (ok) {
		bool got = false;

		switch (rand_r(&seed) % 4) {
		case 0:
			got = ok = weft_recv_ok(r->c, &v);
			break;
		case 1:
			got = weft_try_recv(r->c, &v);
			break;
		case 2:
			got = weft_recv_until(r->c, &v,
			    weft_deadline(rand_r(&seed) % 50 * WEFT_US));
			break;
		default:
			WEFT_SELECT(s) {
				WEFT_ON_RECV(s, r->c, &v) { got = ok = s.ok; }
				WEFT_ON_RECV(s, r->other, NULL) { }
			}
		}
		if (got)
			note_value(r, v);
		else
			ok = ok && !weft_chan_is_closed(r->c);
	}
	weft_waitgroup_done(&r->receivers);
}

static bool
send_somehow(struct round *r, int64_t v, unsigned *seed)
{
	bool sent = true;

	switch (rand_r(seed) % 4) {
	case 0:
		weft_send(r->c, v);
		break;
	case 1:
		return weft_try_send(r->c, v);
	case 2:
		return weft_send_until(r->c, v,
		    weft_deadline(rand_r(seed) % 50 * WEFT_US));
	default:
		WEFT_SELECT(s) {
			WEFT_ON_SEND(s, r->c, v) { }
			WEFT_ON_DEFAULT(s) { sent = false; }
		}
	}
	return sent;
}

static void
sender(struct round *r, unsigned seed, long n)
{
	for (long i = 1; i <= n; i++) {
		if (send_somehow(r, i, &seed))
			add(&r->sent, i);
		if (rand_r(&seed) % 16 == 0)
			weft_yield();
	}
	weft_waitgroup_done(&r->senders);
}

static void
one_round(unsigned *seed)
{
	struct round r = { .c = weft_chan_of(int64_t, rand_r(seed) % 4),
	    .other = weft_chan_of(int64_t, 0) };
	int n_late = 1 + rand_r(seed) % 20, n_recv = rand_r(seed) % RECEIVERS;

	weft_waitgroup_add(&r.senders, SENDERS);
	weft_waitgroup_add(&r.receivers, n_recv);
	weft_waitgroup_add(&r.lazy, n_late);
	for (int i = 0; i < n_late; i++)
		spawn_late(&r);
	for (int i = 0; i < n_recv; i++)
		weft_go(receiver, &r, (unsigned)rand_r(seed));
	for (int i = 0; i < SENDERS; i++)
		weft_go(sender, &r, (unsigned)rand_r(seed), t_scale(500));
	weft_set_procs(1 + rand_r(seed) % 8);
	weft_waitgroup_wait(&r.senders);
	weft_chan_close(r.c);
	weft_waitgroup_wait(&r.lazy);
	weft_waitgroup_wait(&r.receivers);
	EQ(r.received, r.sent);
	EQ(r.lazy_begun, r.lazy_spawned);
	OK(r.sent == 0 || r.values > 0);
	weft_chan_release(r.c);
	weft_chan_release(r.other);
}

GTEST(all_kinds_of_receivers, 4)
{
	unsigned seed = 1;

	while (t_more(1.5))
		one_round(&seed);
}

/* ---- begun at a time, while the procs come and go ---- */

static int64_t due, fired;
static weft_waitgroup times;

static void
fire(int64_t when)
{
	OK(weft_now() >= when);
	add(&fired, 1);
	weft_waitgroup_done(&times);
}

GTEST(times_and_procs, 4)
{
	unsigned seed = 7;

	while (t_more(1.0)) {
		int n = (int)t_scale(2000);

		weft_waitgroup_add(&times, n);
		for (int i = 0; i < n; i++) {
			int64_t when = weft_deadline(rand_r(&seed) % 2000 *
			    WEFT_US);

			due++;
			OK(weft_go_at(when, fire, when) > 0);
			if (i % 500 == 0)
				weft_set_procs(1 + rand_r(&seed) % 8);
		}
		weft_waitgroup_wait(&times);
		EQ(fired, due);
	}
}

/* ---- the runtime ends while they begin ---- */

static weft_chan *last;
static int64_t last_v[64];

static void
again(int64_t *v)
{
	weft_go_recv(last, v, NULL, again, v);
}

static void
feed(void)
{
	for (;;)
		weft_send(last, 1);
}

static int
ends(int argc, char **argv)
{
	(void)argc, (void)argv;
	last = weft_chan_of(int64_t, 1);
	for (int i = 0; i < 64; i++)
		again(&last_v[i]);
	for (int i = 0; i < 4; i++) {
		weft_go(feed);
		weft_go_after(i * WEFT_MS, feed);
	}
	weft_sleep(5 * WEFT_MS);
	return 3;
}

TEST(end_of_the_runtime)
{
	EQ(weft_run(ends, 0, NULL), 3);
}
