/* SPDX-License-Identifier: MIT */
/*
 * Futures that are stolen, claimed, popped and cancelled while others are
 * started: every function is called once, or never if that was said.
 */
#include <fcntl.h>
#include <unistd.h>

#include <weft.h>

#include "t.h"

enum { FAN = 7, WORKERS = 6 };

static long calls, withdrawn, started;

static unsigned
next(unsigned *r)
{
	*r = *r * 1103515245 + 12345;
	return *r >> 16;
}

static void
add(long *to, long n)
{
	__atomic_add_fetch(to, n, __ATOMIC_RELAXED);
}

/* How many functions were called below, this one included. */
static long
node(int depth, unsigned r)
{
	weft_future(long) f[FAN];
	bool joined[FAN] = {0};
	long n = 1, want = (long)(next(&r) % FAN);

	add(&calls, 1);
	if (next(&r) % 16 == 0)
		weft_yield();
	if (next(&r) % 256 == 0)
		weft_sleep((int64_t)(next(&r) % 50) * WEFT_US);
	if (!depth)
		return 1;
	for (long i = 0; i < want; i++)
		weft_future_go(&f[i], node, depth - 1, r + (unsigned)i);
	add(&started, want);
	for (long left = want; left > 0; ) {
		long i = (long)next(&r) % want;

		if (joined[i])
			continue;
		if (next(&r) % 8 == 0 && weft_future_cancel(&f[i]))
			add(&withdrawn, 1);
		else
			n += weft_future_join(&f[i]);
		joined[i] = true;
		left--;
	}
	return n;
}

static long total;

static void
worker(unsigned r)
{
	for (int i = 0; i < 20; i++) {
		add(&total, node(4, r + (unsigned)i * 77));
		add(&started, 1);
	}
}

static void
round_of(unsigned r)
{
	weft_waitgroup wg = {0};

	calls = withdrawn = started = total = 0;
	for (unsigned i = 0; i < WORKERS; i++)
		weft_waitgroup_go(&wg, worker, r + i);
	weft_waitgroup_wait(&wg);
	EQ(calls, total);
	EQ(calls + withdrawn, started);
}

static void
each_once(void)
{
	unsigned r = 1;

	t_more(0.5);
	do {
		round_of(next(&r));
	} while (t_more(0.5));
}
ON_ALL(each_once)

static void
resize(int *stop)
{
	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		weft_set_procs(1);
		weft_sleep(WEFT_MS);
		weft_set_procs(6);
		weft_sleep(WEFT_MS);
	}
}

GTEST(each_once_while_procs_change, 2)
{
	weft_waitgroup wg = {0};
	unsigned r = 7;
	int stop = 0;

	weft_waitgroup_go(&wg, resize, &stop);
	t_more(0.5);
	do {
		round_of(next(&r));
	} while (t_more(0.5));
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	weft_waitgroup_wait(&wg);
}

static void
dump(int *stop)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		weft_dump(fd, NULL, 0);
		weft_sleep(WEFT_MS / 10);
	}
	close(fd);
}

static void
sleep_a_little(void)
{
	weft_sleep(20 * WEFT_US);
}

/* Dumps claim records whose goroutines wait; futures get the same records. */
GTEST(each_once_beside_dumps, 2)
{
	weft_waitgroup wg = {0};
	unsigned r = 9;
	int stop = 0;

	weft_waitgroup_go(&wg, dump, &stop);
	t_more(0.5);
	do {
		for (int i = 0; i < 200; i++)
			weft_waitgroup_go(&wg, sleep_a_little);
		round_of(next(&r));
	} while (t_more(0.5));
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	weft_waitgroup_wait(&wg);
}
