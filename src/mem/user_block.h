/* SPDX-License-Identifier: MIT */
/*
 * Blocks of the library that hold what users gave it: elements of channels,
 * values of contexts and of goroutines, arguments of timers. A collector
 * (collect/collector.c) has to find them. So in a program that has one they are
 * on a list, behind a header; in other programs they are malloc's.
 */
#ifndef USER_BLOCK_H
#define USER_BLOCK_H

#include <stddef.h>

#include "defs.h"

/* As malloc, as calloc of one object, aligned to a cache line (bytes is a
 * multiple of one), and as free. Not inside. */
void *user_block_alloc(size_t bytes);
void *user_block_zalloc(size_t bytes);
void *user_block_aligned(size_t bytes);
void user_block_free(void *p);

/*
 * Before the first block is allocated: all are listed from now on. False if it
 * is too late.
 */
bool user_blocks_list(void);

/* Until the release none is allocated or freed. */
void user_blocks_hold(void);
void user_blocks_release(void);

/* Held: calls fn with each. */
void user_blocks_each(void (*fn)(void *lo, void *hi, void *arg), void *arg);

/* In the child of a fork. */
void user_blocks_forked(void);

#endif
