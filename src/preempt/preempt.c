/* SPDX-License-Identifier: MIT */
/*
 * Preempting a goroutine that computes: at a checkpoint, or by a signal.
 *
 * The signal's handler runs on the M's signal stack and checks where the
 * goroutine was interrupted. It preempts only if all of this holds:
 *
 *   1. the M is outside of the runtime; the goroutine is neither pinned nor in
 *      a region without preemption nor in a blocking call. (Its P may be gone,
 *      if the signal was late: then it stops competing with others.)
 *   2. the stack pointer is in the goroutine's stack, with room below it for
 *      all registers: so no other signal handler is active on another stack.
 *      Our handler is not on that stack: one of the program may have called
 *      it. The signal mask, which is the thread's, is that of all Ms: the
 *      program has not changed it, and no signal handler is active on this
 *      stack;
 *   3. the instruction is in a module that passed the audit (elf/audit.h), and
 *      not in our own code;
 *   4. and so is every frame up to the goroutine's entry (elf/unwind.h), which
 *      rules out handlers on this stack and callbacks from libraries. Of our
 *      own functions only those that call the user's may be among them: they
 *      allow for being on another thread when that returns;
 *   5. no general register and no word of the stack in use points into the
 *      memory of this thread. Of the registers that a call may change only
 *      those count that hold the address of errno: the others are full of
 *      dead values, vector registers most of all.
 *
 * Then it copies the frame that the kernel has saved to the goroutine's stack
 * and returns into yield_preempted() (arch/sigframe.h), which queues the
 * goroutine behind all others. When its turn comes, on any M, the kernel
 * restores it.
 *
 * From the handler on the M is inside, so its P is not retaken, and until the
 * system call that restores the goroutine the pc is in our code: it is not
 * preempted twice.
 */
#include "preempt.h"

#include <errno.h>

#include "audit.h"
#include "fatal.h"
#include "halt.h"
#include "pause.h"
#include "pin.h"
#include "place.h"
#include "preempt_counts.h"
#include "sched.h"
#include "sigframe.h"
#include "running_mark.h"
#include "stack_request.h"
#include "text.h"
#include "unwind.h"
#include "valgrind.h"

public uint32_t weft_attention_;

enum {
	ALLOWED_MAX = 16,		/* libraries, by weft_preempt_allow */
	YIELD_BYTES = 2048,		/* for the code of yield_preempted */
	WAYS_BYTES = 256,		/* for the text of explain_ways */
	SCAN_MAX = 4 * 1024 * 1024	/* of stack: some 500 us */
};

/*
 * Written at boot and by weft_preempt_allow, under lock; then constant. A
 * library that has passed the audit counts only when the program has, and a
 * program that needs libraries passes only when they have: so these are kept,
 * and the program is audited again with each.
 */
static struct {
	struct lock lock;
	int signal;			/* 0: no preemption by signal */
	struct module module[ALLOWED_MAX + 2];
	a32 n;				/* the number of modules */
	struct module library[ALLOWED_MAX];
	uint32_t libraries;		/* the number that have passed */
	struct audit program, others;
} allowed = { .lock = LOCK_INIT(RANK_GFREE) };

/* ---- in the handler ---- */

static bool
in_allowed(uintptr_t pc, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (module_has_code(&allowed.module[i], pc))
			return true;
	return false;
}

/* Does any word point into the thread's stack or TLS? */
static bool
has_thread_ptr(const struct m *mp, const uintptr_t *from, const uintptr_t *end)
{
	uintptr_t size = mp->own_hi - mp->own_lo;

	for (; from < end; from++)
		if (*from - mp->own_lo < size)
			return true;
	return false;
}

/*
 * The registers that a call need not preserve hold what the last call, of ours
 * or of libc, left there, among it pointers into the thread. They count only
 * in a program that can have got such a pointer: from the tables of ctype, the
 * one kind of function that the audit lets pass and that returns one. (`tables`
 * is set before the module is counted in allowed.n, which check_preemptible
 * has read.)
 */
