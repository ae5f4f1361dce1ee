/* SPDX-License-Identifier: MIT */
/* The switch on aarch64; arch/switch.h is its contract. */
#ifndef FRAME_H
#define FRAME_H

_Static_assert(__builtin_offsetof(struct frame, sp) == 0, "asm below");
_Static_assert(__builtin_offsetof(struct frame, bp) == 8, "asm below");
_Static_assert(__builtin_offsetof(struct frame, pc) == 16, "asm below");

/* FPCR: rounding mode and traps. Its upper half is unused. */
static inline uint64_t
fpctl_read(void)
{
	uint64_t v;

	__asm__ volatile("mrs %0, fpcr" : "=r"(v));
	return v | FPCTL_OWN;
}

static inline void
fpctl_write(uint64_t v)
{
	__asm__ volatile("msr fpcr, %0" : : "r"(v & ~FPCTL_OWN));
}

/* C's default rounding and masks. */
#define FPCTL_DEFAULT 0

static always_inline void
frame_jump(struct frame *from, struct frame *to)
{
	register struct frame *x0 __asm__("x0") = from;
	register struct frame *x1 __asm__("x1") = to;

	__asm__ volatile(
		"adr	x2, 1f\n\t"
		"mov	x3, sp\n\t"
		"stp	x3, x29, [x0]\n\t"
		"str	x2, [x0, #16]\n\t"
		"ldp	x3, x29, [x1]\n\t"
		"ldr	x2, [x1, #16]\n\t"
		"mov	sp, x3\n\t"
		"br	x2\n"		/* frame_entry finds `to` in x1 */
		"1:"
		: "+r"(x0), "+r"(x1)
		:
		: "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10",
		  "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18",
		  "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26",
		  "x27", "x28", "x30",
		  "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9",
		  "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17",
		  "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25",
		  "v26", "v27", "v28", "v29", "v30", "v31", "memory", "cc");
}

static always_inline void
frame_here(struct frame *f)
{
	__asm__ volatile(
		"adr	x2, 1f\n\t"
		"mov	x3, sp\n\t"
		"stp	x3, x29, [%0]\n\t"
		"str	x2, [%0, #16]\n"
		"1:"
		: : "r"(f) : "x2", "x3", "memory");
}

#endif
