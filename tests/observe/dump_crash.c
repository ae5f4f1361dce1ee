/* SPDX-License-Identifier: MIT */
/*
 * What is printed of goroutines that do not wait when the process dies. A
 * plain thread starts one while main keeps its only processor, which cannot be
 * taken (see setup), so that it cannot have started.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include <weft.h>

#include "plain_thread.h"
#include "t.h"

__attribute__((constructor)) static void
setup(void)
{
	setenv("WEFT_MAX_DETACHED", "-1", 0);
	setenv("WEFT_PREEMPT_SIGNAL", "-1", 0);
}

static weft_waitgroup wg;
static int spawned;

static void fresh(int n) { (void)n; }
static void never_done(weft_waitgroup *g) { weft_waitgroup_wait(g); }

static void *
spawn_plainly(void *arg)
{
	(void)arg;
	weft_go_opt(WEFT_OPT(.name = "new"), fresh, 1);
	__atomic_store_n(&spawned, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void
die_with_company(void)
{
	weft_waitgroup gate = {0};
	pthread_t t;

	weft_waitgroup_add(&gate, 1);
	weft_go_opt(WEFT_OPT(.name = "parked"), never_done, &gate);
	weft_yield();
	/* It does not yield in the call that it dies in, either, as it would
	 * once its slice is over. */
	weft_preempt_off();
	EQ(pthread_create(&t, NULL, spawn_plainly, NULL), 0);
	while (!__atomic_load_n(&spawned, __ATOMIC_ACQUIRE))
		;
	weft_waitgroup_done(&wg);
}

DIES(message_first, 1,
    "weft: the main goroutine: waitgroup: counter is negative")
{
	die_with_company();
}

DIES(running, 1, "goroutine 1 \"\" [running]: the main goroutine\n")
{
	die_with_company();
}

DIES(not_started, 1, "\"new\" [runnable, not started]: fresh, spawned at "
    __FILE__ ":")
{
	die_with_company();
}

DIES(waiting, 1, "\"parked\" [waiting: waitgroup wait]: never_done, "
    "spawned at " __FILE__ ":")
{
	die_with_company();
}

/* ---- which of several did it ---- */

static void
done_too_often(weft_waitgroup *g)
{
	weft_waitgroup_done(g);
}

static void
spin(void)
{
	for (;;)
		weft_yield();
}

static void
die_among_others(void (*die)(void))
{
	for (int i = 0; i < 5; i++)
		weft_go(spin);
	die();
	for (;;)
		weft_yield();
}

static void in_a_goroutine(void) { weft_go(done_too_often, &wg); }

DIES(says_which, 2, " (done_too_often, spawned at " __FILE__
    ":104): waitgroup: counter is negative")
{
	die_among_others(in_a_goroutine);
}

static void
in_a_named_one(void)
{
	weft_go_opt(WEFT_OPT(.name = "culprit"), done_too_often, &wg);
}

DIES(says_its_name, 2, " \"culprit\" (done_too_often, spawned at " __FILE__
    ":")
{
	die_among_others(in_a_named_one);
}

static void
in_a_member(void)
{
	static weft_waitgroup all;

	weft_waitgroup_go(&all, done_too_often, &wg);
}

DIES(says_which_member, 2, " (done_too_often, spawned at " __FILE__
    ":129): waitgroup: ")
{
	die_among_others(in_a_member);
}

static void run_copy(void *arg) { weft_waitgroup_done(arg); }
static void in_a_copy(void) { weft_spawn(NULL, 0, run_copy, &wg, 0); }

DIES(says_which_spawned, 2, " (weft_spawn): waitgroup: counter is negative")
{
	die_among_others(in_a_copy);
}

PLAIN_THREAD(plainly, weft_waitgroup_done(arg))

static void
on_a_thread(void)
{
	pthread_t t;

	EQ(pthread_create(&t, NULL, plainly, &wg), 0);
}

DIES(says_which_thread, 2, "weft: thread ")
{
	die_among_others(on_a_thread);
}

DIES(without_a_runtime, 0, "weft: thread ") { weft_waitgroup_done(&wg); }
