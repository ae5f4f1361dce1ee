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
	char *base;
	long off;

	__asm__ volatile(
		"mrs %0, tpidr_el0\n\t"
		"adrp %1, :gottprel:self_tls\n\t"
		"ldr %1, [%1, #:gottprel_lo12:self_tls]"
		: "=&r"(base), "=&r"(off));
	return base + off;
}

/* The object's first word. */
static always_inline void *
tls_self_word(void)
{
	void *p;

	__asm__ volatile("ldr %0, [%1]" : "=r"(p) : "r"(tls_self()));
	return p;
}

#endif
