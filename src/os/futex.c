/* SPDX-License-Identifier: MIT */
/*
 * Sleep and wake on a word: how the runtime's threads wait, but for timed
 * sleeps (clock.c) and the poller (epoll.c).
 */
#include "os.h"

#include <sys/syscall.h>
#include <time.h>

#include "rawcall.h"

/* The kernel's headers may be missing where a libc's are installed (musl). */
enum { FUTEX_WAIT_PRIVATE = 128, FUTEX_WAKE_PRIVATE = 129 };

long
os_futex_wait(a32 *word, uint32_t expect, int64_t timeout_ns)
{
	struct timespec ts = {
		.tv_sec = timeout_ns / 1000000000,
		.tv_nsec = timeout_ns % 1000000000,
	};

	return syscall6(SYS_futex, (long)word, FUTEX_WAIT_PRIVATE, expect,
	    timeout_ns < 0 ? 0 : (long)&ts, 0, 0);
}

void
os_futex_wake(a32 *word, int n)
{
	syscall6(SYS_futex, (long)word, FUTEX_WAKE_PRIVATE, n, 0, 0, 0);
}
