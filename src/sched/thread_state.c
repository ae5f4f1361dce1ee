/* SPDX-License-Identifier: MIT */
/* Where a thread keeps what goroutines carry. See thread_state.h. */
#include "thread_state.h"

#include "fatal.h"
#include "weft.h"

extern int *__errno_location(void) __attribute__((__weak__));
extern struct cxx_state *__cxa_get_globals(void) __attribute__((__weak__));

carry_source carry_cxx;

/*
 * A static glibc has it only in programs that refer to it strongly. Then
 * nobody can have looked at errno, but by way of us.
 */
void
carry_find(struct carried_at *at)
{
	static int nobody_looks;

	at->error = __errno_location ? __errno_location() : &nobody_looks;
	at->cxx = NULL;
	if (carry_has_cxx())
		carry_ask(at);
}

void
carry_ask(struct carried_at *at)
{
	cxx_globals *globals = a_load_acq(&carry_cxx); /* pairs with found */

	at->cxx = globals();
}

/* The first one stays: a goroutine takes one state along. */
static void
found(cxx_globals *globals)
{
	/* pairs with carry_ask: the library is ready for all */
	if (globals)
		a_cas_acqrel(&carry_cxx, NULL, globals);
}

void
carry_look(void)
{
	struct carried_at at;
	int error;

	if (carry_has_cxx())
		return;
	if (__cxa_get_globals) {
		found(__cxa_get_globals);
		return;
	}
	carry_find(&at);
	error = *at.error;
	found((cxx_globals *)cxx_find());
	carry_find(&at);
	*at.error = error;
}

public void
weft_cxx_loaded(void)
{
	carry_look();
}

/* A constructor of a library, or of the program, which includes weft.h. */
public void
weft_cxx_(void *(*globals)(void))
{
	if (carry_has_cxx())
		return;
	if ((void *)globals != (void *)__cxa_get_globals)
		cxx_keep((void *)globals);
	found((cxx_globals *)(void *)globals);
}

public int *
weft_errno_(void)
{
	if (!__errno_location)
		fatal("errno: link this static program with "
		    "-Wl,-u,__errno_location (pkg-config --static says so)");
	return __errno_location();
}
