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
	EQ(pthread_create(&t, NULL, spawn_plainly, NULL), 0);
	while (!__atomic_load_n(&spawned, __ATOMIC_ACQUIRE))
		;
	weft_waitgroup_done(&wg);
}

DIES(message_first, 1, "weft: fatal: waitgroup: counter is negative")
{
	die_with_company();
}

DIES(running, 1, "[running]: weft_main")
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
