/* SPDX-License-Identifier: MIT */
/*
 * A table of samples: how often each stack was seen, and with which sum.
 *
 * Any thread adds to it, also in a signal handler that interrupted an addition
 * on the same thread: nothing is locked, nothing is allocated, no loop waits
 * for another thread. Memory is reserved when the table is made and resident
 * when it is touched. A table that is full loses samples and counts them; when
 * three quarters are used goroutines are no longer told apart by their ids, so
 * that long profiles lose this before they lose samples.
 *
 * Readers need no lock either: an entry is constant once it can be found, but
 * for its two sums.
 */
#ifndef PROFILE_TABLE_H
#define PROFILE_TABLE_H

#include "atomic.h"
#include "defs.h"
#include "g.h"

enum { PROFILE_DEPTH = 128 };	/* innermost frames of a stack; others: cut */

/* What tells samples apart. */
struct profile_key {
	int64_t goroutine;	/* id; 0: no goroutine, or not told apart */
	uint64_t name[G_NAME_WORDS];	/* of the goroutine, NUL-padded */
	uint32_t labels;	/* set of labels: labels.h; 0: none */
	uint16_t reason;	/* enum wait_reason, if it waited */
	uint16_t depth;
	const uintptr_t *pcs;	/* innermost first; return addresses are
				 * those of the call: address - 1 */
};

struct profile_entry {
	/* constant */
	uint64_t hash;
	struct profile_key key;	/* pcs: the array below */
	/* any thread, atomic */
	a64 count, sum;
	/* constant */
	uintptr_t pcs[];
};

struct profile_table {
	/* constant once it is made */
	a64 *buckets;		/* offset of an entry + 1, 0: none */
	char *room;
	/* any thread, atomic */
	a64 used;		/* bytes of room */
	a64 lost;		/* count of samples that found no room */
};

/* 0 or -ENOMEM. One that is made already is emptied: no thread adds to it. */
int profile_table_make(struct profile_table *t);

void profile_table_free(struct profile_table *t);

/* False if there is no room: then it is counted as lost. */
bool profile_table_add(struct profile_table *t, struct profile_key *key,
    uint64_t count, uint64_t sum);

/*
 * The next entry, from *at on, which is 0 at first; NULL: no more. Entries that
 * are added meanwhile may be missed.
 */
struct profile_entry *profile_table_next(struct profile_table *t,
    uint32_t *at);

#endif
