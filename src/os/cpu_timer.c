/* SPDX-License-Identifier: MIT */
/*
 * Timers that run with the CPU time of a thread. By system calls of our own:
 * a library's struct sigevent has the thread's id under various names.
 */
#include "os.h"

#include <sys/syscall.h>
#include <time.h>

#include "rawcall.h"

/* As the kernel has them. */
struct event {
	uintptr_t value;
	int32_t signal, notify, tid;
	int32_t pad[11];
};
_Static_assert(sizeof(struct event) == 64, "the kernel's struct sigevent");

enum { NOTIFY_SIGNAL = 0, NOTIFY_THREAD = 4 };

/* The clock of one thread's CPU time, as the scheduler counts it. */
static int
thread_clock(int tid)
{
	enum { SCHED = 2, PER_THREAD = 4 };

	return (int)(~(unsigned)tid << 3 | PER_THREAD | SCHED);
}

long
os_cpu_timer_start(int tid, int64_t period_ns, uintptr_t value)
{
	struct event ev = { .value = value, .signal = SIGPROF,
	    .notify = tid ? NOTIFY_THREAD : NOTIFY_SIGNAL, .tid = tid };
	int clock = tid ? thread_clock(tid) : CLOCK_PROCESS_CPUTIME_ID;
	struct timespec every = { period_ns / 1000000000,
	    period_ns % 1000000000 };
	struct itimerspec its = { every, every };
	int id = -1;
	long err = syscall6(SYS_timer_create, clock, (long)&ev, (long)&id, 0,
	    0, 0);

	if (err)
		return err;
	err = syscall6(SYS_timer_settime, id, 0, (long)&its, 0, 0, 0);
	if (err)
		os_cpu_timer_stop(id);
	return err ? err : id;
}

void
os_cpu_timer_stop(long id)
{
	syscall6(SYS_timer_delete, id, 0, 0, 0, 0, 0);
}
