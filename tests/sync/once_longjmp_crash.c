/* SPDX-License-Identifier: MIT */
/*
 * A function that weft has called is left by longjmp, and then what is still
 * busy is used: that is said, and no goroutine is left waiting for itself.
 */
#include <setjmp.h>

#include <weft.h>

#include "t.h"

#define ITSELF "would wait for itself: the function calls it again, or was " \
	"left by longjmp"
#define IN_CALL "it is in a blocking call that it announced, and uses " \
	"weft there, or has left " \
	"it by longjmp"

static weft_once once;
static jmp_buf back;

static void
jumps(void *arg)
{
	(void)arg;
	longjmp(back, 1);
}

static void *
jumps_too(void *arg)
{
	jumps(arg);
	return NULL;
}

static void
jump_once(void)
{
	if (!setjmp(back))
		weft_once_do(&once, jumps, NULL);
	weft_once_do(&once, jumps, NULL);
}

static void
jump_blocking(void)
{
	if (!setjmp(back))
		weft_blocking(jumps_too, NULL);
}

DIES(once_again_after_a_jump, 1, "goroutine 1 \"\" " ITSELF)
{
	jump_once();
}

DIES(once_again_on_a_plain_thread, 0, ITSELF) { jump_once(); }

DIES(wait_after_a_jump, 1, "the main goroutine: " IN_CALL)
{
	jump_blocking();
	weft_sleep(WEFT_MS);
}

DIES(call_after_a_jump, 1, IN_CALL)
{
	jump_blocking();
	jump_blocking();
}

static weft_waitgroup wg;

DIES(end_after_a_jump, 1, "(jump_blocking, spawned at " __FILE__
    ":75): " IN_CALL)
{
	weft_waitgroup_add(&wg, 1);
	weft_go(jump_blocking);
	weft_waitgroup_wait(&wg);
}
