/* SPDX-License-Identifier: MIT */
/*
 * Until when something is worth doing: a time and a context. Made once, at the
 * door; everything behind it waits with the calls below.
 */
#ifndef DIAL_DEADLINE_H
#define DIAL_DEADLINE_H

#include "defs.h"
#include "weft.h"

struct dial_deadline {
	int64_t until;		/* that of the context, if it is earlier */
	weft_context *context;
};

static inline struct dial_deadline
dial_deadline_of(const weft_dial_opt *opt)
{
	struct dial_deadline l = { WEFT_NEVER, opt ? opt->context : NULL };
	int64_t last = weft_context_deadline(l.context);

	if (opt && opt->until)
		l.until = opt->until;
	if (last < l.until)
		l.until = last;
	return l;
}

/* 0 while it is worth going on; -ETIMEDOUT, -ECANCELED. */
static inline int
dial_deadline_error(const struct dial_deadline *l)
{
	int err = weft_context_error(l->context);

	if (!err && l->until != WEFT_NEVER && l->until <= weft_now())
		err = -ETIMEDOUT;
	return err;
}

/*
 * Waits for a channel, but not beyond `when`: 0 (what it could do is done, and
 * is preferred); -ETIMEDOUT; the error of the context.
 */
static inline int
dial_deadline_select(const struct dial_deadline *l, weft_case wanted, int64_t when)
{
	weft_case cases[] = {
		wanted, WEFT_RECV(weft_context_done(l->context), NULL)
	};
	int i = weft_select_ordered_until(cases, countof(cases), when);

	return i == 1 ? weft_context_error(l->context) : i;
}

#endif
