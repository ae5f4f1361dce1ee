/* SPDX-License-Identifier: MIT */
/*
 * pthread keys whose values belong to goroutines: those that this program makes
 * after it has named itself with weft_hooks_own_keys. Keys that it made before
 * that, and those of other libraries, stay the thread's.
 */
#define _GNU_SOURCE 1
#include <weft.h>

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "build_folder.h"
#include "child_process.h"
#include "counter.h"
#include "hooked.h"
#include "leave_thread.h"
#include "plain_thread.h"
#include "run_env.h"

enum { MANY = 100, MOVES = 30, KEYS = 20 };

static pthread_key_t keys[KEYS];

/* A value that tells whose it is. */
static void *
mark(long owner, int key)
{
	return (void *)(owner * 1000 + key + 1);
}

static void
own(void)
{
	EQ(weft_hooks_own_keys("keys"), 0);
}

static void
make_keys(void (*end)(void *value))
{
	own();
	for (int i = 0; i < KEYS; i++)
		EQ(pthread_key_create(&keys[i], end), 0);
}

/* ---- each goroutine has its own ---- */

static void
all_null(void)
{
	for (int i = 0; i < KEYS; i++)
		OK(pthread_getspecific(keys[i]) == NULL);
}

static void
all_marked(long owner)
{
	for (int i = 0; i < KEYS; i++)
		OK(pthread_getspecific(keys[i]) == mark(owner, i));
}

static void
mark_all(long owner)
{
	for (int i = 0; i < KEYS; i++)
		EQ(pthread_setspecific(keys[i], mark(owner, i)), 0);
}

/* It begins with none, and keeps what it sets, wherever it goes. */
static void
hold_values(long owner, weft_waitgroup *wg)
{
	all_null();
	mark_all(owner);
	for (int i = 0; i < MOVES; i++) {
		leave_thread(i % LEAVE_WAYS);
		all_marked(owner);
	}
	for (int i = 0; i < KEYS; i += 2)
		EQ(pthread_setspecific(keys[i], NULL), 0);
	weft_yield();
	for (int i = 0; i < KEYS; i++)
		OK(pthread_getspecific(keys[i]) ==
		    (i % 2 ? mark(owner, i) : NULL));
	weft_waitgroup_done(wg);
}

static void
goroutines_hold_values(void)
{
	weft_waitgroup wg = {0};

	make_keys(NULL);
	mark_all(MANY + 1);
	for (int round = 0; round < 2; round++) {
		weft_waitgroup_add(&wg, MANY);
		for (int i = 0; i < MANY; i++)
			weft_go(hold_values, i, &wg);
		weft_waitgroup_wait(&wg);
		all_marked(MANY + 1);
	}
}

GTEST(values_of_goroutines, 1) { goroutines_hold_values(); }
GTEST(values_on_four, 4) { goroutines_hold_values(); }
ETEST(values_that_move, 4, "WEFT_MIGRATE=1") { goroutines_hold_values(); }

/* ---- they are counted ---- */

static void
set_and_wait(weft_event *go, weft_waitgroup *set)
{
	mark_all(1);
	weft_waitgroup_done(set);
	weft_event_wait(go);
}

GTEST(values_are_counted, 1)
{
	weft_waitgroup set = {0}, ended = {0};
	weft_event go = {0};

	make_keys(NULL);
	EQ(hooks_now().values, 0);
	weft_waitgroup_add(&set, MANY);
	for (int i = 0; i < MANY; i++)
		weft_waitgroup_go(&ended, set_and_wait, &go, &set);
	weft_waitgroup_wait(&set);
	EQ(hooks_now().values, MANY * KEYS);
	weft_event_set(&go);
	weft_waitgroup_wait(&ended);
	EQ(hooks_now().values, 0);
}

/* ---- plain threads have theirs ---- */

static void
thread_values(void)
{
	all_null();
	mark_all(77);
	sched_yield();
	all_marked(77);
}

GTEST(plain_threads, 2)
{
	make_keys(NULL);
	mark_all(1);
	thread_call_blocking(thread_values);
	all_marked(1);
	thread_call_blocking(thread_values);
	all_marked(1);
}

static int ended_on_thread;

static void
count_end(void *value)
{
	OK(value != NULL);
	counter_add(&ended_on_thread, 1);
}

GTEST(destructors_of_plain_threads, 2)
{
	make_keys(count_end);
	thread_call_blocking(thread_values);
	EQ(counter_get(&ended_on_thread), KEYS);
}

TEST(without_a_runtime)
{
	make_keys(count_end);
	thread_call(thread_values);
	EQ(counter_get(&ended_on_thread), KEYS);
	all_null();
}

