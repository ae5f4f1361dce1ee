/* SPDX-License-Identifier: MIT */
/*
 * Timers of processors that have no time: all of them busy for ever, one of
 * them stuck, or some of them taken away.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include <weft.h>

#include "t.h"
#include "timer_expect.h"

static int stop;

static bool
stopped(void)
{
	return __atomic_load_n(&stop, __ATOMIC_ACQUIRE);
}

static void
stop_all(void)
{
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	while (weft_goroutines() > 1)
		weft_yield();
}

/* ---- everybody has something to do, always ---- */

static void
ping(weft_chan *there, weft_chan *back, bool call)
{
	while (!stopped()) {
		weft_chan_send(there, NULL);
		weft_chan_recv(back, NULL);
		if (call)
			getppid();
	}
	weft_chan_close(there);
}

static void
yielder(void)
{
	while (!stopped())
		weft_yield();
}

static void
respawn(void)
{
	if (!stopped())
		weft_go(respawn);
}

enum load { PING, PING_AND_CALL, YIELD, RESPAWN, LOADS };

static void
load(enum load what, int n)
{
	for (int i = 0; i < n; i++) {
		weft_chan *there, *back;

		switch (what) {
		case YIELD: weft_go(yielder); break;
		case RESPAWN: weft_go(respawn); break;
		default:
			there = weft_chan_make(0, 0);
			back = weft_chan_make(0, 0);
			weft_go(ping, there, back, what == PING_AND_CALL);
			weft_go(answer_requests, there, back);
		}
	}
}

/* It comes, and though the load never ends it comes within two seconds. */
static void
soon_after(int64_t due)
{
	int64_t late = weft_now() - due;

	OK(late >= 0);
	if (late > 2 * WEFT_SECOND)
		EQ(late, 0);
}

static void done(void *wg) { weft_waitgroup_done(wg); }

static void
all_kinds_fire(void)
{
	weft_chan *silent = weft_chan_make(0, 0);
	weft_waitgroup wg = {0};
	int64_t due = weft_deadline(20 * WEFT_MS);
	weft_timer *t = weft_timer_make(20 * WEFT_MS);

	weft_chan_recv(weft_timer_chan(t), NULL);
	soon_after(due);
	weft_timer_free(t);

	due = weft_deadline(20 * WEFT_MS);
	weft_sleep(20 * WEFT_MS);
	soon_after(due);

	due = weft_deadline(20 * WEFT_MS);
	weft_waitgroup_add(&wg, 1);
	t = weft_after_func(20 * WEFT_MS, done, &wg);
	weft_waitgroup_wait(&wg);
	soon_after(due);
	weft_timer_free(t);

	due = weft_deadline(20 * WEFT_MS);
	EQ(weft_chan_recv_until(silent, NULL, due), false);
	soon_after(due);
	weft_chan_release(silent);

	due = weft_deadline(40 * WEFT_MS);
	t = weft_ticker_make(10 * WEFT_MS);
	for (int i = 0; i < 4; i++)
		weft_chan_recv(weft_timer_chan(t), NULL);
	soon_after(due);
	weft_timer_free(t);
}

static void
fair(enum load what, int n)
{
	load(what, n);
	all_kinds_fire();
	stop_all();
}

GTEST(fair_among_pings_on_one, 1) { fair(PING, 1); }
GTEST(fair_among_pings_on_two, 2) { fair(PING, 4); }
GTEST(fair_among_pings_on_four, 4) { fair(PING, 8); }
GTEST(fair_among_calls_on_one, 1) { fair(PING_AND_CALL, 2); }
GTEST(fair_among_calls_on_two, 2) { fair(PING_AND_CALL, 4); }
GTEST(fair_among_calls_on_four, 4) { fair(PING_AND_CALL, 8); }
GTEST(fair_among_yielders_on_one, 1) { fair(YIELD, 1); }
GTEST(fair_among_yielders_on_two, 2) { fair(YIELD, 10); }
GTEST(fair_among_yielders_on_four, 4) { fair(YIELD, 100); }

