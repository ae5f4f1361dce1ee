/* SPDX-License-Identifier: MIT */
/*
 * Contexts that are cancelled, replaced and removed while data arrives and
 * while descriptors are closed: a call gives bytes or the error, no byte is
 * lost or seen twice, and no wait is left over.
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <unistd.h>

#include "slow_bytes.h"

static long cancels;		/* atomic */

/* ---- against data ---- */

/* Cancels what it is given, at some moment, and has done. */
static void
cancel_soon(weft_context *ctx, unsigned seed)
{
	if (seed % 3)
		weft_sleep(seed % 40 * WEFT_US);
	weft_context_cancel(ctx, 0);
	weft_context_release(ctx);
	weft_waitgroup_done(&all);
}

/* A context that ends soon: by another goroutine, by its time, by itself. */
static int
set_soon(int fd, weft_context *parent, unsigned *seed)
{
	unsigned r = (unsigned)rand_r(seed);
	weft_context *ctx;
	int err;

	if (r % 4 == 0)
		ctx = weft_context_make_until(parent,
		    weft_deadline(r / 4 % 40 * WEFT_US));
	else
		ctx = weft_context_make(parent);
	if (r % 4 == 1)
		weft_context_cancel(ctx, 0);
	err = weft_set_context(fd, ctx);
	if (r % 4 > 1) {
		weft_waitgroup_add(&all, 1);
		weft_go(cancel_soon, weft_context_retain(ctx), r / 4);
	}
	weft_context_release(ctx);
	return err;
}

static void
read_cancelled(int fd, long n, unsigned seed)
{
	weft_context *parent = weft_context_make(NULL);
	char c = 0;

	for (long i = 0; i < n;) {
		ssize_t r;

		EQ(set_soon(fd, parent, &seed), 0);
		r = weft_read(fd, &c, 1);
		if (r == -ECANCELED || r == -ETIMEDOUT) {
			__atomic_add_fetch(&cancels, 1, __ATOMIC_RELAXED);
			continue;
		}
		if (!take_next(r, c, &i))
			break;
	}
	EQ(weft_set_context(fd, NULL), 0);
	weft_context_release(parent);
	weft_waitgroup_done(&all);
}

static void
against_data(void)
{
	read_from_all_kinds(read_cancelled, t_scale(1000), 30);
	fprintf(stderr, "# %ld reads, %ld cancelled\n", reads, cancels);
	OK(cancels > 0 && reads > 0);
}

GTEST(against_data_on_one, 1) { against_data(); }
GTEST(against_data_on_two, 2) { against_data(); }
GTEST(against_data_on_eight, 8) { against_data(); }

/* ---- all at once ---- */

static bool over;

/*
 * Waits with whatever context there is, until the descriptor is closed. By then
 * the number may be that of another round, which is closed, too: that it ends
 * is all that can be said.
 */
static void
read_on(int fd)
{
	char c;

	while (weft_read(fd, &c, 1) == -ECANCELED)
		weft_yield();
	weft_waitgroup_done(&all);
}

static void
flip(int fd, weft_context *shared, unsigned seed)
{
	for (int i = 0; i < 20; i++) {
		weft_context *ctx = weft_context_make(shared);

		/* Or it is closed already. */
		if (weft_set_context(fd, rand_r(&seed) % 3 ? ctx : NULL) ==
		    -EBADF)
			i = 20;
		if (rand_r(&seed) % 2)
			weft_context_cancel(ctx, 0);
		weft_context_release(ctx);
		if (rand_r(&seed) % 2)
			weft_yield();
	}
	weft_context_release(shared);
	weft_waitgroup_done(&all);
}

/*
 * A descriptor of its own: two read, two set its context, one cancels the
 * parent of all contexts, and in the end it is closed.
 */
static void
round_of_one(unsigned seed)
{
	weft_context *shared = weft_context_make(NULL);
	int end[2];

	wire(seed % 2 ? PIPE_NB : STREAM_NB, end);
	weft_waitgroup_add(&all, 5);
	weft_go(read_on, end[0]);
	weft_go(read_on, end[0]);
	weft_go(flip, end[0], weft_context_retain(shared), seed);
	weft_go(flip, end[0], weft_context_retain(shared), seed + 1);
	weft_go(cancel_soon, weft_context_retain(shared), seed % 100);
	if (seed % 5)
		weft_sleep(seed % 50 * WEFT_US);
	EQ(weft_close(end[0]), 0);
	EQ(weft_close(end[1]), 0);
	weft_context_release(shared);
}

static void
rounds(unsigned seed)
{
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		round_of_one((unsigned)rand_r(&seed));
	weft_waitgroup_done(&all);
}

static void
with_closes(void)
{
	weft_waitgroup_add(&all, 4);
	for (unsigned i = 0; i < 4; i++)
		weft_go(rounds, i);
	while (t_more(2))
		weft_sleep(20 * WEFT_MS);
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	weft_waitgroup_wait(&all);
	EQ(wire_waiting(), 0);
}

GTEST(with_closes_on_one, 1) { with_closes(); }
GTEST(with_closes_on_two, 2) { with_closes(); }
GTEST(with_closes_on_eight, 8) { with_closes(); }