/* Main sets them before it becomes a goroutine, which begins with none. */
static int
main_begins(int argc, char **argv)
{
	(void)argc, (void)argv;
	all_null();
	mark_all(5);
	weft_yield();
	all_marked(5);
	return 0;
}

TEST(before_and_after_the_runtime)
{
	weft_config c = { .procs = 2 };

	make_keys(NULL);
	mark_all(3);
	EQ(weft_run_config(&c, sizeof c, main_begins, 0, NULL), 0);
	all_marked(3);
}

/* ---- the end of a goroutine ---- */

static int ends, rounds;
static pthread_key_t again, other;

/* Called with the value, which is already NULL when it is called. */
static void
end_value(void *value)
{
	counter_add(&ends, (int)(intptr_t)value);
	OK(pthread_getspecific(again) == NULL);
}

static void
set_again(int value)
{
	EQ(pthread_setspecific(again, (void *)(intptr_t)value), 0);
	weft_yield();
}

GTEST(destructors, 2)
{
	weft_waitgroup wg = {0};

	own();
	EQ(pthread_key_create(&again, end_value), 0);
	for (int i = 1; i <= MANY; i++)
		weft_waitgroup_go(&wg, set_again, i);
	weft_waitgroup_wait(&wg);
	EQ(counter_get(&ends), MANY * (MANY + 1) / 2);
}

static void
exit_early(void)
{
	set_again(1);
	weft_goexit();
}

GTEST(destructors_after_goexit, 1)
{
	weft_waitgroup wg = {0};

	own();
	EQ(pthread_key_create(&again, end_value), 0);
	weft_waitgroup_go(&wg, exit_early);
	weft_waitgroup_wait(&wg);
	EQ(counter_get(&ends), 1);
}

/* A deferred call still sees the values: destructors come after it. */
static void
see_value(void *arg)
{
	(void)arg;
	OK(pthread_getspecific(again) == (void *)1);
	EQ(counter_get(&ends), 0);
}

static void
defer_and_end(void)
{
	EQ(weft_defer(see_value, NULL), 0);
	set_again(1);
}

GTEST(destructors_after_deferred_calls, 1)
{
	weft_waitgroup wg = {0};

	own();
	EQ(pthread_key_create(&again, end_value), 0);
	weft_waitgroup_go(&wg, defer_and_end);
	weft_waitgroup_wait(&wg);
	EQ(counter_get(&ends), 1);
}

/* One that sets its value anew is called so often, and no more. */
static void
end_and_set(void *value)
{
	counter_add(&rounds, 1);
	EQ(pthread_setspecific(again, value), 0);
}

GTEST(destructors_have_four_rounds, 1)
{
	weft_waitgroup wg = {0};

	own();
	EQ(pthread_key_create(&again, end_and_set), 0);
	weft_waitgroup_go(&wg, set_again, 1);
	weft_waitgroup_wait(&wg);
	EQ(counter_get(&rounds), PTHREAD_DESTRUCTOR_ITERATIONS);
}

/* One that sets the value of another key has that one called, too. */
static void
end_and_set_other(void *value)
{
	EQ(pthread_setspecific(other, value), 0);
}

static void
end_other(void *value)
{
	counter_add(&ends, (int)(intptr_t)value);
}

/* In either order of the keys. */
static void
set_other_in_destructor(pthread_key_t *first, void (*first_end)(void *),
    pthread_key_t *second, void (*second_end)(void *))
{
	weft_waitgroup wg = {0};

	own();
	EQ(pthread_key_create(first, first_end), 0);
	EQ(pthread_key_create(second, second_end), 0);
	for (int i = 1; i <= MANY; i++)
		weft_waitgroup_go(&wg, set_again, i);
	weft_waitgroup_wait(&wg);
	EQ(counter_get(&ends), MANY * (MANY + 1) / 2);
}

GTEST(destructor_sets_a_later_key, 2)
{
	set_other_in_destructor(&again, end_and_set_other, &other, end_other);
}

GTEST(destructor_sets_an_earlier_key, 2)
{
	set_other_in_destructor(&other, end_other, &again, end_and_set_other);
}

/* It parks, and is the same goroutine afterwards, with its values. */
static void
end_and_park(void *value)
{
	int64_t id = weft_self_id();

	EQ(pthread_setspecific(other, value), 0);
	for (int i = 0; i < MOVES; i++) {
		leave_thread(i % LEAVE_WAYS);
		EQ(weft_self_id(), id);
		OK(pthread_getspecific(other) == value);
	}
	usleep(1000);
	EQ(pthread_setspecific(other, NULL), 0);
	counter_add(&ends, 1);
}

static void
park_in_destructor(void)
{
	weft_waitgroup wg = {0};

	own();
	EQ(pthread_key_create(&again, end_and_park), 0);
	EQ(pthread_key_create(&other, NULL), 0);
	for (int i = 1; i <= MANY; i++)
		weft_waitgroup_go(&wg, set_again, i);
	weft_waitgroup_wait(&wg);
	EQ(counter_get(&ends), MANY);
}

