/* SPDX-License-Identifier: MIT */
/*
 * The stack of a goroutine that runs: its thread is sent the preemption signal
 * with a request in its M, and the handler walks up the stack that it has
 * interrupted. A thread that does not answer in time (it blocks the signal, or
 * the kernel does not let it run) is left alone. Without the signal
 * (sanitizers, valgrind, WEFT_PREEMPT_SIGNAL=-1) there is no answer at all.
 *
 *	          the asker            the handler           the handler
 *	FREE ------------------> SENT ------------> TAKEN ------------> DONE
 *	  ^                        |                  |                   |
 *	  +------------------------+------------------+-------------------+
 *	   the asker; from TAKEN never: an answer that comes too late finds
 *	   its request still there, and no other thread uses it
 *
 * A goroutine that is paused (pause.c) has its registers in its M.
 */
#ifndef STACK_REQUEST_H
#define STACK_REQUEST_H

#include <ucontext.h>

#include "backtrace.h"
#include "m.h"

struct stack_request {
	a32 state;
	struct m *mp;		/* the asker's */
	/* written by the handler before it is DONE */
	int64_t id;		/* of the goroutine that it interrupted, or 0 */
	unsigned n;
	uintptr_t pcs[BACKTRACE_MAX];
};

enum { STACK_REQUESTS = 64 };	/* at a time */

/*
 * For one thread at a time: asks for the stack of what mp runs. NULL if that
 * is not possible. Then, for all that were asked: waits for the answers until
 * `deadline`, and no longer; true if this one is there. stack_request_end frees
 * them all.
 */
struct stack_request *stack_request_send(struct m *mp);
bool stack_request_wait(struct stack_request *r, int64_t deadline);
void stack_request_end(void);

/* In the handler: answers a request, if there is one. */
bool stack_request_serve(struct m *mp, const ucontext_t *uc);

/*
 * The stack of goroutine `id`, gp, if it is paused on mp: 0 if it is not, or if
 * it changed meanwhile. b: as in backtrace.h.
 */
unsigned stack_request_paused(struct backtrace *b, struct m *mp,
    const struct g *gp, int64_t id, uintptr_t *pcs, unsigned max);
/* In the handler: mp is about to be paused, and goes on. */
void stack_request_pause(struct m *mp, const ucontext_t *uc);
void stack_request_resume(struct m *mp);

/*
 * The stack of goroutine `id`, which has the record gp, as the unwinder wants
 * it. Any thread, at any time: memory between these bounds stays readable for
 * ever, also if the goroutine has ended meanwhile. (Its header is not read: it
 * is the owner's.) False if it has no stack, or is not there any more.
 */
bool stack_request_bounds(const struct g *gp, int64_t id,
    struct unwind_stack *st);

#endif
