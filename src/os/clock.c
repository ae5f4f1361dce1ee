/* SPDX-License-Identifier: MIT */
/* The one place that reads a clock, or sleeps for a time. */
#include "os.h"

#include <sys/syscall.h>
#include <time.h>

#include "rawcall.h"

int64_t
os_now_ns(void)
{
	struct timespec ts;

	/* Cannot fail for this clock; served without entering the kernel. */
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

int64_t
os_left_ns(int64_t when)
{
	int64_t now = os_now_ns();

	return when > now ? when - now : 0;
}

void
os_sleep_ns(int64_t ns)
{
	struct timespec ts = { ns / 1000000000, ns % 1000000000 };

	syscall6(SYS_nanosleep, (long)&ts, 0, 0, 0, 0, 0);
}
