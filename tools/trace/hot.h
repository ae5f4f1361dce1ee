/* SPDX-License-Identifier: MIT */
/*
 * Where CPU samples were taken, and where goroutines blocked, and for how
 * long. Only some waits have a stack if there are very many: those count.
 */
#ifndef HOT_H
#define HOT_H

#include <stdio.h>

#include "order.h"

/* All samples, or all waits, with one stack. */
struct hot_sum {
	uint32_t stack;
	uint64_t count;
	int64_t ns;		/* of waits */
};

struct hot_sums {
	struct idmap index;	/* stack -> index + 1 */
	struct hot_sum *sum;
	size_t sums, room;
	uint64_t count;
	int64_t ns;
};

struct hot {
	struct hot_sums samples, waits;
	struct idmap waiting;	/* goroutine -> stack; 0: none */
	struct idmap since;	/* ... and since when */
	uint64_t blocks;	/* also those without a stack */
	int64_t now;
};

void hot_add(struct hot *h, const struct event *e);
/* After the last event. */
void hot_print(struct hot *h, struct trace *t, const struct stacks *stacks,
    FILE *out);
void hot_free(struct hot *h);

#endif