#ifdef WEFT_HARD
enum { SPAWNERS_YIELD = 1 };
#else
enum { SPAWNERS_YIELD = 0 };
#endif

/* Where each one yields after its spawn they become ever more. */
static void
fair_among_spawners(int n)
{
	if (SPAWNERS_YIELD)
		t_skip("hard mode has every spawner yield");
	fair(RESPAWN, n);
}

GTEST(fair_among_spawners_on_one, 1) { fair_among_spawners(1); }
GTEST(fair_among_spawners_on_two, 2) { fair_among_spawners(4); }

/* All of it, and a thread that is not weft's wants timers too. */
static void *
all_kinds_plainly(void *arg)
{
	all_kinds_fire();
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	return arg;
}

GTEST(fair_to_a_thread, 2)
{
	pthread_t t;

	for (int i = 0; i < LOADS - SPAWNERS_YIELD; i++)
		load(i, 3);
	EQ(pthread_create(&t, NULL, all_kinds_plainly, NULL), 0);
	while (!stopped())
		weft_yield();
	pthread_join(t, NULL);
	stop_all();
}

/* The running goroutines do something for a while before they let others. */
static void
work(void)
{
	int64_t end = weft_now() + 5 * WEFT_MS;

	while (weft_now() < end && !stopped())
		;
}

static int turns;

static void
worker(void)
{
	while (!stopped()) {
		work();
		__atomic_add_fetch(&turns, 1, __ATOMIC_RELAXED);
		weft_yield();
	}
}

static void
fair_among_workers(int n, bool thread)
{
	pthread_t t;

	for (int i = 0; i < n; i++)
		weft_go(worker);
	if (thread) {
		EQ(pthread_create(&t, NULL, all_kinds_plainly, NULL), 0);
		worker();
		pthread_join(t, NULL);
	} else {
		all_kinds_fire();
	}
	stop_all();
}

GTEST(fair_among_workers_on_one, 1) { fair_among_workers(2, false); }
GTEST(fair_among_workers_on_two, 2) { fair_among_workers(4, false); }
GTEST(fair_to_a_thread_among_workers_on_one, 1) { fair_among_workers(1, true); }
GTEST(fair_to_a_thread_among_workers_on_two, 2) { fair_among_workers(3, true); }

/*
 * Deadlines long past, of all eight kinds of waits: each is over after a few
 * turns of the others.
 */
static void
wait_till_past(int64_t when)
{
	weft_chan *c = weft_chan_make(0, 0);
	weft_case cases[] = {
		WEFT_CASE_RECV(c, NULL), WEFT_CASE_SEND_FROM(c, NULL)
	};
	weft_event e = {0};
	weft_sem none = {0};
	weft_mutex m = {0};
	weft_cond cond = {0};
	int64_t start = weft_now();
	int before = __atomic_load_n(&turns, __ATOMIC_RELAXED);

	EQ(weft_chan_recv_until(c, NULL, when), false);
	EQ(weft_chan_send_until(c, NULL, when), false);
	EQ(weft_select_until(cases, 2, when), -ETIMEDOUT);
	EQ(weft_select_until(NULL, 0, when), -ETIMEDOUT);
	OK(!weft_event_wait_until(&e, when));
	OK(!weft_sem_acquire_until(&none, 1, when));
	weft_mutex_lock(&m);
	OK(!weft_cond_wait_until(&cond, &m, when));
	weft_mutex_unlock(&m);
	weft_sleep_until(when);
	soon_after(start);
	OK(__atomic_load_n(&turns, __ATOMIC_RELAXED) - before <= 80);
	weft_chan_release(c);
}

static void
past_among_workers(int n)
{
	static const int64_t past[] = { -1, -2, INT64_MIN, 1 };

	for (int i = 0; i < n; i++)
		weft_go(worker);
	for (int i = 0; i < 3; i++)
		weft_yield();
	for (int i = 0; i < 4; i++)
		wait_till_past(past[i]);
	stop_all();
}

