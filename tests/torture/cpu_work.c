/* SPDX-License-Identifier: MIT */
/* Works that only compute: all of what a signal has to save and restore. */
#include "torture.h"

#include <setjmp.h>
#include <string.h>

#include "registers.h"

#include <weft.h>

/* ---- numbers that must be the same to the last bit ---- */

enum { TERMS = 20000 };

static double
sum_double(void)
{
	double s = 0;

	for (int i = 1; i <= TERMS; i++)
		s += 1.0 / i * (i & 1 ? 1 : -1) + s * 1e-9;
	return s;
}

static float
sum_float(void)
{
	float a[64], s = 0;

	for (int i = 0; i < 64; i++)
		a[i] = 1.0f / (float)(i + 1);
	for (int k = 0; k < TERMS / 64; k++)
		for (int i = 0; i < 64; i++)
			a[i] = a[i] * 0.999f + (float)k / (float)(i + 3);
	for (int i = 0; i < 64; i++)
		s += a[i];
	return s;
}

static long double
sum_wide(void)
{
	long double s = 0;

	for (int i = 1; i <= TERMS; i++)
		s = s * 0.9999L + 1.0L / i;
	return s;
}

static double want_double;
static float want_float;
static long double want_wide;

static void
numbers_once(void)
{
	want_double = sum_double();
	want_float = sum_float();
	want_wide = sum_wide();
}

static void
numbers(struct me *me)
{
	(void)me;
	MUST(sum_double() == want_double);
	MUST(sum_float() == want_float);
	MUST(sum_wide() == want_wide);
}

/* ---- call chains ---- */

static __attribute__((noinline)) uint64_t
fib(unsigned n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static void
chains(struct me *me)
{
	(void)me;
	SAME(fib(21), 10946);
	torture_spin(500000);
}

/* ---- recursion ---- */

/*
 * Frames of `words` words down to the depth, or until so many bytes of stack
 * are used; each checks its own locals after the deeper ones have returned.
 */
static __attribute__((noinline)) uint64_t
dive(struct me *me, unsigned depth, uintptr_t bytes, size_t words)
{
	uint64_t local[words], sum = 0;
	uint64_t mark = (uint64_t)depth * UINT64_C(0x9e3779b97f4a7c15);

	for (size_t i = 0; i < words; i++)
		local[i] = mark + i;
	__asm__ volatile("" : : "r"(local) : "memory");
	if (me->base - (uintptr_t)local < bytes && depth)
		sum = dive(me, depth - 1, bytes, words);
	else
		torture_spin(60000);
	for (size_t i = 0; i < words; i++)
		if (local[i] != mark + i)
			torture_fail(__FILE__, __LINE__, "a local", depth);
	return sum + 1;
}

static void
recursion(struct me *me)
{
	/* So deep that not all of it is looked at, and not so deep. */
	SAME(dive(me, 150, UINTPTR_MAX, 16), 151);
	SAME(dive(me, 30, UINTPTR_MAX, 100), 31);
}

/*
 * Near the end of 192 KiB: first there is room for the registers, and then
 * there is not. What is left is for the sanitizer, or for torture_spin.
 */
static void
abyss(struct me *me)
{
	uintptr_t left = TORTURE_SAN ? 40 * 1024 : 1536;
	uintptr_t room = 192 * 1024 - left;

	for (uintptr_t k = 0; k <= 4; k++)
		MUST(dive(me, 40, room - k * 2048 - 600 * 8, 600) > 20);
}

/* ---- jumps ---- */

static __attribute__((noinline, noreturn)) void
jump(jmp_buf *to, unsigned depth, int value)
{
	if (depth)
		jump(to, depth - 1, value);
	torture_spin(2000);
	longjmp(*to, value);
}

static void
jumps(struct me *me)
{
	volatile int came = 0;
	volatile uint64_t mark = me->rng;
	jmp_buf outer, inner;

	if (setjmp(outer) == 0) {
		for (volatile int i = 1; i < 20; i++) {
			int v = setjmp(inner);

			if (v == 0)
				jump(&inner, (unsigned)i, i + 100);
			SAME(v, i + 100);
			torture_spin(1000);
			came = came + 1;
		}
		jump(&outer, 10, 7);
	}
	SAME(came, 19);
	MUST(mark == me->rng);
}

/* ---- registers ---- */

static void
registers(struct me *me)
{
	uint64_t seed = torture_random(me, UINT64_MAX);

	registers_general(seed, 20000);
	registers_general(seed + 1, 200000);
}

static void
vectors(struct me *me)
{
	uint64_t seed = torture_random(me, UINT64_MAX);

	registers_vector(seed, 5000);
	registers_vector(seed + 1, 50000);
}

/* Changed and put back in between calls; no other goroutine may see it. */
static void
rounding(struct me *me)
{
	uint64_t was = registers_control();

	MUST(was == registers_control_default);
	registers_control_set(registers_control_up);
	torture_spin(20000 + torture_random(me, 100000));
	MUST(registers_control() == registers_control_up);
	registers_control_set(was);
	torture_spin(20000);
	MUST(registers_control() == was);
}

/* ---- regions ---- */

static void
region(struct me *me)
{
	long tid;

	weft_preempt_off();
	tid = torture_tid();
	torture_spin(200000 + torture_random(me, 100000));
	SAME(torture_tid(), tid);
	weft_preempt_off();
	torture_spin(1000);
	weft_preempt_on();
	torture_spin(100000);
	SAME(torture_tid(), tid);
	weft_preempt_on();
	torture_spin(10000);
}

const struct work torture_cpu[] = {
	{ "numbers", numbers, numbers_once, NULL },
	{ "chains", chains, NULL, NULL },
	{ "recursion", recursion, NULL, NULL },
	{ "abyss", abyss, NULL, NULL },
	{ "jumps", jumps, NULL, NULL },
	{ "registers", registers, NULL, NULL },
	{ "vectors", vectors, NULL, NULL },
	{ "rounding", rounding, NULL, NULL },
	{ "region", region, NULL, NULL },
	{ NULL, NULL, NULL, NULL }
};
