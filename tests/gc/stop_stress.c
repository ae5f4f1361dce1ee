/* SPDX-License-Identifier: MIT */
/*
 * The stop of a collection amid what goes on without it: threads that come back
 * from calls, threads that the collector does not know, forks, the beginning
 * and the end of the runtime.
 */
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "child_process.h"
#include "run_env.h"
#include "things.h"

static long over, freed;
static weft_waitgroup all;

/* Collects all the time, on a plain thread. */
static void *
collect_until_over(void *arg)
{
	(void)arg;
	while (!get(&over))
		EQ(weft_gc_collect(), 0);
	return NULL;
}

static void
run_beside_collections(double seconds)
{
	pthread_t t;

	EQ(pthread_create(&t, NULL, collect_until_over, NULL), 0);
	do
		weft_sleep(20 * WEFT_MS);
	while (t_more(seconds));
	bump(&over);
	weft_blocking_enter();
	pthread_join(t, NULL);
	weft_blocking_leave();
}

/* ---- goroutines that come back from calls without a processor ---- */

static void *
nap(void *arg)
{
	usleep(30);
	return arg;
}

static void
call_again_and_again(void)
{
	while (!get(&over)) {
		void *volatile object = weft_gc_alloc(64);
		weft_gc_weak *link = weft_gc_weak_make(object);

		for (int i = 0; i < 8; i++)
			weft_blocking(nap, NULL);
		if (weft_gc_weak_get(link) != object)
			bump(&freed);
	}
	weft_waitgroup_done(&all);
}

static void
calls_that_return(void)
{
	weft_waitgroup_add(&all, 24);
	for (int i = 0; i < 24; i++)
		weft_go(call_again_and_again);
	run_beside_collections(1.5);
	weft_waitgroup_wait(&all);
	EQ(freed, 0);
}

GTEST(calls_that_return_on_one, 1) { calls_that_return(); }
GTEST(calls_that_return_on_two, 2) { calls_that_return(); }
ETEST(calls_that_return_in_short_slices, 4, "WEFT_SLICE_US=50")
{
	calls_that_return();
}

/* ---- threads that the collector does not know ---- */

static void
end_at_once(int n)
{
	(void)n;
}

static void *
use_weft(void *arg)
{
	(void)arg;
	while (!get(&over)) {
		weft_chan *large = weft_chan_of(int64_t, 40000);
		weft_chan *small = weft_chan_of(int64_t, 3);
		weft_timer *t = weft_timer_make(WEFT_MS);

		weft_send(small, INT64_C(1));
		for (int i = 0; i < 20; i++)
			weft_try_go(end_at_once, i);
		weft_chan_release(large);
		weft_timer_free(t);
		weft_chan_release(small);
	}
	return NULL;
}

GTEST(threads_that_use_channels_and_spawn, 2)
{
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		EQ(pthread_create(&t[i], NULL, use_weft, NULL), 0);
	run_beside_collections(1);
	weft_blocking_enter();
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	weft_blocking_leave();
}

/* The signals by which libgc stops the thread in weft_run are blocked there. */
TEST(signals_blocked_at_the_start)
{
	sigset_t every;

	sigfillset(&every);
	pthread_sigmask(SIG_BLOCK, &every, NULL);
	run_env(2, NULL, calls_that_return);
}

/* ---- forks ---- */

static long forked;

static void *
fork_plainly(void *arg)
{
	(void)arg;
	OK(weft_gc_thread_begin() == 0);
	for (int i = 0; i < 10; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(weft_gc_alloc(100000) && weft_gc_alloc(20) &&
			    weft_gc_collect() == -EPERM ? 0 : 1);
		EQ(exit_status(pid), 0);
	}
	bump(&forked);
	return NULL;
}

GTEST(forks_by_a_plain_thread, 2)
{
	pthread_t t;

	weft_waitgroup_add(&all, 8);
	for (int i = 0; i < 8; i++)
		weft_go(call_again_and_again);
	EQ(pthread_create(&t, NULL, fork_plainly, NULL), 0);
	while (!get(&forked))
		EQ(weft_gc_collect(), 0);
	bump(&over);
	weft_waitgroup_wait(&all);
	pthread_join(t, NULL);
}

/* The child's only thread is one that the collector did not know. */
static int
begin_in_child(void)
{
	struct thing *t[64];
	int wrong = 0;

	if (weft_gc_thread_begin() != 0)
		return 2;
	for (uint64_t i = 0; i < 64; i++)
		t[i] = thing_make(i);
	churn();
	for (uint64_t i = 0; i < 64; i++)
		wrong += !thing_is(t[i], i);
	return wrong != 0;
}

static void *
fork_unknown(void *arg)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(begin_in_child());
	EQ(exit_status(pid), 0);
	return arg;
}

TEST(a_fork_by_a_thread_that_is_not_known)
{
	pthread_t t;

	thing_make(1);
	EQ(weft_gc_collect(), 0);
	EQ(pthread_create(&t, NULL, fork_unknown, NULL), 0);
	pthread_join(t, NULL);
}

/* ---- the beginning and the end ---- */

