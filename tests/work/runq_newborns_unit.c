/* SPDX-License-Identifier: MIT */
/* How many newborns a thief takes from the deque of another queue. */
#include <string.h>

#include "runq.h"
#include "t.h"

enum { MANY = 40 };

static struct runq victim, thief;
static struct g gs[MANY + 1];

static void
fill(int n)
{
	memset(&victim, 0, sizeof victim);
	memset(&thief, 0, sizeof thief);
	for (int i = 0; i < n; i++)
		OK(deque_push(&victim.deque, &gs[i]));
}

/* A thief without newborns takes half, the oldest, and runs the first. */
TEST(empty_thief_takes_half)
{
	uint32_t n;

	fill(MANY);
	OK(runq_steal_deque(&thief, &victim, &n) == &gs[0]);
	EQ(n, MANY / 2);
	EQ(deque_len(&thief.deque), MANY / 2 - 1);
	OK(deque_pop(&thief.deque) == &gs[MANY / 2 - 1]);
	OK(deque_pop(&victim.deque) == &gs[MANY - 1]);
}

/* Its own newborns are its newest, and stay so. */
TEST(thief_with_newborns_takes_one)
{
	uint32_t n;

	fill(MANY);
	OK(deque_push(&thief.deque, &gs[MANY]));
	OK(runq_steal_deque(&thief, &victim, &n) == &gs[0]);
	EQ(n, 1);
	EQ(deque_len(&victim.deque), MANY - 1);
	OK(deque_pop(&thief.deque) == &gs[MANY]);
	OK(deque_pop(&thief.deque) == NULL);
}
