/* SPDX-License-Identifier: MIT */
/* The switch on x86-64; arch/switch.h is its contract. */
#ifndef FRAME_H
#define FRAME_H

_Static_assert(__builtin_offsetof(struct frame, sp) == 0, "asm below");
_Static_assert(__builtin_offsetof(struct frame, bp) == 8, "asm below");
_Static_assert(__builtin_offsetof(struct frame, pc) == 16, "asm below");

enum {
	/* The low six bits of mxcsr report past exceptions: not control. */
	MXCSR_CONTROL = 0xffc0
};

/* Registers that the compiler knows only in builds for wider vectors. */
#ifdef __AVX512F__
#define FRAME_CLOBBERS_WIDE						\
	, "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", \
	"xmm23", "xmm24", "xmm25", "xmm26", "xmm27", "xmm28", "xmm29",	\
	"xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#else
#define FRAME_CLOBBERS_WIDE
#endif

/* Control bits of both units. Reading them takes some 7 ns. */
static inline uint64_t
fpctl_read(void)
{
	uint32_t mxcsr;
	uint16_t cw;

	__asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(cw));
	return (uint64_t)cw << 32 | (mxcsr & MXCSR_CONTROL) | FPCTL_OWN;
}

static inline void
fpctl_write(uint64_t ctl)
{
	uint32_t mxcsr = (uint32_t)ctl;
	uint16_t cw = (uint16_t)(ctl >> 32);

	__asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(mxcsr), "m"(cw));
}

/* C's default rounding and masks. */
#define FPCTL_DEFAULT ((uint64_t)0x37f << 32 | 0x1f80)

static always_inline void
frame_jump(struct frame *from, struct frame *to)
{
	__asm__ volatile(
		"leaq	1f(%%rip), %%rax\n\t"
		"movq	%%rsp, 0(%0)\n\t"
		"movq	%%rbp, 8(%0)\n\t"
		"movq	%%rax, 16(%0)\n\t"
		"movq	0(%1), %%rsp\n\t"
		"movq	8(%1), %%rbp\n\t"
		"jmp	*16(%1)\n"	/* frame_entry finds `to` in rsi */
		"1:"
		: "+D"(from), "+S"(to)
		:
		: "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11",
		  "r12", "r13", "r14", "r15",
		  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
		  "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
		  "xmm14", "xmm15", "memory", "cc" FRAME_CLOBBERS_WIDE);
}

static always_inline void
frame_here(struct frame *f)
{
	__asm__ volatile(
		"leaq	1f(%%rip), %%rax\n\t"
		"movq	%%rsp, 0(%0)\n\t"
		"movq	%%rbp, 8(%0)\n\t"
		"movq	%%rax, 16(%0)\n"
		"1:"
		: : "r"(f) : "rax", "memory");
}

#endif
