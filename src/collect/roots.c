/* SPDX-License-Identifier: MIT */
/*
 * The roots of a garbage collector: memory in which a program may have pointers
 * and that is not the program's own data. All goroutines and the threads that
 * run them are stopped (collector.c), plain threads too, so all is plain data
 * here, and nothing below takes a lock.
 *
 * Of each goroutine: words of its record, and its stack from the stack pointer
 * up. Where that is:
 *
 *	WAITING, RUNNABLE	in its frame. A preempted one has its registers
 *				on its stack, below the stack pointer that it
 *				had, so they are among it.
 *	paused			in what its handler has interrupted, with the
 *				registers (m->paused_context)
 *	RUNNING, CALL		its thread is halted: the same
 *				(m->halt_context)
 *
 * A thread may have been halted in the middle of a switch: its goroutine is
 * WAITING, but its frame is an old one. So the stack in which a halted thread's
 * stack pointer is, is pushed from there, whatever state its goroutine has. An
 * old frame pushes something needless beside it, and no more.
 *
 * Below a stack pointer there may be a red zone, of 128 bytes on x86-64.
 *
 * A spawner writes arguments into a record that is DEAD until all is there: a
 * thread that is stopped in between has it in its struct self.
 */
#include "roots.h"

#include "defer.h"
#include "halt.h"
#include "sched.h"
#include "sigframe.h"
#include "slab.h"
#include "user_block.h"

enum { RED_ZONE = 128, AHEAD = 6 };

_Static_assert(2 * SLAB_PART == WEFT_PART_RANGES_, "two ranges each");
_Static_assert(offsetof(struct g, name) > offsetof(struct g, frame) &&
    offsetof(struct g, frame) > offsetof(struct g, args), "own_words");

static bool
in_stack(const struct stack *s, uintptr_t sp)
{
	return s && sp < (uintptr_t)s && sp >= (uintptr_t)s->lo;
}

/* ---- goroutines ---- */

/* Arguments, the frame with its register, and the words of the name. */
static weft_range_
own_words(struct g *gp)
{
	return (weft_range_){ gp->args, gp->name + G_NAME_WORDS };
}

/*
 * By its frame, of which the stack's header is no part: that is in a page that
 * may be far away. A goroutine that has switched to a stack of the program's
 * has its own from an unknown place on.
 */
static weft_range_
stack_range(struct g *gp)
{
	uintptr_t top = (uintptr_t)g_stack(gp), sp = (uintptr_t)gp->frame.sp;
	size_t bytes = stack_class_bytes(gp->stack_class);

	if (sp >= top || top - sp > bytes + STACK_TOP_BYTES)
		sp = (uintptr_t)g_stack(gp)->lo;
	return (weft_range_){ (void *)sp, (void *)top };
}

/* Whatever its state: one that is RUNNING may have left its stack, while its
 * thread was not halted any more; else the frame is an old one. */
static size_t
add_goroutine(struct g *gp, weft_range_ *out)
{
	size_t n = 0;

	if (a_load_relaxed(&gp->state) == G_DEAD)
		return 0;
	out[n++] = own_words(gp);
	if (g_stack(gp) && gp->frame.sp && !a_load_relaxed(&gp->paused))
		out[n++] = stack_range(gp);
	return n;
}

public size_t
weft_root_parts_(void)
{
	return slab_parts(&g_slab);
}

public void *
weft_root_records_(size_t part, size_t *n)
{
	return slab_part(&g_slab, part, n);
}

static void
prefetch(const struct g *gp)
{
	__builtin_prefetch(&gp->state);
	__builtin_prefetch(&gp->frame);
}

public size_t
weft_root_ranges_(void *records, size_t n, weft_range_ *out)
{
	struct g *gp = records;
	size_t ranges = 0;

	for (size_t i = 0; i < n; i++) {
		if (i + AHEAD < n)
			prefetch(&gp[i + AHEAD]);
		ranges += add_goroutine(&gp[i], &out[ranges]);
	}
	return ranges;
}

/* ---- threads ---- */

