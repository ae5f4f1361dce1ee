/* SPDX-License-Identifier: MIT */
/*
 * What the hooks use of libweft: its public interface, and two names that are
 * only for them, weft_fd_call_ and weft_held_park_.
 * All references are weak, since the library may be preloaded into a program
 * that has no libweft: there no caller is on a goroutine, and the hooks are the
 * system's calls.
 */
#ifndef CORE_H
#define CORE_H

#include <errno.h>

#include "defs.h"
#include "weft.h"

#pragma weak weft_blocking_enter
#pragma weak weft_blocking_leave
#pragma weak weft_can_park
#pragma weak weft_close
#pragma weak weft_cond_signal
#pragma weak weft_cond_wait
#pragma weak weft_deadline
#pragma weak weft_errno_
#pragma weak weft_event_reset
#pragma weak weft_event_set
#pragma weak weft_event_wait
#pragma weak weft_event_wait_until
#pragma weak weft_fd_call_
#pragma weak weft_fd_replaced
#pragma weak weft_gls_get
#pragma weak weft_gls_set
#pragma weak weft_held_park_
#pragma weak weft_mutex_lock
#pragma weak weft_mutex_unlock
#pragma weak weft_now
#pragma weak weft_poll
#pragma weak weft_self_id
#pragma weak weft_self_name
#pragma weak weft_sleep_until
#pragma weak weft_spawn
#pragma weak weft_thread_hold
#pragma weak weft_thread_release
#pragma weak weft_yield

/* On a goroutine; maybe in a signal handler, or in an announced call. */
static always_inline bool
on_goroutine(void)
{
	return weft_self_id && weft_self_id() != 0;
}

/*
 * The process that this library was loaded in, or forked to; false in the child
 * of a vfork, which has the memory of its parent, its goroutine, and none of
 * its threads. A system call.
 */
bool is_own_process(void);

/* On a goroutine, both. As libc returns it: -1 and errno for -errno; the last
 * step of a hook. */
long libc_result(long r);
/* The other way round, right after a call of libc. */
long raw_result(long r);

#endif
