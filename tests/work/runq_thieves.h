/* SPDX-License-Identifier: MIT */
/*
 * For the unit tests of a P's queues: a run queue, goroutines to put into it,
 * and its owner against thieves, where each goroutine must be taken once.
 */
#ifndef RUNQ_THIEVES_H
#define RUNQ_THIEVES_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runq.h"
#include "t.h"

static struct runq q, thief;
static struct g *gs;

/* Empty queues, and n goroutines; one more may be pointed to. */
static inline void
setup(int n)
{
	memset(&q, 0, sizeof q);
	memset(&thief, 0, sizeof thief);
	free(gs);
	gs = aligned_alloc(CACHE_LINE, (size_t)(n + 1) * sizeof *gs);
	memset(gs, 0, (size_t)(n + 1) * sizeof *gs);
}

/* ---- owner against thieves ---- */

enum { MOST_ITEMS = 30000, THIEVES = 3 };

/* Both take by count_taken. */
struct contest {
	int items;
	void (*own)(int n);			/* puts gs[0] to gs[n - 1] */
	void (*steal)(struct runq *mine);	/* once; what it gets, all */
	void (*drain)(void);			/* by the owner, at the end */
};

static int taken[MOST_ITEMS];	/* atomic, while there are thieves */
static int go_on = 1;		/* atomic */
static const struct contest *contest;

static inline void
count_taken(struct g *gp)
{
	__atomic_add_fetch(&taken[gp - gs], 1, __ATOMIC_RELAXED);
}

static inline void *
thieve(void *mine)
{
	while (__atomic_load_n(&go_on, __ATOMIC_ACQUIRE))
		contest->steal(mine);
	return NULL;
}

static inline int
contest_round(int n)
{
	static struct runq mine[THIEVES];
	pthread_t t[THIEVES];
	int wrong = 0;

	memset(taken, 0, sizeof taken);
	go_on = 1;
	for (int i = 0; i < THIEVES; i++)
		EQ(pthread_create(&t[i], NULL, thieve, &mine[i]), 0);
	contest->own(n);
	__atomic_store_n(&go_on, 0, __ATOMIC_RELEASE);
	for (int i = 0; i < THIEVES; i++)
		EQ(pthread_join(t[i], NULL), 0);
	contest->drain();
	for (int i = 0; i < n; i++)
		wrong += taken[i] != 1;
	return wrong;
}

static inline void
each_taken_once(const struct contest *c)
{
	int n = (int)t_scale(c->items), wrong = 0;

	contest = c;
	setup(c->items);
	for (int round = 0; round < 20; round++)
		wrong += contest_round(n);
	EQ(wrong, 0);
}

#endif