GTEST(the_past_is_over_among_workers_on_one, 1) { past_among_workers(2); }
GTEST(the_past_is_over_among_workers_on_two, 2) { past_among_workers(4); }

/*
 * At each switch a timer is due, and yet goroutines that wait to start, or
 * were woken, do get their turn among those that only yield.
 */
static void
start_up(weft_chan *told, weft_chan *c)
{
	work();
	weft_chan_send(told, NULL);
	weft_chan_recv(c, NULL);
	work();
	weft_chan_send(told, NULL);
}

static void
start_five(weft_chan *told, weft_chan *c)
{
	for (int i = 0; i < 5; i++)
		weft_go(start_up, told, c);
	work();
}

static void
hear_of_all(weft_chan *told)
{
	int64_t when = weft_deadline(10 * WEFT_SECOND);

	for (int i = 0; i < 5; i++)
		EQ(weft_chan_recv_until(told, NULL, when), true);
}

static void
starve(int64_t period, int workers)
{
	weft_timer *t = weft_ticker_make(period);
	weft_chan *c = weft_chan_make(0, 0), *told = weft_chan_make(0, 10);

	for (int i = 0; i < workers; i++)
		weft_go(worker);
	for (int i = 0; i < 3; i++)
		weft_yield();
	weft_go(start_five, told, c);
	hear_of_all(told);
	weft_chan_close(c);
	hear_of_all(told);
	stop_all();
	weft_timer_free(t);
	weft_chan_release(c);
	weft_chan_release(told);
}

GTEST(ticking_starves_none, 1) { starve(1, 2); }
GTEST(ticking_starves_none_among_workers, 1) { starve(WEFT_MS, 2); }
GTEST(ticking_starves_none_on_two, 2) { starve(WEFT_MS, 3); }

/* ---- one processor is stuck ---- */

enum kind { CHAN, FUNC, SLEEP };

static struct stuck {
	weft_chan *come;	/* what fires sends here */
	weft_timer *t;
	int64_t due;
	int main_waits, set, over;
} stuck;

static void
come(void *arg)
{
	(void)arg;
	weft_send(stuck.come, weft_now());
}

static void
sleep_and_come(void)
{
	weft_sleep_until(stuck.due);
	come(NULL);
}

static void
set_one(enum kind kind)
{
	stuck.due = weft_deadline(20 * WEFT_MS);
	switch (kind) {
	case CHAN: weft_timer_reset(stuck.t, 20 * WEFT_MS); break;
	case FUNC:
		stuck.t = weft_after_func(20 * WEFT_MS, come, NULL);
		break;
	case SLEEP:
		weft_go(sleep_and_come);
		weft_yield();
		break;
	}
}

static void
spin(int64_t ns)
{
	int64_t end = weft_now() + ns;

	while (weft_now() < end && !__atomic_load_n(&stuck.over,
	    __ATOMIC_ACQUIRE))
		;
}

/* Sets it and does not come back until it has fired, or for three seconds. */
static void
hog(enum kind kind, bool late)
{
	while (!__atomic_load_n(&stuck.main_waits, __ATOMIC_ACQUIRE))
		sched_yield();
	if (late)
		spin(20 * WEFT_MS);
	set_one(kind);
	__atomic_store_n(&stuck.set, 1, __ATOMIC_RELEASE);
	spin(3 * WEFT_SECOND);
	OK(__atomic_load_n(&stuck.over, __ATOMIC_ACQUIRE));
}

/*
 * Main waits on the other processor, which may have slept already when the
 * timer is set, or sees it on its way there, or has others to run.
 */