static bool
regs_have_thread_ptr(const struct m *mp, const uintptr_t regs[DWARF_REGS])
{
	bool all = a_load_relaxed(&allowed.program.tables) ||
	    a_load_relaxed(&allowed.others.tables);

	for (int i = 0; i < DWARF_REGS; i++)
		if ((all || DWARF_PRESERVED >> i & 1) &&
		    has_thread_ptr(mp, &regs[i], &regs[i] + 1))
			return true;
	return false;
}

/*
 * errno, as weft.h defines it, gives the program one pointer into its thread,
 * and in "errno = value" compilers get it before they compute the value. They
 * keep it in any free register, also in one that no call preserves if no call
 * follows. This address is never there by chance: neither libc nor the runtime
 * leaves it behind. (A goroutine whose next loop does not touch the register
 * in which it got errno's address is not preempted in that loop.)
 */
static bool
holds_errno(const struct m *mp, const ucontext_t *uc,
    const uintptr_t regs[DWARF_REGS])
{
	struct sigframe_words vectors = sigframe_vectors(uc);
	uintptr_t addr = (uintptr_t)mp->thread_state.error;

	for (int i = 0; i < DWARF_REGS; i++)
		if (regs[i] == addr)
			return true;
	for (size_t i = 0; i < vectors.n; i++)
		if (vectors.at[i] == addr)
			return true;
	return false;
}

/* Point 5, for the stack from sp to its top. */
static int
check_words(struct m *mp, const ucontext_t *uc,
    const uintptr_t regs[DWARF_REGS], const struct unwind_stack *st)
{
	uintptr_t sp = (regs[DWARF_SP] - SIGFRAME_RED_ZONE) & ~(uintptr_t)7;

	if (sp < st->lo)
		sp = st->lo;
	if (st->hi - sp > SCAN_MAX)
		return WEFT_RETAKE_UNKNOWN;
	if (holds_errno(mp, uc, regs) || regs_have_thread_ptr(mp, regs) ||
	    has_thread_ptr(mp, (uintptr_t *)sp, (uintptr_t *)st->hi))
		return WEFT_RETAKE_TIED;
	return -1;
}

/* Points 4 and 5. */
static int
check_frames(struct m *mp, const ucontext_t *uc, uint32_t n)
{
	struct stack *s = g_stack(m_g(mp));
	struct unwind_stack st = { (uintptr_t)s->lo, (uintptr_t)stack_top(s) };
	struct unwind u = {
		.mods = allowed.module, .n = n, .st = &st,
		.bottom = { (uintptr_t)frame_entry,
		    (uintptr_t)frame_entry_end },
	};
	uintptr_t regs[DWARF_REGS], pc = dwarf_context(uc, regs);
	enum unwind_end end;

	unwind_begin(&u, regs, pc);
	while ((end = unwind_step(&u)) == UNWIND_ON)
		if (text_is_ours(u.pc) && !text_calls_out(u.pc) &&
		    !range_has(&u.bottom, u.pc))
			return WEFT_RETAKE_FRAME;
	if (end == UNWIND_FOREIGN)
		return WEFT_RETAKE_FRAME;
	if (end != UNWIND_BOTTOM || u.regs[DWARF_SP] != st.hi)
		return WEFT_RETAKE_UNKNOWN;
	return check_words(mp, uc, regs, &st);
}

/* Points 1 to 5: -1 if all hold, or the reason against it. Inside. */
static int
check_preemptible(struct m *mp, const ucontext_t *uc)
{
	struct g *gp = m_g(mp);
	uintptr_t pc = sigframe_pc(uc), sp = sigframe_sp(uc);
	/* pairs with allow */
	uint32_t n = a_load_acq(&allowed.n);
	struct stack *s;

	if (!n)
		return WEFT_RETAKE_OFF;
	if (gp->pins || gp->holds_thread || preempt_disabled(gp) ||
	    a_load_relaxed(&mp->in_call))
		return WEFT_RETAKE_REGION;
	if (text_is_ours(pc))
		return WEFT_RETAKE_RUNTIME;
	s = g_stack(gp);
	if (!os_sigstack_has(&mp->sigstack, uc) ||
	    sp >= (uintptr_t)s || sp < (uintptr_t)s->lo ||
	    sp - (uintptr_t)s->lo < sigframe_bytes(uc, YIELD_BYTES))
		return WEFT_RETAKE_STACK;
	if (!in_allowed(pc, n))
		return WEFT_RETAKE_FOREIGN;
	if (!sigframe_movable(uc) || sigframe_mask(uc) != sched.sigmask)
		return WEFT_RETAKE_TIED;
	return check_frames(mp, uc, n);
}

