/* SPDX-License-Identifier: MIT */
/*
 * What libc and the C++ runtime keep in a thread for the code that runs on it,
 * and a goroutine takes along when it moves: errno, and the state of C++
 * exceptions (those that are caught, and the number of those in flight).
 * Both are on the goroutine's stack while it does not run.
 *
 * The references are weak. So a program that does not use C++ does not get it
 * from us; and the audit, which refuses programs that refer to errno's address
 * by themselves, can tell our reference from theirs.
 *
 * A program in C may load C++ later. Then that is found out
 * (thread_state_find_cxx, or the library calls weft_cxx_) before its code runs,
 * and from then on every M gets the address of its own state when it first
 * needs it. A goroutine that left before that has no state: none can have been
 * made.
 */
#ifndef THREAD_STATE_H
#define THREAD_STATE_H

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
struct thread_state_at {
	int *error;
	struct cxx_state *cxx;	/* NULL: not located yet */
};

struct thread_state {
	int error;
	bool with_cxx;
	struct cxx_state cxx;	/* if so */
};

/* The function that returns a thread's; NULL: no C++ here. Set once. */
typedef APTR(cxx_globals) thread_state_cxx_fn;
extern thread_state_cxx_fn thread_state_cxx;

/* Once on each thread. */
void thread_state_locate(struct thread_state_at *at);
/* C++ has been found since: locates the thread's own. */
void thread_state_locate_cxx(struct thread_state_at *at);

/* Looks for C++ again. No lock held, outside: see cxx.h. */
cold void thread_state_find_cxx(void);

/* As cxx_list_changed: thread_state_find_cxx may find something. */
static always_inline bool
thread_state_list_changed(void)
{
	return !a_load_relaxed(&thread_state_cxx) &&
	    unlikely(cxx_list_changed());
}

static always_inline bool
thread_state_has_cxx(void)
{
	/* An M that is given a goroutine sees what that saw when it left. */
	return unlikely(a_load_relaxed(&thread_state_cxx) != NULL);
}

static always_inline struct cxx_state *
thread_state_cxx_ptr(struct thread_state_at *at)
{
	if (unlikely(!at->cxx))
		thread_state_locate_cxx(at);
	return at->cxx;
}

static always_inline void
thread_state_save(struct thread_state_at *at, struct thread_state *c)
{
	c->error = *at->error;
	c->with_cxx = thread_state_has_cxx();
	if (c->with_cxx)
		c->cxx = *thread_state_cxx_ptr(at);
}

static always_inline void
thread_state_restore(struct thread_state_at *at, const struct thread_state *c)
{
	*at->error = c->error;
	if (thread_state_has_cxx())
		*thread_state_cxx_ptr(at) = c->with_cxx ? c->cxx :
		    (struct cxx_state){ NULL, 0 };
}

/* For a goroutine that begins. */
static always_inline void
thread_state_reset(struct thread_state_at *at)
{
	if (thread_state_has_cxx())
		*thread_state_cxx_ptr(at) = (struct cxx_state){ NULL, 0 };
}

#endif
