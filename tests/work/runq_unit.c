/* SPDX-License-Identifier: MIT */
/* The run queue: exact for all sizes, and each goroutine taken once. */
#include "runq_thieves.h"

TEST(fifo_for_all_sizes)
{
	setup(RUNQ_SIZE);
	for (int n = 0; n <= RUNQ_SIZE; n++) {
		for (int i = 0; i < n; i++)
			OK(runq_put(&q, &gs[i]));
		EQ(runq_len(&q), n);
		EQ(runq_empty(&q), n == 0);
		for (int i = 0; i < n; i++)
			OK(runq_get(&q) == &gs[i]);
		OK(runq_get(&q) == NULL);
		OK(runq_empty(&q));
	}
}

TEST(full_ring_refuses)
{
	setup(RUNQ_SIZE);
	for (int i = 0; i < RUNQ_SIZE; i++)
		OK(runq_put(&q, &gs[i]));
	OK(!runq_put(&q, &gs[RUNQ_SIZE]));
	OK(!runq_put_quiet(&q, &gs[RUNQ_SIZE]));
	OK(runq_get(&q) == &gs[0]);
	OK(runq_put(&q, &gs[RUNQ_SIZE]));
}

TEST(counters_wrap)
{
	setup(RUNQ_SIZE);
	a_init(&q.head, UINT32_MAX - 5);
	a_init(&q.tail, UINT32_MAX - 5);
	for (int i = 0; i < 20; i++)
		OK(runq_put(&q, &gs[i]));
	EQ(runq_len(&q), 20);
	for (int i = 0; i < 20; i++)
		OK(runq_get(&q) == &gs[i]);
	OK(runq_empty(&q));
}

TEST(halve_takes_the_oldest_half)
{
	struct glist l = {0};

	setup(RUNQ_SIZE);
	for (int i = 0; i < RUNQ_SIZE; i++)
		runq_put(&q, &gs[i]);
	runq_halve(&q, &l);
	EQ(l.n, RUNQ_HALF);
	for (int i = 0; i < RUNQ_HALF; i++)
		OK(glist_pop(&l) == &gs[i]);
	OK(runq_get(&q) == &gs[RUNQ_HALF]);
}

TEST(next_is_displaced_and_drained_first)
{
	struct glist l = {0};

	setup(4);
	OK(runq_swap_next(&q, &gs[0]) == NULL);
	OK(runq_swap_next(&q, &gs[1]) == &gs[0]);
	OK(!runq_empty(&q));
	runq_put(&q, &gs[0]);
	runq_drain(&q, &l);
	OK(glist_pop(&l) == &gs[1]);
	OK(glist_pop(&l) == &gs[0]);
	OK(glist_pop(&l) == NULL && runq_empty(&q));
	OK(runq_take_next(&q) == NULL);
}

TEST(steal_takes_half_rounded_up)
{
	setup(RUNQ_SIZE);
	for (uint32_t n = 0; n <= RUNQ_SIZE; n++) {
		uint32_t got, left = n;
		struct g *gp;

		for (uint32_t i = 0; i < n; i++)
			runq_put(&q, &gs[i]);
		gp = runq_steal(&thief, &q, &got);
		EQ(got, n - n / 2);
		EQ(gp != NULL, n > 0);
		for (left = 0; runq_get(&q); left++)
			;
		EQ(left, n / 2);
		for (left = gp != NULL; runq_get(&thief); left++)
			;
		EQ(left, got);
	}
}

TEST(global_batch_is_a_fair_share)
{
	struct globq gq = {0};
	struct glist l = {0};

	setup(1000);
	for (int i = 0; i < 1000; i++)
		glist_push(&l, &gs[i]);
	globq_put(&gq, &l);
	EQ(globq_len(&gq), 1000);
	OK(globq_get_batch(&gq, &q, 16, RUNQ_HALF - 1, true) == &gs[0]);
	EQ(runq_len(&q), 1000 / 16);
	OK(runq_get(&q) == &gs[1]);
	while (runq_get(&q))
		;
	OK(globq_get_batch(&gq, &q, 1, RUNQ_HALF - 1, true) ==
	    &gs[1000 / 16 + 1]);
	EQ(runq_len(&q), RUNQ_HALF - 1);
}

