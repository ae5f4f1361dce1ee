/* SPDX-License-Identifier: MIT */
/*
 * Contexts that are made, cancelled, asked and released by goroutines and
 * plain threads at the same time, in trees that they share.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include <weft.h>

#include "t.h"
#include "until_alone.h"

enum { SLOTS = 64, WORKERS = 6, THREADS = 2 };

/* A worker that takes a context out of its slot owns the slot's count. */
static weft_context *slots[SLOTS];
static bool stop;

static weft_context *
swap(weft_context **slot, weft_context *ctx)
{
	return __atomic_exchange_n(slot, ctx, __ATOMIC_ACQ_REL);
}

static void
put_back(weft_context **slot, weft_context *ctx)
{
	weft_context_release(swap(slot, ctx));
}

/* A count of what is in some slot; it stays there for others to find. */
static weft_context *
borrow(unsigned *seed)
{
	weft_context **slot = &slots[rand_r(seed) % SLOTS];
	weft_context *ctx = swap(slot, NULL);

	if (ctx)
		put_back(slot, weft_context_retain(ctx));
	return ctx;
}

/* What must hold at any moment between a context and one made of it. */
static void
check_pair(weft_context *parent, weft_context *child)
{
	int above = weft_context_error(parent);
	int below = weft_context_error(child);

	/* above was asked first */
	OK(above == 0 || below != 0);
	OK(weft_context_deadline(child) <= weft_context_deadline(parent));
	OK(weft_context_value(child, slots) == slots);
	if (below)
		OK(weft_context_cause(child) != 0);
}

static weft_context *
make(weft_context *parent, unsigned *seed)
{
	switch (rand_r(seed) % 8) {
	case 0:
		return weft_context_make_value(parent, seed, NULL);
	case 1:
		return weft_context_make_until(parent,
		    weft_deadline(rand_r(seed) % 2000 * WEFT_US));
	case 2:
		return weft_context_make_until(parent,
		    weft_deadline(WEFT_SECOND));
	}
	return weft_context_make(parent);
}

/* Now and then a new tree: they shall not become too deep to be walked. */
static void
act(unsigned *seed)
{
	weft_context *ctx = rand_r(seed) % 50 ? borrow(seed) : NULL, *child;

	if (!ctx)
		ctx = weft_context_make_value(NULL, slots, slots);
	child = make(ctx, seed);
	check_pair(ctx, child);
	switch (rand_r(seed) % 10) {
	case 0:
		weft_context_cancel(ctx, 1);
		OK(weft_context_error(ctx) && weft_context_error(child));
		break;
	case 1:
		weft_context_cancel(child, 2);
		break;
	case 2:
		weft_chan_try_recv(weft_context_done(child), NULL);
		break;
	}
	check_pair(ctx, child);
	put_back(&slots[rand_r(seed) % SLOTS], child);
	weft_context_release(ctx);
}

static bool
stopped(void)
{
	return __atomic_load_n(&stop, __ATOMIC_RELAXED);
}

static void
work(unsigned seed, weft_waitgroup *wg)
{
	for (int i = 0; !stopped(); i++) {
		act(&seed);
		if (i % 8 == 0)
			weft_yield();
	}
	weft_waitgroup_done(wg);
}

/* Waits for contexts to end, in a select with a timeout. */
static void
wait_for_some(unsigned seed, weft_waitgroup *wg)
{
	while (!stopped()) {
		weft_context *a = borrow(&seed), *b = borrow(&seed);
		weft_case cases[] = {
			WEFT_CASE_RECV(weft_context_done(a), NULL),
			WEFT_CASE_RECV(weft_context_done(b), NULL)
		};
		int i = weft_select_until(cases, 2, weft_deadline(WEFT_MS));

		if (i >= 0)
			OK(weft_context_error(i ? b : a) != 0);
		weft_context_release(a);
		weft_context_release(b);
	}
	weft_waitgroup_done(wg);
}

