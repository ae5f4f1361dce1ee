/* SPDX-License-Identifier: MIT */
/* Where a thread keeps what goroutines take along. See thread_state.h. */
#include "thread_state.h"

#include "fatal.h"
#include "weft.h"

extern int *__errno_location(void) __attribute__((__weak__));
extern struct cxx_state *__cxa_get_globals(void) __attribute__((__weak__));

thread_state_cxx_fn thread_state_cxx;

/*
 * A static glibc has __errno_location only in programs that refer to it
 * strongly. In others no code but ours can have read errno.
 */
void
thread_state_locate(struct thread_state_at *at)
{
	static int no_errno;

	at->error = __errno_location ? __errno_location() : &no_errno;
	at->cxx = NULL;
	if (thread_state_has_cxx())
		thread_state_locate_cxx(at);
}

void
thread_state_locate_cxx(struct thread_state_at *at)
{
	/* pairs with found */
	cxx_globals *globals = a_load_acq(&thread_state_cxx);

	at->cxx = globals();
}

/* The first one stays: a goroutine takes one state along. */
static void
found(cxx_globals *globals)
{
	/* pairs with thread_state_locate_cxx: the library is ready for all */
	if (globals)
		a_cas_acqrel(&thread_state_cxx, NULL, globals);
}

void
thread_state_find_cxx(void)
{
	struct thread_state_at at;
	int error;

	if (thread_state_has_cxx())
		return;
	if (__cxa_get_globals) {
		found(__cxa_get_globals);
		return;
	}
	thread_state_locate(&at);
	error = *at.error;
	found((cxx_globals *)cxx_find());
	thread_state_locate(&at);
	*at.error = error;
}

public void
weft_cxx_loaded(void)
{
	thread_state_find_cxx();
}

/* Called by a constructor of C++ code that includes weft.h. */
public void
weft_cxx_(void *(*globals)(void))
{
	if (thread_state_has_cxx())
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