/* Urgent goroutines come before the others, first in, first out. */
TEST(urgent_in_order)
{
	struct globq gq = {0};
	struct glist l = {0};

	setup(4);
	globq_put_one(&gq, &gs[0]);
	glist_push(&l, &gs[1]);
	globq_put_urgent(&gq, &l);
	glist_push(&l, &gs[2]);
	glist_push(&l, &gs[3]);
	globq_put_urgent(&gq, &l);
	EQ(globq_len(&gq), 4);
	OK(globq_peek(&gq) == &gs[1]);
	OK(globq_get_batch(&gq, &q, 1, 8, true) == &gs[1]);
	OK(globq_get_batch(&gq, &q, 1, 8, true) == &gs[2]);
	OK(globq_urgent(&gq));
	/* A taker that leaves them out gets the one that waits behind. */
	OK(globq_get_batch(&gq, &q, 1, 8, false) == &gs[0]);
	OK(globq_get_batch(&gq, &q, 1, 8, false) == NULL);
	OK(globq_get(&gq) == &gs[3]);
	EQ(globq_len(&gq), 0);
	OK(!globq_urgent(&gq));
}

/* ---- owner against thieves ---- */

static void
steal(struct runq *mine)
{
	uint32_t n;
	struct g *gp = runq_steal(mine, &q, &n);

	if (!gp && (gp = runq_peek_next(&q)) && !runq_steal_next(&q, gp))
		gp = NULL;
	for (; gp; gp = runq_get(mine))
		count_taken(gp);
}

/* The owner puts everything once, by ring or by runnext, and takes some. */
static void
own(int n)
{
	for (int i = 0; i < n; i++) {
		struct g *gp = &gs[i];

		if (i % 3 == 0)
			gp = runq_swap_next(&q, gp);
		while (gp && !runq_put(&q, gp)) {
			struct g *head = runq_get(&q);

			if (head)
				count_taken(head);
		}
		if (i % 5 == 0 && (gp = runq_get(&q)))
			count_taken(gp);
		if (i % 7 == 0 && (gp = runq_take_next(&q)))
			count_taken(gp);
	}
}

static void
drain(void)
{
	struct g *gp;

	if ((gp = runq_take_next(&q)))
		count_taken(gp);
	while ((gp = runq_get(&q)))
		count_taken(gp);
}

TEST(each_is_taken_exactly_once)
{
	each_taken_once(&(struct contest){ 20000, own, steal, drain });
}

/*
 * A queue with something in it never looks empty, even while its owner moves
 * things from runnext to the ring and takes them in turn.
 */
static void *
watch_empty(void *arg)
{
	int *wrong = arg;

	while (__atomic_load_n(&go_on, __ATOMIC_ACQUIRE))
		*wrong += runq_empty(&q);
	return NULL;
}

TEST(never_empty_by_accident)
{
	struct g *x, *y;
	int wrong = 0;
	pthread_t t;

	setup(2);
	x = &gs[0];
	y = &gs[1];
	runq_put(&q, x);
	pthread_create(&t, NULL, watch_empty, &wrong);
	for (long i = 0; i < t_scale(2000000); i++) {
		struct g *tmp;

		/* x is in the ring */
		OK(runq_swap_next(&q, y) == NULL);
		OK(runq_get(&q) == x);
		OK(runq_swap_next(&q, x) == y);
		OK(runq_put(&q, y));
		OK(runq_take_next(&q) == x);
		tmp = x;
		x = y;
		y = tmp;
	}
	__atomic_store_n(&go_on, 0, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
	EQ(wrong > 0, 0);
}