static int
some_work(int argc, char **argv)
{
	struct thing *t[100];

	(void)argc, (void)argv;
	for (uint64_t i = 0; i < 100; i++)
		t[i] = thing_make(i);
	weft_waitgroup_add(&all, 4);
	for (int i = 0; i < 4; i++)
		weft_go(call_again_and_again);
	for (uint64_t i = 0; i < 20000; i++)
		thing_make(i);
	for (uint64_t i = 0; i < 100; i++)
		OK(thing_is(t[i], i));
	return 0;
}

/* In a process of its own: a runtime is started once. */
static int
run_in_child(void)
{
	pthread_t t;
	int result;

	EQ(pthread_create(&t, NULL, collect_until_over, NULL), 0);
	usleep((useconds_t)(rand() % 2000));
	result = weft_run(some_work, 0, NULL);
	usleep((useconds_t)(rand() % 2000));
	bump(&over);
	pthread_join(t, NULL);
	return result;
}

TEST(collections_while_it_begins_and_ends)
{
	do {
		pid_t pid = fork();

		srand((unsigned)getpid());
		if (pid == 0) {
			alarm(30);
			_exit(run_in_child());
		}
		EQ(exit_status(pid), 0);
	} while (t_more(2));
}

/* ---- places that are easy to miss ---- */

/* The group of a member that has not begun is in its record alone. */
T_NOT_INLINED static void
member(int n)
{
	OK(weft_gc_weak_get(((weft_gc_weak **)(uintptr_t)freed)[n]) != NULL);
}

enum { MEMBERS = 40 };

T_NOT_INLINED static void
spawn_members(weft_gc_weak **link)
{
	for (int i = 0; i < MEMBERS; i++) {
		weft_waitgroup *wg = weft_gc_alloc(sizeof *wg);

		link[i] = weft_gc_weak_make(wg);
		weft_waitgroup_go(wg, member, i);
	}
}

static long asked, collected;

static void *
collect_once(void *arg)
{
	while (!get(&asked))
		;
	EQ(weft_gc_collect(), 0);
	bump(&collected);
	return arg;
}

/* The only processor is not given up until there was a collection. */
GTEST(owners_of_members_that_have_not_begun, 1)
{
	weft_gc_weak **link = weft_gc_alloc(MEMBERS * sizeof *link);
	pthread_t t;

	freed = (long)(uintptr_t)link;
	EQ(pthread_create(&t, NULL, collect_once, NULL), 0);
	spawn_members(link);
	wipe_stack();
	bump(&asked);
	while (!get(&collected))
		;
	pthread_join(t, NULL);
	while (weft_goroutines() > 1)
		weft_yield();
}

/* Nearly all of a stack: the rest is for frames, which are larger if the
 * library was not optimised. */
#ifdef __OPTIMIZE__
enum { DEEP = 16600 };
#else
enum { DEEP = 15600 };
#endif

static weft_chan *go_on;

T_NOT_INLINED static void
wait_deep(size_t bytes)
{
	volatile char *room = alloca(bytes);

	room[0] = 1;
	weft_recv(go_on, int);
	room[0] = 2;
}

static void
use_all_of_the_stack(uint64_t n, size_t bytes)
{
	struct thing *t = thing_make(n);
	weft_gc_weak *link = weft_gc_weak_make(t);

	weft_waitgroup_done(&all);
	wait_deep(bytes);
	OK(thing_is(t, n) && weft_gc_weak_get(link) == t);
	weft_waitgroup_done(&all);
}

GTEST(stacks_that_are_all_in_use, 2)
{
	go_on = weft_chan_of(int, 0);
	weft_waitgroup_add(&all, 30);
	for (uint64_t i = 0; i < 30; i++)
		weft_go_opt(WEFT_OPT(.stack = 4096), use_all_of_the_stack, i,
		    (size_t)DEEP);
	weft_waitgroup_wait(&all);
	weft_sleep(5 * WEFT_MS);
	churn();
	weft_waitgroup_add(&all, 30);
	for (int i = 0; i < 30; i++)
		weft_send(go_on, i);
	weft_waitgroup_wait(&all);
}

/* ---- finalizers without a runtime ---- */

static void
collect_in_finalizer(void *object, void *arg)
{
	(void)object, (void)arg;
	EQ(weft_gc_collect(), 0);
	for (uint64_t i = 0; i < 1000; i++)
		OK(thing_is(thing_make(i), i));
	bump(&collected);
}

T_NOT_INLINED static void
make_with_finalizer(void)
{
	for (uint64_t i = 0; i < 20; i++)
		EQ(weft_gc_finalizer(thing_make(i), collect_in_finalizer,
		    NULL), 0);
}

TEST(a_finalizer_that_collects_without_a_runtime)
{
	make_with_finalizer();
	wipe_stack();
	while (get(&collected) < 10)
		EQ(weft_gc_collect(), 0);
}

GTEST(realloc_to_nothing_frees_once, 1)
{
	void *p = weft_gc_alloc(2000), *q[100];
	int same = 0;

	OK(weft_gc_realloc(p, 0) != NULL);
	for (int i = 0; i < 100; i++)
		q[i] = weft_gc_alloc(2000);
	for (int i = 0; i < 100; i++)
		for (int k = 0; k < i; k++)
			same += q[i] == q[k];
	EQ(same, 0);
}
