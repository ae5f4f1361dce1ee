/* SPDX-License-Identifier: MIT */
/*
 * What compilers call when they are told to, at each function or each piece
 * of straight code, made to let other goroutines run if it is time. For
 * programs whose loops cannot be preempted by a signal: a static one, say, or
 * one that keeps state in its threads and knows where.
 *
 *	cc $(pkg-config --cflags weft-checks) ... \
 *	    $(pkg-config --libs weft-checks)
 *
 * An archive of its own, since these names belong to others too (coverage,
 * profilers), and a program that does not ask for this must not get it.
 *
 * They are called from everywhere: constructors, plain threads, before the
 * runtime and after it. The word that is looked at is a plain global, zero
 * unless a goroutine is asked for something, and what follows does nothing
 * outside of one. Nor does it in a handler of signals, which must not change
 * goroutines, if it can be seen to be one: see weft_checkpoint in weft.h.
 *
 * This file itself must be compiled without (the Makefile sees to it), or it
 * would call itself.
 */
#include <weft.h>

void __sanitizer_cov_trace_pc(void);
void __cyg_profile_func_enter(void *fn, void *site);
void __cyg_profile_func_exit(void *fn, void *site);

static inline void
check(void)
{
	if (__builtin_expect(__atomic_load_n(&weft_attention_,
	    __ATOMIC_RELAXED) != 0, 0))
		weft_check_();
}

/* -fsanitize-coverage=trace-pc: every basic block. */
void
__sanitizer_cov_trace_pc(void)
{
	check();
}

/* -finstrument-functions: every function, no loop. */
void
__cyg_profile_func_enter(void *fn, void *site)
{
	(void)fn, (void)site;
	check();
}

void
__cyg_profile_func_exit(void *fn, void *site)
{
	(void)fn, (void)site;
	check();
}
