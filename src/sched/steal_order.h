/* SPDX-License-Identifier: MIT */
/*
 * Random orders in which a thief visits Ps: a random start and a random
 * stride coprime to their number visit each exactly once, with no memory and
 * a different order each time.
 */
#ifndef STEAL_ORDER_H
#define STEAL_ORDER_H

#include <stdint.h>

#include "rand.h"

enum { STEAL_ORDER_STRIDES = 64 };

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

#endif
