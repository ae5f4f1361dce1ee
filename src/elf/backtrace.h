/* SPDX-License-Identifier: MIT */
/*
 * Call stacks as addresses, by the frame tables of the modules that are listed
 * (module_list.h): of a goroutine that does not run, of the caller, and of an
 * interrupted thread.
 *
 * Signal-safe: no allocation, no lock, bounded, and no read outside of the
 * tables and of the stack given. Addresses come innermost first. That of a
 * caller is its return address minus one, which is in the call: so a call that
 * ends its function is not taken for the next function, and all of them can be
 * looked up alike. A stack of which not all is known is cut where that is so.
 */
#ifndef BACKTRACE_H
#define BACKTRACE_H

#include <ucontext.h>

#include "switch.h"
#include "unwind.h"

enum { BACKTRACE_MAX = 64 };	/* enough for most callers */

/*
 * The state of a walk: some KiB. A caller that may have little stack left
 * gives one that is elsewhere. Need not be initialised.
 */
struct backtrace { struct unwind u; };

/*
 * Of a suspended context. `st` is its stack; if the stack pointer is not in it
 * there are no frames. A goroutine that was preempted is followed into the
 * code that it was in. The caller ensures that it does not run meanwhile, or
 * accepts that what it gets is out of date, and keeps `st` readable.
 */
unsigned backtrace_parked(struct backtrace *b, const struct frame *f,
    const struct unwind_stack *st, uintptr_t *pcs, unsigned max);

/*
 * Of the caller, from its own function on; `skip` more are left out. `st` is
 * the stack that it runs on.
 */
unsigned backtrace_here(struct backtrace *b, const struct unwind_stack *st,
    unsigned skip, uintptr_t *pcs, unsigned max) __attribute__((__noinline__));

/* Of what a signal interrupted: uc is the third argument of its handler. */
unsigned backtrace_context(struct backtrace *b, const ucontext_t *uc,
    const struct unwind_stack *st, uintptr_t *pcs, unsigned max);

/* The same, of an interrupted context whose registers were saved. */
unsigned backtrace_regs(struct backtrace *b, const uintptr_t regs[DWARF_REGS],
    uintptr_t pc, const struct unwind_stack *st, uintptr_t *pcs, unsigned max);

/*
 * For a thread whose stack is not known: from sp on as far as memory can be
 * read, at most 1 MiB. A system call for each page, so for the few.
 */
struct unwind_stack backtrace_stack_at(uintptr_t sp);

#endif
