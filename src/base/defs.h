/* SPDX-License-Identifier: MIT */
/*
 * Definitions for every room: attributes, container_of, the cache line.
 * No threads and no kernel here.
 */
#ifndef DEFS_H
#define DEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

#define noreturn	__attribute__((__noreturn__))
#define noinline	__attribute__((__noinline__))
#define always_inline	inline __attribute__((__always_inline__))
#define cold		__attribute__((__cold__, __noinline__))
#define printf_like(f, a) __attribute__((__format__(__printf__, f, a)))

/*
 * Marks a function of the library that calls one of the user's. During that
 * call it holds nothing that belongs to the thread. See text.h.
 */
#define calls_out	__attribute__((__section__("weft_calls"), __noinline__))

/* What weft.h declares is visible; everything else is -fvisibility=hidden. */
#define public		__attribute__((visibility("default")))

enum { CACHE_LINE = 64 };
#define cache_aligned	__attribute__((aligned(CACHE_LINE)))

#define container_of(p, type, member) \
	((type *)(void *)((char *)(p) - offsetof(type, member)))

#define countof(a)	(sizeof(a) / sizeof((a)[0]))

static inline size_t
round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

#endif
