/* SPDX-License-Identifier: MIT */
/*
 * Contract of a context switch; arch/<arch>/frame.h implements it.
 *
 * A frame is what is kept of a suspended context outside of its stack: where
 * it continues, its stack and frame pointer, and its floating-point control
 * bits if it was spawned with weft_opt.fenv. (Saving these for all would
 * double the cost of a yield for the few that change them.) Every other
 * register is declared clobbered at the switch, so the compiler itself saves
 * what is live there, and nothing else.
 *
 *	   high	+------------------------+
 *		| struct stack           |  mem/stack.h: header of the stack
 *		+------------------------+  <- frame_make's sp, 16-aligned
 *		| frame_entry            |  end of the call chain
 *		| goroutine_main         |
 *		| the user's function    |
 *		| ...                    |
 *		| the function that      |
 *		|   called frame_switch  |  <- frame.sp
 *		+------------------------+
 *		| unused                 |
 *		+------------------------+
 *		| guard, 64 KiB          |
 *	   low	+------------------------+
 *
 * The switch is inline asm, never a called function: one that ends in a jump
 * leaves the processor's return predictor off by one for every caller above
 * (measured: 16 to 40 ns a yield instead of 4 to 9). It writes nothing below
 * the stack pointer, so a red zone is safe.
 *
 *	void frame_make(struct frame *f, void *sp);
 *		f will start in frame_entry, which calls goroutine_main(f).
 *	void frame_switch(struct frame *from, struct frame *to);
 *		Saves this context in `from` and continues in `to`. Returns
 *		when a context switches to `from`, maybe on another thread:
 *		nothing thread-local may be kept across it. `from` may be
 *		resumed by another thread as soon as this one has left its
 *		stack, which is why the context switched to, and only it, may
 *		publish `from`.
 *	void frame_here(struct frame *f);
 *		Where the calling function is: for walking up its stack, not
 *		for switching to it.
 *	void frame_reset_fpctl(void);
 *		Sets the default control bits, for a thread that begins.
 */
#ifndef SWITCH_H
#define SWITCH_H

#include "defs.h"

struct frame {
	void *sp;
	void *bp;		/* frame pointer: the one register that cannot
				 * be declared clobbered */
	void *pc;
	uint64_t fpctl;		/* rounding mode and masks, or 0: default */
};

/* Set in a frame.fpctl that is saved and restored. */
#define FPCTL_OWN (UINT64_C(1) << 63)

/* Bottom of every goroutine. Never returns. */
noreturn void goroutine_main(struct frame *f);
void frame_entry(void);
extern const char frame_entry_end[] __attribute__((visibility("hidden")));

/*
 * frame.h has the part of the architecture:
 *	FPCTL_DEFAULT, fpctl_read, fpctl_write	the control bits
 *	frame_jump(from, to)			the switch proper
 *	frame_here(f)
 */
#include "frame.h"

/* A thread inherits its creator's bits: ours begin with the default. */
static inline void
frame_reset_fpctl(void)
{
	fpctl_write(FPCTL_DEFAULT);
}

/* Prefetches the end of its stack. The frame may be out of date. */
static inline void
frame_fetch(const struct frame *f)
{
	const char *sp = f->sp;

	__builtin_prefetch(sp, 1);
	__builtin_prefetch(sp + CACHE_LINE, 1);
	__builtin_prefetch(sp + 2 * CACHE_LINE, 1);
}

static inline void
frame_make(struct frame *f, void *sp)
{
	f->sp = sp;
	f->bp = NULL;
	f->pc = (void *)frame_entry;
	f->fpctl = 0;
}

static inline void
fpctl_switch(struct frame *from, struct frame *to)
{
	if (from->fpctl)
		from->fpctl = fpctl_read();
	fpctl_write(to->fpctl ? to->fpctl : FPCTL_DEFAULT);
}

static always_inline void
frame_switch(struct frame *from, struct frame *to)
{
	if (unlikely((from->fpctl | to->fpctl) != 0))
		fpctl_switch(from, to);
	frame_jump(from, to);
}

#endif
