/* SPDX-License-Identifier: MIT */
/* Where a thread keeps what goroutines carry. See carry.h. */
#include "carry.h"

#include "fatal.h"
#include "weft.h"

extern int *__errno_location(void) __attribute__((__weak__));
extern struct cxx_state *__cxa_get_globals(void) __attribute__((__weak__));

/*
 * A static glibc has it only in programs that refer to it strongly. Then
 * nobody can have looked at errno, but by way of us.
 */
void
carry_find(struct carried_at *at)
{
	static int nobody_looks;

	at->error = __errno_location ? __errno_location() : &nobody_looks;
	at->cxx = __cxa_get_globals ? __cxa_get_globals() : NULL;
}

public int *
weft_errno_(void)
{
	if (!__errno_location)
		fatal("errno: link this static program with "
		    "-Wl,-u,__errno_location (pkg-config --static says so)");
	return __errno_location();
}
