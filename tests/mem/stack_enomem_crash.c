/* SPDX-License-Identifier: MIT */
/*
 * No memory for a stack: the goroutine exists already, there is no caller to
 * tell, so the process dies.
 */
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <weft.h>

#include "memory_limit.h"
#include "t.h"

static weft_waitgroup never;

static void
hold_a_stack(void)
{
	weft_waitgroup_wait(&never);
}

static void
use_up(void)
{
	weft_waitgroup_add(&never, 1);
	weft_go(hold_a_stack);
	weft_yield();
	need_memory_limit();
	memory_limit(0);
	while (weft_try_go_opt(WEFT_OPT(.name = "last"), hold_a_stack) > 0)
		weft_yield();
}

DIES(refused, 1, "out of memory: no stack of 196608 bytes to begin")
{
	use_up();
}

DIES(named, 1, "\"last\" (hold_a_stack, spawned at " __FILE__
    ":31): out of memory: ")
{
	use_up();
}

/* One of an unusual size, at once. */
DIES(refused_large, 1, "out of memory: no stack of")
{
	weft_waitgroup_add(&never, 1);
	need_memory_limit();
	memory_limit(0);
	weft_go_opt(WEFT_OPT(.stack = 100 << 20), hold_a_stack);
	weft_waitgroup_wait(&never);
}
