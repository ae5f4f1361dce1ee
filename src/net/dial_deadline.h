/* SPDX-License-Identifier: MIT */
/*
 * The limits of a dial or a lookup: a time and a context. Made once, by the
 * public call; all that it calls waits with the functions below.
 */
#ifndef DIAL_DEADLINE_H
#define DIAL_DEADLINE_H

#include "defs.h"
#include "weft.h"

struct dial_deadline {
	int64_t until;		/* the earlier of the two; WEFT_NEVER: none */
	weft_context *context;
};

static inline struct dial_deadline
dial_deadline_of(const weft_dial_options *opt)
{
	struct dial_deadline l = { WEFT_NEVER, opt ? opt->context : NULL };
	int64_t last = weft_context_deadline(l.context);

	if (opt && opt->until)
		l.until = opt->until;
	if (last < l.until)
		l.until = last;
	return l;
}

/* 0 while the limits allow it; -ETIMEDOUT, -ECANCELED. */
static inline int
dial_deadline_error(const struct dial_deadline *l)
{
	int err = weft_context_error(l->context);

	if (!err && l->until != WEFT_NEVER && l->until <= weft_now())
		err = -ETIMEDOUT;
	return err;
}

/*
 * Waits for a channel operation, but not beyond `when`: 0: it is done, which is
 * preferred; -ETIMEDOUT; the error of the context.
 */
static inline int
dial_deadline_select(const struct dial_deadline *l, weft_case wanted,
    int64_t when)
{
	weft_case cases[] = {
		wanted, WEFT_CASE_RECV(weft_context_done(l->context), NULL)
	};
	int i = weft_select_ordered_until(cases, countof(cases), when);

	return i == 1 ? weft_context_error(l->context) : i;
}

#endif
