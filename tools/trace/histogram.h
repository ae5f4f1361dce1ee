/* SPDX-License-Identifier: MIT */
/* Durations in ns: 16 buckets for each power of two, so 6 % wide. */
#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_BUCKETS = 61 * 16 };

struct histogram {
	uint64_t bucket[HISTOGRAM_BUCKETS], count;
	int64_t max, sum;
};

void histogram_add(struct histogram *h, int64_t ns);
/* The duration that this share (0..1) does not exceed; 0 if it is empty. */
int64_t histogram_at(const struct histogram *h, double share);
/* How many lasted at least lo and less than hi: both are powers of two. */
uint64_t histogram_between(const struct histogram *h, int64_t lo, int64_t hi);

#endif
