/* SPDX-License-Identifier: MIT */
/*
 * Signal frames on aarch64; arch/sigframe.h is the contract.
 *
 * rt_sigreturn expects the frame at the stack pointer, 16-aligned: 128 bytes
 * of siginfo, which it does not read, and the context. This ends in a sequence
 * of records, each with a magic number and its length, up to one of zeros.
 * Those that do not fit in 4 KiB (wide SVE) follow after that, and the last
 * record that fits has their address, which must be adjusted when the frame is
 * moved and must still be the one after the zeros. So the frame is copied in
 * one piece, as far as its records reach.
 */
#ifndef SIGFRAME_ARCH_H
#define SIGFRAME_ARCH_H


#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

enum {
	SIGFRAME_RED_ZONE = 0,
	SIGFRAME_INFO_BYTES = 128,
	SIGFRAME_END_BYTES = 16		/* the zeros, with what aligns them */
};

/* Two bits that the next instruction would have to match (BTI). */
enum { PSTATE_BTYPE = 3 << 10 };

#define INSN_SVC 0xd4000001u

/* Records that the oldest supported headers do not have. */
#define RECORD_POE	0x504f4530u
#define RECORD_TPIDR2	0x54504902u
#define RECORD_FPMR	0x46504d52u
#define RECORD_ZA	0x54366345u

/* How the records of SVE and ZA begin. */
struct record_vector {
	struct _aarch64_ctx head;
	uint16_t vl, flags;		/* flags: of SVE only */
	uint16_t unused[2];
};

enum { RECORD_STREAMING = 1 };		/* in flags */

static inline uintptr_t
sigframe_pc(const ucontext_t *uc)
{
	return uc->uc_mcontext.pc;
}

static inline uintptr_t
sigframe_sp(const ucontext_t *uc)
{
	return uc->uc_mcontext.sp;
}

/* Reads code only in the page of the pc, which has just been executed. */
static inline bool
sigframe_cut_short(const ucontext_t *uc)
{
	uintptr_t pc = uc->uc_mcontext.pc;

	return uc->uc_mcontext.regs[0] == (uint64_t)-EINTR &&
	    pc % 4096 >= 4 && ((const uint32_t *)pc)[-1] == INSN_SVC;
}

static inline struct _aarch64_ctx *
record_first(const ucontext_t *uc)
{
	return (struct _aarch64_ctx *)(void *)uc->uc_mcontext.__reserved;
}

/* The last has magic 0. After EXTRA the next is in the extra space. */
static inline struct _aarch64_ctx *
record_next(struct _aarch64_ctx *r)
{
	if (r->magic == EXTRA_MAGIC)
		return (void *)((struct extra_context *)(void *)r)->datap;
	return (void *)((char *)r + r->size);
}

/* The first of this kind, or NULL. */
static inline void *
record_find(const ucontext_t *uc, uint32_t magic)
{
	struct _aarch64_ctx *r = record_first(uc);

	while (r->magic && r->magic != magic)
		r = record_next(r);
	return r->magic ? r : NULL;
}

/*
 * Records that are known and mean the same on every thread. Unknown ones, of
 * future kernels, are not moved. The matrix unit's state is not kept either:
 * land could not run in its streaming mode, nor with a part of it that a
 * callee may expect to be off. Shadow stacks (GCS) are refused here too. A
 * thread that changed its vector length by prctl is not supported:
 * rt_sigreturn would fail.
 */
static inline bool
record_movable(const struct _aarch64_ctx *r)
{
	const struct record_vector *v = (const void *)r;

	switch (r->magic) {
	case FPSIMD_MAGIC:
	case ESR_MAGIC:
	case EXTRA_MAGIC:
	case RECORD_POE:
	case RECORD_TPIDR2:
	case RECORD_FPMR:
		return true;
	case SVE_MAGIC:
		return !(v->flags & RECORD_STREAMING);
	case RECORD_ZA:
		return r->size <= sizeof(*v);	/* off: there is no more */
	default:
		return false;
	}
}

static inline bool
sigframe_movable(const ucontext_t *uc)
{
	for (struct _aarch64_ctx *r = record_first(uc); r->magic;
	     r = record_next(r))
		if (!record_movable(r))
			return false;
	return true;
}

/* How much there is to copy, from the context on. */
static inline size_t
sigframe_uc_bytes(const ucontext_t *uc)
{
	struct _aarch64_ctx *r = record_first(uc);

	while (r->magic)
		r = record_next(r);
	return (size_t)((char *)r - (char *)uc) + SIGFRAME_END_BYTES;
}

static inline struct sigframe_words
sigframe_vectors(const ucontext_t *uc)
{
	const uintptr_t *at = (const void *)record_first(uc);
	size_t before = (size_t)((const char *)at - (const char *)uc);

	return (struct sigframe_words){
		at, (sigframe_uc_bytes(uc) - before) / sizeof(*at)
	};
}

/*
 * How much room a frame gets: no less than the whole struct, used or not. The
 * kernel accepts it if the end of that is not mapped, qemu does not.
 */
static inline size_t
sigframe_room(size_t uc_bytes)
{
	return SIGFRAME_INFO_BYTES +
	    (uc_bytes > sizeof(ucontext_t) ? uc_bytes : sizeof(ucontext_t));
}

/* There is no red zone: the kernel itself puts frames just below sp. */
static inline size_t
sigframe_bytes(const ucontext_t *uc, size_t extra)
{
	return sigframe_room(sigframe_uc_bytes(uc)) + 16 + extra;
}

static inline ucontext_t *
sigframe_context(void *kept)
{
	return (void *)((char *)kept + SIGFRAME_INFO_BYTES);
}

static inline void
sigframe_keep(ucontext_t *uc, void (*land)(void *kept))
{
	size_t bytes = sigframe_uc_bytes(uc);
	uintptr_t at = (sigframe_sp(uc) - sigframe_room(bytes)) &
	    ~(uintptr_t)15;
	ucontext_t *copy = sigframe_context((void *)at);
	struct extra_context *extra;
	struct fpsimd_context *fp;

	memcpy(copy, uc, bytes);
	/* searched in the original: the copy still has the old address */
	extra = record_find(uc, EXTRA_MAGIC);
	if (extra) {
		char *moved = (char *)copy + ((char *)extra - (char *)uc);

		((struct extra_context *)(void *)moved)->datap =
		    extra->datap - (uintptr_t)uc + (uintptr_t)copy;
	}
	fp = record_find(uc, FPSIMD_MAGIC);
	if (fp)
		fp->fpcr = FPCTL_DEFAULT;
	uc->uc_mcontext.pc = (uintptr_t)preempt_return;
	uc->uc_mcontext.sp = at;
	uc->uc_mcontext.regs[0] = at;
	uc->uc_mcontext.regs[1] = (uintptr_t)land;
	uc->uc_mcontext.regs[29] = 0;
	uc->uc_mcontext.regs[30] = 0;
	uc->uc_mcontext.pstate &= ~(uint64_t)PSTATE_BTYPE;
}

static always_inline noreturn void
sigframe_return(void *kept)
{
	register long x8 __asm__("x8") = SYS_rt_sigreturn;

	__asm__ volatile(
		"mov	sp, %0\n\t"
		"svc	0\n\t"
		"brk	#1"		/* it never returns */
		: : "r"(kept), "r"(x8) : "memory");
	__builtin_unreachable();
}

#endif
