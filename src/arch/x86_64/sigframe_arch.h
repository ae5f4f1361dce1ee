/* SPDX-License-Identifier: MIT */
/*
 * Signal frames on x86-64; arch/sigframe.h is the contract.
 *
 * rt_sigreturn finds the context at the stack pointer. It reads that up to and
 * including 8 bytes of signal mask, and what fpregs points to: 512 bytes, or
 * as many as the kernel has noted in their reserved end, aligned to 64. So a
 * kept frame is these two, and `kept` is the context. The return address and
 * the siginfo that the kernel puts around it are missing: it does not read
 * them.
 */
#ifndef SIGFRAME_ARCH_H
#define SIGFRAME_ARCH_H

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "rawcall.h"

enum {
	SIGFRAME_RED_ZONE = 128,
	SIGFRAME_UC_BYTES = offsetof(ucontext_t, uc_sigmask) + 8,
	SIGFRAME_FP_ALIGN = 64,
	SIGFRAME_FX_BYTES = 512,
	SIGFRAME_FX_NOTE = 464,		/* struct sigframe_note is there */
	SIGFRAME_NOTE_MAGIC = 0x46505853
};

/* Places in gregs; libc's own names need _GNU_SOURCE. */
enum {
	GREG_R8, GREG_R9, GREG_R10, GREG_R11, GREG_R12, GREG_R13, GREG_R14,
	GREG_R15, GREG_RDI, GREG_RSI, GREG_RBP, GREG_RBX, GREG_RDX, GREG_RAX,
	GREG_RCX, GREG_RSP, GREG_RIP, GREG_FLAGS
};

/* Flags that must be clear when a function begins: TF, DF, NT, RF, AC. */
enum { FLAGS_STRANGE = 1 << 8 | 1 << 10 | 1 << 14 | 1 << 16 | 1 << 18 };

/* Vector state a thread has only after it has used it: AMX tiles. */
enum {
	XSTATE_ON_DEMAND = 1 << 18,
	XSTATE_PERMITTED = 0x1022	/* of arch_prctl: ARCH_GET_XCOMP_PERM */
};

static inline uintptr_t
sigframe_pc(const ucontext_t *uc)
{
	return (uintptr_t)uc->uc_mcontext.gregs[GREG_RIP];
}

static inline uintptr_t
sigframe_sp(const ucontext_t *uc)
{
	return (uintptr_t)uc->uc_mcontext.gregs[GREG_RSP];
}

/*
 * The syscall instruction leaves its return address in rcx, but processors
 * with the newer kernel entry (FRED) need not. Then the two bytes before the
 * pc are examined, if they are in its page, which has just been executed.
 */
static inline bool
sigframe_cut_short(const ucontext_t *uc)
{
	uintptr_t pc = sigframe_pc(uc);
	const unsigned char *code = (const unsigned char *)pc;

	if (uc->uc_mcontext.gregs[GREG_RAX] != -EINTR)
		return false;
	if ((uintptr_t)uc->uc_mcontext.gregs[GREG_RCX] == pc)
		return true;
	return pc % 4096 >= 2 && code[-2] == 0x0f && code[-1] == 0x05;
}

static inline uint64_t
xstate_enabled(void)
{
	uint32_t low, high;

	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return (uint64_t)high << 32 | low;
}

/* The kernel's; musl's headers do not have it. */
struct sigframe_note {
	uint32_t magic, bytes;
};

/* The kernel's note, or NULL: then there are 512 bytes and no more. */
static inline const struct sigframe_note *
sigframe_note(const ucontext_t *uc)
{
	const char *fp = (const char *)uc->uc_mcontext.fpregs;
	const struct sigframe_note *note;

	if (!fp)
		return NULL;
	note = (const void *)(fp + SIGFRAME_FX_NOTE);
	return note->magic == SIGFRAME_NOTE_MAGIC ? note : NULL;
}

