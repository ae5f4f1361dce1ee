/* SPDX-License-Identifier: MIT */
/* See real.h. */
#define _GNU_SOURCE 1
#include "real.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "say.h"

/*
 * Weak: the audit of a program allows a weak dlsym, which libweft has, too, and
 * refuses a strong one, by which a program could reach anything.
 */
extern void *dlsym(void *restrict handle, const char *restrict name)
    __attribute__((__weak__));

struct real_calls real_calls;

/*
 * dlsym prefers the newest version of a name, so the condition variables are
 * not those of an early glibc. The last one of the table is stored last: see
 * real().
 */
static void *
find(const char *name)
{
	void *fn = dlsym ? dlsym(RTLD_NEXT, name) : NULL;

	if (!fn) {
		say("weft-hooks: libc has no %s\n", name);
		_exit(127);
	}
	return fn;
}

void
real_find(void)
{
#define F(result, name, args) \
	real_calls.name = (result (*) args)find(#name);
	REAL_CALLS(F)
#undef F
}

__attribute__((__constructor__(101))) static void
find_early(void)
{
	real();
}
