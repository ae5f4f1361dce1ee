/* SPDX-License-Identifier: MIT */
/* See wait.h. */
#define _GNU_SOURCE 1
#include "wait.h"

#include "goroutine.h"
#include "module.h"
#include "real.h"

enum wait_how
wait_how(void)
{
	return on_goroutine() && weft_can_park() && !goroutine_is_off() &&
	    is_own_process() ? WAIT_PARK : WAIT_REAL;
}

int
poll_now(struct pollfd *fds, nfds_t n)
{
	int r, before = errno;

	do {
		r = real()->poll(fds, n, 0);
	} while (r < 0 && errno == EINTR);
	if (r >= 0)
		errno = before;
	return r;
}

bool
wait_keep_thread(const void *caller)
{
	bool keep = module_keeps_thread(caller);

	if (unlikely(keep)) {
		count(kept_threads);
		weft_thread_hold();
	}
	return keep;
}

void
wait_kept_thread(bool kept)
{
	if (unlikely(kept))
		weft_thread_release();
}

int
wait_fd(int fd, short events, int64_t when, const void *caller)
{
	struct pollfd p = { .fd = fd, .events = events };
	bool kept = wait_keep_thread(caller);
	int n;

	count(parks);
	n = weft_poll(&p, 1, when);
	wait_kept_thread(kept);
	if (n < 0)
		return n;
	return n == 0 ? -ETIMEDOUT : p.revents & POLLNVAL ? -EBADF : 0;
}
