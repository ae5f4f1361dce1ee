/* SPDX-License-Identifier: MIT */
/*
 * The CPU profile. Each M has a timer that runs with its CPU time and sends it
 * SIGPROF; the handler walks the stack that was interrupted and adds it to a
 * table (profile_table.h).
 *
 * Why timers of threads and not one of the process: the kernel checks a timer
 * at its ticks, so one timer gives at most as many samples as there are ticks,
 * however many CPUs the process uses. That one is used for threads that are
 * not Ms, if asked for; an M ignores its signals.
 *
 * Why the handler is safe wherever it interrupts:
 *
 *  - it takes no lock, allocates nothing, calls no function of libc but those
 *    that copy and compare memory, and makes no system call in an M;
 *  - it runs on the M's signal stack with all signals blocked, the preemption
 *    signal among them: a goroutine is neither moved nor paused in it. That
 *    signal's handler in turn blocks this one; a goroutine that was moved from
 *    there goes on with the mask of all Ms (preempt.c);
 *  - it changes nothing of the runtime's: whether the M was inside, in a
 *    switch, or with a lock held does not matter;
 *  - the walk reads within the stack that the stack pointer is in: that of the
 *    M's goroutine, that of the goroutine it is just leaving, its own, or its
 *    signal stack. Headers of stacks are read only of stacks that this M uses.
 *    In another place there is no walk, and one address.
 *
 * The end of a profile waits until no handler runs, so the table is at rest
 * when the next profile empties it. Signals that are still pending then find
 * `sampling` 0.
 */
#include "profile_cpu.h"

#include <errno.h>

#include "backtrace.h"
#include "helper.h"
#include "insn.h"
#include "lock.h"
#include "m.h"
#include "module_list.h"
#include "profile_stack.h"
#include "sched.h"
#include "sigframe.h"
#include "start.h"
#include "valgrind.h"
#include "watch.h"
#include "weft.h"

enum {
	HZ_DEFAULT = 100,
	HZ_MAX = 10000,
	SECOND_NS = 1000000000,
	WAIT_NS = 20000,
	REFRESH_NS = 50000000
};

__typeof__(profile_sample_hook) profile_sample_hook;
const char profile_cpu_marks[2];

static struct {
	struct lock lock;
	/* under lock */
	bool on, made;
	unsigned writers;	/* that read the table: it is not emptied */
	long process_timer;	/* + 1, 0: none */
	int64_t period_ns, time_ns, start_ns, stop_ns;

	/* any thread, atomic */
	a32 sampling;
	a32 handlers;		/* that run */
	a32 generation;		/* changes when a profile ends */
	struct profile_table table;
} cpu = { .lock = LOCK_INIT(RANK_PROFILE) };

/* ---- in the handler ---- */

static bool
holds(const struct unwind_stack *st, uintptr_t sp)
{
	return sp >= st->lo && sp < st->hi;
}

static bool
goroutine_stack(const struct g *gp, uintptr_t sp, struct unwind_stack *st)
{
	struct stack *s = gp ? g_stack(gp) : NULL;

	if (!s)
		return false;
	*st = (struct unwind_stack){ (uintptr_t)s->lo,
	    (uintptr_t)stack_top(s) };
	return holds(st, sp);
}

static bool
signal_stack(const struct m *mp, uintptr_t sp, struct unwind_stack *st)
{
	stack_t alt;

	os_sigstack_get(&mp->sigstack, &alt);
	*st = (struct unwind_stack){ (uintptr_t)alt.ss_sp,
	    (uintptr_t)alt.ss_sp + alt.ss_size };
	return alt.ss_sp && holds(st, sp);
}

/* The stack that sp is in; the goroutine whose stack it is, or NULL. */
static struct g *
find_stack(struct m *mp, uintptr_t sp, struct unwind_stack *st)
{
	struct g *gp = m_g(mp), *prev = a_load_relaxed(&mp->prev_g);

	if (goroutine_stack(gp, sp, st))
		return gp;
	if (goroutine_stack(prev, sp, st))
		return prev;
	*st = (struct unwind_stack){ mp->own_lo, mp->own_hi };
	if (holds(st, sp))
		return NULL;
	/* A handler of the program's, which interrupted the goroutine. */
	if (signal_stack(mp, sp, st))
		return gp;
	*st = (struct unwind_stack){0};
	return gp;
}

