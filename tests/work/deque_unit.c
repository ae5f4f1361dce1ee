/* SPDX-License-Identifier: MIT */
/* The deque: newest first for its owner, oldest for thieves, each once. */
#include "runq_thieves.h"

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

static void
steal(struct runq *mine)
{
	uint32_t n;
	struct g *gp = runq_steal_deque(mine, &q, &n);

	for (; gp; gp = deque_pop(&mine->deque))
		count_taken(gp);
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
			count_taken(gp);
		if (i % 31 == 0 && (gp = deque_steal(&q.deque)))
			count_taken(gp);
	}
}

static void
drain(void)
{
	struct g *gp;

	while ((gp = deque_pop(&q.deque)))
		count_taken(gp);
}

TEST(each_is_taken_exactly_once)
{
	each_taken_once(&(struct contest){ 30000, own, steal, drain });
}
