/* SPDX-License-Identifier: MIT */
/*
 * Timers that make no sense; and when the last one is gone and all wait, that
 * is a deadlock again.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>

#include <weft.h>

#include "plain_thread.h"
#include "t.h"

#define ASLEEP "all goroutines are asleep"
#define HOUR (3600 * WEFT_SECOND)

/* ---- periods ---- */

DIES(ticker_of_zero, 1, "ticker: period of 0 ns")
{
	weft_ticker_make(0);
}

DIES(ticker_of_less, 2, "ticker: period of -1 ns")
{
	weft_ticker_make(-1);
}

DIES(ticker_of_least, 2, "ticker: period of -9223372036854775808 ns")
{
	weft_ticker_make(INT64_MIN);
}

DIES(ticker_without_runtime, 0, "ticker: period of ")
{
	weft_ticker_make(0);
}

PLAIN_THREAD(make_plainly, weft_ticker_make(0))

DIES(ticker_of_zero_on_a_thread, 1, "ticker: period of ")
{
	thread_run(make_plainly, NULL);
}

DIES(ticker_reset_to_zero, 1, "ticker: period of ")
{
	weft_timer *t = weft_ticker_make(HOUR);

	weft_timer_reset(t, 0);
}

DIES(ticker_reset_to_less, 1, "ticker: period of ")
{
	weft_timer *t = weft_ticker_make(1);

	weft_timer_stop(t);
	weft_timer_reset(t, -1);
}

/* ---- null ---- */

DIES(after_func_null, 1, "null function")
{
	weft_after_func(HOUR, NULL, NULL);
}

/* ---- freed while a goroutine waits ---- */

static int waiting;

static void
wait_on(weft_chan *c)
{
	__atomic_store_n(&waiting, 1, __ATOMIC_RELEASE);
	weft_chan_recv(c, NULL);
}

static void
free_under(weft_timer *t)
{
	weft_go(wait_on, weft_timer_chan(t));
	while (!__atomic_load_n(&waiting, __ATOMIC_ACQUIRE))
		weft_yield();
	weft_sleep(10 * WEFT_MS);
	weft_timer_free(t);
}

DIES(timer_freed_under_a_waiter, 1, "wait")
{
	free_under(weft_timer_make(HOUR));
}

DIES(ticker_freed_under_a_waiter, 2, "wait")
{
	free_under(weft_ticker_make(HOUR));
}

PLAIN_THREAD(wait_plainly, wait_on(arg))

DIES(timer_freed_under_a_waiting_thread, 1, "wait")
{
	weft_timer *t = weft_timer_make(HOUR);
	pthread_t p;

	EQ(pthread_create(&p, NULL, wait_plainly, weft_timer_chan(t)), 0);
	while (!__atomic_load_n(&waiting, __ATOMIC_ACQUIRE))
		weft_yield();
	weft_sleep(50 * WEFT_MS);
	weft_timer_free(t);
}

static void
select_on(weft_chan *c)
{
	weft_chan *other = weft_chan_make(8, 0);
	weft_case cases[] = {
		WEFT_CASE_RECV(other, NULL), WEFT_CASE_RECV(c, NULL)
	};

	__atomic_store_n(&waiting, 1, __ATOMIC_RELEASE);
	weft_select(cases, 2);
}

DIES(timer_freed_under_a_select, 1, "wait")
{
	weft_timer *t = weft_timer_make(HOUR);

	weft_go(select_on, weft_timer_chan(t));
	while (!__atomic_load_n(&waiting, __ATOMIC_ACQUIRE))
		weft_yield();
	weft_sleep(10 * WEFT_MS);
	weft_timer_free(t);
}

/* ---- the last timer is gone ---- */

static weft_waitgroup never, all;

static void
need_kernel(void)
{
	if (t_emulated())
		t_skip("an emulator does not count threads");
}

static void
wait_for_ever(void)
{
	need_kernel();
	weft_waitgroup_add(&never, 1);
	weft_waitgroup_wait(&never);
}

static void tell(void *arg) { (void)arg; weft_waitgroup_done(&all); }

DIES(after_a_sleep, 1, ASLEEP)
{
	weft_sleep(20 * WEFT_MS);
	wait_for_ever();
}

DIES(after_a_sleep_on_four, 4, ASLEEP)
{
	weft_sleep(200 * WEFT_MS);
	wait_for_ever();
}

static void
sleep_and_end(int64_t ns)
{
	weft_sleep(ns);
}

/* Main waits for ever first; they end one after the other. */
DIES(when_the_last_sleeper_ends, 2, ASLEEP)
{
	for (int i = 0; i < 10; i++)
		weft_go(sleep_and_end, i * 30 * WEFT_MS);
	wait_for_ever();
}

