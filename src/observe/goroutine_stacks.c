/* SPDX-License-Identifier: MIT */
/*
 * The goroutines are visited in the order of their records. Those that wait
 * are collected in batches, one claim for each; those that run, and those that
 * were caught on their way from one state to another, are put off and asked in
 * batches, too. A goroutine that has changed its state again by then is tried
 * once more in its new state, and then has no stack.
 */
#include "goroutine_stacks.h"

#include <errno.h>

#include "claim.h"
#include "fatal.h"
#include "os.h"
#include "sched.h"
#include "sigframe.h"
#include "slab.h"
#include "stack_request.h"
#include "wait_mark.h"

enum {
	LATE_MAX = STACK_REQUESTS + CLAIM_BATCH,
	MS = 1000 * 1000
};

/* For answers: of one batch, and of all. */
static const int64_t batch_ns = 250 * MS, dump_ns = INT64_C(2000) * MS;

struct late {
	struct g *gp;
	struct stack_request *asked;
	unsigned n;		/* frames that are there already */
	bool asleep;
};

/* Large, so not on a stack that may be nearly full. Its one user's. */
static struct walk {
	const struct goroutine_walk *w;
	struct g *self;
	bool claims;		/* it has the right to */
	int64_t now;
	int64_t until, deadline;	/* for answers: of all, of the batch */
	struct claim claim;
	struct late late[LATE_MAX];
	unsigned n_late;
	struct backtrace b;
	uintptr_t pcs[BACKTRACE_MAX];
} walk;
static a32 busy;

static void
emit_as(struct g *gp, enum gstate state, bool asleep, unsigned n,
    const uintptr_t *pcs)
{
	int64_t seen = state == G_WAITING ? wait_marked_at(gp) : 0;
	struct goroutine_info info = {
		.gp = gp, .id = g_id(gp), .site = g_site(gp), .state = state,
		.reason = state == G_WAITING ? a_load_relaxed(&gp->reason) :
		    WAIT_NONE,
		.self = gp == walk.self,
		.paused = a_load_relaxed(&gp->paused),
		.asleep = asleep && state == G_RUNNING,
		.started = g_stack(gp) != NULL,
		.waited_ns = seen && seen <= walk.now ? walk.now - seen : -1,
		.n = n, .pcs = pcs
	};

	walk.w->fn(&info, walk.w->arg);
}

static void
emit(struct g *gp, enum gstate state, unsigned n, const uintptr_t *pcs)
{
	emit_as(gp, state, false, n, pcs);
}

/* Its owner writes it without telling a sanitizer, or us. */
__attribute__((no_sanitize("thread"))) static struct frame
frame_of(const struct g *gp)
{
	const volatile struct frame *f = &gp->frame;

	return (struct frame){ f->sp, f->bp, f->pc, 0 };
}

/* The stack of one that is suspended, or seems to be: how many frames. */
static unsigned
trace_suspended(struct g *gp, int64_t id, const struct frame *f)
{
	struct unwind_stack st;

	if (!stack_request_bounds(gp, id, &st))
		return 0;
	if ((uintptr_t)f->sp >= st.lo && (uintptr_t)f->sp < st.hi)
		st.lo = (uintptr_t)f->sp;
	return backtrace_parked(&walk.b, f, &st, walk.pcs, BACKTRACE_MAX);
}

static void
emit_claimed(struct g *gp)
{
	struct frame f = frame_of(gp);

	emit(gp, G_WAITING, trace_suspended(gp, g_id(gp), &f), walk.pcs);
}

/* ---- waiting ---- */

static void put_off(struct g *gp, void *arg);

static void
flush_claim(void)
{
	claim_take(&walk.claim, put_off, NULL);
	for (uint32_t i = 0; i < walk.claim.n; i++)
		emit_claimed(walk.claim.g[i]);
	claim_drop(&walk.claim);
}

/* ---- runnable, or waiting and nothing can be claimed ---- */

/*
 * It may have run meanwhile. A context is saved before the state says so:
 * thus the state is read first, then whether it is the same context. (One that
 * is paused is runnable, too, but its saved context is an old one; and that of
 * one that has begun on another's stack is that of the record's last user.)
 */
static bool
trace_unclaimed(struct g *gp, enum gstate state)
{
	/* pairs with nothing, nor do the others: what follows is read after */
	int64_t id = (int64_t)a_load_acq(&gp->id);
	struct frame f = frame_of(gp), after;
	unsigned n = trace_suspended(gp, id, &f);

	if (!n || a_load_acq(&gp->state) != state || g_id(gp) != id ||
	    a_load_acq(&gp->paused))
		return false;
	after = frame_of(gp);
	if (after.sp != f.sp || after.pc != f.pc)
		return false;
	emit(gp, state, n, walk.pcs);
	return true;
}

/* ---- running ---- */

static struct late *
late_of(struct g *gp)
{
	for (unsigned i = 0; gp && i < walk.n_late; i++)
		if (walk.late[i].gp == gp)
			return &walk.late[i];
	return NULL;
}

static void
ask(struct m *mp, void *arg)
{
	struct late *l = late_of(m_g(mp));

	(void)arg;
	if (!l || l->asked || l->n)
		return;
	l->n = stack_request_paused(&walk.b, mp, l->gp, g_id(l->gp), walk.pcs,
	    BACKTRACE_MAX);
	if (l->n) {
		emit(l->gp, G_RUNNABLE, l->n, walk.pcs);
		return;
	}
	/* Before the signal, which wakes it. */
	l->asleep = os_thread_blocked_once(m_tid(mp)) == 1;
	if (!walk.w->no_signals)
		l->asked = stack_request_send(mp);
}