GTEST(destructor_parks, 2) { park_in_destructor(); }
ETEST(destructor_moves, 2, "WEFT_MIGRATE=1") { park_in_destructor(); }

/* ---- keys come and go ---- */

GTEST(deleted, 1)
{
	pthread_key_t a, b;

	own();
	EQ(pthread_key_create(&a, NULL), 0);
	EQ(pthread_setspecific(a, mark(1, 1)), 0);
	EQ(pthread_key_delete(a), 0);
	EQ(pthread_key_delete(a), EINVAL);
	EQ(pthread_setspecific(a, mark(1, 1)), EINVAL);
	OK(pthread_getspecific(a) == NULL);
	EQ(pthread_key_create(&b, NULL), 0);
	OK(pthread_getspecific(b) == NULL);
	EQ(pthread_key_delete(b), 0);
}

/* Another goroutine's value of the old key is none of the new one's. */
static void
hold_over(weft_event *set, weft_event *remade)
{
	EQ(pthread_setspecific(again, mark(1, 1)), 0);
	weft_event_set(set);
	weft_event_wait(remade);
	OK(pthread_getspecific(again) == NULL);
}

GTEST(reused, 1)
{
	weft_event set = {0}, remade = {0};
	weft_waitgroup wg = {0};
	pthread_key_t old;

	own();
	EQ(pthread_key_create(&again, end_other), 0);
	old = again;
	weft_waitgroup_go(&wg, hold_over, &set, &remade);
	weft_event_wait(&set);
	EQ(pthread_key_delete(again), 0);
	EQ(pthread_key_create(&again, end_other), 0);
	if (again != old)
		fprintf(stderr, "# another key\n");
	weft_event_set(&remade);
	weft_waitgroup_wait(&wg);
	EQ(counter_get(&ends), 0);
}

/* No destructor of a key that was deleted. */
GTEST(deleted_before_the_end, 1)
{
	weft_event set = {0}, remade = {0};
	weft_waitgroup wg = {0};

	own();
	EQ(pthread_key_create(&again, end_other), 0);
	weft_waitgroup_go(&wg, hold_over, &set, &remade);
	weft_event_wait(&set);
	EQ(pthread_key_delete(again), 0);
	weft_event_set(&remade);
	weft_waitgroup_wait(&wg);
	EQ(counter_get(&ends), 0);
}

GTEST(made_and_deleted_often, 2)
{
	own();
	for (int i = 0; i < 3000; i++) {
		pthread_key_t k;

		EQ(pthread_key_create(&k, end_other), 0);
		OK(pthread_getspecific(k) == NULL);
		EQ(pthread_setspecific(k, mark(1, 1)), 0);
		OK(pthread_getspecific(k) == mark(1, 1));
		EQ(pthread_key_delete(k), 0);
	}
	EQ(counter_get(&ends), 0);
}

/* As many as there can be; then EAGAIN, and after a delete one more. */
GTEST(all_keys, 1)
{
	static pthread_key_t all[PTHREAD_KEYS_MAX + 1];
	int n = 0;

	own();
	while (n <= PTHREAD_KEYS_MAX && pthread_key_create(&all[n], NULL) == 0)
		n++;
	OK(n > PTHREAD_KEYS_MAX / 2 && n <= PTHREAD_KEYS_MAX);
	EQ(pthread_key_create(&again, NULL), EAGAIN);
	for (int i = 0; i < n; i++)
		EQ(pthread_setspecific(all[i], mark(2, i)), 0);
	weft_yield();
	for (int i = 0; i < n; i++)
		OK(pthread_getspecific(all[i]) == mark(2, i));
	EQ(pthread_key_delete(all[0]), 0);
	EQ(pthread_key_create(&again, NULL), 0);
	OK(pthread_getspecific(again) == NULL);
}

GTEST(bad_keys, 1)
{
	pthread_key_t bad[] = { PTHREAD_KEYS_MAX, PTHREAD_KEYS_MAX + 1,
		UINT_MAX, INT_MAX };

	own();
	for (int i = 0; i < 4; i++) {
		OK(pthread_getspecific(bad[i]) == NULL);
		EQ(pthread_setspecific(bad[i], mark(1, 1)), EINVAL);
		EQ(pthread_setspecific(bad[i], NULL), EINVAL);
		EQ(pthread_key_delete(bad[i]), EINVAL);
	}
}

/* ---- keys that are the thread's ---- */

static pthread_key_t threads_key;
static int threads_id, met;

