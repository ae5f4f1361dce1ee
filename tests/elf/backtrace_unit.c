/* SPDX-License-Identifier: MIT */
/* Call stacks as addresses, and the names of the functions in them. */
#define _GNU_SOURCE
#include "backtrace.h"

#include <signal.h>
#include <string.h>

#include "m.h"
#include "sched.h"
#include "sigframe.h"
#include "slab.h"
#include "symbols.h"
#include "t.h"

#define OUTLINE __attribute__((__noinline__))

static volatile int sink;
static uintptr_t pcs[BACKTRACE_MAX];
static unsigned n;
static struct backtrace walk;

/* The place of the first frame in the function of that name, or -1. */
static int
place(const char *name)
{
	struct symbol s;

	for (unsigned i = 0; i < n; i++) {
		symbol_find(pcs[i], &s);
		if (s.name && !strcmp(s.name, name))
			return (int)i;
	}
	return -1;
}

static struct unwind_stack
own_stack(void)
{
	struct stack *s = g_stack(m_g(m_self()));

	return (struct unwind_stack){ (uintptr_t)s->lo, (uintptr_t)s };
}

/* ---- of the caller ---- */

OUTLINE static void
inner(void)
{
	struct unwind_stack st = own_stack();

	n = backtrace_here(&walk, &st, 0, pcs, BACKTRACE_MAX);
	sink++;
}

OUTLINE static void
outer(void)
{
	inner();
	sink++;
}

GTEST(caller, 1)
{
	struct unwind_stack none = { 0, 0 };

	module_list_refresh();
	outer();
	EQ(place("inner"), 0);
	EQ(place("outer"), 1);
	EQ(place("test_caller"), 2);
	OK(place("goroutine_main") == (int)n - 1);
	EQ(backtrace_here(&walk, &none, 0, pcs, BACKTRACE_MAX), 0);
}

OUTLINE static unsigned
limited(unsigned skip, unsigned max)
{
	struct unwind_stack st = own_stack();

	n = backtrace_here(&walk, &st, skip, pcs, max);
	sink++;
	return n;
}

GTEST(skip_and_limit, 1)
{
	module_list_refresh();
	OK(limited(1, BACKTRACE_MAX) > 1);
	EQ(place("limited"), -1);
	EQ(place("test_skip_and_limit"), 0);
	EQ(limited(0, 2), 2);
	EQ(place("test_skip_and_limit"), 1);
	EQ(limited(0, 0), 0);
	EQ(limited(1000, BACKTRACE_MAX), 0);
}

/* ---- of a goroutine that waits ---- */

static weft_waitgroup gate, all;

OUTLINE static void
deeper(int depth)
{
	if (depth)
		deeper(depth - 1);
	else
		weft_waitgroup_wait(&gate);
	sink++;
}

static void
wait_deep(void)
{
	deeper(3);
	weft_waitgroup_done(&all);
}

static void
trace_goroutine(int64_t id)
{
	struct slab_place at = {0};
	struct g *gp;

	while ((gp = g_next(&at)))
		if (g_id(gp) == id) {
			struct stack *s = g_stack(gp);
			struct unwind_stack st = { (uintptr_t)s->lo,
			    (uintptr_t)s };

			n = backtrace_parked(&walk, &gp->frame, &st, pcs,
			    BACKTRACE_MAX);
		}
}

/* Not before it could wait: on a busy machine it may have been preempted. */
static bool
is_waiting(int64_t id)
{
	struct slab_place at = {0};
	struct g *gp;

	while ((gp = g_next(&at)))
		if (g_id(gp) == id)
			return a_load_acq(&gp->state) == G_WAITING;
	return false;
}

GTEST(parked, 1)
{
	int64_t id;

	module_list_refresh();
	weft_waitgroup_add(&gate, 1);
	weft_waitgroup_add(&all, 1);
	id = weft_try_go(wait_deep);
	do
		weft_yield();
	while (!is_waiting(id));
	trace_goroutine(id);
	OK(place("deeper") > 0);
	OK(place("wait_deep") >= place("deeper") + 1);
	OK(place("goroutine_main") == (int)n - 1);
	weft_waitgroup_done(&gate);
	weft_waitgroup_wait(&all);
}

/* ---- of one that a signal has stopped ---- */

static int spin;

OUTLINE static void
compute(void)
{
	while (__atomic_load_n(&spin, __ATOMIC_RELAXED))
		sink++;
}

static void
compute_outer(void)
{
	compute();
	weft_waitgroup_done(&all);
}

static bool
was_preempted(void)
{
	weft_preempt_stats s;

	weft_preempt_stats_read(&s, sizeof s);
	return s.preempted > 0;
}

/* Not on a thread that has lost the only processor, which it runs on. */
static bool
is_queued(int64_t id)
{
	struct slab_place at = {0};
	struct g *gp;

	while ((gp = g_next(&at)))
		if (g_id(gp) == id)
			return a_load_acq(&gp->state) == G_RUNNABLE &&
			    !a_load_relaxed(&gp->paused);
	return false;
}

GTEST(preempted, 1)
{
	double limit = t_now() + 10;
	int64_t id;

	if (T_SANITIZED || t_valgrind())
		t_skip("goroutines are not preempted by signals");
	module_list_refresh();
	spin = 1;
	weft_waitgroup_add(&all, 1);
	id = weft_try_go(compute_outer);
	while (!(was_preempted() && is_queued(id)) && t_now() < limit)
		weft_sleep(WEFT_MS);
	if (!was_preempted() || !is_queued(id)) {
		spin = 0;
		t_skip("it was not preempted here");
	}
	trace_goroutine(id);
	spin = 0;
	OK(place("compute") >= 0);
	OK(place("compute_outer") == place("compute") + 1);
	OK(place("goroutine_main") == (int)n - 1);
	weft_waitgroup_wait(&all);
}

/* ---- of what a signal interrupts ---- */

static bool bounded;

static void
on_signal(int sig, siginfo_t *si, void *uc)
{
	struct unwind_stack st = bounded ? own_stack() :
	    backtrace_stack_at(sigframe_sp(uc));

	(void)sig, (void)si;
	n = backtrace_context(&walk, uc, &st, pcs, BACKTRACE_MAX);
}

OUTLINE static void
raise_here(void)
{
	raise(SIGUSR1);
	sink++;
}

static void
interrupt(void)
{
	struct sigaction sa = { .sa_sigaction = on_signal,
	    .sa_flags = SA_SIGINFO | SA_ONSTACK };

	module_list_refresh();
	sigaction(SIGUSR1, &sa, NULL);
	raise_here();
#ifndef __GLIBC__
	t_skip("this libc has no frame tables");
#endif
	if (T_TSAN)
		t_skip("the sanitizer's handler is not where the signal was");
	OK(place("raise_here") > 0);
}

GTEST(interrupted, 1)
{
	bounded = true;
	interrupt();
	OK(place("test_interrupted") == place("raise_here") + 2);
	OK(place("goroutine_main") == (int)n - 1);
}

TEST(interrupted_thread)
{
	if (t_valgrind())
		t_skip("the ends of a stack are not known");
	interrupt();
	OK(place("main") > place("raise_here"));
}
