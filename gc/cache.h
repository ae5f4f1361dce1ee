/* SPDX-License-Identifier: MIT */
#ifndef WEFT_CACHE_H
#define WEFT_CACHE_H

enum {
	CACHE_MAX = 512,	/* objects of fewer bytes are cached */
	CACHE_CLASSES = 32,
	CACHE_KINDS = 2		/* KIND_ATOMIC, KIND_NORMAL */
};

/* The M that has it; the collector, while all are stopped. */
struct cache {
	void *list[CACHE_KINDS][CACHE_CLASSES];
};

#endif
