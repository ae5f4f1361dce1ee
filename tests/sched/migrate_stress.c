/* SPDX-License-Identifier: MIT */
/*
 * Usual programs with WEFT_MIGRATE=1, where every call of the library returns
 * on another thread, and with slices so short that they are always over.
 */
#include "run_env.h"

static weft_waitgroup all;
static weft_mutex mutex;
static weft_rwmutex rw;
static weft_cond cond;
static long counter, guarded, turn;

enum { WORKERS = 12 };

static void
finish(void)
{
	weft_waitgroup_done(&all);
}

/* ---- sums through channels, by select ---- */

static void
numbers(weft_chan *out, long n)
{
	for (long i = 1; i <= n; i++)
		weft_send(out, i);
	weft_chan_close(out);
	finish();
}

static void
sum_both(long n)
{
	weft_chan *a = weft_chan_make(sizeof(long), 0);
	weft_chan *b = weft_chan_make(sizeof(long), 3);
	long x = 0, y = 0, sum = 0;
	int open = 2;

	weft_waitgroup_add(&all, 2);
	weft_go(numbers, a, n);
	weft_go(numbers, b, n);
	while (open) {
		weft_case c[] = {
			WEFT_CASE_RECV(a, &x), WEFT_CASE_RECV(b, &y)
		};
		int k = weft_select(c, 2);

		if (c[k].ok)
			sum += k ? y : x;
		else
			open -= c[k].chan != NULL;
		if (!c[k].ok && k == 0) {
			weft_chan_release(a);
			a = NULL;
		} else if (!c[k].ok) {
			weft_chan_release(b);
			b = NULL;
		}
	}
	EQ(sum, n * (n + 1));
	weft_waitgroup_wait(&all);
}

/* ---- locks ---- */

static void
counts(long n)
{
	for (long i = 0; i < n; i++) {
		weft_mutex_lock(&mutex);
		counter++;
		weft_mutex_unlock(&mutex);
		weft_rwmutex_rlock(&rw);
		OK(guarded >= 0);
		weft_rwmutex_runlock(&rw);
		weft_rwmutex_lock(&rw);
		guarded++;
		weft_rwmutex_unlock(&rw);
	}
	finish();
}

static void
takes_turns(long nr, long n)
{
	for (long i = 0; i < n; i++) {
		weft_mutex_lock(&mutex);
		while (turn % WORKERS != nr)
			weft_cond_wait(&cond, &mutex);
		turn++;
		weft_cond_broadcast(&cond);
		weft_mutex_unlock(&mutex);
	}
	finish();
}

static void
lock_and_wait(long n)
{
	weft_waitgroup_add(&all, WORKERS);
	for (int i = 0; i < WORKERS; i++)
		weft_go(counts, n);
	weft_waitgroup_wait(&all);
	EQ(counter, WORKERS * n);
	EQ(guarded, WORKERS * n);
	weft_waitgroup_add(&all, WORKERS);
	for (long i = 0; i < WORKERS; i++)
		weft_go(takes_turns, i, n / 10 + 1);
	weft_waitgroup_wait(&all);
	EQ(turn, WORKERS * (n / 10 + 1));
}

/* ---- a tree, and sleepers ---- */

static void
tree(int depth, long *leaves)
{
	weft_waitgroup wg = {0};

	if (depth == 0) {
		bump(leaves);
		return;
	}
	weft_waitgroup_add(&wg, 1);
	weft_go(weft_waitgroup_done, &wg);
	tree(depth - 1, leaves);
	tree(depth - 1, leaves);
	weft_waitgroup_wait(&wg);
}

static void
sleeps(int nr)
{
	for (int i = 0; i < 5; i++) {
		int64_t due = weft_deadline(nr * 10 * WEFT_US);

		weft_sleep_until(due);
		OK(weft_now() >= due);
	}
	finish();
}

static void
all_of_it(void)
{
	long leaves = 0;

	sum_both(t_scale(500));
	lock_and_wait(t_scale(200));
	tree(7, &leaves);
	EQ(leaves, 128);
	weft_waitgroup_add(&all, 50);
	for (int i = 0; i < 50; i++)
		weft_go(sleeps, i);
	weft_waitgroup_wait(&all);
	OK(weft_set_procs(3) > 0);
	EQ(weft_procs(), 3);
}

ETEST(on_one, 1, "WEFT_MIGRATE=1") { all_of_it(); }
ETEST(on_two, 2, "WEFT_MIGRATE=1") { all_of_it(); }
ETEST(on_eight, 8, "WEFT_MIGRATE=1") { all_of_it(); }
ETEST(short_slices, 2, "WEFT_SLICE_US=20") { all_of_it(); }
TEST(both)
{
	putenv((char *)(uintptr_t)"WEFT_SLICE_US=20");
	run_env(2, "WEFT_MIGRATE=1", all_of_it);
}