static void
refuse(struct m *mp, int why)
{
	preempt_stats_inc(&preempt_stats.refused[why]);
	/* pairs with on_verdict */
	a_store_rel(&mp->verdict, VERDICT_REFUSED + (uint32_t)why);
}

/* The goroutine cannot be moved: it is paused, if that can be done. */
static void
not_moved(struct m *mp, const ucontext_t *uc, uint32_t was, int why)
{
	int not;

	stack_request_pause(mp, uc);
	not = pause_here(mp, sigframe_pc(uc), why);
	stack_request_resume(mp);
	rt_leave(mp, was);
	if (not >= 0)
		refuse(mp, not == WEFT_RETAKE_OFF ? why : not);
}

/*
 * On the goroutine's stack, below its saved registers. Begins inside. Ends
 * outside, on the M that resumed it, by a system call.
 */
noreturn static void
yield_preempted(void *kept)
{
	struct m *mp;
	stack_t alt;

	sched_yield_global();
	mp = m_self();
	os_sigstack_get(&mp->sigstack, &alt);
	rt_leave_out(mp);
	sigframe_resume(kept, &alt, sched.sigmask);
}

static void
yield_preempted_(void *kept)
{
	yield_preempted(kept);
}

/* True if the signal was ours. */
static bool
on_signal(void *context)
{
	ucontext_t *uc = context;
	struct m *mp = m_self();
	uint32_t was;
	bool served;
	int why;

	if (!mp)
		return false;
	served = stack_request_serve(mp, uc);
	served |= running_mark_serve(mp);
	served |= halt_serve(mp, uc);
	/* pairs with preempt_send */
	if (a_load_acq(&mp->verdict) != VERDICT_SENT)
		return served;
	if (a_load_relaxed(&mp->inside)) {
		refuse(mp, WEFT_RETAKE_RUNTIME);
		return true;
	}
	if (sigframe_cut_short(uc))
		preempt_stats_inc(&preempt_stats.interrupted);
	was = rt_enter(mp);
	why = check_preemptible(mp, uc);
	if (why >= 0) {
		not_moved(mp, uc, was, why);
		return true;
	}
	a_store_relaxed(&mp->preempt_req, 0);
	/* pairs with on_verdict */
	a_store_rel(&mp->verdict, VERDICT_IDLE);
	/* pairs with weft_preempt_stats_read: a reader that sees this also sees
	 * the count of signals */
	a_add_acqrel(&preempt_stats.preempted, 1);
	sigframe_keep(uc, yield_preempted_);
	return true;
}

/* ---- the monitor ---- */

bool
preempt_moves(void)
{
	return a_load_relaxed(&allowed.n) > 0;
}

bool
preempt_possible(void)
{
	return allowed.signal && (preempt_moves() || pause_possible());
}

bool
preempt_send(struct m *mp)
{
	if (!a_load_relaxed(&mp->can_signal))
		return false;
	/* pairs with on_signal. One at a time: a second would be taken for
	 * the program's. */
	if (a_load_acq(&mp->verdict) == VERDICT_SENT)
		return true;
	/* Before it is sent: no reader shall see more preempted than this. */
	preempt_stats_inc(&preempt_stats.signals);
	/* pairs with on_signal */
	a_store_rel(&mp->verdict, VERDICT_SENT);
	if (os_signal_thread(m_tid(mp), allowed.signal) == 0)
		return true;
	a_store_relaxed(&mp->verdict, VERDICT_IDLE);
	a_add_relaxed(&preempt_stats.signals, -UINT64_C(1));
	return false;
}

/* ---- which code may be preempted ---- */

