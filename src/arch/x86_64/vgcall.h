/* SPDX-License-Identifier: MIT */
/*
 * A request to valgrind, if the program runs under it, which recognises it by
 * four rotations of rdi, which together change nothing, before an exchange of
 * rbx with itself. rax points to the request and its arguments; the answer is
 * in rdx, which is unchanged if the program does not run under valgrind.
 */
#ifndef VGCALL_H
#define VGCALL_H

#include <stdint.h>

static inline uintptr_t
vg_call(uintptr_t otherwise, uintptr_t request, uintptr_t a, uintptr_t b)
{
	uintptr_t words[6] = { request, a, b };

	__asm__ volatile(
		"rolq $3, %%rdi\n\trolq $13, %%rdi\n\t"
		"rolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
		"xchgq %%rbx, %%rbx"
		: "+d"(otherwise)
		: "a"(words)
		: "cc", "memory");
	return otherwise;
}

#endif
