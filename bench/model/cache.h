/* SPDX-License-Identifier: MIT */
/*
 * Cache lines of a machine that is not there: which CPU has a line, and what
 * it costs to get it. Times are nanoseconds.
 *
 * A line is modified in one cache, or shared by some, or in none:
 *
 *	read, not here		a transfer; the line becomes shared
 *	store, not alone here	a transfer, all other copies are invalidated
 *	anything else		a hit
 *
 * A transfer costs a price by distance: from the owner, or, for a store to a
 * shared line, from the farthest copy. Transfers of one line follow each other:
 * one that comes while the line is under way waits. Reads of a line that is
 * shared already do not wait for each other. The old owner may use the line
 * until the request has arrived, which is half of the price.
 */
#ifndef MODEL_CACHE_H
#define MODEL_CACHE_H

#include <stdbool.h>
#include <stdint.h>

enum { CPUS_MAX = 128, CPU_WORDS = CPUS_MAX / 64, NO_CPU = -1 };

struct prices {
	const char *name;
	int per_llc, per_socket;	/* CPUs that share one */
	double llc, socket, other;	/* a transfer within one, and beyond */
	double hit;
	double locked;			/* a locked instruction, line here */
};

struct line {
	const char *name;
	int owner;			/* has modified it; NO_CPU: none */
	uint64_t sharers[CPU_WORDS];
	double busy_until;		/* under way */
	int left;			/* CPU that it was last taken from, */
	double left_at;			/* ... which has it until then */
	/* for the report */
	double moved_ns;		/* in transfers, without waiting */
	double waited_ns;		/* by CPUs, for others' transfers */
	uint64_t transfers;
};

void line_init(struct line *l, const char *name);
/* Both return when it is done. */
double line_read(struct line *l, const struct prices *m, int cpu, double now);
double line_store(struct line *l, const struct prices *m, int cpu, double now);
/* Would it be a hit at that time? */
bool line_is_here(const struct line *l, int cpu, bool store, double now);

#endif
