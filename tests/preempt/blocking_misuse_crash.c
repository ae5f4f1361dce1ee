/* SPDX-License-Identifier: MIT */
/*
 * In an announced call nothing of the library may be called; a caller is told
 * so where that can be seen: when it would have to wait, or end.
 */
#include <errno.h>
#include <unistd.h>

#include <weft.h>

#include "t.h"

#define MAIN "weft: the main goroutine: "

static weft_mutex mutex;
static weft_waitgroup wg;

static void *
nothing(void *arg)
{
	return arg;
}

static void *
sleeps(void *arg)
{
	weft_sleep(WEFT_MS);
	return arg;
}

static void *
calls(void *arg)
{
	return weft_blocking(nothing, arg);
}

static void *
exits(void *arg)
{
	(void)arg;
	weft_goexit();
}

DIES(null_function, 1, "weft_blocking: null function")
{
	weft_blocking(NULL, NULL);
}

DIES(null_function_early, 0, "weft_blocking: null function")
{
	weft_blocking(NULL, NULL);
}

DIES(sleep_within, 1, MAIN) { weft_blocking(sleeps, NULL); }
DIES(nested, 1, MAIN) { weft_blocking(calls, NULL); }
DIES(exit_within, 1, MAIN) { weft_blocking(exits, NULL); }

DIES(wait_within, 1, MAIN)
{
	weft_waitgroup_add(&wg, 1);
	weft_blocking_enter();
	weft_waitgroup_wait(&wg);
}

DIES(contended_lock_within, 1, MAIN)
{
	weft_mutex_lock(&mutex);
	weft_blocking_enter();
	weft_mutex_lock(&mutex);
}

DIES(enter_twice, 1, MAIN)
{
	weft_blocking_enter();
	weft_blocking_enter();
}

DIES(leave_without_enter, 1, MAIN)
{
	weft_blocking_leave();
}

DIES(leave_twice, 1, MAIN)
{
	weft_blocking_enter();
	weft_blocking_leave();
	weft_blocking_leave();
}

/* Also when the processor is long gone. */
static void *
yields_late(void *arg)
{
	usleep(100000);
	weft_yield();
	return arg;
}

DIES(yield_within_late, 1, MAIN)
{
	weft_blocking(yields_late, NULL);
}

DIES(ends_within, 1, "): it is in a blocking call that it announced, ")
{
	weft_waitgroup_add(&wg, 1);
	weft_go(weft_blocking_enter);
	weft_waitgroup_wait(&wg);
}
