/* SPDX-License-Identifier: MIT */
/*
 * Goroutines, grouped: those with the same stack, state and origin. 100,000
 * goroutines are usually a handful of groups.
 *
 * All is in one mapping that is made for the purpose and touched as far as it
 * is needed; when it is full the rest is counted only.
 */
#ifndef DUMP_GROUP_H
#define DUMP_GROUP_H

#include "goroutine_stacks.h"

/* For lists that are sorted; the first member. */
struct dump_link { struct dump_link *next; };

struct dump_member {
	struct dump_link link;
	int64_t id;
	struct g *gp;
};

struct dump_group {
	struct dump_link link;
	struct dump_group *same_bucket;
	struct dump_member *members;	/* ordered by id, when sorted */
	uint32_t hash;
	uint32_t count;
	/* of all members */
	const struct weft_site *site;
	uint8_t state, reason;
	bool self, paused, asleep, started;
	int64_t waited_min, waited_max;	/* -1: not known */
	unsigned n;
	uintptr_t pcs[];
};

enum { DUMP_OUT_BYTES = 8192, DUMP_MODULES = 512 };

struct dump_groups {
	struct dump_group *first;
	uint32_t groups;
	uint64_t goroutines;	/* all that were added */
	uint64_t omitted;	/* ... that did not fit */
	bool each;		/* one group for each goroutine */
	/* the mapping */
	char *arena;
	size_t cap, used;
	struct dump_group **bucket;
	/* in it, for dump_text.c: a buffer, and which modules were named */
	char *out;
	bool *named;
};

/* False if there is no memory. */
bool dump_groups_init(struct dump_groups *d, int64_t goroutines);
void dump_groups_free(struct dump_groups *d);
void dump_groups_add(struct dump_groups *d, const struct goroutine_info *g);
/* The caller's own first, then those that run, the largest groups first. */
void dump_groups_sort(struct dump_groups *d);

#endif
