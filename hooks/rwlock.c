/* SPDX-License-Identifier: MIT */
/* pthread read-write locks: see lock.h. */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <time.h>

#include "counts.h"
#include "held.h"
#include "lock.h"
#include "real.h"

/* How to lock for reading, or for writing. */
struct mode {
	lock_try *try;
	int (*lock)(pthread_rwlock_t *l);
	int (*timed)(pthread_rwlock_t *l, clockid_t clock,
	    const struct timespec *ts);
};

static int
try_read(void *l)
{
	return real()->pthread_rwlock_tryrdlock(l);
}

static int
lock_read(pthread_rwlock_t *l)
{
	return real()->pthread_rwlock_rdlock(l);
}

static int
timed_read(pthread_rwlock_t *l, clockid_t clock, const struct timespec *ts)
{
	return real()->pthread_rwlock_clockrdlock(l, clock, ts);
}

static int
try_write(void *l)
{
	return real()->pthread_rwlock_trywrlock(l);
}

static int
lock_write(pthread_rwlock_t *l)
{
	return real()->pthread_rwlock_wrlock(l);
}

static int
timed_write(pthread_rwlock_t *l, clockid_t clock, const struct timespec *ts)
{
	return real()->pthread_rwlock_clockwrlock(l, clock, ts);
}

static const struct mode reading = { try_read, lock_read, timed_read },
    writing = { try_write, lock_write, timed_write };

/* Counted, and tried once: by the system's call, announced where it may be. */
static cold int
block(pthread_rwlock_t *l, const struct mode *how, clockid_t clock,
    const struct timespec *ts)
{
	bool announce = wait_how() == WAIT_PARK;
	int err;

	count(lock_blocks);
	if (announce)
		wait_announce();
	err = ts ? how->timed(l, clock, ts) : how->lock(l);
	if (announce)
		wait_announced();
	return err;
}

/*
 * A lock that the caller has itself, for writing, is a deadlock, for which the
 * system has an error: a limit that is over tells that.
 */
static int
try_of_self(pthread_rwlock_t *l, const struct mode *how)
{
	static const struct timespec past;
	int err = how->timed(l, CLOCK_REALTIME, &past);

	return err == ETIMEDOUT ? EBUSY : err;
}

static cold int
wait_rwlock(pthread_rwlock_t *l, const struct mode *how, clockid_t clock,
    const struct timespec *ts, const void *caller)
{
	int64_t when = ts ? lock_when(clock, ts) : WEFT_NEVER;
	int err;

	if (!when || !lock_may_park(caller))
		return block(l, how, clock, ts);
	err = try_of_self(l, how);
	return err == EBUSY ? lock_park(l, how->try, when) : err;
}

/* Counted. */
static int
lock_rwlock(pthread_rwlock_t *l, const struct mode *how, clockid_t clock,
    const struct timespec *ts, const void *caller)
{
	int err;

	held_note(caller);
	err = how->try(l);
	if (unlikely(err == EBUSY))
		err = wait_rwlock(l, how, clock, ts, caller);
	return lock_counted(err);
}

public int
pthread_rwlock_rdlock(pthread_rwlock_t *l)
{
	if (!lock_count())
		return real()->pthread_rwlock_rdlock(l);
	return lock_rwlock(l, &reading, CLOCK_REALTIME, NULL,
	    __builtin_return_address(0));
}

public int
pthread_rwlock_tryrdlock(pthread_rwlock_t *l)
{
	if (!lock_count())
		return real()->pthread_rwlock_tryrdlock(l);
	return lock_counted(real()->pthread_rwlock_tryrdlock(l));
}

public int
pthread_rwlock_timedrdlock(pthread_rwlock_t *restrict l,
    const struct timespec *restrict ts)
{
	if (!lock_count())
		return real()->pthread_rwlock_timedrdlock(l, ts);
	return lock_rwlock(l, &reading, CLOCK_REALTIME, ts,
	    __builtin_return_address(0));
}

public int
pthread_rwlock_clockrdlock(pthread_rwlock_t *restrict l, clockid_t clock,
    const struct timespec *restrict ts)
{
	if (!lock_count())
		return real()->pthread_rwlock_clockrdlock(l, clock, ts);
	return lock_rwlock(l, &reading, clock, ts, __builtin_return_address(0));
}

public int
pthread_rwlock_wrlock(pthread_rwlock_t *l)
{
	if (!lock_count())
		return real()->pthread_rwlock_wrlock(l);
	return lock_rwlock(l, &writing, CLOCK_REALTIME, NULL,
	    __builtin_return_address(0));
}

public int
pthread_rwlock_trywrlock(pthread_rwlock_t *l)
{
	if (!lock_count())
		return real()->pthread_rwlock_trywrlock(l);
	return lock_counted(real()->pthread_rwlock_trywrlock(l));
}

public int
pthread_rwlock_timedwrlock(pthread_rwlock_t *restrict l,
    const struct timespec *restrict ts)
{
	if (!lock_count())
		return real()->pthread_rwlock_timedwrlock(l, ts);
	return lock_rwlock(l, &writing, CLOCK_REALTIME, ts,
	    __builtin_return_address(0));
}

public int
pthread_rwlock_clockwrlock(pthread_rwlock_t *restrict l, clockid_t clock,
    const struct timespec *restrict ts)
{
	if (!lock_count())
		return real()->pthread_rwlock_clockwrlock(l, clock, ts);
	return lock_rwlock(l, &writing, clock, ts, __builtin_return_address(0));
}

/* Several readers may be waiting: each tries. */
public int
pthread_rwlock_unlock(pthread_rwlock_t *l)
{
	int err = real()->pthread_rwlock_unlock(l);

	if (unlikely(err))
		return err;
	if (weft_thread_release)
		weft_thread_release();
	lock_wake(l, true);
	return 0;
}