/* On the thread on which it was set it is there, and on no other. */
static void
expect_left(void)
{
	bool same;

	weft_pin();
	same = thread_id() == threads_id;
	OK(pthread_getspecific(threads_key) == (same ? mark(9, 0) : NULL));
	counter_add(&met, same);
	weft_unpin();
}

/* Until a goroutine was on that thread, which with one P is mostly so. */
static void
key_is_the_threads(void)
{
	weft_waitgroup wg = {0};

	weft_pin();
	threads_id = thread_id();
	OK(pthread_getspecific(threads_key) == NULL);
	EQ(pthread_setspecific(threads_key, mark(9, 0)), 0);
	weft_unpin();
	while (counter_get(&met) == 0) {
		weft_waitgroup_go(&wg, expect_left);
		weft_waitgroup_wait(&wg);
	}
	EQ(hooks_now().values, 0);
}

GTEST(made_before_it_was_named, 1)
{
	EQ(pthread_key_create(&threads_key, NULL), 0);
	own();
	key_is_the_threads();
}

/* A library that makes a key when it is asked to. */
static void *
load_library(const char *name)
{
	static const char text[] = "#include <pthread.h>\n"
	    "int make(pthread_key_t *k)\n"
	    "{ return pthread_key_create(k, 0); }\n";
	char dir[] = "/tmp/weft-keys-XXXXXX", cmd[512], path[128];
	void *lib;
	FILE *f;

	OK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof path, "%s/l.c", dir);
	f = fopen(path, "w");
	fputs(text, f);
	fclose(f);
	snprintf(cmd, sizeof cmd, "cd %s && %s -shared -fPIC -o %s l.c "
	    "2>/dev/null", dir, compiler(), name);
	if (system(cmd) != 0)
		t_skip("no compiler");
	snprintf(path, sizeof path, "%s/%s", dir, name);
	lib = dlopen(path, RTLD_NOW);
	snprintf(cmd, sizeof cmd, "rm -r %s", dir);
	OK(system(cmd) == 0);
	OK(lib != NULL);
	return lib;
}

static void
make_in_library(const char *name)
{
	void *lib = load_library(name);
	int (*make)(pthread_key_t *) = (int (*)(pthread_key_t *))dlsym(lib,
	    "make");

	EQ(make(&threads_key), 0);
}

GTEST(made_by_another_library, 1)
{
	own();
	make_in_library("libother.so.1");
	key_is_the_threads();
}

static void
expect_null(void)
{
	OK(pthread_getspecific(threads_key) == NULL);
}

static void
key_is_the_goroutines(void)
{
	weft_waitgroup wg = {0};

	EQ(pthread_setspecific(threads_key, mark(4, 0)), 0);
	weft_waitgroup_go(&wg, expect_null);
	weft_waitgroup_wait(&wg);
	EQ(hooks_now().values, 1);
}

GTEST(made_by_a_library_that_was_named, 1)
{
	EQ(weft_hooks_own_keys("libmine"), 0);
	make_in_library("libmine.so.3");
	key_is_the_goroutines();
}

ETEST(named_in_the_environment, 1, "WEFT_HOOKS_KEYS=libxyz,libmine")
{
	make_in_library("libmine.so.3");
	key_is_the_goroutines();
}

/* The name begins so; to contain it is not enough. */
ETEST(named_otherwise, 1, "WEFT_HOOKS_KEYS=mine,libmine.so.33")
{
	make_in_library("libmine.so.3");
	key_is_the_threads();
}

GTEST(too_many_names, 1)
{
	int n = 0;

	while (n < 40 && weft_hooks_own_keys("libnone") == 0)
		n++;
	OK(n >= 8 && n <= 16);
	EQ(weft_hooks_own_keys("libnone"), -ENOSPC);
}

/* ---- fork ---- */

/* The child's only thread has the goroutine's values. */
static int
child_values(void)
{
	for (int i = 0; i < KEYS; i++) {
		if (pthread_getspecific(keys[i]) != mark(8, i))
			return 1;
		if (pthread_setspecific(keys[i], mark(9, i)))
			return 2;
		if (pthread_getspecific(keys[i]) != mark(9, i))
			return 3;
	}
	return 0;
}

static void
fork_with_values(void)
{
	pid_t pid;

	mark_all(8);
	weft_yield();
	pid = fork();
	if (pid == 0)
		_exit(child_values());
	EQ(exit_status(pid), 0);
	all_marked(8);
}

GTEST(child, 2)
{
	weft_waitgroup wg = {0};

	make_keys(NULL);
	mark_all(1);
	for (int i = 0; i < 5; i++)
		weft_waitgroup_go(&wg, fork_with_values);
	weft_waitgroup_wait(&wg);
	all_marked(1);
}

GTEST(child_of_a_plain_thread, 2)
{
	make_keys(NULL);
	mark_all(1);
	thread_call_blocking(fork_with_values);
	all_marked(1);
}
