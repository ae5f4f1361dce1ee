/* SPDX-License-Identifier: MIT */
/*
 * Senders and receivers whose contexts are cancelled all the time, by other
 * goroutines and by deadlines: what was sent is received exactly once, and
 * what was not sent is not.
 */
#include <stdlib.h>

#include <weft.h>

#include "both_outcomes.h"
#include "t.h"

enum { CHANS = 3, SIDES = 6 };

struct market {
	weft_chan *c[CHANS];
	weft_waitgroup senders, receivers, cancellers;
	weft_chan *contexts;	/* weft_context *, to be cancelled */
	int64_t next, sent, sent_sum, received, received_sum, given_up;
	bool stop;
};

/* One that is cancelled some time, by a canceller or by its deadline. */
static weft_context *
doomed(struct market *m, unsigned *seed)
{
	weft_context *ctx;

	if (rand_r(seed) % 4 == 0)
		return weft_context_make_until(NULL,
		    weft_deadline(rand_r(seed) % 50 * WEFT_US));
	ctx = weft_context_make(NULL);
	if (!weft_try_send(m->contexts, weft_context_retain(ctx))) {
		weft_context_release(ctx);
		weft_context_cancel(ctx, 0);
	}
	return ctx;
}

static void
canceller(struct market *m, unsigned seed)
{
	weft_context *ctx;

	while (weft_recv_ok(m->contexts, &ctx)) {
		if (rand_r(&seed) % 4 == 0)
			weft_yield();
		weft_context_cancel(ctx, 0);
		weft_context_release(ctx);
	}
	weft_waitgroup_done(&m->cancellers);
}

static bool
sends(struct market *m, int64_t v, weft_context *ctx, unsigned *seed)
{
	weft_case k[CHANS];
	bool done = false;

	switch (rand_r(seed) % 3) {
	case 0:
		return weft_send_context(m->c[rand_r(seed) % CHANS], v, ctx);
	case 1:
		for (int i = 0; i < CHANS; i++)
			k[i] = WEFT_CASE_SEND(m->c[i], v);
		return weft_select_context(k, CHANS, ctx) >= 0;
	default:
		WEFT_SELECT(s) {
			for (int i = 0; i < CHANS; i++)
				WEFT_ON_SEND(s, m->c[i], v) { done = true; }
			WEFT_ON_CANCEL(s, ctx) {}
		}
		return done;
	}
}

static void
sender(struct market *m, unsigned seed)
{
	while (!__atomic_load_n(&m->stop, __ATOMIC_RELAXED)) {
		int64_t v = __atomic_add_fetch(&m->next, 1, __ATOMIC_RELAXED);
		weft_context *ctx = doomed(m, &seed);

		if (sends(m, v, ctx, &seed)) {
			__atomic_add_fetch(&m->sent, 1, __ATOMIC_RELAXED);
			__atomic_add_fetch(&m->sent_sum, v, __ATOMIC_RELAXED);
		} else {
			OK(weft_context_error(ctx) != 0);
			__atomic_add_fetch(&m->given_up, 1, __ATOMIC_RELAXED);
		}
		weft_context_release(ctx);
	}
	weft_waitgroup_done(&m->senders);
}

static void
take(struct market *m, int64_t v)
{
	OK(v > 0);
	__atomic_add_fetch(&m->received, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&m->received_sum, v, __ATOMIC_RELAXED);
}

static void
receiver(struct market *m, unsigned seed)
{
	weft_chan *c = m->c[seed % CHANS];

	while (!weft_chan_is_closed(c)) {
		weft_context *ctx = doomed(m, &seed);
		int64_t v = -1;

		if (rand_r(&seed) % 2) {
			if (weft_recv_context(c, &v, ctx))
				take(m, v);
		} else {
			WEFT_SELECT(s) {
				WEFT_ON_RECV(s, c, &v) {
					if (s.ok)
						take(m, v);
				}
				WEFT_ON_CANCEL(s, ctx) { EQ(v, -1); }
			}
		}
		weft_context_release(ctx);
	}
	weft_waitgroup_done(&m->receivers);
}

static void
run(size_t cap, double seconds)
{
	struct market m = { .contexts = weft_chan_of(weft_context *, 64) };

	for (int i = 0; i < CHANS; i++)
		m.c[i] = weft_chan_of(int64_t, cap);
	weft_waitgroup_add(&m.senders, SIDES);
	weft_waitgroup_add(&m.receivers, SIDES);
	weft_waitgroup_add(&m.cancellers, 2);
	for (unsigned i = 0; i < SIDES; i++) {
		weft_go(sender, &m, 2 * i + 1);
		weft_go(receiver, &m, i);
	}
	weft_go(canceller, &m, 77u);
	weft_go(canceller, &m, 78u);
	race_and_close(seconds, &m.sent, &m.given_up, &m.stop, &m.senders, m.c,
	    CHANS);
	weft_waitgroup_wait(&m.receivers);
	weft_chan_close(m.contexts);
	weft_waitgroup_wait(&m.cancellers);
	EQ(m.received, m.sent);
	EQ(m.received_sum, m.sent_sum);
	for (int i = 0; i < CHANS; i++)
		weft_chan_release(m.c[i]);
	weft_chan_release(m.contexts);
}

GTEST(unbuffered_on_1, 1) { run(0, 0.5); }
GTEST(unbuffered_on_2, 2) { run(0, 1); }
GTEST(unbuffered_on_8, 8) { run(0, 1); }
GTEST(buffered_on_2, 2) { run(3, 0.5); }
GTEST(buffered_on_8, 8) { run(3, 1); }
