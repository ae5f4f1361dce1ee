/* SPDX-License-Identifier: MIT */
/*
 * Timers that are not needed any more take no memory: a million of each kind,
 * gone, leave the process as it was.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <weft.h>

#include "plain_thread.h"
#include "t.h"
#include "timer_expect.h"

/* A sanitizer keeps what was freed for a while. */
enum { MEASURED = !T_SANITIZED };

/* A million of the smallest leak there can be is more. */
enum { ALLOWED = 6 << 20 };

static void nothing(void *arg) { (void)arg; }

/*
 * Runs it in four parts; after the first the process has what it needs. The
 * last parts must not need more.
 */
static void
leaves_nothing(void (*fn)(long n))
{
	long n = t_scale(1000000) / 4 + 1;
	int64_t before, after;

	fn(n);
	before = t_resident();
	for (int i = 0; i < 3; i++)
		fn(n);
	after = t_resident();
	if (MEASURED && after - before > ALLOWED)
		EQ(after, before);
}

static void
make_and_free(long n)
{
	while (n-- > 0)
		switch (n % 4) {
		case 0: weft_timer_free(weft_timer_make(HOUR)); break;
		case 1: weft_timer_free(weft_ticker_make(HOUR)); break;
		case 2: weft_timer_free(weft_timer_make(0)); break;
		case 3:
			weft_timer_free(weft_after_func(HOUR, nothing, NULL));
			break;
		}
}

GTEST(made_and_freed, 2) { leaves_nothing(make_and_free); }

static void
release_after(long n)
{
	while (n-- > 0)
		weft_chan_release(weft_after(n % 8 ? HOUR : n % 1000));
}

GTEST(after_released, 2) { leaves_nothing(release_after); }

static void
receive_after(long n)
{
	for (n /= 4; n > 0; n--) {
		weft_chan *c = weft_after(0);

		weft_chan_recv(c, NULL);
		weft_chan_release(c);
	}
}

GTEST(after_received, 2) { leaves_nothing(receive_after); }

/* They are left alone, and fire or have fired; then they are let go. */
static void
release_fired(long n)
{
	enum { BATCH = 1000 };
	static weft_chan *c[BATCH];

	for (; n > 0; n -= BATCH) {
		for (int i = 0; i < BATCH; i++)
			c[i] = weft_after(i % 100 * WEFT_US);
		weft_sleep(50 * WEFT_US);
		for (int i = 0; i < BATCH; i++)
			weft_chan_release(c[i]);
	}
}

GTEST(after_fired_and_released, 2) { leaves_nothing(release_fired); }

static void
set_and_stop(long n)
{
	weft_timer *t = weft_timer_make(HOUR);

	while (n-- > 0) {
		weft_timer_stop(t);
		weft_timer_reset(t, HOUR + n);
	}
	weft_timer_free(t);
}

GTEST(set_and_stopped, 2) { leaves_nothing(set_and_stop); }

static void
set_again(long n)
{
	weft_timer *t = weft_after_func(HOUR, nothing, NULL);

	while (n-- > 0)
		weft_timer_reset(t, HOUR + n);
	weft_timer_free(t);
}

GTEST(set_again_and_again, 2) { leaves_nothing(set_again); }

/* Many at once, stopped in the order of making or against it. */
static void
stop_many(long n)
{
	enum { BATCH = 20000 };
	static weft_timer *t[BATCH];

	for (; n > 0; n -= BATCH) {
		for (int i = 0; i < BATCH; i++)
			t[i] = weft_timer_make(HOUR + i * 7919 % BATCH);
		for (int i = 0; i < BATCH; i++)
			OK(weft_timer_stop(t[n % 2 ? i : BATCH - 1 - i]));
		for (int i = 0; i < BATCH; i++)
			weft_timer_free(t[i]);
	}
}

GTEST(many_stopped, 2) { leaves_nothing(stop_many); }

/* One is far away at the head of the queue, and all behind it are stopped. */
static void
stop_behind(long n)
{
	weft_timer *head = weft_timer_make(HOUR / 2);

	make_and_free(n);
	set_and_stop(n);
	OK(weft_timer_stop(head));
	weft_timer_free(head);
}

GTEST(stopped_behind_another, 1) { leaves_nothing(stop_behind); }

/* ---- by a thread, while weft's own threads sleep ---- */

static void
all_of_it(void)
{
	leaves_nothing(make_and_free);
	leaves_nothing(release_after);
	leaves_nothing(set_and_stop);
	leaves_nothing(set_again);
}

GTEST(by_a_thread, 2) { thread_call_parked(all_of_it); }

/* ---- set by one, stopped by another ---- */

static void
stop_what_comes(weft_chan *in, weft_waitgroup *wg)
{
	weft_timer *t;

	while (weft_recv_ok(in, &t)) {
		OK(weft_timer_stop(t));
		weft_timer_free(t);
	}
	weft_waitgroup_done(wg);
}

static void
hand_over(long n)
{
	weft_chan *c = weft_chan_make(sizeof(weft_timer *), 100);
	weft_waitgroup wg = {0};

	weft_waitgroup_add(&wg, 3);
	for (int i = 0; i < 3; i++)
		weft_go(stop_what_comes, c, &wg);
	for (n /= 2; n > 0; n--)
		weft_send(c, weft_timer_make(HOUR));
	weft_chan_close(c);
	weft_waitgroup_wait(&wg);
	weft_chan_release(c);
}

GTEST(stopped_by_others, 4) { leaves_nothing(hand_over); }

/* ---- deadlines that did not come ---- */

static void
ask(long n)
{
	weft_chan *question = weft_chan_make(0, 0);
	weft_chan *reply = weft_chan_make(0, 0);

	weft_go(answer_requests, question, weft_chan_retain(reply));
	for (n /= 2; n > 0; n--) {
		weft_chan_send(question, NULL);
		OK(weft_chan_recv_until(reply, NULL, weft_deadline(HOUR)));
	}
	weft_chan_close(question);
	while (weft_goroutines() > 1)
		weft_yield();
	weft_chan_release(reply);
}

GTEST(deadlines_not_reached, 1) { leaves_nothing(ask); }
GTEST(deadlines_not_reached_on_four, 4) { leaves_nothing(ask); }

/* ---- sleepers ---- */

static void
sleep_short(weft_waitgroup *wg)
{
	weft_sleep(1);
	weft_waitgroup_done(wg);
}

static void
sleep_all(long n)
{
	weft_waitgroup wg = {0};

	for (n /= 4; n > 0; n -= 100) {
		weft_waitgroup_add(&wg, 100);
		for (int i = 0; i < 100; i++)
			weft_go(sleep_short, &wg);
		weft_waitgroup_wait(&wg);
	}
}

GTEST(slept, 2) { leaves_nothing(sleep_all); }
