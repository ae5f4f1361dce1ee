/* SPDX-License-Identifier: MIT */
/*
 * errno = value, where the value takes a loop: compilers ask for errno's
 * address first and keep it, in whatever register is free, while the loop
 * runs. A goroutine that went to another thread meanwhile would write to the
 * errno of the goroutine that its old thread runs now.
 */
#include "run_env.h"

enum { WRITERS = 4, FIRST = 1000 };

static weft_waitgroup all;
static long stop, wrong, rounds;

/* Inlined, and no call: what the compiler keeps may be in any register. */
static inline __attribute__((__always_inline__)) int
slowly(int value, long turns)
{
	for (long i = 0; i < turns; i++)
		__asm__ volatile("" : "+r"(value));
	return value;
}

/* The same with few registers left. */
static inline __attribute__((__always_inline__)) int
slowly_crowded(int value, long turns)
{
	long a = turns, b = turns + 1, c = turns + 2, d = turns + 3;
	long e = turns + 4, f = turns + 5;

	for (long i = 0; i < turns; i++)
		__asm__ volatile("" : "+r"(value), "+r"(a), "+r"(b), "+r"(c),
		    "+r"(d), "+r"(e), "+r"(f));
	return value;
}

/* Compilers may also move what they keep to a vector register. */
static inline __attribute__((__always_inline__)) int *
through_vector(int *at, long turns)
{
#if defined(__x86_64__)
	__asm__ volatile("movq %0, %%xmm9\n\txorl %k0, %k0\n"
	    "1:\tdecq %1\n\tjnz 1b\n\tmovq %%xmm9, %0"
	    : "+r"(at), "+r"(turns) : : "xmm9", "cc");
#elif defined(__aarch64__)
	__asm__ volatile("fmov d20, %0\n\tmov %0, #0\n"
	    "1:\tsubs %1, %1, #1\n\tb.ne 1b\n\tfmov %0, d20"
	    : "+r"(at), "+r"(turns) : : "v20", "cc");
#else
	(void)turns;
#endif
	return at;
}

__attribute__((__noinline__)) static void
set_errno(int value, long turns)
{
	errno = slowly(value, turns);
}

__attribute__((__noinline__)) static void
set_errno_crowded(int value, long turns)
{
	errno = slowly_crowded(value, turns);
}

__attribute__((__noinline__)) static void
set_errno_vector(int value, long turns)
{
	*through_vector(&errno, turns) = value;
}

static void
writes(int value)
{
	while (!get(&stop)) {
		set_errno(value, 20000);
		if (errno != value)
			bump(&wrong);
		set_errno_crowded(value, 20000);
		if (errno != value)
			bump(&wrong);
		set_errno_vector(value, 20000);
		if (errno != value)
			bump(&wrong);
		bump(&rounds);
	}
	weft_waitgroup_done(&all);
}

static void
write_all(void)
{
	weft_waitgroup_add(&all, WRITERS);
	for (int i = 0; i < WRITERS; i++)
		weft_go(writes, FIRST + i);
	stop_after(2, &stop, &all);
	OK(rounds > 0);
	EQ(wrong, 0);
}

ETEST(not_another_ones, 2, "WEFT_SLICE_US=50") { write_all(); }
ETEST(not_another_ones_on_one, 1, "WEFT_SLICE_US=50") { write_all(); }
