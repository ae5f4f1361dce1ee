/* SPDX-License-Identifier: MIT */
/*
 * Address of the thread's one thread-local object, computed each time.
 *
 * A goroutine may be on another thread after any switch, and compilers keep
 * the address of a thread-local in a register (gcc reuses it, clang even
 * deletes a second call of a noinline getter). An asm volatile is neither
 * moved nor merged. The initial-exec form serves both the static and the
 * shared library; the linker relaxes it to an immediate in a program.
 */
#ifndef TLS_H
#define TLS_H

#include "defs.h"

static always_inline void *
tls_self(void)
{
	void *p;

	__asm__ volatile(
		"movq %%fs:0, %0\n\t"
		"addq self_tls@gottpoff(%%rip), %0"
		: "=r"(p) : : "cc");
	return p;
}

/* The object's first word: cheaper than going through its address. */
static always_inline void *
tls_self_word(void)
{
	void *p;

	__asm__ volatile(
		"movq self_tls@gottpoff(%%rip), %0\n\t"
		"movq %%fs:(%0), %0"
		: "=r"(p));
	return p;
}

#endif
