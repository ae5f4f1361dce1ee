/* SPDX-License-Identifier: MIT */
/*
 * A barrier for all threads at once, paid for by who asks: so the others need
 * none on their fast paths.
 */
#include "os.h"

#include <sys/syscall.h>

#include "fatal.h"
#include "rawcall.h"

/* linux/membarrier.h, which musl's headers do not have. */
enum {
	PRIVATE_EXPEDITED = 1 << 3,
	REGISTER_PRIVATE_EXPEDITED = 1 << 4
};

int
os_barrier_init(void)
{
	return (int)syscall6(SYS_membarrier, REGISTER_PRIVATE_EXPEDITED, 0, 0,
	    0, 0, 0);
}

void
os_barrier_all(void)
{
	must(syscall6(SYS_membarrier, PRIVATE_EXPEDITED, 0, 0, 0, 0, 0) == 0);
}
