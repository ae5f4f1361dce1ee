/* SPDX-License-Identifier: MIT */
/*
 * A thread hears of it when a descriptor is ready, whatever the threads have
 * been doing. Where none does these tests run out of time.
 */
#define _GNU_SOURCE 1
#include "counter.h"
#include "fd_expect.h"
#include "fd_pairs.h"
#include "plain_thread.h"

static weft_waitgroup all;

/* A thread that is none of weft's, so that a goroutine is woken only by what
 * it writes. */
struct later {
	int fd, ms;
};

static void *
write_later(void *later)
{
	struct later *l = later;

	usleep((useconds_t)l->ms * 1000);
	EQ(write(l->fd, "x", 1), 1);
	return NULL;
}

static void
read_later(int ms)
{
	int end[2];
	struct later l;
	pthread_t t;

	wire(STREAM, end);
	l = (struct later){ end[1], ms };
	EQ(pthread_create(&t, NULL, write_later, &l), 0);
	weft_waitgroup_add(&all, 1);
	expect_byte(end[0], 'x', &all);
	pthread_join(t, NULL);
	wire_drop(end);
}

/* ---- a thread waits for timers, and then the first descriptor comes ---- */

static void
sleep_long(void)
{
	weft_sleep(WEFT_SECOND * 3600);
}

/* Without letting others run: another thread waits for the timer by then. */
static void
compute(double seconds)
{
	double end = t_now() + seconds;

	while (t_now() < end)
		;
}

static void
beside_a_timer(void)
{
	weft_go(sleep_long);
	weft_sleep(5 * WEFT_MS);
	compute(0.02);
	for (int i = 0; i < 3; i++)
		read_later(20);
}

GTEST(beside_a_timer_on_one, 1) { beside_a_timer(); }
GTEST(beside_a_timer_on_two, 2) { beside_a_timer(); }
GTEST(beside_a_timer_on_eight, 8) { beside_a_timer(); }

/* ---- the thread that hears of it is one too many, and ends ---- */

static void *
nap(void *unused)
{
	(void)unused;
	usleep(50000);
	return NULL;
}

static void
block(void)
{
	weft_blocking(nap, NULL);
	weft_waitgroup_done(&all);
}

/* More idle threads than processors; the last of them watches. */
GTEST(beside_too_many, 1)
{
	weft_waitgroup_add(&all, 8);
	for (int i = 0; i < 8; i++)
		weft_go(block);
	weft_waitgroup_wait(&all);
	read_later(2300);
}

/* ---- one watches, and no P is idle ---- */

static void *
send_later(void *c)
{
	usleep(50000);
	weft_chan_send(c, NULL);
	return NULL;
}

/* Of several idle threads the watcher is the last to be woken for work. */
GTEST(no_ado_beside_one_that_computes, 1)
{
	weft_chan *c = weft_chan_make(0, 0);
	weft_io_stats before, after;
	pthread_t t;
	int end[2];

	wire(STREAM, end);
	weft_waitgroup_add(&all, 9);
	for (int i = 0; i < 8; i++)
		weft_go(block);
	weft_go(expect_byte, end[0], 'x', &all);
	while (wire_waiting() < 1 || weft_goroutines() > 2)
		weft_sleep(WEFT_MS);
	EQ(pthread_create(&t, NULL, send_later, c), 0);
	weft_chan_recv(c, NULL);
	weft_io_stats_read(&before, sizeof before);
	compute(0.5);
	weft_io_stats_read(&after, sizeof after);
	/* the monitor's rounds are 50 */
	OK(after.polls - before.polls < 5000);
	EQ(weft_write(end[1], "x", 1), 1);
	weft_waitgroup_wait(&all);
	pthread_join(t, NULL);
	weft_chan_release(c);
	wire_drop(end);
}

/* ---- threads that wait when the runtime ends ---- */

enum { THREADS = 5 };
static int ends[THREADS][2], through;
static ssize_t results[THREADS];

static void *
wait_in_some_way(void *nr)
{
	intptr_t i = (intptr_t)nr;
	struct pollfd p = { .fd = ends[i][0], .events = POLLIN };
	char c;

	switch (i) {
	case 0: results[i] = weft_read(ends[i][0], &c, 1); break;
	case 1: results[i] = weft_wait_readable(ends[i][0]); break;
	case 2: results[i] = weft_poll(&p, 1, WEFT_NEVER); break;
	case 3: results[i] = weft_read(ends[i][0], &c, 1); break;
	case 4:
		results[i] = weft_poll(&p, 1, weft_deadline(200 * WEFT_MS));
		break;
	}
	counter_add(&through, 1);
	return NULL;
}

/* Or are through: on a busy machine a limit may be over before all wait. */
static bool
all_wait(void)
{
	int n = counter_get(&through);

	return n + wire_waiting() >= THREADS;
}

static pthread_t threads[THREADS];

static int
start_them(int argc, char **argv)
{
	(void)argc, (void)argv;
	EQ(weft_set_read_deadline(ends[3][0], weft_deadline(200 * WEFT_MS)), 0);
	for (intptr_t i = 0; i < THREADS; i++)
		EQ(pthread_create(&threads[i], NULL, wait_in_some_way,
		    (void *)i), 0);
	while (!all_wait())
		weft_yield();
	return 0;
}

static void
across_the_end(int procs)
{
	static const ssize_t expected[] = { 1, 0, 1, -ETIMEDOUT, 0 };
	weft_config c = { .procs = procs };

	for (int i = 0; i < THREADS; i++)
		wire(i % 2 ? PIPE : STREAM, ends[i]);
	EQ(weft_run_config(&c, sizeof c, start_them, 0, NULL), 0);
	for (int i = 0; i < 3; i++)
		EQ(write(ends[i][1], "x", 1), 1);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		EQ(results[i], expected[i]);
	}
}

TEST(across_the_end_of_one) { across_the_end(1); }
TEST(across_the_end_of_four) { across_the_end(4); }