static void
tell(const struct profile_key *key, struct m *mp, uint32_t weight)
{
	profile_sample_fn *hook = a_load_relaxed(&profile_sample_hook);
	struct profile_sample s = {
		.cycles = cpu_cycles(),
		.tid = mp ? m_tid(mp) : os_thread_id(),
		.m = mp ? mp->id : -1,
		.p = mp && m_p(mp) ? (int)m_p(mp)->id : -1,
		.goroutine = key->goroutine,
		.weight = weight,
		.n = key->depth,
		.pcs = key->pcs,
	};

	if (hook)
		hook(&s);
}

/*
 * A tick often raises this signal and makes the monitor send the other. Then
 * this one is delivered when that handler has returned, to preempt_return: the
 * goroutine was interrupted in what is kept there (arch/sigframe.h).
 */
static const ucontext_t *
interrupted(const ucontext_t *uc)
{
	if (sigframe_pc(uc) != (uintptr_t)preempt_return)
		return uc;
	return sigframe_context((void *)sigframe_sp(uc));
}

/* At most 5 KiB of stack: a plain thread may have no signal stack. */
static void
sample(struct m *mp, const ucontext_t *uc, uint32_t weight)
{
	uintptr_t pcs[PROFILE_DEPTH], sp = sigframe_sp(uc);
	struct profile_key key = { .pcs = pcs };
	struct unwind_stack st;
	struct backtrace walk;
	struct g *gp = NULL;
	unsigned n;

	if (mp)
		gp = find_stack(mp, sp, &st);
	else
		st = backtrace_stack_at(sp);
	n = backtrace_context(&walk, uc, &st, pcs, PROFILE_DEPTH);
	if (!n)		/* at the very bottom of a goroutine */
		pcs[n++] = sigframe_pc(uc);
	key.depth = (uint16_t)profile_stack_cut_outer(pcs, n);
	if (gp)
		profile_key_goroutine(&key, gp);
	tell(&key, mp, weight);
	profile_table_add(&cpu.table, &key, weight,
	    weight * (uint64_t)cpu.period_ns);
}

/* Signals of our timers: for an M those of its own, else of the process. */
static bool
is_ours(const siginfo_t *si, const struct m *mp)
{
	return si->si_code == SI_TIMER &&
	    si->si_value.sival_ptr == &profile_cpu_marks[mp == NULL];
}

static void
on_profile(siginfo_t *si, void *uc)
{
	struct m *mp = m_self();

	/* sc: pairs with profile_cpu_stop, which clears sampling and then
	 * waits for handlers to be 0 */
	a_add_sc(&cpu.handlers, 1);
	if (a_load_sc(&cpu.sampling) && is_ours(si, mp))
		sample(mp, interrupted(uc), 1 + (uint32_t)si->si_overrun);
	/* pairs with profile_cpu_stop: what it added is there */
	a_add_acqrel(&cpu.handlers, -1u);
}

/* ---- timers: lock held ---- */

static void
timer_give(struct m *mp, void *err)
{
	long id;

	if (!a_load_relaxed(&mp->can_signal) || mp->cpu_timer)
		return;
	id = os_cpu_timer_start(m_tid(mp), cpu.period_ns,
	    (uintptr_t)&profile_cpu_marks[0]);
	if (id >= 0)
		mp->cpu_timer = (uint32_t)id + 1;
	else if (id != -EINVAL)		/* that: the thread has just ended */
		*(int *)err = (int)id;
}

static void
timer_take(struct m *mp, void *unused)
{
	(void)unused;
	if (mp->cpu_timer)
		os_cpu_timer_stop((long)mp->cpu_timer - 1);
	mp->cpu_timer = 0;
}

/* An M that begins while a profile runs; if it gets no timer it is not seen. */
static void
on_thread(struct m *mp, bool begins)
{
	int err = 0;

	lock_take(&cpu.lock);
	if (begins && cpu.on)
		timer_give(mp, &err);
	else
		timer_take(mp, NULL);
	lock_drop(&cpu.lock);
}

static void
stop_timers(void)
{
	m_each(timer_take, NULL);
	if (cpu.process_timer)
		os_cpu_timer_stop(cpu.process_timer - 1);
	cpu.process_timer = 0;
}

static int
start_timers(unsigned flags)
{
	int err = 0;
	long id;

	m_each(timer_give, &err);
	if (err || !(flags & WEFT_PROFILE_THREADS))
		return err;
	id = os_cpu_timer_start(0, cpu.period_ns,
	    (uintptr_t)&profile_cpu_marks[1]);
	if (id >= 0)
		cpu.process_timer = id + 1;
	return id < 0 ? (int)id : 0;
}

/*
 * ---- the list of modules ----
 *
 * The handler walks only through modules that are listed. So that libraries
 * that are loaded while a profile runs are, a thread looks for them now and
 * then; this cannot be done by a handler. One that was unloaded is found out
 * by object_loaded().
 */

