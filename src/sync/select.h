/* SPDX-License-Identifier: MIT */
/* Select with all its limits, for chan_until.c and select_block.c. */
#ifndef SELECT_H
#define SELECT_H

#include "weft.h"

/* Results besides the index of a case. */
enum {
	SELECT_TIMEOUT = -1,	/* `when` is over */
	SELECT_CONTEXT = -2,	/* the context is cancelled */
	SELECT_ENOMEM = -3
};

/* Until when (0: no limit), and with which context (NULL: none). */
struct select_limit {
	int64_t when;
	weft_context *ctx;
};

#define NO_LIMIT ((struct select_limit){ 0, NULL })
#define UNTIL(when) ((struct select_limit){ when, NULL })
#define CONTEXT(ctx) ((struct select_limit){ 0, ctx })

/*
 * Performs one of the cases and returns its index, or one of the above. No
 * lock held; on a goroutine or a plain thread.
 */
int select_case(weft_case *cases, size_t n, bool ordered,
    struct select_limit limit);

#endif
