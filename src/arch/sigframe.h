/* SPDX-License-Identifier: MIT */
/*
 * Keeping and resuming a goroutine that a signal interrupted at any
 * instruction; arch/<arch>/sigframe_arch.h and preempt_return.S implement it.
 *
 * The kernel has saved every register and the whole vector state, in whatever
 * width this machine has, on the thread's signal stack. To preempt, the
 * handler copies that frame to the goroutine's own stack and changes the
 * original, so that its return goes to land(kept) below the copy. That is an
 * ordinary function on the goroutine's stack: it may switch away and be
 * resumed by another thread. Then it gives the copy back to the kernel with
 * rt_sigreturn.
 *
 *	   high	| ...                    |
 *		| interrupted function   |  <- sigframe_sp
 *		+------------------------+
 *		| red zone               |
 *		| copy of the frame      |  <- kept
 *		+------------------------+
 *		| preempt_return         |  end of the call chain
 *		| land                   |
 *	   low	| ...                    |
 *
 * A frame holds two things that belong to the thread and not to the goroutine,
 * and rt_sigreturn would set both: the alternate stack and the signal mask.
 * sigframe_resume replaces them by those of the resuming thread.
 *
 * Rejected: saving and restoring the registers ourselves. aarch64 cannot load
 * them all and jump, and we would have to know every vector extension.
 *
 * What the caller has to ensure:
 *
 *  - The handler runs on the alternate stack, with SA_SIGINFO and all signals
 *    blocked, and was called by the kernel: ThreadSanitizer calls handlers
 *    later, with a copy of the context, and nothing here works on that.
 *  - land runs with the goroutine's signal mask. A signal may come before its
 *    first instruction and after its last. The handler must not preempt there,
 *    which in the end only the pc can tell: a frame kept inside
 *    sigframe_resume would restore the alternate stack of a thread that the
 *    goroutine has left.
 *  - Shadow stacks are not used: rt_sigreturn would require a token on them.
 *
 *	uintptr_t sigframe_pc(const ucontext_t *uc);
 *	uintptr_t sigframe_sp(const ucontext_t *uc);
 *		(All general registers: dwarf_context in dwarf.h.)
 *	uint64_t sigframe_mask(const ucontext_t *uc);
 *		Signals blocked, as the kernel has it: bit n - 1 for signal n.
 *	bool sigframe_cut_short(const ucontext_t *uc);
 *		The next instruction is the one after a system call that has
 *		failed with EINTR: the signal interrupted it. (A call that is
 *		restarted has the pc at the call.) Nothing is lost by
 *		preempting there; this is for counting.
 *	bool sigframe_movable(const ucontext_t *uc);
 *		Any thread can restore it. Not so if it has state that the
 *		kernel permits for some threads and not for others.
 *	struct sigframe_words sigframe_vectors(const ucontext_t *uc);
 *		The words of all vector registers, among others of the frame.
 *	size_t sigframe_bytes(const ucontext_t *uc, size_t extra);
 *		How much stack below sigframe_sp it takes to keep this frame
 *		and then to run C code that needs `extra`.
 *	void sigframe_keep(ucontext_t *uc, void (*land)(void *kept));
 *		Copies the frame. When the handler returns, land runs with an
 *		empty call chain and the state a function may expect: default
 *		floating-point control bits, an empty x87 stack, no unusual
 *		flags. It must not return. The signal may have come while the
 *		goroutine had changed these for a moment, as compilers do to
 *		round towards zero, and the goroutine that runs next must not
 *		inherit that.
 *	noreturn void sigframe_resume(void *kept, const stack_t *alt,
 *	    uint64_t mask);
 *		Continues at the interrupted instruction. alt and mask are this
 *		thread's; the mask as the kernel has it: bit n - 1 for signal
 *		n.
 */
#ifndef SIGFRAME_H
#define SIGFRAME_H

#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

#include "defs.h"
#include "switch.h"

struct sigframe_words { const uintptr_t *at; size_t n; };

/* Where a changed context continues: calls its 2nd argument with the 1st. */
void preempt_return(void);

/*
 * sigframe_arch.h has what is not below, and
 *	sigframe_context(kept)	the context in a kept frame
 *	sigframe_return(kept)	the system call
 */
#include "sigframe_arch.h"

/* libc's set is larger than the part that the kernel reads and writes */
static inline uint64_t
sigframe_mask(const ucontext_t *uc)
{
	return *(const uint64_t *)(const void *)&uc->uc_sigmask;
}

/* Inline, since the handler recognises by the pc that this runs. */
static always_inline noreturn void
sigframe_resume(void *kept, const stack_t *alt, uint64_t mask)
{
	ucontext_t *uc = sigframe_context(kept);

	uc->uc_stack.ss_sp = alt->ss_sp;
	uc->uc_stack.ss_flags = alt->ss_flags;
	uc->uc_stack.ss_size = alt->ss_size;
	*(uint64_t *)(void *)&uc->uc_sigmask = mask;
	sigframe_return(kept);
}

#endif