static void
one_is_stuck(enum kind kind, bool late, int others)
{
	int64_t at;

	stuck.come = weft_chan_make(8, 0);
	stuck.t = kind == CHAN ? weft_timer_make(HOUR) : NULL;
	weft_go(hog, kind, late);
	load(YIELD, others);
	__atomic_store_n(&stuck.main_waits, 1, __ATOMIC_RELEASE);
	while (!late && !__atomic_load_n(&stuck.set, __ATOMIC_ACQUIRE))
		sched_yield();
	at = weft_recv(kind == CHAN ? weft_timer_chan(stuck.t) : stuck.come,
	    int64_t);
	__atomic_store_n(&stuck.over, 1, __ATOMIC_RELEASE);
	stop_all();
	OK(at >= stuck.due);
	if (at - stuck.due > WEFT_SECOND)
		EQ(at - stuck.due, 0);
	weft_timer_free(stuck.t);
	weft_chan_release(stuck.come);
}

GTEST(chan_of_a_stuck_one, 2) { one_is_stuck(CHAN, false, 0); }
GTEST(func_of_a_stuck_one, 2) { one_is_stuck(FUNC, false, 0); }
GTEST(sleeper_of_a_stuck_one, 2) { one_is_stuck(SLEEP, false, 0); }
GTEST(chan_set_while_others_sleep, 2) { one_is_stuck(CHAN, true, 0); }
GTEST(func_set_while_others_sleep, 2) { one_is_stuck(FUNC, true, 0); }
GTEST(sleep_begun_while_others_sleep, 2) { one_is_stuck(SLEEP, true, 0); }
GTEST(func_set_while_many_sleep, 8) { one_is_stuck(FUNC, true, 0); }
GTEST(chan_of_a_stuck_one_among_busy, 2) { one_is_stuck(CHAN, true, 1); }
GTEST(func_of_a_stuck_one_among_busy, 2) { one_is_stuck(FUNC, true, 4); }
GTEST(sleeper_of_a_stuck_one_among_busy, 4) { one_is_stuck(SLEEP, true, 9); }

/* ---- processors come and go ---- */

enum { PROCS = 8, EACH = 300, ALL = PROCS * EACH };

static struct shot {
	weft_timer *t;
	int64_t due;
	int fired;
} shots[ALL];
static weft_waitgroup setters, fired;
static int present;

static void
shot_fires(void *arg)
{
	struct shot *s = arg;

	if (weft_now() < s->due)
		t_fail(__FILE__, __LINE__, "fired early");
	__atomic_add_fetch(&s->fired, 1, __ATOMIC_RELAXED);
	weft_waitgroup_done(&fired);
}

static void
shot_sleeps(struct shot *s)
{
	weft_sleep_until(s->due);
	shot_fires(s);
}

static void
shot_is_received(struct shot *s)
{
	int64_t v = weft_recv(weft_timer_chan(s->t), int64_t);

	OK(v >= s->due);
	shot_fires(s);
}

/* Returns when n are here, each on a processor of its own. */
static void
meet(int n)
{
	__atomic_add_fetch(&present, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&present, __ATOMIC_ACQUIRE) < n)
		sched_yield();
}

static void
set_shots(struct shot *s, int n, unsigned seed)
{
	meet(PROCS);
	for (int i = 0; i < n; i++) {
		int64_t ns = rand_r(&seed) % (150 * WEFT_MS);

		s[i].due = weft_deadline(ns);
		switch (i % 3) {
		case 0:
			s[i].t = weft_after_func(ns, shot_fires, &s[i]);
			break;
		case 1:
			s[i].t = weft_timer_make(ns);
			weft_go(shot_is_received, &s[i]);
			break;
		case 2: weft_go(shot_sleeps, &s[i]); break;
		}
	}
	weft_waitgroup_done(&setters);
}

static void
resize_till_fired(void)
{
	static const int sizes[] = { 1, 8, 1, 3, 7, 2, 1 };
	int left = 1;

	for (unsigned i = 0; left > 0; i++) {
		left = 0;
		OK(weft_set_procs(sizes[i % 7]) > 0);
		weft_yield();
		for (int k = 0; k < ALL; k++)
			left += shots[k].due && !__atomic_load_n(
			    &shots[k].fired, __ATOMIC_RELAXED);
	}
	weft_waitgroup_wait(&fired);
}

