/* SPDX-License-Identifier: MIT */
/* Flags that goroutines raise and wait for, without what is tested. */
#ifndef FLAG_H
#define FLAG_H

#include <stdbool.h>

#include <weft.h>

static inline void
raise_flag(bool *flag)
{
	__atomic_store_n(flag, true, __ATOMIC_RELEASE);
}

static inline bool
is_up(bool *flag)
{
	return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

static inline void
until_up(bool *flag)
{
	while (!is_up(flag))
		weft_yield();
}

#endif
