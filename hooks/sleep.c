/* SPDX-License-Identifier: MIT */
/*
 * nanosleep, clock_nanosleep, usleep, sleep, sched_yield. A sleep that parks is
 * not interrupted by signals: nothing is ever left of it.
 */
#define _GNU_SOURCE 1
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "counts.h"
#include "real.h"
#include "timespan.h"
#include "wait.h"

/* False: it may not park. */
static bool
parked(int64_t when, const void *caller)
{
	bool kept;

	if (wait_how() == WAIT_REAL)
		return false;
	kept = wait_keep_thread(caller);
	count(sleeps);
	weft_sleep_until(when);
	wait_kept_thread(kept);
	return true;
}

public int
nanosleep(const struct timespec *ts, struct timespec *left)
{
	if (on_goroutine() && ts && is_time(ts) &&
	    parked(end_of(ts), __builtin_return_address(0)))
		return 0;
	return real()->nanosleep(ts, left);
}

/* Until a time of the clock of weft_now, which is CLOCK_MONOTONIC. */
static int64_t
time_of(const struct timespec *ts)
{
	return ts->tv_sec > INT64_MAX / WEFT_SECOND - 1 ? WEFT_NEVER :
	    ts->tv_sec * WEFT_SECOND + ts->tv_nsec;
}

/*
 * Clocks that are set, or that count something else, are the kernel's,
 * announced; a span of CLOCK_REALTIME is one of CLOCK_MONOTONIC.
 */
public int
clock_nanosleep(clockid_t clock, int flags, const struct timespec *ts,
    struct timespec *left)
{
	const void *caller = __builtin_return_address(0);
	int r;

	if (!on_goroutine() || !ts || !is_time(ts) || flags & ~TIMER_ABSTIME)
		return real()->clock_nanosleep(clock, flags, ts, left);
	if (clock == CLOCK_MONOTONIC && flags && parked(time_of(ts), caller))
		return 0;
	if ((clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME) && !flags &&
	    parked(end_of(ts), caller))
		return 0;
	if (wait_how() == WAIT_REAL)
		return real()->clock_nanosleep(clock, flags, ts, left);
	wait_announce();
	r = real()->clock_nanosleep(clock, flags, ts, left);
	wait_announced();
	return r;
}

public int
usleep(useconds_t us)
{
	if (on_goroutine() && parked(weft_deadline((int64_t)us * WEFT_US),
	    __builtin_return_address(0)))
		return 0;
	return real()->usleep(us);
}

public unsigned
sleep(unsigned s)
{
	if (on_goroutine() && parked(weft_deadline((int64_t)s * WEFT_SECOND),
	    __builtin_return_address(0)))
		return 0;
	return real()->sleep(s);
}

public int
sched_yield(void)
{
	bool kept;

	if (!on_goroutine() || wait_how() == WAIT_REAL)
		return real()->sched_yield();
	kept = wait_keep_thread(__builtin_return_address(0));
	weft_yield();
	wait_kept_thread(kept);
	return 0;
}
