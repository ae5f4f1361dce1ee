/* SPDX-License-Identifier: MIT */
/*
 * Random orders in which a thief visits Ps: a random start and a random
 * stride coprime to their number visit each exactly once, with no memory and
 * a different order each time.
 *
 * On a machine that is not flat (os/topology.h) the near ones come first: such
 * an order is gone through once for each distance. The distances are found out
 * once, at the start, so each P is visited exactly once wherever it moves
 * meanwhile.
 */
#ifndef STEAL_ORDER_H
#define STEAL_ORDER_H

#include <stdint.h>

#include "rand.h"
#include "topology.h"

enum { STEAL_ORDER_STRIDES = 64, STEAL_ORDER_MAX = 1024 };

struct steal_order_table {
	uint32_t count;
	uint32_t n_strides;
	uint32_t stride[STEAL_ORDER_STRIDES];	/* coprime to count */
};

struct steal_order {
	uint32_t pos, stride, left, count;
};

static inline uint32_t
steal_order_gcd(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t t = a % b;

		a = b;
		b = t;
	}
	return a;
}

/* Up to 64 strides: enough variety, and a bounded table. */
static inline void
steal_order_init(struct steal_order_table *t, uint32_t count)
{
	t->count = count;
	t->n_strides = 0;
	for (uint32_t i = 1;
	    i <= count && t->n_strides < STEAL_ORDER_STRIDES; i++)
		if (steal_order_gcd(i, count) == 1)
			t->stride[t->n_strides++] = i;
}

static inline struct steal_order
steal_order_start(const struct steal_order_table *t, uint32_t random)
{
	return (struct steal_order) {
		.pos = random % t->count,
		.stride = t->stride[random / t->count % t->n_strides],
		.left = t->count,
		.count = t->count,
	};
}

/* False when all were visited; else o->pos is the next. */
static inline int
steal_order_more(const struct steal_order *o)
{
	return o->left > 0;
}

static inline void
steal_order_next(struct steal_order *o)
{
	o->left--;
	o->pos = (o->pos + o->stride) % o->count;
}

/* ---- near ones first ---- */

struct near_order {
	struct steal_order o;		/* o.pos is the next */
	struct steal_order all;		/* the order, from its start */
	uint32_t distance;		/* of those visited now */
	uint32_t found;			/* a bit for each distance */
	uint8_t of[STEAL_ORDER_MAX];	/* the distance of each P */
};

/* False when all were visited; else n->o.pos is the next. */
static inline int
near_order_more(const struct near_order *n)
{
	return n->distance < DISTANCES;
}

/* Where this one is at the right distance, or the end. */
static inline void
near_order_settle(struct near_order *n)
{
	while (near_order_more(n)) {
		if (n->found >> n->distance & 1)
			for (; steal_order_more(&n->o); steal_order_next(&n->o))
				if (n->of[n->o.pos] == n->distance)
					return;
		n->o = n->all;
		n->distance++;
	}
}

static inline void
near_order_next(struct near_order *n)
{
	steal_order_next(&n->o);
	near_order_settle(n);
}

/* From `here`, of Ps at these positions. */
static inline void
near_order_start(struct near_order *n, const struct steal_order_table *t,
    uint32_t random, const a32 *position, uint32_t here)
{
	n->o = n->all = steal_order_start(t, random);
	n->distance = n->found = 0;
	for (uint32_t i = 0; i < t->count; i++) {
		n->of[i] = (uint8_t)topology_distance(here,
		    a_load_relaxed(&position[i]));
		n->found |= 1u << n->of[i];
	}
	near_order_settle(n);
}

#endif
