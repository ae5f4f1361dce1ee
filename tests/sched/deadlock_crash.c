/* SPDX-License-Identifier: MIT */
/* All goroutines wait for each other: the process dies and lists them. */
#include <stdint.h>
#include <stdlib.h>

#include <weft.h>

#include "t.h"

#define ASLEEP "all goroutines are asleep"

static weft_waitgroup never, again;

/* Whether other threads could wake a goroutine, only the kernel knows. */
static void
need_kernel(void)
{
	if (t_emulated())
		t_skip("an emulator does not count threads");
}

static void
park(weft_waitgroup *wg)
{
	weft_waitgroup_wait(wg);
}

static void nothing(void) { }

static void
lock_up(int waiters)
{
	need_kernel();
	weft_waitgroup_add(&never, 1);
	for (int i = 0; i < waiters; i++)
		weft_go_opt(WEFT_OPT(.name = "waiter"), park, &never);
	weft_waitgroup_wait(&never);
}

DIES(main_alone, 1, ASLEEP)
{
	lock_up(0);
}

DIES(main_alone_of_four, 4, ASLEEP)
{
	lock_up(0);
}

DIES(some_on_one, 1, ASLEEP)
{
	lock_up(10);
}

DIES(some_on_four, 4, ASLEEP)
{
	lock_up(100);
}

/* Each waits for the next one. */
static void
wait_in_ring(weft_waitgroup *mine, weft_waitgroup *others)
{
	weft_waitgroup_wait(others);
	weft_waitgroup_done(mine);
}

DIES(circle, 2, ASLEEP)
{
	need_kernel();
	weft_waitgroup_add(&never, 1);
	weft_waitgroup_add(&again, 1);
	weft_go(wait_in_ring, &never, &again);
	weft_go(wait_in_ring, &again, &never);
	weft_waitgroup_wait(&never);
}

static void
work(int n, weft_waitgroup *wg)
{
	while (n-- > 0)
		weft_yield();
	weft_waitgroup_done(wg);
}

/* Much happens first, on all processors, and threads sleep and wake. */
DIES(after_work, 4, ASLEEP)
{
	int n = (int)t_scale(2000);

	for (int round = 0; round < 5; round++) {
		weft_waitgroup_add(&again, n);
		for (int i = 0; i < n; i++)
			weft_go(work, i % 10, &again);
		weft_waitgroup_wait(&again);
	}
	lock_up(3);
}

DIES(after_resizing, 1, ASLEEP)
{
	weft_set_procs(8);
	weft_set_procs(2);
	lock_up(3);
}

/* ---- the report ---- */

DIES(names_the_waiting, 1, "[waiting: waitgroup wait]: park, "
    "spawned at " __FILE__ ":")
{
	lock_up(2);
}

DIES(names_main, 1, "[waiting: waitgroup wait]: the main goroutine\n")
{
	lock_up(2);
}

/* Those that ended are not in it: their records have had other names. */
DIES(names_no_dead, 1, "asleep: deadlock\ngoroutine ")
{
	weft_waitgroup_add(&again, 1);
	weft_go_opt(WEFT_OPT(.name = "dead"), work, 0, &again);
	weft_waitgroup_wait(&again);
	lock_up(0);
}

/* ---- main has exited ---- */

DIES(none_left, 1, "no goroutines left")
{
	need_kernel();
	weft_goexit();
}

static void
start_work(int n)
{
	need_kernel();
	weft_waitgroup_add(&never, n);
	for (int i = 0; i < n; i++)
		weft_go(work, i, &never);
}

DIES(none_left_after_others, 1, "no goroutines left")
{
	start_work(20);
	weft_goexit();
}

DIES(none_left_on_four, 4, "no goroutines left")
{
	start_work(200);
	weft_go(nothing);
	weft_goexit();
}

DIES(rest_asleep, 1, ASLEEP)
{
	need_kernel();
	weft_waitgroup_add(&never, 1);
	weft_go(park, &never);
	weft_goexit();
}
