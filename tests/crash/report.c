/* SPDX-License-Identifier: MIT */
/*
 * What is printed of goroutines that do not wait when the process dies. A
 * plain thread starts one while main blocks its only processor, so that it
 * cannot have started.
 */
#include <pthread.h>
#include <stdint.h>

#include <weft.h>

#include "t.h"

static weft_waitgroup wg;

static void fresh(int n) { (void)n; }
static void never_done(weft_waitgroup *g) { weft_waitgroup_wait(g); }

static void *
spawn_plainly(void *arg)
{
	(void)arg;
	weft_go_opt(WEFT_OPT(.name = "new"), fresh, 1);
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
	pthread_join(t, NULL);
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
