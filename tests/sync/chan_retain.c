/* SPDX-License-Identifier: MIT */
/*
 * How long a channel lives: while it has an owner, and not longer. Whoever
 * frees it too early or never shows in the sanitizer, in what a second
 * channel at the same place is like, or in the memory of the process.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <weft.h>

#include "t.h"

/* Sanitizers and valgrind keep what is freed for a while. */
static void
check_growth(int64_t before, int64_t allowed)
{
	int64_t now = t_resident();

	OK(T_SANITIZED || now < before + allowed || t_valgrind());
}

/* As it is when it is new. */
static void
check_new(weft_chan *c, size_t cap)
{
	EQ(weft_chan_len(c), 0);
	EQ(weft_chan_cap(c), cap);
	EQ(weft_chan_try_recv(c, NULL), false);
	EQ(weft_chan_try_send(c, NULL), cap > 0);
	EQ(weft_chan_len(c), cap ? 1 : 0);
	if (cap)
		EQ(weft_chan_try_recv(c, NULL), true);
}

/* ---- counting owners ---- */

TEST(lives_until_the_last_release)
{
	for (size_t cap = 0; cap < 3; cap++) {
		weft_chan *c = weft_chan_make(sizeof(int), cap);

		for (int i = 0; i < 100; i++)
			OK(weft_chan_retain(c) == c);
		for (int i = 0; i < 100; i++) {
			weft_chan_release(c);
			check_new(c, cap);
		}
		weft_chan_release(c);
	}
}

/* Freed and made again, it remembers nothing. */
TEST(new_ones_are_new)
{
	for (long i = t_scale(20000); i > 0; i--) {
		size_t cap = (size_t)i % 4, size = (size_t)i % 40;
		weft_chan *c = weft_chan_make(size, cap);

		check_new(c, cap);
		for (size_t k = 0; k < cap; k++)
			EQ(weft_chan_try_send(c, NULL), true);
		if (i % 3 == 0)
			weft_chan_close(c);
		weft_chan_release(c);
	}
}

/* Also closed, also with elements in it, of every size. */
TEST(nothing_is_left)
{
	static char element[65536];

	for (long i = t_scale(2000); i > 0; i--)
		for (size_t size = 0; size <= 65536; size = size * 4 + 1) {
			size_t cap = size > 5000 ? 2 : 16;
			weft_chan *c = weft_chan_make(size, cap);

			for (size_t k = 0; k < cap; k++)
				weft_chan_send(c, element);
			if (i % 2)
				weft_chan_close(c);
			weft_chan_release(c);
		}
	EQ(t_leaks(), 0);
}

static void
abandon(int64_t n)
{
	static char element[1000];

	for (; n > 0; n--) {
		weft_chan *c = weft_chan_make(sizeof element, 20);

		for (int k = 0; k < 20; k++)
			weft_chan_send(c, element);
		weft_chan_release(c);
	}
}

/* 20 KB each. */
TEST(memory_comes_back)
{
	int64_t before;

	abandon(100);
	before = t_resident();
	abandon(t_scale(50000));
	check_growth(before, 8 << 20);
}

static void
many_then_none(int n)
{
	weft_chan **c = malloc((size_t)n * sizeof *c);

	for (int i = 0; i < n; i++)
		c[i] = weft_chan_make(8, 100);
	for (int i = 0; i < n; i++)
		weft_chan_release(c[i]);
	free(c);
}

/* Made in one goroutine, freed in another, which may be on another P. */
GTEST(memory_comes_back_from_afar, 2)
{
	weft_chan *c[2] = { weft_chan_make(sizeof(weft_chan *), 10), NULL };
	int64_t before = 0;
	long n = t_scale(200000);

	OK(weft_try_go(many_then_none, 10) > 0);
	for (long i = 0; i < n; i++) {
		weft_chan *made = weft_chan_make(64, 16);

		if (i == n / 10)
			before = t_resident();
		weft_chan_send(made, NULL);
		weft_chan_send(c[0], &made);
		if (i % 10 == 9)
			for (int k = 0; k < 10; k++) {
				weft_chan_recv(c[0], &made);
				weft_go(weft_chan_release, made);
			}
	}
	while (weft_goroutines() > 1)
		weft_yield();
	check_growth(before, 16 << 20);
	while (weft_chan_try_recv(c[0], &c[1]))
		weft_chan_release(c[1]);
	weft_chan_release(c[0]);
}

/* ---- owners on several Ps ---- */

static void
part_owner(weft_chan *c, long n, weft_waitgroup *ended)
{
	for (long i = 0; i < n; i++) {
		OK(weft_chan_retain(c) == c);
		EQ(weft_chan_try_send(c, &n), true);
		EQ(weft_chan_try_recv(c, NULL), true);
		weft_chan_release(c);
	}
	weft_chan_release(c);
	weft_waitgroup_done(ended);
}

static void *
part_owner_plainly(void *arg)
{
	weft_waitgroup wg = {0};

	weft_waitgroup_add(&wg, 1);
	part_owner(arg, 200, &wg);
	return NULL;
}

/* Each has a reference of its own; the last one out frees it. */
GTEST(many_owners, 4)
{
	weft_waitgroup ended = {0};
	long rounds = t_scale(300);

	for (long i = 0; i < rounds; i++) {
		weft_chan *c = weft_chan_make(sizeof(long), 100);
		pthread_t t;

		weft_waitgroup_add(&ended, 8);
		for (int k = 0; k < 8; k++)
			OK(weft_try_go(part_owner, weft_chan_retain(c), 20L,
			    &ended) > 0);
		EQ(pthread_create(&t, NULL, part_owner_plainly,
		    weft_chan_retain(c)), 0);
		weft_chan_release(c);
		weft_waitgroup_wait(&ended);
		pthread_join(t, NULL);
	}
}

/* ---- a waiter must be an owner; then any other owner may release ---- */

static void
receives_owned(weft_chan *c, weft_waitgroup *ended)
{
	int v = 0;

	OK(weft_chan_recv(c, &v));
	EQ(v, 4);
	weft_chan_release(c);
	weft_waitgroup_done(ended);
}

GTEST(others_may_release_while_one_waits, 1)
{
	weft_waitgroup ended = {0};
	weft_chan *c = weft_chan_make(sizeof(int), 0);
	int v = 4;

	weft_waitgroup_add(&ended, 1);
	weft_chan_retain(c);
	OK(weft_try_go(receives_owned, weft_chan_retain(c), &ended) > 0);
	for (int i = 0; i < 10; i++)
		weft_yield();
	weft_chan_release(c);
	EQ(weft_chan_try_send(c, &v), true);
	weft_chan_release(c);
	weft_waitgroup_wait(&ended);
}
