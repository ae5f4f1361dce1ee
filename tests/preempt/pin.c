/* SPDX-License-Identifier: MIT */
/* weft_pin: a goroutine stays on its thread, which runs no other. */
#define _GNU_SOURCE 1
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "leave_thread.h"
#include "run_env.h"

static weft_waitgroup all;
static int fd[2];
static long stop;

static void
finish(void)
{
	weft_waitgroup_done(&all);
}

static void *
nap(void *arg)
{
	usleep(2000);
	return arg;
}

/* Everything after which one may be somewhere else. */
static void
let_go(int how)
{
	switch (how % (LEAVE_WAYS + 3)) {
	case LEAVE_WAYS:
		weft_blocking(nap, NULL);
		break;
	case LEAVE_WAYS + 1:
		usleep(2000);
		break;
	case LEAVE_WAYS + 2:
		weft_go(weft_yield);
		break;
	default:
		leave_thread(how % (LEAVE_WAYS + 3));
	}
}

static void
stays(int rounds)
{
	pid_t tid;

	weft_pin();
	tid = gettid();
	for (int i = 0; i < rounds; i++) {
		let_go(i);
		EQ(gettid(), tid);
	}
	weft_unpin();
	finish();
}

static void
all_stay(void)
{
	int n = 10;

	weft_waitgroup_add(&all, n);
	for (int i = 0; i < n; i++)
		weft_go(stays, 30);
	weft_waitgroup_wait(&all);
}

ON_ALL(all_stay)

ETEST(stays_when_others_migrate, 2, "WEFT_MIGRATE=1") { all_stay(); }
ETEST(stays_with_short_slices, 2, "WEFT_SLICE_US=50") { all_stay(); }

GTEST(main_stays, 1)
{
	weft_waitgroup_add(&all, 1);
	stays(60);
}

/* ---- nesting ---- */

GTEST(they_nest, 2)
{
	pid_t tid;

	weft_pin();
	weft_pin();
	weft_pin();
	tid = gettid();
	weft_unpin();
	weft_unpin();
	for (int i = 0; i < 12; i++)
		let_go(i);
	EQ(gettid(), tid);
	weft_unpin();
	weft_yield();
}

TEST(elsewhere_they_do_nothing)
{
	weft_unpin();
	weft_pin();
	weft_unpin();
	weft_unpin();
}

/* ---- the thread runs no other ---- */

static __thread long owner;

/* Asked anew each time: compilers keep a thread-local's address. */
__attribute__((noinline)) static long
owner_now(void)
{
	__asm__ volatile("");
	return owner;
}

static void
owns(long nr, weft_chan *c)
{
	weft_pin();
	EQ(owner, 0);
	owner = nr;
	for (int i = 0; i < 50; i++) {
		weft_chan_send(c, NULL);
		weft_yield();
		EQ(owner, nr);
	}
	owner = 0;
	weft_unpin();
	finish();
}

static void
is_free(void)
{
	for (int i = 0; i < 50; i++) {
		EQ(owner_now(), 0);
		weft_yield();
	}
	finish();
}

static void
keeps_others_off(void)
{
	weft_chan *c = weft_chan_make(0, 0);

	weft_waitgroup_add(&all, 8);
	for (long i = 1; i <= 4; i++) {
		weft_go(owns, i, c);
		weft_go(is_free);
	}
	for (int i = 0; i < 200; i++)
		weft_chan_recv(c, NULL);
	weft_waitgroup_wait(&all);
	weft_chan_release(c);
}

ON_ALL(keeps_others_off)

/* ---- handing on ---- */

static void
passes_on(weft_chan *in, weft_chan *out)
{
	pid_t tid;
	long v;

	weft_pin();
	tid = gettid();
	while (weft_recv_ok(in, &v)) {
		EQ(gettid(), tid);
		v++;
		weft_send(out, v);
	}
	weft_chan_close(out);
	weft_unpin();
	finish();
}

static void
feeds(weft_chan *c, long n)
{
	for (long i = 0; i < n; i++)
		weft_send(c, i);
	weft_chan_close(c);
	finish();
}

static void
relay(void)
{
	enum { STAGES = 16 };
	weft_chan *c[STAGES + 1];
	long n = t_scale(500), v, i = 0;

	for (int k = 0; k <= STAGES; k++)
		c[k] = weft_chan_make(sizeof(long), 0);
	weft_waitgroup_add(&all, STAGES + 1);
	for (int k = 0; k < STAGES; k++)
		weft_go(passes_on, c[k], c[k + 1]);
	weft_go(feeds, c[0], n);
	while (weft_recv_ok(c[STAGES], &v))
		EQ(v, i++ + STAGES);
	EQ(i, n);
	weft_waitgroup_wait(&all);
	for (int k = 0; k <= STAGES; k++)
		weft_chan_release(c[k]);
}

ON_ALL(relay)

/* ---- the number of processors changes ---- */

static void
stays_on(void)
{
	pid_t tid;

	weft_pin();
	tid = gettid();
	for (int i = 0; !get(&stop); i++) {
		let_go(i);
		EQ(gettid(), tid);
	}
	weft_unpin();
	finish();
}