/* Adds a module: from now on handlers find it. Lock held. */
static void
allow(const struct module *m)
{
	uint32_t n = a_load_relaxed(&allowed.n);

	check(lock_held(&allowed.lock));
	allowed.module[n] = *m;
	a_store_rel(&allowed.n, n + 1);	/* pairs with check_preemptible */
}

/* The library, if it is a module of its own: never preempted, but unwound. */
static void
allow_ourselves(const struct module *program)
{
	struct module m;

	if (!module_has_code(program, (uintptr_t)__start_weft_text) &&
	    module_at(__start_weft_text, &m) == 0)
		allow(&m);
}

/* The program, if it passes, and the libraries that have. Lock held. */
static bool
allow_program(void)
{
	struct audit *a = &allowed.program;
	struct module program;

	a->len = a->omitted = 0;
	a->passed = allowed.library;
	a->n_passed = allowed.libraries;
	if (!module_program(&program) || !audit_module(&program, true, a))
		return false;
	allow(&program);
	allow_ourselves(&program);
	for (uint32_t i = 0; i < allowed.libraries; i++)
		allow(&allowed.library[i]);
	return true;
}

/* What follows from the audit: how goroutines that compute are stopped. */
static size_t
explain_ways(char out[WAYS_BYTES])
{
	bool some = a_load_relaxed(&allowed.n) > 0;
	const char *whose = some ? "goroutines in other code" :
	    "its goroutines";

	if (pause_possible())
		return format(out, WAYS_BYTES, "%s are paused with their "
		    "thread (weft_preempt_allow may let a library's be "
		    "preempted)\n", whose);
	return format(out, WAYS_BYTES, "%s are not paused: %s; they lose their "
	    "processor, and go on computing\n", whose, pause_impossible());
}

static void
explain_at_start(void)
{
	char ways[WAYS_BYTES];
	int64_t wanted = 0;

	if (os_env_number("WEFT_EXPLAIN", &wanted) != 1 || !wanted)
		return;
	explain_ways(ways);
	say("%s%s", allowed.program.text, ways);
}

int
preempt_init(int sig, bool pause)
{
	if (sig < 0 || SAN_ON || vg_running() || allowed.signal)
		return 0;
	if (os_on_signal(sig, on_signal) != 0) {
		say("weft: signal %d cannot be used for preemption\n", sig);
		return -EINVAL;
	}
	lock_take(&allowed.lock);
	allowed.signal = sig;
	allow_program();
	lock_drop(&allowed.lock);
	pause_init(pause);
	explain_at_start();
	return 0;
}

int
preempt_signal(void)
{
	return allowed.signal;
}

static bool
is_kept(const struct module *m, const struct module *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (list[i].load.lo == m->load.lo)
			return true;
	return false;
}

/* Keeps a library that passes: 0 or -errno. Lock held. */
static int
keep_library(const struct module *m)
{
	struct audit *a = &allowed.others;

	if (is_kept(m, allowed.library, allowed.libraries))
		return 0;
	if (allowed.libraries == ALLOWED_MAX)
		return -ENOSPC;
	a->passed = allowed.library;
	a->n_passed = allowed.libraries;
	if (!audit_module(m, false, a))
		return -EACCES;
	allowed.library[allowed.libraries++] = *m;
	return 0;
}

public int
weft_preempt_allow(const void *address)
{
	struct module m;
	int err = module_at(address, &m);

	if (err)
		return err;
	lock_take(&allowed.lock);
	if (!is_kept(&m, allowed.module, a_load_relaxed(&allowed.n))) {
		err = keep_library(&m);
		if (!err && a_load_relaxed(&allowed.n) > 0)
			allow(&m);
		else if (!err && allowed.signal && !allow_program())
			err = -EPERM;
	}
	lock_drop(&allowed.lock);
	return err;
}

public size_t
weft_preempt_explain(char *buf, size_t cap)
{
	char ways[WAYS_BYTES];
	size_t n, k;

	lock_take(&allowed.lock);
	n = audit_explain(&allowed.program, buf, cap);
	k = n < cap ? n : cap ? cap - 1 : 0;
	n += audit_explain(&allowed.others, buf + k, cap - k);
	lock_drop(&allowed.lock);
	if (!allowed.signal)
		return n;
	k = n < cap ? n : cap ? cap - 1 : 0;
	n += explain_ways(ways);
	if (cap)
		format(buf + k, cap - k, "%s", ways);
	return n;
}

