/* SPDX-License-Identifier: MIT */
#include "backtrace.h"

#include "module_list.h"
#include "os.h"
#include "sigframe.h"

enum { STACK_PAGES = 256, BELOW_BYTES = 64 * 1024 };

/* Where the addresses go. */
struct trace {
	uintptr_t *pcs;
	unsigned n, max, skip;
};

static void
emit(struct trace *t, uintptr_t pc)
{
	if (t->skip)
		t->skip--;
	else if (t->n < t->max)
		t->pcs[t->n++] = pc;
}

static void
begin(struct backtrace *b, const struct unwind_stack *st,
    const uintptr_t regs[DWARF_REGS], uintptr_t pc)
{
	b->u.mods = NULL;
	b->u.n = 0;
	b->u.find = module_list_code;
	b->u.st = st;
	b->u.bottom = (struct range){ (uintptr_t)frame_entry,
	    (uintptr_t)frame_entry_end };
	unwind_begin(&b->u, regs, pc);
}

/* Its one instruction, a call, and where that returns to. */
static bool
in_preempt_return(uintptr_t pc)
{
	return pc - (uintptr_t)preempt_return < 4;
}

/* From a frame that begin() was given, to the end. */
static void
walk(struct backtrace *b, struct trace *t)
{
	while (t->n < t->max) {
		uintptr_t pc = b->u.pc - (b->u.depth > 0);

		if (range_has(&b->u.bottom, pc) || in_preempt_return(pc))
			return;
		emit(t, pc);
		if (unwind_step(&b->u) != UNWIND_ON)
			return;
	}
}

static bool
on_stack(const struct unwind_stack *st, uintptr_t sp, size_t bytes)
{
	return sp >= st->lo && sp <= st->hi && bytes <= st->hi - sp;
}

/* A stack that has overflowed ends below its bounds. */
static bool
near_stack(const struct unwind_stack *st, uintptr_t sp)
{
	return on_stack(st, sp, 0) ||
	    (sp < st->lo && st->lo - sp <= BELOW_BYTES);
}

/* Only these two are kept of a context that was left by a call. */
static void
know_two(struct unwind *u)
{
	u->known = 1u << DWARF_SP | 1u << DWARF_FP;
}

/*
 * At the end of the walk: the frame of preempt_return, which is on top of a
 * kept signal frame (arch/sigframe.h). Goes on in what was interrupted.
 */
static void
walk_preempted(struct backtrace *b, struct trace *t)
{
	uintptr_t kept = b->u.regs[DWARF_SP], regs[DWARF_REGS], pc;
	const ucontext_t *uc = sigframe_context((void *)kept);

	if (!in_preempt_return(b->u.pc - 1) || t->n == t->max ||
	    !on_stack(b->u.st, kept, (uintptr_t)uc - kept +
	    offsetof(ucontext_t, uc_sigmask)))
		return;
	pc = dwarf_context(uc, regs);
	if (!on_stack(b->u.st, regs[DWARF_SP], 0))
		return;
	begin(b, b->u.st, regs, pc);
	walk(b, t);
}

__attribute__((no_sanitize("address", "thread"))) static uintptr_t
read_word(const struct unwind_stack *st, uintptr_t at)
{
	return at % sizeof(at) || !on_stack(st, at, sizeof at) ? 0 :
	    *(const volatile uintptr_t *)at;
}

/*
 * The innermost frame has no table: a stub of the linker, or a system call of a
 * libc that has none at all (musl). Such code seldom has a frame: its caller is
 * where a function that has just been called returns to.
 */
static bool
step_stub(struct unwind *u)
{
	bool pushed = DWARF_RA > DWARF_SP;	/* x86-64 */
	uintptr_t sp = u->regs[DWARF_SP];
	uintptr_t ra = pushed ? read_word(u->st, sp) : u->regs[DWARF_RA];

	if (u->depth || !module_list_find(ra - 1))
		return false;
	u->cfa = sp + (pushed ? sizeof ra : 0);
	u->regs[DWARF_SP] = u->cfa;
	u->known &= DWARF_PRESERVED | 1u << DWARF_SP;
	u->pc = ra;
	u->depth = 1;
	return true;
}

unsigned
backtrace_parked(struct backtrace *b, const struct frame *f,
    const struct unwind_stack *st, uintptr_t *pcs, unsigned max)
{
	struct trace t = { pcs, 0, max, 0 };
	uintptr_t regs[DWARF_REGS] = {0};

	regs[DWARF_SP] = (uintptr_t)f->sp;
	regs[DWARF_FP] = (uintptr_t)f->bp;
	if (!on_stack(st, regs[DWARF_SP], 0))
		return 0;
	begin(b, st, regs, (uintptr_t)f->pc);
	know_two(&b->u);
	walk(b, &t);
	walk_preempted(b, &t);
	return t.n;
}

unsigned
backtrace_here(struct backtrace *b, const struct unwind_stack *st,
    unsigned skip, uintptr_t *pcs, unsigned max)
{
	struct trace t = { pcs, 0, max, skip + 1 };
	uintptr_t regs[DWARF_REGS] = {0};
	struct frame f;

	frame_here(&f);
	regs[DWARF_SP] = (uintptr_t)f.sp;
	regs[DWARF_FP] = (uintptr_t)f.bp;
	if (!on_stack(st, regs[DWARF_SP], 0))
		return 0;
	begin(b, st, regs, (uintptr_t)f.pc);
	know_two(&b->u);
	walk(b, &t);
	return t.n;
}

unsigned
backtrace_regs(struct backtrace *b, const uintptr_t regs[DWARF_REGS],
    uintptr_t pc, const struct unwind_stack *st, uintptr_t *pcs, unsigned max)
{
	struct trace t = { pcs, 0, max, 0 };

	if (!max || !near_stack(st, regs[DWARF_SP])) {
		emit(&t, pc);
		return t.n;
	}
	begin(b, st, regs, pc);
	walk(b, &t);
	if (step_stub(&b->u))
		walk(b, &t);
	walk_preempted(b, &t);
	return t.n;
}

unsigned
backtrace_context(struct backtrace *b, const ucontext_t *uc,
    const struct unwind_stack *st, uintptr_t *pcs, unsigned max)
{
	uintptr_t regs[DWARF_REGS], pc = dwarf_context(uc, regs);

	return backtrace_regs(b, regs, pc, st, pcs, max);
}

struct unwind_stack
backtrace_stack_at(uintptr_t sp)
{
	uintptr_t end = sp & ~(uintptr_t)(PAGE - 1);

	for (int i = 0; i < STACK_PAGES && os_readable((void *)end); i++)
		end += PAGE;
	return (struct unwind_stack){ sp, end > sp ? end : sp };
}