GTEST(processors_come_and_go, 4)
{
	pid_t tid;

	weft_waitgroup_add(&all, 6);
	for (int i = 0; i < 6; i++)
		weft_go(stays_on);
	weft_pin();
	tid = gettid();
	for (int i = 0; i < 40; i++) {
		OK(weft_set_procs(1 + i % 5) > 0);
		EQ(gettid(), tid);
		EQ(weft_procs(), 1 + i % 5);
	}
	weft_unpin();
	bump(&stop);
	weft_waitgroup_wait(&all);
}

/* ---- one that computes ---- */

static void
computes_pinned(void)
{
	pid_t tid;

	weft_pin();
	tid = gettid();
	compute(&stop);
	EQ(gettid(), tid);
	weft_yield();
	EQ(gettid(), tid);
	weft_unpin();
	finish();
}

static uint64_t
pauses(const weft_preempt_stats *s)
{
	uint64_t n = 0;

	for (int i = 0; i < WEFT_RETAKE_REASONS; i++)
		n += s->paused[i];
	return n;
}

/* They are paused, or lose it: where signals are not sent. */
GTEST(its_processor_is_taken, 1)
{
	weft_preempt_stats s;

	weft_waitgroup_add(&all, 3);
	for (int i = 0; i < 3; i++)
		weft_go(computes_pinned);
	while (s = stalls_now(), s.detached < 3 && pauses(&s) < 3)
		weft_sleep(WEFT_MS);
	EQ(s.preempted, 0);
	bump(&stop);
	weft_waitgroup_wait(&all);
	/* The last of them may be on its way out. */
	while (stalls_now().detached)
		weft_sleep(WEFT_MS);
}

/* ---- it ends pinned ---- */

static bool
thread_exists(pid_t tid)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/self/task/%d", (int)tid);
	return access(path, F_OK) == 0;
}

static pthread_key_t key;
static long destroyed;

static void
destroy(void *value)
{
	EQ(*(pid_t *)value, gettid());
	bump(&destroyed);
}

static void
ends_pinned(pid_t *tid, bool by_exit)
{
	weft_pin();
	weft_pin();
	__atomic_store_n(tid, gettid(), __ATOMIC_RELEASE);
	pthread_setspecific(key, tid);
	weft_yield();
	EQ(gettid(), *tid);
	finish();
	if (by_exit)
		weft_goexit();
}

static void
threads_end(void)
{
	enum { N = 20 };
	static pid_t tid[N];
	long before = get(&destroyed);

	weft_waitgroup_add(&all, N);
	for (int i = 0; i < N; i++)
		weft_go(ends_pinned, &tid[i], i & 1);
	weft_waitgroup_wait(&all);
	for (int i = 0; i < N; i++)
		while (thread_exists(tid[i]))
			weft_sleep(WEFT_MS);
	EQ(get(&destroyed), before + N);
	for (int i = 0; i < N; i++)
		for (int k = 0; k < i; k++)
			OK(tid[i] != tid[k]);
}

static void
make_key(void)
{
	EQ(pthread_key_create(&key, destroy), 0);
}

GTEST(ends_on_one, 1) { make_key(); threads_end(); threads_end(); }
GTEST(ends_on_four, 4) { make_key(); threads_end(); threads_end(); }

/* And its thread was the only one that had a processor. */
static void
ends_as_last(weft_event *e)
{
	weft_pin();
	weft_event_set(e);
}

GTEST(others_go_on_after_it, 1)
{
	for (long i = 0; i < t_scale(300); i++) {
		weft_event e = {0};

		weft_go(ends_as_last, &e);
		weft_event_wait(&e);
	}
}

/* ---- what a thread inherits ---- */

static int cpu_a = -1, cpu_b = -1;

/* Two processors of this machine. */
static bool
two_cpus(cpu_set_t *usual)
{
	if (sched_getaffinity(0, sizeof *usual, usual) != 0)
		return false;
	for (int i = 0; i < CPU_SETSIZE && cpu_b < 0; i++)
		if (CPU_ISSET(i, usual))
			*(cpu_a < 0 ? &cpu_a : &cpu_b) = i;
	return cpu_b >= 0;
}

static cpu_set_t usual;

static void
blocks_and_looks(void)
{
	cpu_set_t mask;
	char c;

	EQ(read(fd[0], &c, 1), 1);
	EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
	OK(CPU_EQUAL(&mask, &usual));
	finish();
}

/* Others are made while one has narrowed its thread: not in its image. */
GTEST(affinity_is_not_inherited, 1)
{
	cpu_set_t one;

	if (!two_cpus(&usual))
		t_skip("needs two CPUs");
	EQ(pipe(fd), 0);
	weft_pin();
	CPU_ZERO(&one);
	CPU_SET(cpu_a, &one);
	EQ(sched_setaffinity(0, sizeof one, &one), 0);
	weft_waitgroup_add(&all, 20);
	for (int i = 0; i < 20; i++)
		weft_go(blocks_and_looks);
	for (int i = 0; i < 20; i++) {
		usleep(1000);
		weft_yield();
	}
	for (int i = 0; i < 20; i++)
		EQ(write(fd[1], "x", 1), 1);
	weft_waitgroup_wait(&all);
	EQ(sched_setaffinity(0, sizeof usual, &usual), 0);
	weft_unpin();
}