GTEST(processors_come_and_go, 8)
{
	int n = (int)t_scale(EACH);

	for (int round = 0; round < 3; round++) {
		EQ(weft_set_procs(PROCS) > 0, true);
		present = 0;
		for (int i = 0; i < ALL; i++)
			shots[i] = (struct shot){0};
		weft_waitgroup_add(&fired, PROCS * n);
		weft_waitgroup_add(&setters, PROCS);
		for (int i = 0; i < PROCS; i++)
			weft_go(set_shots, shots + i * n, n, (unsigned)i + 1);
		weft_waitgroup_wait(&setters);
		resize_till_fired();
		while (weft_goroutines() > 1)
			weft_yield();
		for (int i = 0; i < PROCS * n; i++) {
			EQ(shots[i].fired, 1);
			EQ(shots[i].t && weft_timer_stop(shots[i].t), false);
			weft_timer_free(shots[i].t);
		}
	}
}

/* Set on eight, then there is one, which sleeps: it knows of all. */
GTEST(all_moved_to_the_last, 8)
{
	int n = (int)t_scale(EACH);

	weft_waitgroup_add(&fired, PROCS * n);
	weft_waitgroup_add(&setters, PROCS);
	for (int i = 0; i < PROCS; i++)
		weft_go(set_shots, shots + i * n, n, (unsigned)i + 1);
	weft_waitgroup_wait(&setters);
	EQ(weft_set_procs(1), PROCS);
	weft_waitgroup_wait(&fired);
	for (int i = 0; i < PROCS * n; i++) {
		EQ(shots[i].fired, 1);
		weft_timer_free(shots[i].t);
	}
}

/* Threads that are too many leave, among them the one that knew the time. */
static void
stay(int n)
{
	meet(n);
}

GTEST(threads_leave, 16)
{
	weft_waitgroup wg = {0};
	int64_t due;
	weft_timer *t;

	for (int i = 0; i < 15; i++)
		weft_go(stay, 16);
	meet(16);
	weft_waitgroup_add(&wg, 1);
	due = weft_deadline(1300 * WEFT_MS);
	t = weft_after_func(1300 * WEFT_MS, done, &wg);
	EQ(weft_set_procs(1), 16);
	weft_waitgroup_wait(&wg);
	soon_after(due);
	weft_timer_free(t);
}

/* Stopped and set again while they move from one to another. */
static long counted;

static void
count_up(void *arg)
{
	(void)arg;
	__atomic_add_fetch(&counted, 1, __ATOMIC_RELAXED);
}

static void
set_and_stop(unsigned seed, long *balance)
{
	enum { N = 50 };
	weft_timer *t[N];
	long n = N;

	for (int i = 0; i < N; i++)
		t[i] = weft_after_func(rand_r(&seed) % WEFT_MS, count_up, NULL);
	while (!stopped()) {
		int i = rand_r(&seed) % N;

		switch (rand_r(&seed) % 4) {
		case 0: n -= weft_timer_stop(t[i]); break;
		case 1: weft_yield(); break;
		default:
			n += 1 - weft_timer_reset(t[i],
			    rand_r(&seed) % WEFT_MS);
		}
	}
	for (int i = 0; i < N; i++) {
		n -= weft_timer_stop(t[i]);
		weft_timer_free(t[i]);
	}
	__atomic_add_fetch(balance, n, __ATOMIC_RELAXED);
}

GTEST(stopped_while_they_move, 8)
{
	long balance = 0;

	for (unsigned i = 0; i < 10; i++)
		weft_go(set_and_stop, i + 1, &balance);
	for (int i = 0; t_more(0.7); i++)
		OK(weft_set_procs(1 + i * 5 % 8) > 0);
	stop_all();
	EQ(counted, balance);
}