static void
refresh_modules(void *generation)
{
	uint32_t mine = (uint32_t)(uintptr_t)generation;

	/* pairs with stop_locked; it was started by that generation */
	while (a_load_acq(&cpu.generation) == mine) {
		module_list_refresh();
		os_futex_wait(&cpu.generation, mine, REFRESH_NS);
	}
}

/* ---- start and stop ---- */

/* Lock held. */
static int
prepare(int hz)
{
	int err;

	if (cpu.on || cpu.writers)
		return -EBUSY;
	err = profile_table_make(&cpu.table);
	if (!err)
		err = os_on_profile(on_profile);
	if (err)
		return err;
	cpu.period_ns = SECOND_NS / hz;
	cpu.time_ns = profile_time_of_day();
	cpu.start_ns = os_now_ns();
	cpu.made = true;
	return 0;
}

/* No handler runs any more, and none will add anything. */
static void
quiesce(void)
{
	a_store_sc(&cpu.sampling, 0);	/* sc: see on_profile */
	while (a_load_sc(&cpu.handlers))	/* sc: the same */
		os_sleep_ns(WAIT_NS);
}

static void
stop_locked(void)
{
	stop_timers();
	cpu.on = false;
	cpu.stop_ns = os_now_ns();
	a_add_acqrel(&cpu.generation, 1);	/* pairs with refresh_modules */
	os_futex_wake(&cpu.generation, INT32_MAX);
	quiesce();
}

int
profile_cpu_start(int hz, unsigned flags, uint32_t *number)
{
	uint32_t generation = 0;
	int err;

	if (hz < 0 || hz > HZ_MAX || flags & ~(unsigned)WEFT_PROFILE_THREADS)
		return -EINVAL;
	if (SAN_ON || vg_running())
		return -ENOTSUP;
	if (sched.sigmask & os_sigbit(SIGPROF))
		return -EPERM;
	module_list_refresh();
	lock_take(&cpu.lock);
	err = prepare(hz ? hz : HZ_DEFAULT);
	if (!err) {
		cpu.on = true;
		a_store_sc(&cpu.sampling, 1);	/* sc: see on_profile */
		err = start_timers(flags);
		if (err)
			stop_locked();
		generation = a_load_relaxed(&cpu.generation);
	}
	lock_drop(&cpu.lock);
	/* Without it only stacks through libraries loaded later are cut. */
	if (!err)
		helper_start(refresh_modules, (void *)(uintptr_t)generation);
	if (number)
		*number = generation;
	return err;
}

static int
stop(bool any, uint32_t number)
{
	int err = -ESRCH;

	lock_take(&cpu.lock);
	if (cpu.on && (any || a_load_relaxed(&cpu.generation) == number)) {
		stop_locked();
		err = 0;
	}
	lock_drop(&cpu.lock);
	return err;
}

int
profile_cpu_stop(void)
{
	return stop(true, 0);
}

int
profile_cpu_stop_one(uint32_t number)
{
	return stop(false, number);
}

int
profile_cpu_open(struct profile_file *f)
{
	int64_t end;

	lock_take(&cpu.lock);
	cpu.writers += cpu.made;
	end = cpu.on ? os_now_ns() : cpu.stop_ns;
	*f = (struct profile_file){
		.types = { { "samples", "count" }, { "cpu", "nanoseconds" } },
		.n_types = 2,
		.period_type = { "cpu", "nanoseconds" },
		.period = cpu.period_ns,
		.time_ns = cpu.time_ns,
		.duration_ns = end - cpu.start_ns,
		.table = &cpu.table,
	};
	lock_drop(&cpu.lock);
	return cpu.made ? 0 : -ESRCH;
}

void
profile_cpu_close(void)
{
	lock_take(&cpu.lock);
	cpu.writers--;
	lock_drop(&cpu.lock);
}

static void
forget_timer(struct m *mp, void *unused)
{
	(void)unused;
	mp->cpu_timer = 0;
}

/* The child has neither the timers nor the threads, and may have timers of its
 * own with these numbers; what was collected is there. */
static void
forked(void)
{
	m_each(forget_timer, NULL);
	cpu.lock = (struct lock)LOCK_INIT(RANK_PROFILE);
	cpu.on = false;
	cpu.process_timer = 0;
	cpu.writers = 0;
	a_store_relaxed(&cpu.sampling, 0);
	a_store_relaxed(&cpu.handlers, 0);
}

__attribute__((constructor)) static void
hook(void)
{
	static struct run_hook h = { .forked = forked };

	watch_thread = on_thread;
	run_hook_add(&h);
}
