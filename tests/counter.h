/* SPDX-License-Identifier: MIT */
/* Counters that several threads change, in one order that all of them see. */
#ifndef COUNTER_H
#define COUNTER_H

static inline int
counter_get(const int *p)
{
	return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}

/* What it is then. */
static inline int
counter_add(int *p, int n)
{
	return __atomic_add_fetch(p, n, __ATOMIC_SEQ_CST);
}

static inline void
counter_set(int *p, int n)
{
	__atomic_store_n(p, n, __ATOMIC_SEQ_CST);
}

#endif
