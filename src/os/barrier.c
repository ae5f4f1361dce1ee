/* SPDX-License-Identifier: MIT */
/*
 * A memory barrier for all threads at once (membarrier), paid for by the
 * caller: so the others need none on their fast paths.
 */
#include "os.h"

#include <sys/syscall.h>

#include "fatal.h"
#include "rawcall.h"
#include "valgrind.h"

/* linux/membarrier.h, which musl's headers do not have. */
enum {
	PRIVATE_EXPEDITED = 1 << 3,
	REGISTER_PRIVATE_EXPEDITED = 1 << 4
};

/* Constant after init. An old valgrind has no membarrier, but it runs one
 * thread at a time, so that none is needed. */
static bool by_turns;

int
os_barrier_init(void)
{
	int err = (int)syscall6(SYS_membarrier, REGISTER_PRIVATE_EXPEDITED, 0,
	    0, 0, 0, 0);

	by_turns = err && vg_running();
	return by_turns ? 0 : err;
}

void
os_barrier_all(void)
{
	must(by_turns || syscall6(SYS_membarrier, PRIVATE_EXPEDITED, 0, 0, 0,
	    0, 0) == 0);
}
