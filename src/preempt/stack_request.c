/* SPDX-License-Identifier: MIT */
#include "stack_request.h"

#include <string.h>

#include "preempt.h"
#include "sigframe.h"

enum { FREE, SENT, TAKEN, DONE };

static struct stack_request requests[STACK_REQUESTS];
static const int64_t poll_ns = 20 * 1000;

/*
 * Written by the spawner, which a dump does not synchronise with. Pairs with
 * nothing: it is read before what follows.
 */
__attribute__((no_sanitize("thread"))) static uint8_t
class_of(const struct g *gp)
{
	return a_load_acq((const a8 *)&gp->stack_class);
}

/*
 * A record gets its id before the rest of it is written, and no id is used
 * twice: if the id is still the same afterwards, class and stack are of one
 * goroutine. Stacks are never unmapped and keep their class.
 */
bool
stack_request_bounds(const struct g *gp, int64_t id, struct unwind_stack *st)
{
	/* all pair with nothing but themselves: in this order, by one CPU */
	struct stack *s = a_load_acq(&gp->stack);
	uint8_t class = class_of(gp);
	uintptr_t top = (uintptr_t)s;

	if (!s || class >= STACK_CLASSES ||
	    (int64_t)a_load_acq(&gp->id) != id || a_load_acq(&gp->stack) != s)
		return false;
	*st = (struct unwind_stack){ top - stack_class_bytes(class), top };
	return true;
}

/* ---- the asker ---- */

static struct stack_request *
take_free(void)
{
	for (int i = 0; i < STACK_REQUESTS; i++)
		if (a_load_relaxed(&requests[i].state) == FREE)
			return &requests[i];
	return NULL;
}

struct stack_request *
stack_request_send(struct m *mp)
{
	struct stack_request *r = take_free();

	if (!r || !preempt_signal() || !a_load_relaxed(&mp->can_signal))
		return NULL;
	r->mp = mp;
	a_store_relaxed(&r->state, SENT);
	/* both pair with stack_request_serve */
	a_store_rel(&mp->stack_request, r);
	if (os_signal_thread(m_tid(mp), preempt_signal()) == 0)
		return r;
	if (a_cas_acq(&mp->stack_request, r, NULL))
		a_store_relaxed(&r->state, FREE);
	return NULL;
}

bool
stack_request_wait(struct stack_request *r, int64_t deadline)
{
	/* pairs with stack_request_serve */
	while (a_load_acq(&r->state) != DONE) {
		if (os_left_ns(deadline) == 0)
			return false;
		os_sleep_ns(poll_ns);
	}
	return true;
}

void
stack_request_end(void)
{
	for (int i = 0; i < STACK_REQUESTS; i++) {
		struct stack_request *r = &requests[i];
		uint32_t state = a_load_relaxed(&r->state);

		/* pairs with stack_request_serve: one of the two has it */
		if (state == SENT && a_cas_acq(&r->mp->stack_request, r, NULL))
			a_store_relaxed(&r->state, FREE);
		else if (state == DONE)
			a_store_relaxed(&r->state, FREE);
	}
}

/* ---- in the handler ---- */

/* In the middle of a switch curg may not be the goroutine whose code it is. */
static void
answer(struct stack_request *r, struct m *mp, const ucontext_t *uc)
{
	struct g *gp = m_g(mp);
	struct unwind_stack st;
	struct backtrace b;

	r->n = 0;
	r->id = gp ? g_id(gp) : 0;
	if (gp && !a_load_relaxed(&mp->prev_g) &&
	    stack_request_bounds(gp, r->id, &st) &&
	    sigframe_sp(uc) >= st.lo && sigframe_sp(uc) < st.hi)
		r->n = backtrace_context(&b, uc, &st, r->pcs, BACKTRACE_MAX);
}

bool
stack_request_serve(struct m *mp, const ucontext_t *uc)
{
	struct stack_request *r;

	if (!a_load_relaxed(&mp->stack_request))
		return false;
	/* pairs with stack_request_send */
	r = a_xchg_acq(&mp->stack_request, NULL);
	if (!r)
		return false;
	a_store_relaxed(&r->state, TAKEN);
	answer(r, mp, uc);
	a_store_rel(&r->state, DONE);	/* pairs with stack_request_wait */
	return true;
}

/* ---- paused goroutines ---- */

void
stack_request_pause(struct m *mp, const ucontext_t *uc)
{
	mp->paused_pc = dwarf_context(uc, mp->paused_regs);
	mp->paused_context = uc;
	/* pairs with stack_request_paused */
	a_bump_rel(&mp->paused_gen, 1);
}

void
stack_request_resume(struct m *mp)
{
	a_bump(&mp->paused_gen, 1);
}

/*
 * Its thread may go on at any time. The stack stays mapped whatever it does,
 * and if it is paused afterwards as it was before, it has not run meanwhile.
 */
unsigned
stack_request_paused(struct backtrace *b, struct m *mp, const struct g *gp,
    int64_t id, uintptr_t *pcs, unsigned max)
{
	/* pairs with stack_request_pause */
	uint32_t gen = a_load_acq(&mp->paused_gen);
	uintptr_t regs[DWARF_REGS], pc = mp->paused_pc;
	struct unwind_stack st;
	unsigned n;

	if (gen % 2 == 0 || m_g(mp) != gp ||
	    !stack_request_bounds(gp, id, &st))
		return 0;
	memcpy(regs, mp->paused_regs, sizeof regs);
	n = backtrace_regs(b, regs, pc, &st, pcs, max);
	/* pairs with stack_request_pause */
	return a_load_acq(&mp->paused_gen) == gen ? n : 0;
}
