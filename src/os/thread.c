/* SPDX-License-Identifier: MIT */
/*
 * Threads. They are created by libc, since the code that goroutines call
 * expects a thread that libc knows.
 */
#define _GNU_SOURCE
#include "os.h"

#include <errno.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "atomic.h"
#include "rawcall.h"

static a32 refusal;

static int
start(void *(*fn)(void *), void *arg, size_t stack_bytes)
{
	pthread_attr_t attr;
	pthread_t t;
	int err;

	err = pthread_attr_init(&attr);
	if (err)
		return err;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, stack_bytes);
	err = pthread_create(&t, &attr, fn, arg);
	pthread_attr_destroy(&attr);
	return err;
}

/* glibc puts a program's thread-locals on the stack: retry with a larger. */
int
os_thread_start(void *(*fn)(void *), void *arg, size_t stack_bytes)
{
	int err = start(fn, arg, stack_bytes);

	for (int i = 0; i < 8 && err == EINVAL; i++)
		err = start(fn, arg, stack_bytes *= 2);
	if (!err)
		return 0;
	a_store_relaxed(&refusal, (uint32_t)err);
	return -EAGAIN;
}

int
os_thread_refusal(void)
{
	return (int)a_load_relaxed(&refusal);
}

/* The kernel's default timer slack is 50 us, longer than most sleeps here. */
void
os_thread_precise_sleep(void)
{
	syscall6(SYS_prctl, PR_SET_TIMERSLACK, 1000, 0, 0, 0, 0);
}

/* Linux 6.12 takes the runtime attribute of an ordinary thread as the slice
 * it requests; older kernels ignore it. */
void
os_thread_short_slice(void)
{
	enum { OTHER = 0, SLICE_NS = 100000 };
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} a = {0};

	if (syscall6(SYS_sched_getattr, 0, (long)&a, sizeof a, 0, 0, 0) != 0 ||
	    a.policy != OTHER)
		return;
	a.size = sizeof a;
	a.runtime = SLICE_NS;
	syscall6(SYS_sched_setattr, 0, (long)&a, 0, 0, 0, 0);
}

int
os_thread_id(void)
{
	return (int)syscall6(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

void
os_thread_yield(void)
{
	syscall6(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
}

/* Weak: the audit then tells a program's own reference to them from ours. */
__typeof__(pthread_self) pthread_self __attribute__((__weak__));
__typeof__(pthread_getattr_np) pthread_getattr_np __attribute__((__weak__));

/*
 * libc puts a thread's locals and its control block at the upper end of the
 * stack; the thread pointer points there. musl does not count that part.
 */
void
os_thread_bounds(uintptr_t *lo, uintptr_t *hi)
{
	uintptr_t tp = (uintptr_t)__builtin_thread_pointer();
	pthread_attr_t attr;
	size_t bytes = 0;
	void *base = NULL;

	if (pthread_self && pthread_getattr_np &&
	    pthread_getattr_np(pthread_self(), &attr) == 0) {
		pthread_attr_getstack(&attr, &base, &bytes);
		pthread_attr_destroy(&attr);
	}
	*lo = (uintptr_t)base;
	*hi = (uintptr_t)base + bytes;
	if (tp >= *hi)
		*hi = tp + PAGE;
	if (!base)
		*lo = *hi = 0;
}

/* Field 20 of /proc/self/stat; the second one may hold spaces and brackets. */
int
os_thread_count(void)
{
	char buf[1024];
	long n = os_read_file("/proc/self/stat", buf, sizeof buf);
	int field = 2, count = 0;
	char *s;

	if (n < 0)
		return (int)n;
	for (s = buf + n; s > buf && *s != ')'; s--)
		;
	for (; *s && field < 20; s++)
		field += *s == ' ';
	for (; *s >= '0' && *s <= '9'; s++)
		count = count * 10 + (*s - '0');
	return count ? count : -EINVAL;
}

static int
cpu_now(void)
{
	unsigned cpu = 0;

	if (syscall6(SYS_getcpu, (long)&cpu, 0, 0, 0, 0, 0) != 0)
		return -1;
	return (int)cpu;
}

bool
os_thread_move_here(int tid, struct os_cpus *keep)
{
	struct os_cpus one = {0};
	uint32_t cpu = (uint32_t)cpu_now(), n = 0;

	keep->bytes = syscall6(SYS_sched_getaffinity, tid, sizeof keep->words,
	    (long)keep->words, 0, 0, 0);
	if (keep->bytes <= 0 || cpu >= (uint32_t)keep->bytes * 8 ||
	    !(keep->words[cpu / 64] >> cpu % 64 & 1))
		return false;
	for (long i = 0; i < keep->bytes / 8; i++)
		n += (uint32_t)__builtin_popcountll(keep->words[i]);
	if (n < 2)
		return false;
	one.words[cpu / 64] = UINT64_C(1) << cpu % 64;
	return syscall6(SYS_sched_setaffinity, tid, keep->bytes,
	    (long)one.words, 0, 0, 0) == 0;
}

void
os_thread_restore_cpus(const struct os_cpus *keep)
{
	syscall6(SYS_sched_setaffinity, 0, keep->bytes, (long)keep->words, 0,
	    0, 0);
}

bool
os_thread_realtime(void)
{
	enum { FIFO = 1, RR = 2, DEADLINE = 6, RESET_ON_FORK = 0x40000000 };
	long policy = syscall6(SYS_sched_getscheduler, 0, 0, 0, 0, 0, 0) &
	    ~(long)RESET_ON_FORK;

	return policy == FIFO || policy == RR || policy == DEADLINE;
}

/* The id of a thread's clock encodes its tid: see clock_getcpuclockid(3). */
int64_t
os_thread_cpu_ns(int tid)
{
	enum { PER_THREAD = 4, SCHED_CLOCK = 2 };
	struct timespec ts;
	long clock = (long)(~(unsigned)tid << 3 | PER_THREAD | SCHED_CLOCK);
	long err = syscall6(SYS_clock_gettime, (int)clock, (long)&ts, 0, 0, 0,
	    0);

	return err ? err : (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}
