/* SPDX-License-Identifier: MIT */
/* Where CPU samples were taken, and where goroutines blocked. */
#ifndef HOT_H
#define HOT_H

#include <stdio.h>

#include "order.h"

struct hot {
	struct idmap samples, blocks;	/* stack + 1 -> how often */
	uint64_t sample_count, block_count;
};

void hot_add(struct hot *h, const struct event *e);
void hot_print(const struct hot *h, struct trace *t,
    const struct stacks *stacks, FILE *out);
void hot_free(struct hot *h);

#endif
