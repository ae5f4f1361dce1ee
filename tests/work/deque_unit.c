/* SPDX-License-Identifier: MIT */
/* The deque: newest first for its owner, oldest for thieves, each once. */
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
	setup(5 * DEQUE_FIRST);
	for (int n = 0; n <= 5 * DEQUE_FIRST; n += n < 20 ? 1 : 59) {
		for (int i = 0; i < n; i++)
			OK(deque_push(&q.deque, &gs[i]));
		EQ(deque_len(&q.deque), n);
		EQ(deque_empty(&q.deque), n == 0);
		EQ(runq_empty(&q), n == 0);
		for (int i = n; i-- > 0; )
			OK(deque_pop(&q.deque) == &gs[i]);
		OK(deque_pop(&q.deque) == NULL);
		OK(deque_empty(&q.deque));
	}
}

TEST(oldest_first_for_thieves)
{
	setup(DEQUE_FIRST);
	for (int i = 0; i < 10; i++)
		OK(deque_push(&q.deque, &gs[i]));
	for (int i = 0; i < 5; i++)
		OK(deque_steal(&q.deque) == &gs[i]);
	OK(deque_pop(&q.deque) == &gs[9]);
	EQ(deque_len(&q.deque), 4);
}

TEST(full_nest_grows_and_wraps)
{
	const int n = 9 * DEQUE_FIRST;

	setup(n);
	a_init(&q.deque.top, UINT32_MAX - 5);
	a_init(&q.deque.bottom, UINT32_MAX - 5);
	for (int i = 0; i < n; i++)
		OK(deque_push(&q.deque, &gs[i]));
	EQ(deque_len(&q.deque), n);
	for (int i = 0; i < 10; i++)
		OK(deque_steal(&q.deque) == &gs[i]);
	for (int i = n; i-- > 10; )
		OK(deque_pop(&q.deque) == &gs[i]);
	OK(deque_empty(&q.deque));
}

TEST(steal_takes_the_oldest_half)
{
	uint32_t n;

	setup(DEQUE_FIRST);
	OK(runq_steal_deque(&thief, &q, &n) == NULL);
	for (int i = 0; i < 9; i++)
		deque_push(&q.deque, &gs[i]);
	OK(runq_steal_deque(&thief, &q, &n) == &gs[0]);
	EQ(n, 5);
	for (int i = 5; i-- > 1; )
		OK(deque_pop(&thief.deque) == &gs[i]);
	OK(deque_pop(&thief.deque) == NULL);
	OK(deque_pop(&q.deque) == &gs[8]);
}

TEST(drained_with_the_rest)
{
	struct glist l = {0};

	setup(4);
	runq_swap_next(&q, &gs[0]);
	runq_put(&q, &gs[1]);
	deque_push(&q.deque, &gs[2]);
	deque_push(&q.deque, &gs[3]);
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
		struct g *gp = runq_steal_deque(mine, &q, &n);

		for (; gp; gp = deque_pop(&mine->deque))
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

		OK(deque_push(&q.deque, &gs[i]));
		if (i / 1000 % 2 == 0 && i % 4 != 1 &&
		    (gp = deque_pop(&q.deque)))
			count(gp);
		if (i % 31 == 0 && (gp = deque_steal(&q.deque)))
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
		while ((gp = deque_pop(&q.deque)))
			count(gp);
		for (int i = 0; i < n; i++)
			wrong += taken[i] != 1;
	}
	EQ(wrong, 0);
}
