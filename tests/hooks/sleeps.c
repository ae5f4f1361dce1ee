/* SPDX-License-Identifier: MIT */
/*
 * Sleeps, and waits that end by their limit, through the hooks: none returns
 * early, many of them need few threads, and sched_yield lets others run.
 */
#define _GNU_SOURCE 1
#include <weft.h>

#include "calls.h"
#include "counter.h"
#include "fd_pairs.h"
#include "hooked.h"
#include "plain_thread.h"
#include "run_env.h"

enum { MANY = 100, MS = 50 };

/* ---- sleeps ---- */

static int
until(clockid_t clock)
{
	struct timespec when = in_ms(clock, MS);

	return clock_nanosleep(clock, TIMER_ABSTIME, &when, NULL);
}

static int
for_a_while(clockid_t clock)
{
	struct timespec ms = { 0, MS * 1000000 };

	return clock_nanosleep(clock, 0, &ms, NULL);
}

static int
by_nanosleep(void)
{
	struct timespec ms = { 0, MS * 1000000 }, left = { 7, 7 };
	int r = nanosleep(&ms, &left);

	EQ(left.tv_sec, 7);		/* not written, as it was not cut */
	EQ(left.tv_nsec, 7);
	return r;
}

static int by_usleep(void) { return usleep(MS * 1000); }
static int by_monotonic(void) { return for_a_while(CLOCK_MONOTONIC); }
static int by_realtime(void) { return for_a_while(CLOCK_REALTIME); }
static int by_boottime(void) { return for_a_while(CLOCK_BOOTTIME); }
static int until_monotonic(void) { return until(CLOCK_MONOTONIC); }
static int until_realtime(void) { return until(CLOCK_REALTIME); }

static const struct way {
	const char *name;
	int (*sleep)(void);
	bool parks;
} ways[] = {
	{ "nanosleep", by_nanosleep, true },
	{ "usleep", by_usleep, true },
	{ "clock_nanosleep, monotonic", by_monotonic, true },
	{ "clock_nanosleep, realtime", by_realtime, true },
	{ "until, monotonic", until_monotonic, true },
	/* these may keep threads, which may be there for a while */
	{ "until, realtime", until_realtime, false },
	{ "clock_nanosleep, boottime", by_boottime, false },
};
enum { WAYS = sizeof ways / sizeof ways[0] };

static void
sleep_once(const struct way *w)
{
	double start = t_now();
	int r = w->sleep();

	if (r != 0 || t_now() - start < MS / 1e3)
		t_fail(w->name, r, "slept too short");
}

static void
sleep_many(const struct way *w)
{
	uint64_t sleeps = hooks_now().sleeps;
	weft_waitgroup wg = {0};

	for (int i = 0; i < MANY; i++)
		weft_waitgroup_go(&wg, sleep_once, w);
	weft_waitgroup_wait(&wg);
	if (!w->parks)
		return;
	if (hooks_now().sleeps - sleeps < MANY)
		t_fail(w->name, 0, "did not park");
}

GTEST(many_sleeps, 1)
{
	for (int i = 0; i < WAYS; i++)
		sleep_many(&ways[i]);
}

ETEST(many_sleeps_that_move, 2, "WEFT_MIGRATE=1")
{
	for (int i = 0; i < WAYS; i++)
		sleep_many(&ways[i]);
}

static void
sleep_on_thread(void)
{
	for (int i = 0; i < WAYS; i++)
		sleep_once(&ways[i]);
}

GTEST(on_a_plain_thread, 1) { thread_call_blocking(sleep_on_thread); }

static void
sleep_a_second(void)
{
	double start = t_now();

	EQ(sleep(1), 0);
	OK(t_now() - start >= 1);
}

GTEST(whole_seconds, 1)
{
	uint64_t sleeps = hooks_now().sleeps;
	weft_waitgroup wg = {0};

	EQ(sleep(0), 0);
	EQ(usleep(0), 0);
	for (int i = 0; i < MANY; i++)
		weft_waitgroup_go(&wg, sleep_a_second);
	OK(GETS_TO(sleeps, sleeps + MANY));
	FEW_THREADS();
	weft_waitgroup_wait(&wg);
}

/* ---- limits of waits ---- */

static int empty[2];

#define LIMIT(id, ...)							\
	static int							\
	limit_##id(void)						\
	{								\
		struct pollfd p = { .fd = empty[0], .events = POLLIN };	\
		struct timespec ts = { 0, MS * 1000000 };		\
		struct timeval tv = { 0, MS * 1000 };			\
		fd_set set;						\
		int r;							\
									\
		FD_ZERO(&set);						\
		FD_SET(empty[0], &set);					\
		r = __VA_ARGS__;					\
		EQ(p.revents, 0);					\
		EQ(ts.tv_nsec, MS * 1000000);				\
		(void)tv;						\
		return r;						\
	}

