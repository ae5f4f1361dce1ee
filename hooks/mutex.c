/* SPDX-License-Identifier: MIT */
/* pthread mutexes, and waits for condition variables: see lock.h. */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <threads.h>
#include <time.h>

#include "counts.h"
#include "held.h"
#include "lock.h"
#include "real.h"

enum { KIND_ROBUST = 16 };

/*
 * A try. An error-checking mutex that the caller has itself is busy for a try,
 * and an error for a lock: a lock with a limit that is over tells these two
 * apart.
 */
static int
try_mutex(void *m)
{
	return real()->pthread_mutex_trylock(m);
}

static int
try_mutex_of_self(pthread_mutex_t *m)
{
	static const struct timespec past;
	int err = real()->pthread_mutex_timedlock(m, &past);

	return err == ETIMEDOUT ? EBUSY : err;
}

/* Counted, and tried once. By the system's call, announced where it may be. */
static cold int
block(pthread_mutex_t *m, clockid_t clock, const struct timespec *ts)
{
	bool announce = wait_how() == WAIT_PARK;
	int err;

	count(lock_blocks);
	if (announce)
		wait_announce();
	err = ts ? real()->pthread_mutex_clocklock(m, clock, ts) :
	    real()->pthread_mutex_lock(m);
	if (announce)
		wait_announced();
	return err;
}

/* Counted. Another has it; ts may be NULL. */
static cold int
wait_mutex(pthread_mutex_t *m, clockid_t clock, const struct timespec *ts,
    const void *caller)
{
	int64_t when = ts ? lock_when(clock, ts) : WEFT_NEVER;
	int err;

	if (!when || !lock_may_park(caller))
		return block(m, clock, ts);
	err = try_mutex_of_self(m);
	return err == EBUSY ? lock_park(m, try_mutex, when) : err;
}

/*
 * A robust mutex is the system's: a try of one that is lost for ever leaves it
 * locked. The bit is one of glibc's kinds of mutexes.
 */
static bool
is_robust(const pthread_mutex_t *m)
{
	return m->__data.__kind & KIND_ROBUST;
}

static always_inline int
lock_mutex(pthread_mutex_t *m, clockid_t clock, const struct timespec *ts,
    const void *caller)
{
	int err;

	held_note(caller);
	if (unlikely(is_robust(m)))
		return lock_counted(block(m, clock, ts));
	err = real()->pthread_mutex_trylock(m);
	if (unlikely(err == EBUSY))
		err = wait_mutex(m, clock, ts, caller);
	return lock_counted(err);
}

public int
pthread_mutex_lock(pthread_mutex_t *m)
{
	if (!lock_count())
		return real()->pthread_mutex_lock(m);
	return lock_mutex(m, CLOCK_REALTIME, NULL, __builtin_return_address(0));
}

public int
pthread_mutex_trylock(pthread_mutex_t *m)
{
	if (!lock_count())
		return real()->pthread_mutex_trylock(m);
	return lock_counted(real()->pthread_mutex_trylock(m));
}

public int
pthread_mutex_timedlock(pthread_mutex_t *restrict m,
    const struct timespec *restrict ts)
{
	if (!lock_count())
		return real()->pthread_mutex_timedlock(m, ts);
	return lock_mutex(m, CLOCK_REALTIME, ts, __builtin_return_address(0));
}

public int
pthread_mutex_clocklock(pthread_mutex_t *restrict m, clockid_t clock,
    const struct timespec *restrict ts)
{
	if (!lock_count())
		return real()->pthread_mutex_clocklock(m, clock, ts);
	return lock_mutex(m, clock, ts, __builtin_return_address(0));
}

/* An unlock that fails unlocks nothing. */
public int
pthread_mutex_unlock(pthread_mutex_t *m)
{
	int err = real()->pthread_mutex_unlock(m);

	if (unlikely(err))
		return err;
	if (weft_thread_release)
		weft_thread_release();
	lock_wake(m, false);
	return 0;
}

/* ---- of C11: the same mutexes by other names ---- */

_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "as in glibc");

static int
thrd_result(int err)
{
	switch (err) {
	case 0: return thrd_success;
	case EBUSY: return thrd_busy;
	case ETIMEDOUT: return thrd_timedout;
	case ENOMEM: return thrd_nomem;
	default: return thrd_error;
	}
}

public int
mtx_lock(mtx_t *m)
{
	pthread_mutex_t *p = (pthread_mutex_t *)m;

	return thrd_result(lock_count() ? lock_mutex(p, CLOCK_REALTIME, NULL,
	    __builtin_return_address(0)) : real()->pthread_mutex_lock(p));
}

public int
mtx_timedlock(mtx_t *restrict m, const struct timespec *restrict ts)
{
	pthread_mutex_t *p = (pthread_mutex_t *)m;

	return thrd_result(lock_count() ? lock_mutex(p, CLOCK_REALTIME, ts,
	    __builtin_return_address(0)) :
	    real()->pthread_mutex_timedlock(p, ts));
}

public int
mtx_trylock(mtx_t *m)
{
	return thrd_result(pthread_mutex_trylock((pthread_mutex_t *)m));
}

public int
mtx_unlock(mtx_t *m)
{
	return thrd_result(pthread_mutex_unlock((pthread_mutex_t *)m));
}

/* ---- condition variables ---- */

/*
 * The mutex is released and taken again inside of libc, on this thread, where
 * the goroutine stays: its count does not change. Goroutines that wait for the
 * mutex try it again after a while.
 */
static bool
begin_wait(void)
{
	bool announce = wait_how() == WAIT_PARK;

	if (announce)
		wait_announce();
	return announce;
}

static int
end_wait(bool announced, int err)
{
	if (announced)
		wait_announced();
	return err;
}

public int
cnd_wait(cnd_t *c, mtx_t *m)
{
	bool announced = begin_wait();

	return end_wait(announced, real()->cnd_wait(c, m));
}

public int
cnd_timedwait(cnd_t *restrict c, mtx_t *restrict m,
    const struct timespec *restrict ts)
{
	bool announced = begin_wait();

	return end_wait(announced, real()->cnd_timedwait(c, m, ts));
}

public int
pthread_cond_wait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m)
{
	bool announced = begin_wait();

	return end_wait(announced, real()->pthread_cond_wait(c, m));
}

public int
pthread_cond_timedwait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m,
    const struct timespec *restrict ts)
{
	bool announced = begin_wait();

	return end_wait(announced, real()->pthread_cond_timedwait(c, m, ts));
}

public int
pthread_cond_clockwait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m,
    clockid_t clock, const struct timespec *restrict ts)
{
	bool announced = begin_wait();

	return end_wait(announced,
	    real()->pthread_cond_clockwait(c, m, clock, ts));
}

public int
pthread_join(pthread_t t, void **result)
{
	bool announced = begin_wait();

	return end_wait(announced, real()->pthread_join(t, result));
}
