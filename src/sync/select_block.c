/* SPDX-License-Identifier: MIT */
/*
 * WEFT_SELECT: a loop of two passes over a block, with the state in a variable
 * of the block's own.
 *
 *	0 begun --- weft_select_next_ ---> 1: each WEFT_ON_* adds its case
 *	1 --- weft_select_next_ selects ---> 2: each WEFT_ON_* asks whether it
 *		was chosen, and the one that was runs its body
 *	2 --- weft_select_next_ ---> the loop ends
 *
 * Cases are numbered in the order in which they are met. The line of each is
 * compared in the second pass: if a condition in the block was true in one
 * pass only, the numbers would mean other cases. A timeout and a cancel take a
 * number like a case, as one that has no channel and so can never proceed.
 */
#include "fatal.h"
#include "select.h"

enum { ADDING = 1, CHOSEN = 2 };
enum { NO_CASE = -1 };

static void
do_select(weft_select_state *s)
{
	struct select_limit limit = { s->when_, s->context_ };
	int i = select_case(s->cases_, s->n_, s->ordered_, limit);

	s->ok = i >= 0 && s->cases_[i].op == WEFT_OP_RECV && s->cases_[i].ok;
	if (i == SELECT_TIMEOUT)
		i = s->timeout_;
	else if (i == SELECT_CONTEXT)
		i = s->cancel_;
	must(i >= 0);
	s->chosen_ = i;
}

/* Initialises the state without the cases, of which few are used. */
public weft_select_state *
weft_select_begin_(weft_select_state *s, bool ordered)
{
	s->ok = false;
	s->ordered_ = ordered;
	s->ran_ = false;
	s->pass_ = s->n_ = s->at_ = 0;
	s->chosen_ = s->timeout_ = s->cancel_ = NO_CASE;
	s->when_ = 0;
	s->context_ = NULL;
	return s;
}

static cold noreturn void
fatal_differs(int line)
{
	fatal("select: the cases of a WEFT_SELECT are not the same in both "
	    "passes (line %d); to leave one out give it a NULL channel", line);
}

public bool
weft_select_next_(weft_select_state *s)
{
	if (s->pass_ == ADDING)
		do_select(s);
	if (s->pass_ < CHOSEN) {
		s->pass_++;
		return true;
	}
	if (!s->ran_)
		fatal_differs(s->lines_[s->chosen_]);
	return false;
}

public void
weft_select_add_(weft_select_state *s, weft_case k, int line)
{
	if (s->n_ == WEFT_SELECT_CASES)
		fatal("select: more than %d cases in a WEFT_SELECT (line %d); "
		    "use weft_select", WEFT_SELECT_CASES, line);
	s->lines_[s->n_] = line;
	s->cases_[s->n_++] = k;
}

/* Adds a case that is never chosen by itself. Returns its number. */
static int
add_limit(weft_select_state *s, int line)
{
	weft_select_add_(s, WEFT_CASE_RECV(NULL, NULL), line);
	return s->n_ - 1;
}

public void
weft_select_add_timeout_(weft_select_state *s, int64_t when, int line)
{
	if (s->timeout_ != NO_CASE)
		fatal("select: two timeouts in a WEFT_SELECT (line %d)", line);
	s->timeout_ = add_limit(s, line);
	s->when_ = when;
}

public void
weft_select_add_context_(weft_select_state *s, weft_context *ctx, int line)
{
	if (s->cancel_ != NO_CASE)
		fatal("select: two contexts in a WEFT_SELECT (line %d)", line);
	s->cancel_ = add_limit(s, line);
	s->context_ = ctx;
}

public bool
weft_select_chose_(weft_select_state *s, int line)
{
	int at = s->at_++;

	if (at >= s->n_ || s->lines_[at] != line)
		fatal_differs(line);
	if (at != s->chosen_)
		return false;
	s->ran_ = true;
	return true;
}