struct pushing {
	weft_push_ *push;
	void *arg;
};

static void
push_spawning(const struct self *me, const struct pushing *p)
{
	struct g *gp = me ? me->spawning : NULL;
	weft_range_ r;

	if (!gp)
		return;
	r = own_words(gp);
	p->push(r.lo, r.hi, p->arg);
}

/* The stack that sp is in, from there: the goroutine's, or the thread's own. */
static void
push_from(struct m *mp, struct g *gp, uintptr_t sp, const struct pushing *p)
{
	struct stack *s = gp ? g_stack(gp) : NULL;

	if (in_stack(s, sp))
		p->push(sp - (uintptr_t)s->lo > RED_ZONE ?
		    (void *)(sp - RED_ZONE) : s->lo, s, p->arg);
	else if (gp && s && m_g(mp) == gp)
		/* On a stack of the program's: what its own has is unknown. */
		p->push(s->lo, s, p->arg);
}

/* The registers, as the kernel has saved them. */
static void
push_context(const ucontext_t *uc, const struct pushing *p)
{
	struct sigframe_words vectors = sigframe_vectors(uc);

	p->push((void *)(uintptr_t)uc, (void *)(uintptr_t)(uc + 1), p->arg);
	p->push((void *)(uintptr_t)vectors.at,
	    (void *)(uintptr_t)(vectors.at + vectors.n), p->arg);
}

static bool
is_on(const stack_t *s, const ucontext_t *uc)
{
	return (uintptr_t)uc - (uintptr_t)s->ss_sp < s->ss_size;
}

/*
 * A handler of the program's may have been interrupted on a signal stack: ours,
 * or one that the program has for this thread, which the kernel has noted in
 * the frame. Then its frames are above that of our handler, where uc is; below
 * is what earlier signals have left. If uc is on neither, the program has
 * switched stacks by itself.
 */
static void
push_signal_stack(struct m *mp, const ucontext_t *uc, const struct pushing *p)
{
	stack_t s;
	char *lo, *hi;

	os_sigstack_get(&mp->sigstack, &s);
	if (!is_on(&s, uc) && is_on(&uc->uc_stack, uc))
		s = uc->uc_stack;
	if (!s.ss_sp)
		return;
	lo = s.ss_sp;
	hi = lo + s.ss_size;
	p->push(is_on(&s, uc) ? (void *)(uintptr_t)uc : lo, hi, p->arg);
}

/* uc: what the handler has interrupted. */
static void
push_stopped(struct m *mp, const ucontext_t *uc, const struct pushing *p)
{
	uintptr_t sp = sigframe_sp(uc);
	uintptr_t g0 = (uintptr_t)mp->g0.sp;

	push_spawning(mp->me, p);
	if (g0 >= mp->own_lo && g0 < mp->own_hi)
		p->push((void *)g0, (void *)mp->own_hi, p->arg);

	push_context(uc, p);
	push_signal_stack(mp, uc, p);
	push_from(mp, m_g(mp), sp, p);
	push_from(mp, a_load_relaxed(&mp->prev_g), sp, p);
	if (sp >= mp->own_lo && sp < mp->own_hi)
		p->push((void *)(sp - RED_ZONE), (void *)mp->own_hi, p->arg);
}

/*
 * One that is neither halted nor paused runs no goroutine, and has nothing of
 * the program's; it may end at any moment, and its stack with it.
 */
static void
push_thread(struct m *mp, void *arg)
{
	const struct pushing *p = arg;

	if (a_load_relaxed(&mp->halt) == HALT_HALTED)
		push_stopped(mp, mp->halt_context, p);
	else if (halt_is_paused(mp))
		push_stopped(mp, mp->paused_context, p);
}

public void
weft_roots_(weft_push_ *push, void *arg)
{
	struct pushing p = { push, arg };

	m_each(push_thread, &p);
	for (struct self *me = roots_threads; me; me = me->collect_next)
		push_spawning(me, &p);
	slab_each_chunk(&defer_slab, push, arg);
	user_blocks_each(push, arg);
}
