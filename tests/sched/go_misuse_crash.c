/* SPDX-License-Identifier: MIT */
/* Calls that make no sense end the process with a message that says why. */
#include <pthread.h>
#include <stdint.h>

#include <weft.h>

#include "t.h"

static weft_waitgroup wg;

static void nothing(void *arg) { (void)arg; }

/* ---- null functions ---- */

DIES(go_null, 1, "weft_go: null function (fn at " __FILE__ ":")
{
	void (*fn)(int) = NULL;

	weft_go(fn, 1);
}

DIES(go_null_in_goroutine, 2, "weft_go: null function")
{
	void (*fn)(void) = NULL;

	weft_waitgroup_add(&wg, 1);
	weft_go_opt(WEFT_OPT(.name = "x"), fn);
}

/* Even where there is no runtime to refuse it. */
DIES(go_null_early, 0, "weft_go: null function")
{
	void (*fn)(void) = NULL;

	weft_go(fn);
}

DIES(spawn_null, 1, "weft_spawn: null function")
{
	weft_spawn(NULL, NULL, NULL, 0);
}

DIES(defer_null, 1, "weft_defer: null function")
{
	weft_defer(NULL, NULL);
}

DIES(run_null, 0, "weft_run: null function")
{
	weft_run(NULL, 0, NULL);
}

/* ---- not on a goroutine ---- */

static void *
defer_plainly(void *arg)
{
	weft_defer(nothing, arg);
	return NULL;
}

static void *
exit_plainly(void *arg)
{
	(void)arg;
	weft_goexit();
}

static void
on_a_thread(void *(*fn)(void *))
{
	pthread_t t;

	EQ(pthread_create(&t, NULL, fn, NULL), 0);
	pthread_join(t, NULL);
}

DIES(defer_on_thread, 1, "weft_defer: not on a goroutine")
{
	on_a_thread(defer_plainly);
}

DIES(exit_on_thread, 1, "weft_goexit: not on a goroutine")
{
	on_a_thread(exit_plainly);
}

DIES(defer_without_runtime, 0, "weft_defer: not on a goroutine")
{
	weft_defer(nothing, NULL);
}

DIES(exit_without_runtime, 0, "weft_goexit: not on a goroutine")
{
	weft_goexit();
}

/* ---- counting ---- */

DIES(waitgroup_negative, 1,
    "waitgroup: counter is negative (-1 after adding -1)")
{
	weft_waitgroup_done(&wg);
}

DIES(waitgroup_negative_by_many, 1,
    "waitgroup: counter is negative (-2 after adding -5)")
{
	weft_waitgroup_add(&wg, 3);
	weft_waitgroup_add(&wg, -5);
}

DIES(waitgroup_negative_while_waited_for, 1, "counter is negative")
{
	weft_waitgroup_add(&wg, 1);
	weft_go(weft_waitgroup_add, &wg, -2);
	weft_waitgroup_wait(&wg);
}

static void *
done_plainly(void *arg)
{
	weft_waitgroup_done(arg);
	weft_waitgroup_done(arg);
	return NULL;
}

DIES(waitgroup_negative_on_thread, 0, "counter is negative")
{
	pthread_t t;

	weft_waitgroup_add(&wg, 1);
	EQ(pthread_create(&t, NULL, done_plainly, &wg), 0);
	pthread_join(t, NULL);
}