/*
 * The kernel looks for the end mark of the frame where the frames of the
 * *resuming* thread have theirs, and restores only the first 512 bytes if it
 * is not there. All threads' frames are equally long, but for tiles: a thread
 * gets room for these at its first use, if the process has requested
 * permission. So no frame is movable in a process that has it. (Not covered: a
 * frame kept before the request. Programs request it when they begin.)
 */
static inline bool
sigframe_movable(const ucontext_t *uc)
{
	uint64_t permitted = 0;

	if (!sigframe_note(uc) || !(xstate_enabled() & XSTATE_ON_DEMAND))
		return true;
	return syscall6(SYS_arch_prctl, XSTATE_PERMITTED, (long)&permitted,
	    0, 0, 0, 0) == 0 && !(permitted & XSTATE_ON_DEMAND);
}

static inline size_t
sigframe_fp_bytes(const ucontext_t *uc)
{
	const struct sigframe_note *note = sigframe_note(uc);

	if (!uc->uc_mcontext.fpregs)
		return 0;
	return note ? note->bytes : SIGFRAME_FX_BYTES;
}

static inline struct sigframe_words
sigframe_vectors(const ucontext_t *uc)
{
	const uintptr_t *at = (const void *)uc->uc_mcontext.fpregs;

	return (struct sigframe_words){
		at, sigframe_fp_bytes(uc) / sizeof(*at)
	};
}

static inline size_t
sigframe_bytes(const ucontext_t *uc, size_t extra)
{
	return SIGFRAME_RED_ZONE + sigframe_fp_bytes(uc) + SIGFRAME_FP_ALIGN +
	    SIGFRAME_UC_BYTES + 16 + extra;
}

static inline ucontext_t *
sigframe_context(void *kept)
{
	return kept;
}

/* With no register valid the x87 state is as a called function expects it. */
static inline void
sigframe_reset_fp(fpregset_t fp)
{
	fp->cwd = (uint16_t)(FPCTL_DEFAULT >> 32);
	fp->swd = 0;
	fp->ftw = 0;
	fp->mxcsr = (fp->mxcsr & ~(uint32_t)MXCSR_CONTROL) |
	    ((uint32_t)FPCTL_DEFAULT & MXCSR_CONTROL);
}

static inline void
sigframe_keep(ucontext_t *uc, void (*land)(void *kept))
{
	greg_t *reg = uc->uc_mcontext.gregs;
	size_t fp_bytes = sigframe_fp_bytes(uc);
	uintptr_t fp, at;
	ucontext_t *copy;

	fp = (sigframe_sp(uc) - SIGFRAME_RED_ZONE - fp_bytes) &
	    ~(uintptr_t)(SIGFRAME_FP_ALIGN - 1);
	at = (fp - SIGFRAME_UC_BYTES) & ~(uintptr_t)15;
	copy = (ucontext_t *)at;
	memcpy(copy, uc, SIGFRAME_UC_BYTES);
	if (fp_bytes) {
		memcpy((void *)fp, uc->uc_mcontext.fpregs, fp_bytes);
		copy->uc_mcontext.fpregs = (fpregset_t)fp;
		sigframe_reset_fp(uc->uc_mcontext.fpregs);
	}
	reg[GREG_RIP] = (greg_t)(uintptr_t)preempt_return;
	reg[GREG_RSP] = (greg_t)at;
	reg[GREG_RBP] = 0;
	reg[GREG_RDI] = (greg_t)at;
	reg[GREG_RSI] = (greg_t)(uintptr_t)land;
	reg[GREG_FLAGS] &= ~(greg_t)FLAGS_STRANGE;
}

static always_inline noreturn void
sigframe_return(void *kept)
{
	__asm__ volatile(
		"movq	%0, %%rsp\n\t"
		"syscall\n\t"
		"ud2"			/* it never returns */
		: : "r"(kept), "a"(SYS_rt_sigreturn) : "memory");
	__builtin_unreachable();
}

#endif
