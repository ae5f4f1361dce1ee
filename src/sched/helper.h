/* SPDX-License-Identifier: MIT */
/*
 * Helpers: threads of the runtime that are no Ms and run no goroutine, beside
 * the monitor. They report, and so must answer when all Ms are stuck. They
 * wake no goroutine, so they are no reason against a deadlock (deadlock.c). One
 * changes the number of Ps, and says so while it may wake one (sync/procs.c).
 */
#ifndef HELPER_H
#define HELPER_H

#include "defs.h"

/*
 * Starts one with all signals blocked but those of crashes, which runs fn(arg)
 * and ends. 0 or -errno. Makes a thread: not inside, and no lock held.
 */
int helper_start(void (*fn)(void *arg), void *arg);

/* Counts n more threads as helpers, which a library of weft's has started. */
void helper_count_more(int n);

/* In the child of a fork: there are none. */
void helper_forked(void);

/* How many there are now, or fewer: one that begins may not be counted yet,
 * one that ends is not counted any more. */
uint32_t helper_count(void);

#endif
