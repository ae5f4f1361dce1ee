/* SPDX-License-Identifier: MIT */
/*
 * Something comes from the network at any moment while a program falls asleep:
 * threads go to rest, end, hand their place in the poller on, the monitor does
 * the same. A thread that is not weft's speaks after pauses of all lengths,
 * those after which something happens in weft among them, and is answered each
 * time. T_SECONDS for longer.
 */
#define _GNU_SOURCE 1
#include <pthread.h>

#include "connection.h"
#include "run_env.h"

enum { PAIRS = 4 };

static int pair[PAIRS][2];
static weft_waitgroup all;
static long stop;
static long busy;		/* what there is beside, in bits */
enum { NAPS = 1, RESIZES = 2, READABLE = 4 };

/* ---- the goroutines that answer ---- */

static void *
nap(void *arg)
{
	usleep(200);
	return arg;
}

static void
answer_once(int fd, bool *more)
{
	char c;
	ssize_t n = weft_read(fd, &c, 1);

	*more = n == 1;
	if (n == 1)
		EQ(weft_write(fd, &c, 1), 1);
	/* Another thread takes over, or is made. */
	if (*more && busy & NAPS && c % 4 == 0)
		weft_blocking(nap, NULL);
}

static void
answers(int fd)
{
	bool more = true;

	answer_once(fd, &more);
	if (more && busy & READABLE) {
		OK(weft_go_readable(fd, answers, fd) > 0);
		return;
	}
	while (more)
		answer_once(fd, &more);
	weft_waitgroup_done(&all);
}

/* ---- the thread that asks ---- */

/* In microseconds; the last ones seldom. */
static useconds_t
pause_of(unsigned i)
{
	static const useconds_t us[] = { 0, 5, 20, 30, 50, 100, 300, 1000,
		5000, 10000, 49000, 50000, 51000, 60000, 100000, 110000 };
	unsigned n = sizeof us / sizeof us[0];

	if (i % 251 == 250)
		return 990000 + i % 40 * 1000;
	return us[i * 2654435761u / 65536 % (i % 7 ? 8 : n)];
}

/* Out of time if no goroutine answers; what took longest is printed. */
static void *
speaks(void *arg)
{
	double most = 0;
	unsigned i;

	for (i = 0; t_more(0.5); i++) {
		int fd = pair[i % PAIRS][1];
		char c = (char)i, back = (char)~c;
		double start;

		usleep(pause_of(i));
		if (busy & RESIZES && i % 16 == 0)
			OK(weft_set_procs(1 + (int)(i / 16 % 8)) > 0);
		start = t_now();
		EQ(write(fd, &c, 1), 1);
		EQ(read(fd, &back, 1), 1);
		EQ(back, c);
		if (t_now() - start > most)
			most = t_now() - start;
	}
	printf("# %u times, most %.3f ms\n", i, most * 1e3);
	fflush(stdout);
	for (i = 0; i < PAIRS; i++)
		NEED(close(pair[i][1]));
	return arg;
}

/* The main goroutine only waits. */
static void
hear(long beside)
{
	pthread_t t;

	busy = beside;
	weft_waitgroup_add(&all, PAIRS);
	for (int i = 0; i < PAIRS; i++) {
		(i % 2 ? tcp_pair : unix_pair)(pair[i]);
		weft_go(answers, pair[i][0]);
	}
	NEED(-pthread_create(&t, NULL, speaks, NULL));
	weft_waitgroup_wait(&all);
	pthread_join(t, NULL);
	for (int i = 0; i < PAIRS; i++)
		EQ(weft_close(pair[i][0]), 0);
}

GTEST(on_1, 1) { hear(0); }
GTEST(on_2, 2) { hear(0); }
GTEST(on_8, 8) { hear(0); }
GTEST(with_naps_on_1, 1) { hear(NAPS); }
GTEST(with_naps_on_4, 4) { hear(NAPS | READABLE); }
GTEST(resized, 2) { hear(RESIZES); }
GTEST(resized_with_naps, 2) { hear(RESIZES | NAPS); }

/* All processors are taken, and idle threads are about. */
static void
hogs(void)
{
	compute(&stop);
}

static void
beside_hogs(void)
{
	int n = weft_procs();

	for (int i = 0; i < n; i++)
		weft_go(hogs);
	hear(NAPS);
	bump(&stop);
}

ETEST(beside_hogs_on_1, 1, NULL) { beside_hogs(); }
ETEST(beside_hogs_on_2, 2, NULL) { beside_hogs(); }
ETEST(beside_loose_hogs_on_2, 2, "WEFT_PREEMPT_SIGNAL=-1") { beside_hogs(); }
