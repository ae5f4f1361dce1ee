/* SPDX-License-Identifier: MIT */
/* Limits of what the kernel gives to this process: memory, descriptors. */
#ifndef MEMORY_LIMIT_H
#define MEMORY_LIMIT_H

#include <sys/mman.h>
#include <sys/resource.h>

#include "t.h"

/* RLIM_INFINITY: as much as is allowed. */
static inline void
limit_resource(int which, rlim_t to)
{
	struct rlimit r;

	EQ(getrlimit(which, &r), 0);
	r.rlim_cur = to < r.rlim_max ? to : r.rlim_max;
	EQ(setrlimit(which, &r), 0);
}

/* No more memory than these bytes of address space. */
static inline void
memory_limit(rlim_t bytes)
{
	limit_resource(RLIMIT_AS, bytes);
}

static inline void
memory_unlimit(void)
{
	limit_resource(RLIMIT_AS, RLIM_INFINITY);
}

/* Skips where a limit cannot be had, or is not obeyed (an emulator). */
static inline void
need_memory_limit(void)
{
	void *p;

	if (T_SANITIZED)
		t_skip("a sanitizer needs memory");
	memory_limit(0);
	p = mmap(NULL, 16 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memory_unlimit();
	if (p != MAP_FAILED)
		t_skip("RLIMIT_AS is not obeyed");
}

#endif