LIMIT(poll, poll(&p, 1, MS))
LIMIT(poll_of_none, poll(NULL, 0, MS))
LIMIT(poll_of_negative, (p.fd = -1, poll(&p, 1, MS)))
LIMIT(ppoll, ppoll(&p, 1, &ts, NULL))
LIMIT(select, select(empty[0] + 1, &set, NULL, NULL, &tv))
LIMIT(select_of_none, select(0, NULL, NULL, NULL, &tv))
LIMIT(select_sets, (select(empty[0] + 1, &set, NULL, NULL, &tv) ||
    FD_ISSET(empty[0], &set) || tv.tv_sec || tv.tv_usec))
LIMIT(pselect, pselect(empty[0] + 1, &set, NULL, NULL, &ts, NULL))
LIMIT(pselect_of_none, pselect(0, NULL, NULL, NULL, &ts, NULL))

static int
limit_epoll(void)
{
	struct epoll_event e = { .events = EPOLLIN };
	int ep = epoll_create1(0), r;

	EQ(epoll_ctl(ep, EPOLL_CTL_ADD, empty[0], &e), 0);
	r = epoll_wait(ep, &e, 1, MS);
	close(ep);
	return r;
}

static void
limit_many(const struct way *w)
{
	weft_hooks_stats was = hooks_now(), now;
	weft_waitgroup wg = {0};

	for (int i = 0; i < MANY; i++)
		weft_waitgroup_go(&wg, sleep_once, w);
	weft_waitgroup_wait(&wg);
	now = hooks_now();
	if (now.parks + now.sleeps - was.parks - was.sleeps < MANY)
		t_fail(w->name, 0, "did not park");
}

static void
limit_each(void)
{
	static const struct way limits[] = {
		{ "poll", limit_poll, true },
		{ "poll of none", limit_poll_of_none, true },
		{ "poll of -1", limit_poll_of_negative, true },
		{ "ppoll", limit_ppoll, true },
		{ "select", limit_select, true },
		{ "select of none", limit_select_of_none, true },
		{ "select, sets", limit_select_sets, true },
		{ "pselect", limit_pselect, true },
		{ "pselect of none", limit_pselect_of_none, true },
		{ "epoll_wait", limit_epoll, true },
	};

	EQ(pipe(empty), 0);
	for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
		limit_many(&limits[i]);
}

GTEST(limits, 1) { limit_each(); }
ETEST(limits_that_move, 2, "WEFT_MIGRATE=1") { limit_each(); }

/* What is left of the time of a select that was ended before it. */
static void
write_soon(int fd, uint64_t parks)
{
	OK(GETS_TO(parks, parks + 1));
	usleep(20000);
	EQ(write(fd, "x", 1), 1);
}

GTEST(rest_of_a_select, 1)
{
	struct timeval tv = { 3600, 0 };
	double start = t_now(), left;
	fd_set set;

	EQ(pipe(empty), 0);
	FD_ZERO(&set);
	FD_SET(empty[0], &set);
	weft_go(write_soon, empty[1], hooks_now().parks);
	EQ(select(empty[0] + 1, &set, NULL, NULL, &tv), 1);
	OK(FD_ISSET(empty[0], &set));
	OK(tv.tv_usec >= 0 && tv.tv_usec < 1000000);
	left = (double)tv.tv_sec + (double)tv.tv_usec / 1e6;
	OK(left <= 3600 - 0.02);
	OK(left >= 3600 - 0.001 - (t_now() - start));
}

/* ---- limits of sockets ---- */

static void
socket_limit(int option, int *late)
{
	struct timeval tv = { 0, MS * 1000 };
	double start;
	char c = 0;
	int end[2];

	wire(STREAM, end);
	EQ(setsockopt(end[1], SOL_SOCKET, option, &tv, sizeof tv), 0);
	if (option == SO_SNDTIMEO)
		wire_stuff(end[1]);
	start = t_now();
	EQ(option == SO_SNDTIMEO ? write(end[1], &c, 1) : read(end[1], &c, 1),
	    -1);
	EQ(errno, EAGAIN);
	if (t_now() - start >= (MS - 10) / 1e3)
		counter_add(late, 1);
	EQ(close(end[0]), 0);
	EQ(close(end[1]), 0);
}

GTEST(limits_of_sockets, 1)
{
	weft_waitgroup wg = {0};
	int late = 0;

	for (int i = 0; i < MANY; i++)
		weft_waitgroup_go(&wg, socket_limit,
		    i % 2 ? SO_RCVTIMEO : SO_SNDTIMEO, &late);
	weft_waitgroup_wait(&wg);
	EQ(late, MANY);
	OK(hooks_now().parks >= MANY);
}

/* A limit of 0 is none. */
GTEST(limit_of_0, 1)
{
	struct timeval tv = { 0, 0 };
	char c = 0;
	int end[2];

	wire(STREAM, end);
	EQ(setsockopt(end[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv), 0);
	weft_go(write_soon, end[1], hooks_now().parks);
	EQ(read(end[0], &c, 1), 1);
	EQ(c, 'x');
}

/* ---- sched_yield ---- */

GTEST(yield_lets_another_run, 1)
{
	int ran = 0, turns = 0;

	weft_go(counter_set, &ran, 1);
	while (!counter_get(&ran)) {
		EQ(sched_yield(), 0);
		turns++;
	}
	/* Otherwise the other one would have to wait for the time slice. */
	OK(turns <= 100);
}