static void
sleep_and_wait(int64_t ns)
{
	weft_sleep(ns);
	weft_waitgroup_wait(&never);
}

DIES(when_the_last_sleeper_waits, 4, ASLEEP)
{
	weft_waitgroup_add(&never, 1);
	for (int i = 0; i < 10; i++)
		weft_go(sleep_and_wait, i * 30 * WEFT_MS);
	need_kernel();
	weft_waitgroup_wait(&never);
}

DIES(after_a_func, 2, ASLEEP)
{
	weft_waitgroup_add(&all, 1);
	weft_after_func(20 * WEFT_MS, tell, NULL);
	weft_waitgroup_wait(&all);
	wait_for_ever();
}

/* Its goroutine starts when main has waited for a while. */
DIES(when_the_last_func_ends, 2, ASLEEP)
{
	weft_waitgroup_add(&all, 1);
	weft_after_func(300 * WEFT_MS, tell, NULL);
	wait_for_ever();
}

DIES(after_a_stop, 1, ASLEEP)
{
	weft_timer *t = weft_after_func(HOUR, tell, NULL);

	weft_sleep(5 * WEFT_MS);
	weft_timer_stop(t);
	wait_for_ever();
}

DIES(after_a_free, 4, ASLEEP)
{
	weft_timer *t[100];

	for (int i = 0; i < 100; i++)
		t[i] = i % 2 ? weft_after_func(HOUR, tell, NULL) :
		    weft_ticker_make(WEFT_MS);
	weft_sleep(5 * WEFT_MS);
	for (int i = 0; i < 100; i++)
		weft_timer_free(t[i]);
	wait_for_ever();
}

DIES(after_a_released_after, 2, ASLEEP)
{
	weft_chan_release(weft_after(HOUR));
	weft_chan_release(weft_after(WEFT_MS));
	wait_for_ever();
}

DIES(after_a_deadline, 2, ASLEEP)
{
	weft_chan *c = weft_chan_make(8, 0);

	EQ(weft_chan_recv_until(c, NULL, weft_deadline(10 * WEFT_MS)), false);
	wait_for_ever();
}

static void
send_one(weft_chan *c)
{
	weft_chan_send(c, NULL);
}

/* The deadline was an hour away and did not come. */
DIES(after_a_deadline_kept, 2, ASLEEP)
{
	weft_chan *c = weft_chan_make(8, 0);

	weft_go(send_one, c);
	EQ(weft_chan_recv_until(c, NULL, weft_deadline(HOUR)), true);
	wait_for_ever();
}

/* A goroutine waits on a timer that has been stopped: nothing can wake it. */
DIES(waiting_on_a_stopped_timer, 2, ASLEEP)
{
	weft_timer *t = weft_timer_make(HOUR);

	weft_timer_stop(t);
	need_kernel();
	weft_chan_recv(weft_timer_chan(t), NULL);
}

/* It gives one value only. */
DIES(waiting_for_a_second_value, 2, ASLEEP)
{
	weft_timer *t = weft_timer_make(10 * WEFT_MS);

	need_kernel();
	weft_chan_recv(weft_timer_chan(t), NULL);
	weft_chan_recv(weft_timer_chan(t), NULL);
}

/* Timers were on all of them, and then the processors went. */
DIES(after_resizing, 8, ASLEEP)
{
	for (int i = 0; i < 100; i++)
		weft_go(sleep_and_end, i * WEFT_MS);
	weft_set_procs(2);
	weft_sleep(20 * WEFT_MS);
	weft_set_procs(1);
	wait_for_ever();
}

/* A goroutine that sleeps for ever has no timer that could wake it. */
static void
sleep_for_ever(int64_t when)
{
	weft_sleep_until(when);
}

DIES(asleep_for_ever, 2, ASLEEP)
{
	weft_go(sleep_for_ever, WEFT_NEVER);
	need_kernel();
	weft_sleep(INT64_MAX);
}

DIES(asleep_for_ever_in_a_receive, 1, ASLEEP)
{
	weft_timer *t = weft_timer_make(INT64_MAX);

	need_kernel();
	weft_chan_recv_until(weft_timer_chan(t), NULL, WEFT_NEVER);
}

/* Nor is one that was stopped a hope for those. */
DIES(asleep_for_ever_beside_a_stopped_one, 1, ASLEEP)
{
	weft_timer *t = weft_after_func(HOUR, tell, NULL);

	weft_go(sleep_for_ever, WEFT_NEVER);
	weft_sleep(WEFT_MS);
	weft_timer_stop(t);
	wait_for_ever();
}
