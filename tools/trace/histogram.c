/* SPDX-License-Identifier: MIT */
/* See histogram.h. */
#include "histogram.h"

enum { SUB_BITS = 4, SUBS = 1 << SUB_BITS };

/* Below 16 each number has a bucket. */
static unsigned
bucket_of(int64_t ns)
{
	unsigned log;

	if (ns < SUBS)
		return ns < 0 ? 0 : (unsigned)ns;
	log = 63 - (unsigned)__builtin_clzll((unsigned long long)ns);
	return (log - SUB_BITS + 1) * SUBS +
	    (unsigned)(ns >> (log - SUB_BITS)) % SUBS;
}

/* The largest duration of the bucket. */
static int64_t
last_of(unsigned bucket)
{
	unsigned shift = bucket / SUBS - 1;

	if (bucket < SUBS)
		return bucket;
	return ((int64_t)(SUBS + bucket % SUBS) << shift) +
	    ((int64_t)1 << shift) - 1;
}

void
histogram_add(struct histogram *h, int64_t ns)
{
	h->bucket[bucket_of(ns)]++;
	h->count++;
	h->sum += ns;
	if (ns > h->max)
		h->max = ns;
}

int64_t
histogram_at(const struct histogram *h, double share)
{
	uint64_t want = (uint64_t)(share * (double)h->count), seen = 0;

	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += h->bucket[i];
		if (seen > want || (seen && seen == h->count))
			return last_of(i) < h->max ? last_of(i) : h->max;
	}
	return 0;
}

uint64_t
histogram_between(const struct histogram *h, int64_t lo, int64_t hi)
{
	uint64_t n = 0;

	for (unsigned i = bucket_of(lo); i < bucket_of(hi); i++)
		n += h->bucket[i];
	return n;
}
