/* SPDX-License-Identifier: MIT */
/*
 * A request to valgrind, if the program runs under it, which recognises it by
 * four rotations of x12, which together change nothing, before an or of x10
 * with itself. x4 points to the request and its arguments; the answer is in
 * x3, which is unchanged if the program does not run under valgrind.
 */
#ifndef VGCALL_H
#define VGCALL_H

#include <stdint.h>

static inline uintptr_t
vg_call(uintptr_t otherwise, uintptr_t request, uintptr_t a, uintptr_t b)
{
	uintptr_t words[6] = { request, a, b };
	register uintptr_t x3 __asm__("x3") = otherwise;
	register uintptr_t *x4 __asm__("x4") = words;

	__asm__ volatile(
		"ror x12, x12, #3\n\tror x12, x12, #13\n\t"
		"ror x12, x12, #51\n\tror x12, x12, #61\n\t"
		"orr x10, x10, x10"
		: "+r"(x3)
		: "r"(x4)
		: "cc", "memory");
	return x3;
}

#endif
