/* SPDX-License-Identifier: MIT */
/*
 * The kernel refuses memory: calls say so, and when it has some again all
 * goes on.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <weft.h>

#include "memory_limit.h"
#include "run_env.h"
#include "t.h"

enum { PAGE = 4096, MARK = 12345 };

/* Address space in use now. */
static rlim_t
in_use(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%lu", &pages) != 1)
		t_skip("no /proc/self/statm");
	fclose(f);
	return (rlim_t)pages * PAGE;
}

/* ---- goroutines ---- */

static weft_waitgroup all;
static int64_t made;
static int refused, ran;

static void
finish(void)
{
	ran++;
	weft_waitgroup_done(&all);
}

/* Main keeps the only processor busy, and is to keep it. */
NO_PREEMPTION

/* Only ever queued. */
static int64_t
spawn_one(void)
{
	int64_t id;

	weft_waitgroup_add(&all, 1);
	errno = MARK;
	id = weft_try_go(finish);
	EQ(errno, MARK);
	if (id > 0)
		made++;
	else
		weft_waitgroup_done(&all);
	return id;
}

static void *
spawn_till_refused(void *arg)
{
	int64_t id = 1;

	(void)arg;
	memory_limit(0);
	while (id > 0 && made < 1000 * 1000)
		id = spawn_one();
	EQ(id, -ENOMEM);
	EQ(spawn_one(), -ENOMEM);
	EQ(weft_set_procs(1000), -ENOMEM);
	EQ(weft_procs(), 1);
	memory_unlimit();
	OK(spawn_one() > 0);
	__atomic_store_n(&refused, 1, __ATOMIC_RELEASE);
	return NULL;
}

GTEST(spawn_refused, 1)
{
	pthread_t t;

	need_memory_limit();
	EQ(pthread_create(&t, NULL, spawn_till_refused, NULL), 0);
	while (!__atomic_load_n(&refused, __ATOMIC_ACQUIRE))
		;
	OK(made > 1);
	EQ(weft_goroutines(), made + 1);
	pthread_join(t, NULL);
	weft_waitgroup_wait(&all);
	EQ(ran, made);
	EQ(weft_set_procs(4), 1);
}

static int defers_run;

static void count_defer(void *arg) { (void)arg; defers_run++; }

static void
defer_till_refused(void)
{
	int n = 1, err = weft_defer(count_defer, NULL);

	memory_limit(0);
	for (; !err && n < 1000 * 1000; n++)
		err = weft_defer(count_defer, NULL);
	memory_unlimit();
	EQ(err, -ENOMEM);
	EQ(weft_defer(count_defer, NULL), 0);
	made = n;		/* one was refused, one came later */
}

GTEST(defer_refused, 1)
{
	need_memory_limit();
	OK(weft_try_go(defer_till_refused) > 0);
	while (weft_goroutines() > 1)
		weft_yield();
	OK(made > 1);
	EQ(defers_run, made);
}

/* ---- starting ---- */

static int
zero(int argc, char **argv)
{
	weft_waitgroup_add(&all, 1);
	OK(weft_try_go(finish) > 0);
	weft_waitgroup_wait(&all);
	(void)argv;
	return argc;
}

/* With ever more memory, until it is enough. Each refusal is clean. */
TEST(start_refused)
{
	weft_config c = { .procs = 2 };
	int r = -ENOMEM, refusals = 0;

	need_memory_limit();
	for (rlim_t room = 0; r < 0 && room < 1 << 30; room += 128 << 10) {
		memory_limit(in_use() + room);
		errno = MARK;
		r = weft_run_config(&c, sizeof c, zero, 7, NULL);
		EQ(errno, MARK);
		memory_unlimit();
		OK(r == -ENOMEM || r == -EAGAIN || r == 7);
		refusals += r < 0;
	}
	EQ(r, 7);
	OK(refusals > 0);
	EQ(ran, 1);
}
