/* SPDX-License-Identifier: MIT */
/*
 * Every goroutine with its stack, for dumps, leaks and profiles. No thread is
 * stopped but for the moment in which its own stack is walked; no lock is
 * taken, no memory allocated. While the process dies it never hangs: each wait
 * has a limit.
 *
 * How the stack of a goroutine can be read while the others go on:
 *
 *   - waiting: it is claimed (preempt/claim.h). No M runs it meanwhile.
 *   - runnable: read without a claim, and once more read whether it is still
 *     there with the same saved context. Its stack stays mapped and its bounds
 *     are known, so nothing but a stack that is out of date can come of it: if
 *     it has run and is back at the same place, or if it begins just now, on a
 *     stack that is there already, and its record still has the context that
 *     its last user had saved.
 *   - running, or in a call: its thread does it (preempt/stack_request.h).
 *   - paused: from the registers that its thread has saved.
 *   - the caller's: from where it is, or from where a signal interrupted it.
 */
#ifndef GOROUTINE_STACKS_H
#define GOROUTINE_STACKS_H

#include <ucontext.h>

#include "backtrace.h"
#include "g.h"

/* Valid during the call that it is passed to. */
struct goroutine_info {
	struct g *gp;		/* for its name, if its id is still the same */
	int64_t id;
	const struct weft_site *site;
	enum gstate state;
	enum wait_reason reason;
	bool self;		/* the caller */
	bool paused;
	bool asleep;		/* running: in a library, or the program */
	bool started;		/* it has a stack */
	int64_t waited_ns;	/* at least so long; -1: not known */
	unsigned n;		/* frames; 0: not known */
	const uintptr_t *pcs;
};

struct goroutine_walk {
	void (*fn)(const struct goroutine_info *info, void *arg);
	void *arg;
	const ucontext_t *uc;	/* what a signal interrupted, or NULL */
	bool no_signals;	/* running ones have no stack */
	bool dying;		/* waits for nothing for long */
};

/*
 * Calls fn for each, the caller's own goroutine first. One thread at a time:
 * 0, or -EBUSY if another is at it and does not come to an end. From a
 * goroutine, any other thread, a signal handler. The list of modules is that
 * of the last module_list_refresh.
 */
int goroutine_stacks(const struct goroutine_walk *w);

/* The stack of the calling thread, or of what uc has of it; any thread. */
unsigned goroutine_stacks_own(struct backtrace *b, const ucontext_t *uc,
    uintptr_t *pcs, unsigned max);

#endif
