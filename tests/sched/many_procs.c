/* SPDX-License-Identifier: MIT */
/*
 * Many more processors than CPUs, as on a machine that is larger than the one
 * that runs this: 64 (one word of the mask of idle Ps) and 1024 (the most).
 * Nothing is lost, nothing is early, and there are no more threads than Ps.
 */
#define _GNU_SOURCE
#include <sched.h>

#include <weft.h>

#include "busy.h"
#include "fd_pairs.h"
#include "run_env.h"
#include "t.h"
#include "thread_count.h"

enum {
	WORD = 64,
	MOST = 1024,
	/* A thread's stack, signal stack and P, as far as they are touched. */
	THREAD_BYTES = 64 << 10,
	BASE_BYTES = 64 << 20
};

static weft_waitgroup all;
static long count, stop;

/* Threads and memory, as many and as much as the Ps are worth. */
static void
stays_small(void)
{
	OK(threads_are_few());
	if (!T_SANITIZED && !t_valgrind() && !t_emulated())
		OK(t_resident() < BASE_BYTES +
		    (int64_t)weft_procs() * THREAD_BYTES);
}

#define ON_MANY(fn)							\
	GTEST(fn##_on_64, WORD) { fn(); stays_small(); }		\
	GTEST(fn##_on_1024, MOST) { fn(); stays_small(); }

/* ---- a tree of goroutines, each waits for its children ---- */

enum { FAN = 4 };

static void
node(weft_chan *up, int depth)
{
	weft_chan *c;
	long sum = 1, v;

	if (depth == 1)
		busy_for(20 * WEFT_US);	/* worth stealing */
	if (depth > 0) {
		c = weft_chan_make(sizeof v, 0);
		for (int i = 0; i < FAN; i++)
			weft_go(node, c, depth - 1);
		for (int i = 0; i < FAN; i++) {
			OK(weft_chan_recv(c, &v));
			sum += v;
		}
		weft_chan_release(c);
	}
	weft_chan_send(up, &sum);
}

static void
tree(void)
{
	weft_chan *c = weft_chan_make(sizeof(long), 0);
	int depth = t_scale(100) > 50 ? 7 : 4;
	long nodes = 0, v;

	for (int i = 0; i <= depth; i++)
		nodes = nodes * FAN + 1;
	weft_go(node, c, depth);
	OK(weft_chan_recv(c, &v));
	EQ(v, nodes);
	weft_chan_release(c);
}

ON_MANY(tree)

/* ---- all Ps run at the same time ---- */

/* Waits for all others, and keeps its P and its thread meanwhile. */
static void
meet(long n)
{
	bump(&count);
	while (get(&count) < n)
		sched_yield();
	weft_waitgroup_done(&all);
}

/* If each took its thread from another one they would never be as many. */
static void
meeting(void)
{
	long n = weft_procs();

	if (n > WORD && (T_SANITIZED || t_emulated() || t_valgrind()))
		t_skip("a thousand threads that spin take too long");
	weft_waitgroup_add(&all, (int)n - 1);
	for (long i = 1; i < n; i++)
		weft_go(meet, n);
	weft_waitgroup_add(&all, 1);
	meet(n);
	weft_waitgroup_wait(&all);
	stays_small();
	tree();			/* with a thread for each P */
}

ON_MANY(meeting)

/* ---- one channel for all, one lock for all ---- */

static weft_chan *shared;
static long received, sum;

static void
produce(long from, long n)
{
	for (long v = from; v < from + n; v++)
		weft_chan_send(shared, &v);
	weft_waitgroup_done(&all);
}

static void
consume(weft_waitgroup *ended)
{
	for (long v; weft_chan_recv(shared, &v); ) {
		__atomic_add_fetch(&sum, v, __ATOMIC_RELAXED);
		__atomic_add_fetch(&received, 1, __ATOMIC_RELAXED);
	}
	weft_waitgroup_done(ended);
}

static void
channel(void)
{
	weft_waitgroup ended = {0};
	long n = t_scale(400), k = 50;

	shared = weft_chan_make(sizeof(long), 7);
	weft_waitgroup_add(&all, (int)k);
	weft_waitgroup_add(&ended, (int)k);
	for (long i = 0; i < k; i++) {
		weft_go(produce, i * n, n);
		weft_go(consume, &ended);
	}
	weft_waitgroup_wait(&all);
	weft_chan_close(shared);
	weft_waitgroup_wait(&ended);
	EQ(received, k * n);
	EQ(sum, k * n * (k * n - 1) / 2);
	weft_chan_release(shared);
}

ON_MANY(channel)

static weft_mutex lock;

static void
count_locked(long n)
{
	while (n-- > 0) {
		weft_mutex_lock(&lock);
		count++;		/* a race if two are in here */
		if (n % 16 == 0)
			weft_yield();
		weft_mutex_unlock(&lock);
	}
	weft_waitgroup_done(&all);
}

static void
mutex(void)
{
	long n = t_scale(400), k = 100;

	weft_waitgroup_add(&all, (int)k);
	for (int i = 0; i < k; i++)
		weft_go(count_locked, n);
	weft_waitgroup_wait(&all);
	EQ(count, k * n);
}

ON_MANY(mutex)

/* ---- timers: none is early, none is lost ---- */

static void
sleep_times(long seed)
{
	for (int i = 0; i < 3; i++) {
		int64_t ns = (seed * 7919 + i * 104729) % (5 * WEFT_MS);
		int64_t end = weft_deadline(ns);

		weft_sleep(ns);
		OK(weft_now() >= end);
	}
	weft_waitgroup_done(&all);
}

static void
timers(void)
{
	int n = (int)t_scale(3000);

	weft_waitgroup_add(&all, n);
	for (long i = 0; i < n; i++)
		weft_go(sleep_times, i);
	weft_waitgroup_wait(&all);
}

ON_MANY(timers)

/* ---- descriptors ---- */

enum { ROUNDS = 20 };

static void
echo(int fd)
{
	for (char c; weft_read(fd, &c, 1) == 1; )
		EQ(weft_write(fd, &c, 1), 1);
	EQ(weft_close(fd), 0);
	weft_waitgroup_done(&all);
}

static void
ask(int fd)
{
	for (int i = 0; i < ROUNDS; i++) {
		char c = (char)i, r = (char)(i + 1);

		EQ(weft_write(fd, &c, 1), 1);
		EQ(weft_read(fd, &r, 1), 1);
		EQ(r, c);
	}
	EQ(weft_close(fd), 0);
	weft_waitgroup_done(&all);
}

static void
sockets(void)
{
	int end[2], n = (int)t_scale(100);

	weft_waitgroup_add(&all, 2 * n);
	for (int i = 0; i < n; i++) {
		OK(raw_pair(SOCK_STREAM, end) == 0);
		weft_go(echo, end[0]);
		weft_go(ask, end[1]);
	}
	weft_waitgroup_wait(&all);
}

ON_MANY(sockets)

/* ---- resizing, while all of it goes on ---- */

static void
work(long n)
{
	while (n-- > 0) {
		__atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
		if (n % 3)
			weft_yield();
		else
			weft_sleep(10 * WEFT_US);
	}
	weft_waitgroup_done(&all);
}

GTEST(resize_1_64_1024, 1)
{
	static const int steps[] = { 64, 1024, 1, 1024, 64, 1, 63, 65, 2 };
	int old = 1, n = (int)t_scale(300);

	weft_waitgroup_add(&all, n);
	for (int i = 0; i < n; i++)
		weft_go(work, 30L);
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		EQ(weft_set_procs(steps[i]), old);
		old = steps[i];
		weft_yield();
	}
	weft_waitgroup_wait(&all);
	EQ(count, 30L * n);
	stays_small();
}

/* Timers and newborns of 1023 Ps move to the one that is left. */
GTEST(all_of_it_moves_to_one, MOST)
{
	int n = (int)t_scale(2000);

	weft_waitgroup_add(&all, 2 * n);
	for (int i = 0; i < n; i++) {
		weft_go(sleep_times, i);
		weft_go(work, 1L);
	}
	EQ(weft_set_procs(1), MOST);
	weft_waitgroup_wait(&all);
	EQ(count, n);
}

/* ---- loops that make no call ---- */

/*
 * Some more than there are CPUs; the others make progress, the world stops,
 * and main returns while they run.
 */
static void
loops(void)
{
	int procs = weft_procs(), n = T_SANITIZED ? 3 : 8;

	if (t_emulated() || t_valgrind())
		t_skip("threads that compute have no CPU for long");
	weft_waitgroup_add(&all, n);
	for (int i = 0; i < n; i++)
		weft_go(busy_goroutine, &stop, &all);
	for (int i = 0; i < 10; i++)
		weft_sleep(WEFT_MS);
	tree();
	EQ(weft_set_procs(WORD / 2), procs);
	EQ(weft_set_procs(procs), WORD / 2);
	bump(&stop);
	weft_waitgroup_wait(&all);
}

ON_MANY(loops)

static int
return_beside_loops(int argc, char **argv)
{
	(void)argv;
	for (int i = 0; i < argc; i++)
		weft_go(yield_goroutine, &stop, &all);
	weft_sleep(2 * WEFT_MS);
	return 7;
}

/* The end of the runtime does not wait for a thousand Ps. */
TEST(ends_while_all_are_busy)
{
	weft_config c = { .procs = MOST };

	weft_waitgroup_add(&all, 1);	/* of which none is waited for */
	EQ(weft_run_config(&c, sizeof c, return_beside_loops, 500, NULL), 7);
}

/* ---- blocking calls: their threads come on top ---- */

static void
block(void)
{
	weft_blocking_enter();
	usleep(2000);
	weft_blocking_leave();
	weft_waitgroup_done(&all);
}

GTEST(blocking_calls_on_1024, MOST)
{
	int n = (int)t_scale(200);

	weft_waitgroup_add(&all, n);
	for (int i = 0; i < n; i++)
		weft_go(block);
	weft_waitgroup_wait(&all);
	stays_small();
}
