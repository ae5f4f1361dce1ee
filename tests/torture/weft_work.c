/* SPDX-License-Identifier: MIT */
/* Works that use weft itself: waiting, calls that block, pins, errno. */
#include "torture.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weft.h>

/* ---- channels ---- */

static void
sender(weft_chan *c, int n)
{
	for (int i = 0; i < n; i++) {
		weft_send(c, i);
		if (i % 8 == 0)
			torture_spin(20000);
	}
	weft_chan_close(c);
	weft_chan_release(c);
}

static void
channels(struct me *me)
{
	weft_chan *c = weft_chan_make(sizeof(int), torture_random(me, 4));
	int got, n = 0;

	MUST(c);
	MUST(weft_try_go(sender, weft_chan_retain(c), 32) > 0);
	while (weft_recv_ok(c, &got)) {
		SAME(got, n);
		n++;
		if (n % 8 == 1)
			torture_spin(10000);
	}
	SAME(n, 32);
	weft_chan_release(c);
}

static void
choosing(struct me *me)
{
	weft_chan *a = weft_chan_make(sizeof(int), 1);
	weft_chan *b = weft_chan_make(sizeof(int), 0);
	bool open_a = true, open_b = true;
	int x = -1, y = -1, n = 0;

	MUST(a && b);
	MUST(weft_try_go(sender, weft_chan_retain(a), 10) > 0);
	MUST(weft_try_go(sender, weft_chan_retain(b), 10) > 0);
	while (open_a || open_b) {
		weft_case cases[] = {
			WEFT_CASE_RECV(open_a ? a : NULL, &x),
			WEFT_CASE_RECV(open_b ? b : NULL, &y),
		};
		int k = weft_select_until(cases, 2, weft_deadline(50 * WEFT_US +
		    (int64_t)torture_random(me, 100000)));

		MUST(k == 0 || k == 1 || k == -ETIMEDOUT);
		if (k >= 0 && cases[k].ok)
			n++;
		else if (k >= 0)
			*(k ? &open_b : &open_a) = false;
		torture_spin(3000);
	}
	SAME(n, 20);
	weft_chan_release(a);
	weft_chan_release(b);
}

/* ---- locks ---- */

static weft_mutex lock;
static weft_rwmutex rw;
static volatile uint64_t once_a, once_b, twice_a, twice_b;

static void
locks(struct me *me)
{
	weft_mutex_lock(&lock);
	SAME(once_a, once_b);
	once_a = once_a + 1;
	torture_spin(10000 + torture_random(me, 20000));
	once_b = once_b + 1;
	weft_mutex_unlock(&lock);
	if (torture_random(me, 4) == 0) {
		weft_rwmutex_lock(&rw);
		twice_a = twice_a + 1;
		torture_spin(10000);
		twice_b = twice_b + 1;
		weft_rwmutex_unlock(&rw);
	} else {
		weft_rwmutex_rlock(&rw);
		SAME(twice_a, twice_b);
		torture_spin(10000);
		SAME(twice_a, twice_b);
		weft_rwmutex_runlock(&rw);
	}
}

/* ---- time ---- */

static void
timers(struct me *me)
{
	int64_t ns = (int64_t)torture_random(me, 300000), from = weft_now();
	weft_timer *t = weft_ticker_make(100 * WEFT_US);
	weft_chan *c = weft_after(ns);
	int64_t when;

	MUST(t && c);
	torture_spin(20000);
	MUST(weft_recv_ok(c, &when) && when - from >= ns);
	weft_chan_release(c);
	for (int i = 0; i < 3; i++) {
		MUST(weft_recv_ok(weft_timer_chan(t), &when));
		torture_spin(20000);
	}
	weft_timer_free(t);
	from = weft_now();
	weft_sleep(ns);
	MUST(weft_now() - from >= ns);
}

/* ---- many of them ---- */

static int
member(void *arg)
{
	torture_spin(20000);
	__atomic_add_fetch((int *)arg, 1, __ATOMIC_RELAXED);
	return 0;
}

static void
groups(struct me *me)
{
	weft_group g = { .limit = 1 + (int)torture_random(me, 4) };
	int n = 0;

	for (int i = 0; i < 10; i++)
		weft_group_go(&g, member, &n);
	SAME(weft_group_wait(&g), 0);
	SAME(n, 10);
}

/* ---- calls that block, said and not said ---- */