static bool
answered(struct late *l)
{
	struct stack_request *r = l->asked;

	if (!r || !stack_request_wait(r, walk.deadline) ||
	    r->id != g_id(l->gp) || !r->n)
		return false;
	emit_as(l->gp, a_load_relaxed(&l->gp->state) == G_CALL ? G_CALL :
	    G_RUNNING, l->asleep, r->n, r->pcs);
	return true;
}

/* The last try. */
static void
trace_late(struct g *gp, bool asleep)
{
	enum gstate state = a_load_relaxed(&gp->state);

	if (state == G_DEAD || !g_site(gp) || g_is_claimed(gp))
		return;
	if (state == G_WAITING && walk.claims && g_stack(gp)) {
		walk.claim.n = 1;
		walk.claim.g[0] = gp;
		claim_take(&walk.claim, NULL, NULL);
		if (walk.claim.n) {
			emit_claimed(gp);
			claim_drop(&walk.claim);
			return;
		}
	}
	if (state != G_RUNNABLE || !trace_unclaimed(gp, state))
		emit_as(gp, state, asleep, 0, NULL);
}

/* No batch of claims is under way. */
static void
flush_late(void)
{
	walk.deadline = os_now_ns() + batch_ns;
	if (walk.deadline > walk.until)
		walk.deadline = walk.until;
	m_each(ask, NULL);
	for (unsigned i = 0; i < walk.n_late; i++)
		if (!walk.late[i].n && !answered(&walk.late[i]))
			trace_late(walk.late[i].gp, walk.late[i].asleep);
	stack_request_end();
	walk.n_late = 0;
}

/* There is room for all that a claim may lose: see visit. */
static void
put_off(struct g *gp, void *arg)
{
	(void)arg;
	check(walk.n_late < LATE_MAX);
	walk.late[walk.n_late++] = (struct late){ .gp = gp };
}

/* ---- all ---- */

static void
visit(struct g *gp)
{
	enum gstate state = a_load_relaxed(&gp->state);

	if (state == G_DEAD || !g_site(gp) || g_is_claimed(gp) ||
	    gp == walk.self)
		return;
	if (!g_stack(gp))
		emit(gp, state, 0, NULL);
	else if (state == G_WAITING && walk.claims)
		walk.claim.g[walk.claim.n++] = gp;
	else if (state == G_RUNNING || state == G_CALL ||
	    a_load_relaxed(&gp->paused) ||
	    !trace_unclaimed(gp, state))
		put_off(gp, NULL);
	/* Before flush_late, which makes claims of its own. */
	if (walk.claim.n == CLAIM_BATCH ||
	    (walk.claim.n && walk.n_late >= STACK_REQUESTS))
		flush_claim();
	if (walk.n_late >= STACK_REQUESTS)
		flush_late();
}

static void
visit_all(void)
{
	struct slab_place at = {0};
	struct g *gp;

	while ((gp = g_next(&at)))
		visit(gp);
	if (walk.claim.n)
		flush_claim();
	if (walk.n_late)
		flush_late();
}

/*
 * The stack of this thread's goroutine, whose header it may read. False if sp
 * is not on it, nor in its guard.
 */
static bool
on_goroutine(struct m *mp, uintptr_t sp, struct unwind_stack *st)
{
	struct g *gp = mp ? m_g(mp) : NULL;
	struct stack *s = gp ? g_stack(gp) : NULL;

	if (!s || sp >= (uintptr_t)s ||
	    sp < (uintptr_t)s->lo - STACK_GUARD_BYTES)
		return false;
	*st = (struct unwind_stack){ (uintptr_t)s->lo, (uintptr_t)s };
	return true;
}

unsigned
goroutine_stacks_own(struct backtrace *b, const ucontext_t *uc, uintptr_t *pcs,
    unsigned max)
{
	uintptr_t sp = uc ? sigframe_sp(uc) :
	    (uintptr_t)__builtin_frame_address(0);
	struct unwind_stack st;

	if (!on_goroutine(m_self(), sp, &st))
		st = backtrace_stack_at(sp);
	if (uc)
		return backtrace_context(b, uc, &st, pcs, max);
	return backtrace_here(b, &st, 1, pcs, max);
}

static void
visit_self(void)
{
	unsigned n;

	if (!walk.self)
		return;
	n = goroutine_stacks_own(&walk.b, walk.w->uc, walk.pcs,
	    BACKTRACE_MAX);
	emit(walk.self, a_load_relaxed(&walk.self->state), n, walk.pcs);
}

/* A thread that was interrupted in it by a handler that calls it again waits
 * in vain. */
static bool
begin(const struct goroutine_walk *w)
{
	int64_t until = os_now_ns() + (w->dying ? 200 : 10000) *
	    (int64_t)MS;

	/* pairs with the end of goroutine_stacks */
	while (!a_cas_acq(&busy, 0, 1)) {
		if (os_left_ns(until) == 0)
			return false;
		os_sleep_ns(MS);
	}
	return true;
}

int
goroutine_stacks(const struct goroutine_walk *w)
{
	struct m *mp = m_self();

	if (!begin(w))
		return -EBUSY;
	walk.w = w;
	walk.self = mp ? m_g(mp) : NULL;
	walk.now = os_now_ns();
	walk.until = walk.now + dump_ns;
	walk.claim.n = 0;
	walk.n_late = 0;
	visit_self();
	walk.claims = claim_begin((w->dying ? 100 : 1000) * (int64_t)MS);
	visit_all();
	if (walk.claims)
		claim_end();
	a_store_rel(&busy, 0);		/* pairs with begin */
	return 0;
}
