/* SPDX-License-Identifier: MIT */
/*
 * Regions that the program marked, by name. A region that is not ended lasts
 * as long as its goroutine, or until the trace ends.
 */
#ifndef REGIONS_H
#define REGIONS_H

#include <stdio.h>

#include "event.h"
#include "grow.h"
#include "idmap.h"

struct region_sum {
	const char *name;	/* in the trace, not terminated */
	uint16_t bytes;
	uint32_t next;		/* with the same hash, + 1; 0: none */
	uint64_t count;
	int64_t ns, max;
};

/* One that is not over. */
struct region_open {
	int64_t since;
	uint32_t sum;
	uint32_t outer;		/* of the goroutine: index + 1, or 0 */
};

struct regions {
	struct region_sum *sum;
	size_t sums, sums_room;
	struct idmap by_hash;		/* -> index + 1 */
	struct region_open *open;
	size_t opens, opens_room;
	uint32_t unused;		/* list by `outer`: index + 1, or 0 */
	struct idmap innermost;		/* goroutine -> index + 1 in open */
	int64_t now;
};

void regions_add(struct regions *r, const struct event *e);
/* After the last event: the table, if there is any region. */
void regions_print(struct regions *r, FILE *out);
void regions_free(struct regions *r);

#endif