static void
region(int by)
{
	struct m *mp = m_self();
	struct g *gp = mp ? m_g(mp) : NULL;

	if (!gp)
		return;
	if (by > 0 && gp->regions == UINT8_MAX)
		fatal("weft_preempt_off: more than %d deep", UINT8_MAX);
	if (by < 0 && gp->regions == 0)
		fatal("weft_preempt_on: preemption is not off");
	gp->regions = (uint8_t)(gp->regions + by);
}

public void
weft_preempt_off(void)
{
	region(1);
}

public void
weft_preempt_on(void)
{
	region(-1);
}

/* ---- checkpoints ---- */

/* Another M gets our P, and we go to the end of the global queue: for tests. */
static void
migrate(struct m *mp)
{
	mp->must_migrate = !mp->pinned && !m_g(mp)->holds_thread;
	pin_yield_asked(mp);
}

/* A checkpoint at the start of a call that will return to this address. */
cold void
checkpoint_at(const void *address)
{
	struct m *mp;

	weft_checkpoint_();
	mp = m_self();
	/* A call from within the library is no place of the user's. */
	if (place_watched() && !text_is_ours((uintptr_t)address) && mp &&
	    m_g(mp) && !a_load_relaxed(&mp->inside) &&
	    !a_load_relaxed(&mp->in_call))
		place_enter(mp, address);
}

cold public void
weft_checkpoint_(void)
{
	struct m *mp = m_self();

	/* Inside, in a blocking call, in a region: not now. */
	if (!mp || !m_g(mp) || a_load_relaxed(&mp->inside) ||
	    a_load_relaxed(&mp->in_call) || preempt_disabled(m_g(mp)))
		return;
	check(self()->ranks == 0);
	rt_enter(mp);
	if (unlikely(!m_p(mp))) {
		if (!rt_take_idle_p(mp))
			pin_yield_global(mp);
	} else if (a_load_relaxed(&mp->preempt_req)) {
		a_store_relaxed(&mp->preempt_req, 0);
		pin_yield_asked(mp);
	} else if (a_load_relaxed(&sched.stopping)) {
		pin_yield_asked(mp);
	} else if (a_load_relaxed(&attention) & ATTEND_MIGRATE) {
		migrate(mp);
	}
	rt_leave_out(m_self());
}

/*
 * A signal handler has another stack, or at least its signal blocked. (A
 * goroutine that has changed its thread's mask, and must be pinned for that,
 * looks the same: it stays on its thread and its P is retaken.) A system call,
 * so it is made last.
 */
static bool
in_handler(const struct m *mp)
{
	const struct stack *s = g_stack(m_g(mp));
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);

	return sp >= (uintptr_t)s || sp < (uintptr_t)s->lo ||
	    os_sigmask() != sched.sigmask;
}

public bool
weft_can_park(void)
{
	struct m *mp = m_self();

	return mp && m_g(mp) && !a_load_relaxed(&mp->inside) &&
	    !a_load_relaxed(&mp->in_call) &&
	    !(a_load_relaxed(&sched.stopping) & STOP_ENDED) && !in_handler(mp);
}

/*
 * A checkpoint that a compiler has inserted, maybe into a signal handler: that
 * must return to the kernel on its own thread (on another one it would set the
 * signal stack of the first), and may have interrupted any code.
 */
cold public void
weft_check_(void)
{
	struct m *mp = m_self();

	if (!mp || !m_g(mp) || a_load_relaxed(&mp->inside))
		return;
	if ((!m_p(mp) || a_load_relaxed(&mp->retake) != RETAKE_NONE ||
	    a_load_relaxed(&mp->preempt_req) ||
	    a_load_relaxed(&sched.stopping) ||
	    a_load_relaxed(&attention) & ATTEND_MIGRATE) && !in_handler(mp))
		weft_checkpoint_();
}
