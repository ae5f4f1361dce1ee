/* SPDX-License-Identifier: MIT */
/*
 * On the way to a wait. A hook first tries its call without waiting, which
 * costs nothing more than the call; only if it has to wait it asks how:
 *
 *	WAIT_REAL	the caller makes the system's call, which blocks: it is
 *			not on a goroutine, in a signal handler, in an announced
 *			call, the runtime has ended, or the hooks are off
 *	WAIT_PARK	it may park
 */
#ifndef WAIT_H
#define WAIT_H

#include <poll.h>

#include "core.h"
#include "counts.h"

enum wait_how { WAIT_REAL, WAIT_PARK };

/* A few system calls. No lock of the hooks is held. */
enum wait_how wait_how(void);

/*
 * Parks until fd has one of these events of poll(2), or `when`: 0; -ETIMEDOUT;
 * -EBADF: it was closed; another -errno: it cannot be waited for, and the
 * caller makes the system's call. wait_how has said WAIT_PARK. `caller` is
 * where the hook was called from.
 */
int wait_fd(int fd, short events, int64_t when, const void *caller);

/*
 * poll(2) without waiting. A signal that arrives meanwhile makes the kernel's
 * fail with EINTR if it has found nothing: that is asked again, since it may be
 * weft's, to preempt, of which the program knows nothing. errno as poll(2).
 */
int poll_now(struct pollfd *fds, nfds_t n);

/*
 * Between these two the goroutine may block its thread in a call of the system.
 * Only after WAIT_PARK. Inlined, since libweft learns by the caller's address
 * which calls take long: each hook is a place of its own.
 */
static always_inline void
wait_announce(void)
{
	count(announced);
	weft_blocking_enter();
}

static always_inline void
wait_announced(void)
{
	weft_blocking_leave();
}

/*
 * Between these two it parks, and comes back on its thread if its caller needs
 * that: the result of the first is the second's argument.
 */
bool wait_keep_thread(const void *caller);
void wait_kept_thread(bool kept);

#endif