static void *
work_plainly(void *seed)
{
	unsigned s = (unsigned)(uintptr_t)seed;

	for (int i = 0; !stopped(); i++) {
		act(&s);
		if (i % 8 == 0)
			weft_yield();
	}
	return NULL;
}

/* Now and then all trees are given up, so that new ones begin. */
static void
clear(void)
{
	for (int i = 0; i < SLOTS; i++)
		put_back(&slots[i], NULL);
}

static void
storm(void)
{
	weft_waitgroup wg = {0};
	pthread_t t[THREADS];

	weft_waitgroup_add(&wg, 2 * WORKERS);
	for (unsigned i = 0; i < WORKERS; i++) {
		weft_go(work, i, &wg);
		weft_go(wait_for_some, 100 + i, &wg);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work_plainly, (void *)(uintptr_t)
		    (1000 + i));
	while (t_more(0.5)) {
		weft_sleep(5 * WEFT_MS);
		clear();
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	weft_waitgroup_wait(&wg);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	clear();
	until_alone();
}

GTEST(storm_on_1, 1) { storm(); }
GTEST(storm_on_4, 4) { storm(); }

/* ---- the last release beside a cancel, or beside its timer ---- */

struct half {
	weft_context **c;
	int n;
};

static int
release_all(void *arg)
{
	struct half *h = arg;

	for (int i = 0; i < h->n; i++)
		weft_context_release(h->c[i]);
	return 0;
}

static int
cancel_one(void *ctx)
{
	weft_context_cancel(ctx, 1);
	return 0;
}

GTEST(released_while_cancelled, 4)
{
	enum { N = 60 };

	while (t_more(0.5)) {
		weft_context *top = weft_context_make(NULL), *c[N];
		struct half low = { c, N / 2 }, high = { c + N / 2, N / 2 };
		weft_group g = {0};

		for (int i = 0; i < N; i++)
			c[i] = weft_context_make(top);
		weft_group_go(&g, release_all, &low);
		weft_group_go(&g, cancel_one, top);
		weft_group_go(&g, release_all, &high);
		weft_group_wait(&g);
		weft_context_release(top);
	}
	EQ(t_leaks(), 0);
}

/* The other processor is idle, and sees to the timers. */
GTEST(released_while_expiring, 2)
{
	unsigned seed = 5;

	while (t_more(0.5)) {
		int64_t when =
		    weft_deadline((20 + rand_r(&seed) % 50) * WEFT_US);
		int64_t end = when - 5000 + rand_r(&seed) % 40000;
		weft_context *ctx = weft_context_make_until(NULL, when);

		while (weft_now() < end)
			;
		weft_context_release(ctx);
		if (rand_r(&seed) % 16 == 0)
			weft_yield();
	}
	until_alone();
}

/* ---- two cancels at once ---- */

enum { FAMILY = 200 };

/* Whichever call came first: when one returns, all below are cancelled. */
static int
cancel_and_look(void *arg)
{
	weft_context **c = arg;

	weft_context_cancel(c[0], weft_self_id() % 2 ? 1 : 2);
	for (int i = FAMILY; i-- > 0; )
		EQ(weft_context_error(c[i]), -ECANCELED);
	return 0;
}

/* Sees one cancelled, looks at all below. */
static int
watch_and_look(void *arg)
{
	weft_context **c = arg;
	int i;

	while (!weft_context_error(c[1]))
		weft_yield();
	for (i = 1; i < FAMILY; i = 2 * i + 1)
		EQ(weft_context_error(c[i]), -ECANCELED);
	return 0;
}

GTEST(two_cancels, 4)
{
	while (t_more(0.5)) {
		weft_context *c[FAMILY];
		weft_group g = {0};

		for (int i = 0; i < FAMILY; i++)
			c[i] = weft_context_make(i ? c[(i - 1) / 2] : NULL);
		weft_group_go(&g, watch_and_look, c);
		for (int i = 0; i < 3; i++)
			weft_group_go(&g, cancel_and_look, c);
		weft_group_wait(&g);
		for (int i = 1; i < FAMILY; i++)
			EQ(weft_context_cause(c[i]), weft_context_cause(c[0]));
		for (int i = 0; i < FAMILY; i++)
			weft_context_release(c[i]);
	}
	EQ(t_leaks(), 0);
}

/* ---- waits with a context ---- */

enum { UNITS = 2 };
static weft_sem sem = WEFT_SEM(UNITS);
static weft_event event;
static int inside, got, given_up;

static int
cancel_late(void *ctx)
{
	weft_yield();
	return cancel_one(ctx);
}

static void
use_unit(void)
{
	int n = __atomic_add_fetch(&inside, 1, __ATOMIC_RELAXED);

	OK(n <= UNITS);
	weft_yield();
	__atomic_sub_fetch(&inside, 1, __ATOMIC_RELAXED);
	weft_sem_release(&sem, 1);
	__atomic_add_fetch(&got, 1, __ATOMIC_RELAXED);
}

/* Ended by a release, by a cancel from above, or by a time. */
static void
acquire_once(unsigned *seed)
{
	weft_context *top = weft_context_make(NULL);
	weft_context *ctx = rand_r(seed) % 2 ? weft_context_make(top) :
	    weft_context_make_until(top, weft_deadline(rand_r(seed) % 100000));
	weft_group g = {0};
	bool done = false;

	weft_group_go(&g, rand_r(seed) % 2 ? cancel_one : cancel_late, top);
	if (rand_r(seed) % 4 == 0) {
		OK(!weft_event_wait_context(&event, ctx));
	} else {
		done = weft_sem_acquire_context(&sem, 1, ctx);
	}
	OK(done || weft_context_error(ctx));
	if (done)
		use_unit();
	else
		__atomic_add_fetch(&given_up, 1, __ATOMIC_RELAXED);
	weft_context_release(ctx);
	weft_group_wait(&g);
	weft_context_release(top);
}

static void *
acquire_often(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;

	while (!stopped())
		acquire_once(&seed);
	return NULL;
}

static int
acquire_member(void *arg)
{
	acquire_often(arg);
	return 0;
}

GTEST(waits_with_contexts, 4)
{
	weft_group g = {0};
	pthread_t t;

	for (uintptr_t i = 0; i < 8; i++)
		weft_group_go(&g, acquire_member, (void *)i);
	pthread_create(&t, NULL, acquire_often, (void *)(uintptr_t)100);
	while (t_more(0.5))
		weft_sleep(5 * WEFT_MS);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	EQ(weft_group_wait(&g), 0);
	pthread_join(t, NULL);
	OK(got > 0 && given_up > 0);
	OK(weft_sem_try_acquire(&sem, UNITS));
	OK(!weft_sem_try_acquire(&sem, 1));
	until_alone();
}

/* ---- groups ---- */

static int tree(void *arg);

/* A tree of groups, in which some fail. */
static int
tree(void *arg)
{
	intptr_t depth = (intptr_t)arg;
	WEFT_GROUP(g, .limit = (int)(depth % 3));

	if (depth == 0)
		return weft_self_id() % 50 == 0 ? -EIO : 0;
	for (int i = 0; i < 4; i++)
		weft_group_go(&g, tree, (void *)(depth - 1));
	if (depth % 2)
		weft_context_release(weft_context_make(
		    weft_group_context(&g)));
	return weft_group_wait(&g);
}

GTEST(trees_of_groups, 4)
{
	while (t_more(0.5)) {
		weft_group g = {0};
		int r;

		for (int i = 0; i < 3; i++)
			weft_group_go(&g, tree, (void *)(intptr_t)4);
		r = weft_group_wait(&g);
		OK(r == 0 || r == -EIO);
	}
	until_alone();
}
