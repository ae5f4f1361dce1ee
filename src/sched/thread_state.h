/* SPDX-License-Identifier: MIT */
/*
 * What libc and the C++ runtime keep in a thread for the code that runs on it,
 * and a goroutine takes along when it moves: errno, and the state of C++
 * exceptions (those that are caught, and the number of those in flight).
 * Both lie on the goroutine's stack while it does not run.
 *
 * The references are weak. So a program that does not use C++ does not get it
 * from us; and the audit, which refuses programs that refer to errno's address
 * by themselves, can tell our reference from theirs.
 *
 * A program in C may load C++ later. Then it becomes known (carry_look, or the
 * library says so: weft_cxx_), before its code runs, and from then on every M
 * asks for its own state when it first needs it. A goroutine that left before
 * that has no state: none can have been made.
 */
#ifndef CARRY_H
#define CARRY_H

#include "atomic.h"
#include "cxx.h"
#include "defs.h"

/* Layout fixed by the C++ ABI. */
struct cxx_state {
	void *caught;
	unsigned flying;
};
typedef struct cxx_state *cxx_globals(void);

/* Where this thread has them. */
struct carried_at {
	int *error;
	struct cxx_state *cxx;	/* NULL: not asked for yet */
};

struct carried {
	int error;
	bool with_cxx;
	struct cxx_state cxx;	/* if so */
};

/* The function that tells a thread's; NULL: no C++ here. Set once. */
typedef APTR(cxx_globals) carry_source;
extern carry_source carry_cxx;

/* Once on each thread. */
void carry_find(struct carried_at *at);
/* C++ has been found since: the thread asks for its own. */
void carry_ask(struct carried_at *at);

/* Looks for C++ again. No lock held, outside: see cxx.h. */
cold void carry_look(void);

/* As cxx_news: carry_look may find something. */
static always_inline bool
carry_news(void)
{
	return !a_load_relaxed(&carry_cxx) && unlikely(cxx_news());
}

static always_inline bool
carry_has_cxx(void)
{
	/* An M that is given a goroutine sees what was seen when that left. */
	return unlikely(a_load_relaxed(&carry_cxx) != NULL);
}

static always_inline struct cxx_state *
carry_at(struct carried_at *at)
{
	if (unlikely(!at->cxx))
		carry_ask(at);
	return at->cxx;
}

static always_inline void
carry_save(struct carried_at *at, struct carried *c)
{
	c->error = *at->error;
	c->with_cxx = carry_has_cxx();
	if (c->with_cxx)
		c->cxx = *carry_at(at);
}

static always_inline void
carry_load(struct carried_at *at, const struct carried *c)
{
	*at->error = c->error;
	if (carry_has_cxx())
		*carry_at(at) = c->with_cxx ? c->cxx :
		    (struct cxx_state){ NULL, 0 };
}

/* For a goroutine that begins. */
static always_inline void
carry_fresh(struct carried_at *at)
{
	if (carry_has_cxx())
		*carry_at(at) = (struct cxx_state){ NULL, 0 };
}

#endif
