/* SPDX-License-Identifier: MIT */
/*
 * A queue of items whose consumers wait with limits of all kinds, and without
 * one. Each item comes with one signal. A consumer that was signalled takes
 * one, or finds that another has barged in; one that was not goes away. So if a
 * waiter that gives up swallows a signal, items stay behind although a consumer
 * without a limit waits, and the producer, which waits for room, hangs.
 */
#include "wait_limits.h"

enum { ROOM = 3 };

struct queue {
	weft_mutex m;
	weft_cond not_empty, not_full;
	/* under m */
	int n;
	bool end;
	long put, taken;
};

static void
take(struct queue *q)
{
	OK(q->n > 0);
	q->n--;
	q->taken++;
	weft_cond_signal(&q->not_full);
}

static void
consume(struct crew *c, uint32_t *seed)
{
	struct queue *q = c->arg;
	struct pick p;
	bool waits = rnd(seed) % 4 == 0;

	weft_mutex_lock(&q->m);
	while (q->n == 0 && !q->end) {
		if (waits) {
			weft_cond_wait(&q->not_empty, &q->m);
			continue;
		}
		p = pick(c, seed);
		if (!picked(c, &p,
		    WITH_LIMIT(p, weft_cond_wait, &q->not_empty, &q->m)))
			break;
	}
	if (q->n > 0)
		take(q);
	weft_mutex_unlock(&q->m);
}

static void
produce(struct queue *q, struct crew *c, weft_waitgroup *wg)
{
	uint32_t seed = 1;

	while (!__atomic_load_n(&c->stop, __ATOMIC_RELAXED)) {
		weft_mutex_lock(&q->m);
		while (q->n == ROOM)
			weft_cond_wait(&q->not_full, &q->m);
		q->n++;
		q->put++;
		weft_cond_signal(&q->not_empty);
		weft_mutex_unlock(&q->m);
		if (rnd(&seed) % 2)
			weft_sleep(rnd(&seed) % 60 * WEFT_US);
	}
	weft_mutex_lock(&q->m);
	q->end = true;
	weft_cond_broadcast(&q->not_empty);
	weft_mutex_unlock(&q->m);
	weft_waitgroup_done(wg);
}

/* The crew has gone: makes room until the producer has seen that. */
static void
drain(struct queue *q)
{
	weft_mutex_lock(&q->m);
	while (q->n > 0 || !q->end) {
		if (q->n > 0)
			take(q);
		else
			weft_cond_wait(&q->not_empty, &q->m);
	}
	weft_mutex_unlock(&q->m);
}

static void
limits(void)
{
	struct queue q = {0};
	struct crew c = { .work = consume, .arg = &q };
	weft_waitgroup wg = {0};

	weft_waitgroup_add(&wg, 1);
	weft_go(produce, &q, &c, &wg);
	crew_run(&c);
	drain(&q);
	weft_waitgroup_wait(&wg);
	EQ(q.taken, q.put);
	EQ(q.not_empty.waiters_, 0);
	EQ(q.not_full.waiters_, 0);
	EQ(q.m.state_, 0);
}
ON_1_2_8(limits)
