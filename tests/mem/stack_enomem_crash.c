/* SPDX-License-Identifier: MIT */
/*
 * No memory for a stack: the goroutine exists already, there is nobody to
 * tell, so the process dies.
 */
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <weft.h>

#include "t.h"

static weft_waitgroup never;

static void
limit_memory(void)
{
	struct rlimit r;
	void *p;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	t_skip("a sanitizer needs memory");
#endif
	EQ(getrlimit(RLIMIT_AS, &r), 0);
	r.rlim_cur = 0;
	EQ(setrlimit(RLIMIT_AS, &r), 0);
	p = mmap(NULL, 16 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p != MAP_FAILED)
		t_skip("RLIMIT_AS is not obeyed");
}

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
	limit_memory();
	while (weft_try_go_opt(WEFT_OPT(.name = "last"), hold_a_stack) > 0)
		weft_yield();
}

DIES(refused, 1, "out of memory: no stack of 196608 bytes to begin")
{
	use_up();
}

DIES(named, 1, "\"last\" (hold_a_stack, spawned at " __FILE__
    ":46): out of memory: ")
{
	use_up();
}

/* One of an unusual size, at once. */
DIES(refused_large, 1, "out of memory: no stack of")
{
	weft_waitgroup_add(&never, 1);
	limit_memory();
	weft_go_opt(WEFT_OPT(.stack = 100 << 20), hold_a_stack);
	weft_waitgroup_wait(&never);
}
