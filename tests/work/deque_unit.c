/* SPDX-License-Identifier: MIT */
/* The nest: newest first for its owner, oldest for thieves, each once. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runq.h"
#include "t.h"

static struct runq q, thief;
static struct g *gs;

static void
setup(int n)
{
	memset(&q, 0, sizeof q);
	memset(&thief, 0, sizeof thief);
	free(gs);
	gs = aligned_alloc(CACHE_LINE, (size_t)(n + 1) * sizeof *gs);
	memset(gs, 0, (size_t)(n + 1) * sizeof *gs);
}

TEST(newest_first_for_all_sizes)
{
	setup(5 * NEST_FIRST);
	for (int n = 0; n <= 5 * NEST_FIRST; n += n < 20 ? 1 : 59) {
		for (int i = 0; i < n; i++)
			OK(nest_push(&q.nest, &gs[i]));
		EQ(nest_len(&q.nest), n);
		EQ(nest_empty(&q.nest), n == 0);
		EQ(runq_empty(&q), n == 0);
		for (int i = n; i-- > 0; )
			OK(nest_pop(&q.nest) == &gs[i]);
		OK(nest_pop(&q.nest) == NULL);
		OK(nest_empty(&q.nest));
	}
}

TEST(oldest_first_for_thieves)
{
	setup(NEST_FIRST);
	for (int i = 0; i < 10; i++)
		OK(nest_push(&q.nest, &gs[i]));
	for (int i = 0; i < 5; i++)
		OK(nest_take(&q.nest) == &gs[i]);
	OK(nest_pop(&q.nest) == &gs[9]);
	EQ(nest_len(&q.nest), 4);
}

TEST(full_nest_grows_and_wraps)
{
	const int n = 9 * NEST_FIRST;

	setup(n);
	a_init(&q.nest.top, UINT32_MAX - 5);
	a_init(&q.nest.bottom, UINT32_MAX - 5);
	for (int i = 0; i < n; i++)
		OK(nest_push(&q.nest, &gs[i]));
	EQ(nest_len(&q.nest), n);
	for (int i = 0; i < 10; i++)
		OK(nest_take(&q.nest) == &gs[i]);
	for (int i = n; i-- > 10; )
		OK(nest_pop(&q.nest) == &gs[i]);
	OK(nest_empty(&q.nest));
}

TEST(steal_takes_the_oldest_half)
{
	uint32_t n;

	setup(NEST_FIRST);
	OK(runq_steal_nest(&thief, &q, &n) == NULL);
	for (int i = 0; i < 9; i++)
		nest_push(&q.nest, &gs[i]);
	OK(runq_steal_nest(&thief, &q, &n) == &gs[0]);
	EQ(n, 5);
	for (int i = 5; i-- > 1; )
		OK(nest_pop(&thief.nest) == &gs[i]);
	OK(nest_pop(&thief.nest) == NULL);
	OK(nest_pop(&q.nest) == &gs[8]);
}

TEST(drained_with_the_rest)
{
	struct glist l = {0};

	setup(4);
	runq_swap_next(&q, &gs[0]);
	runq_put(&q, &gs[1]);
	nest_push(&q.nest, &gs[2]);
	nest_push(&q.nest, &gs[3]);
	runq_drain(&q, &l);
	EQ(l.n, 4);
	OK(runq_empty(&q));
}

/* ---- owner against thieves ---- */

enum { ITEMS = 30000, THIEVES = 3 };
static int taken[ITEMS];
static int go_on = 1;

static void
count(struct g *gp)
{
	__atomic_add_fetch(&taken[gp - gs], 1, __ATOMIC_RELAXED);
}

static void *
thieve(void *arg)
{
	struct runq *mine = arg;

	while (__atomic_load_n(&go_on, __ATOMIC_ACQUIRE)) {
		uint32_t n;
		struct g *gp = runq_steal_nest(mine, &q, &n);

		for (; gp; gp = nest_pop(&mine->nest))
			count(gp);
	}
	return NULL;
}

/* Mostly near empty, where owner and thieves meet; but it grows, too. */
static void
own(int n)
{
	for (int i = 0; i < n; i++) {
		struct g *gp;

		OK(nest_push(&q.nest, &gs[i]));
		if (i / 1000 % 2 == 0 && i % 4 != 1 && (gp = nest_pop(&q.nest)))
			count(gp);
		if (i % 31 == 0 && (gp = nest_take(&q.nest)))
			count(gp);
	}
}

TEST(each_is_taken_exactly_once)
{
	static struct runq mine[THIEVES];
	pthread_t t[THIEVES];
	int n = (int)t_scale(ITEMS), wrong = 0;
	struct g *gp;

	setup(ITEMS);
	for (int round = 0; round < 20; round++) {
		memset(taken, 0, sizeof taken);
		go_on = 1;
		for (int i = 0; i < THIEVES; i++)
			pthread_create(&t[i], NULL, thieve, &mine[i]);
		own(n);
		__atomic_store_n(&go_on, 0, __ATOMIC_RELEASE);
		for (int i = 0; i < THIEVES; i++)
			pthread_join(t[i], NULL);
		while ((gp = nest_pop(&q.nest)))
			count(gp);
		for (int i = 0; i < n; i++)
			wrong += taken[i] != 1;
	}
	EQ(wrong, 0);
}