static void *
blocks(void *arg)
{
	unsigned us = (unsigned)(uintptr_t)arg;
	long tid = torture_tid();

	if (us % 2)
		usleep(us);
	torture_spin(us * 100);
	SAME(torture_tid(), tid);
	errno = (int)us + 1;
	return (char *)arg + 1;
}

static void
calls(struct me *me)
{
	uintptr_t us = torture_random(me, 400);

	MUST((uintptr_t)weft_blocking(blocks, (void *)us) == us + 1);
	SAME(errno, us + 1);
	torture_spin(20000);
	SAME(errno, us + 1);
	weft_blocking_enter();
	usleep(50);
	weft_blocking_leave();
	usleep((unsigned)torture_random(me, 200));
}

static void
writer(int fd, int n)
{
	torture_spin(100000);
	SAME(write(fd, &n, sizeof n), sizeof n);
	torture_spin(100000);
	SAME(write(fd, &n, sizeof n), sizeof n);
	close(fd);
}

/* A read that was not announced waits for another goroutine. */
static void
pipes(struct me *me)
{
	int fd[2], n = (int)torture_random(me, 1000000), got = -1;

	SAME(pipe(fd), 0);
	MUST(weft_try_go(writer, fd[1], n) > 0);
	SAME(read(fd[0], &got, sizeof got), sizeof got);
	SAME(got, n);
	weft_blocking_enter();
	SAME(read(fd[0], &got, sizeof got), sizeof got);
	weft_blocking_leave();
	SAME(got, n);
	SAME(read(fd[0], &got, sizeof got), 0);
	close(fd[0]);
}

/* ---- pinned ---- */

static void
pinned(struct me *me)
{
	long tid;

	weft_pin();
	tid = torture_tid();
	for (int i = 0; i < 4; i++) {
		torture_spin(50000 + torture_random(me, 100000));
		SAME(torture_tid(), tid);
		weft_yield();
		SAME(torture_tid(), tid);
		weft_pin();
		weft_sleep(20 * WEFT_US);
		weft_unpin();
		SAME(torture_tid(), tid);
		weft_blocking_enter();
		usleep(30);
		weft_blocking_leave();
		SAME(torture_tid(), tid);
	}
	weft_unpin();
}

/* A goroutine that ends pinned takes its thread along. */
static void
doomed(weft_waitgroup *wg)
{
	weft_pin();
	torture_spin(50000);
	weft_waitgroup_done(wg);
}

static void
pinned_for_good(struct me *me)
{
	weft_waitgroup wg = {0};

	weft_waitgroup_add(&wg, 2);
	MUST(weft_try_go(doomed, &wg) > 0);
	MUST(weft_try_go(doomed, &wg) > 0);
	torture_spin(1000 * torture_random(me, 100));
	weft_waitgroup_wait(&wg);
}

/* ---- processors, while no goroutine may call anything for a while ---- */

static void
processors(struct me *me)
{
	static weft_mutex alone;
	int was;

	weft_mutex_lock(&alone);
	was = weft_procs();
	SAME(weft_set_procs(1 + (int)torture_random(me, 8)), was);
	torture_spin(20000);
	MUST(weft_set_procs(was) > 0);
	SAME(weft_procs(), was);
	weft_mutex_unlock(&alone);
	weft_sleep(5 * WEFT_MS);
}

/* ---- errno ---- */

static void
errors(struct me *me)
{
	int mine = 1 + (int)torture_random(me, 100);

	errno = mine;
	torture_spin(100000);
	SAME(errno, mine);
	weft_yield();
	SAME(errno, mine);
	SAME(open("/nonexistent/file", O_RDONLY), -1);
	torture_spin(50000);
	SAME(errno, ENOENT);
	weft_sleep(30 * WEFT_US);
	SAME(errno, ENOENT);
	SAME(close(-1), -1);
	for (int i = 0; i < 20; i++) {
		torture_spin(5000);
		weft_yield();
		SAME(errno, EBADF);
	}
}

const struct work torture_weft[] = {
	{ "channels", channels, NULL, NULL },
	{ "choosing", choosing, NULL, NULL },
	{ "locks", locks, NULL, NULL },
	{ "timers", timers, NULL, NULL },
	{ "groups", groups, NULL, NULL },
	{ "calls", calls, NULL, NULL },
	{ "pipes", pipes, NULL, NULL },
	{ "pinned", pinned, NULL, NULL },
	{ "pinned for good", pinned_for_good, NULL, NULL },
	{ "processors", processors, NULL, NULL },
	{ "errors", errors, NULL, NULL },
	{ NULL, NULL, NULL, NULL }
};
