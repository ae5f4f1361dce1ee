/* SPDX-License-Identifier: MIT */
/*
 * poll, ppoll, epoll_wait, epoll_pwait: the kernel is asked without waiting; if
 * it knows of nothing, the goroutine parks until it would, and the kernel is
 * asked again. A call with a signal mask is the kernel's, announced.
 */
#define _GNU_SOURCE 1
#include <poll.h>
#include <sys/epoll.h>

#include "counts.h"
#include "real.h"
#include "timespan.h"
#include "wait.h"

enum { POLL_MAX = 65536 };	/* more are the kernel's: weft_poll refuses */

/* A number of milliseconds; negative: never, NULL. */
static const struct timespec *
of_ms(int ms, struct timespec *ts)
{
	if (ms < 0)
		return NULL;
	ts->tv_sec = ms / 1000;
	ts->tv_nsec = ms % 1000 * (long)WEFT_MS;
	return ts;
}

/* ---- poll ---- */

/* The kernel's call, announced; only after WAIT_PARK. */
static int
announced_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *ts,
    const sigset_t *mask)
{
	int r;

	wait_announce();
	r = real()->ppoll(fds, n, ts, mask);
	wait_announced();
	return r;
}

/* It has asked already, and may park. */
static int
parked_poll(struct pollfd *fds, nfds_t n, const struct timespec *ts,
    const void *caller)
{
	int64_t when = end_of(ts);
	bool kept;
	int r;

	if (n > POLL_MAX)
		return announced_ppoll(fds, n, ts, NULL);
	kept = wait_keep_thread(caller);
	count(parks);
	r = weft_poll(fds, n, when);
	wait_kept_thread(kept);
	return r < 0 ? announced_ppoll(fds, n, ts, NULL) : r;
}

static int
poll_until(struct pollfd *fds, nfds_t n, const struct timespec *ts,
    const void *caller)
{
	int r = poll_now(fds, n);

	if (r != 0 || is_now(ts))
		return r;
	if (wait_how() == WAIT_REAL)
		return real()->ppoll(fds, n, ts, NULL);
	return parked_poll(fds, n, ts, caller);
}

static int
poll_ms(struct pollfd *fds, nfds_t n, int ms, const void *caller)
{
	struct timespec ts;

	if (!on_goroutine())
		return real()->poll(fds, n, ms);
	return poll_until(fds, n, of_ms(ms, &ts), caller);
}

public int
poll(struct pollfd *fds, nfds_t n, int ms)
{
	return poll_ms(fds, n, ms, __builtin_return_address(0));
}

static int
poll_masked(struct pollfd *fds, nfds_t n, const struct timespec *ts,
    const sigset_t *mask, const void *caller)
{
	if (!on_goroutine() || (ts && !is_time(ts)))
		return real()->ppoll(fds, n, ts, mask);
	if (!mask)
		return poll_until(fds, n, ts, caller);
	return wait_how() == WAIT_REAL ? real()->ppoll(fds, n, ts, mask) :
	    announced_ppoll(fds, n, ts, mask);
}

public int
ppoll(struct pollfd *fds, nfds_t n, const struct timespec *ts,
    const sigset_t *mask)
{
	return poll_masked(fds, n, ts, mask, __builtin_return_address(0));
}

/* ---- epoll ---- */

static int
announced_epoll(int ep, struct epoll_event *e, int n, int ms,
    const sigset_t *mask)
{
	int r;

	wait_announce();
	r = real()->epoll_pwait(ep, e, n, ms, mask);
	wait_announced();
	return r;
}

/* It has asked already, and may park. An epoll can be waited for, too. */
static int
parked_epoll(int ep, struct epoll_event *e, int n, int ms, const void *caller)
{
	struct timespec ts;
	int64_t when = end_of(of_ms(ms, &ts));
	int r;

	do {
		r = wait_fd(ep, POLLIN, when, caller);
		if (r == -EBADF)
			return (int)libc_result(r);
		if (r && r != -ETIMEDOUT)
			return announced_epoll(ep, e, n, ms, NULL);
		r = real()->epoll_wait(ep, e, n, 0);
	} while (r == 0 && (when == WEFT_NEVER || weft_now() < when));
	return r;
}

static int
epoll_masked(int ep, struct epoll_event *e, int n, int ms,
    const sigset_t *mask, const void *caller)
{
	int r = mask ? 0 : real()->epoll_wait(ep, e, n, 0);

	if (!mask && (r != 0 || ms == 0))
		return r;
	if (wait_how() == WAIT_REAL)
		return real()->epoll_pwait(ep, e, n, ms, mask);
	return mask ? announced_epoll(ep, e, n, ms, mask) :
	    parked_epoll(ep, e, n, ms, caller);
}

public int
epoll_wait(int ep, struct epoll_event *e, int n, int ms)
{
	if (!on_goroutine())
		return real()->epoll_wait(ep, e, n, ms);
	return epoll_masked(ep, e, n, ms, NULL, __builtin_return_address(0));
}

public int
epoll_pwait(int ep, struct epoll_event *e, int n, int ms, const sigset_t *mask)
{
	if (!on_goroutine())
		return real()->epoll_pwait(ep, e, n, ms, mask);
	return epoll_masked(ep, e, n, ms, mask, __builtin_return_address(0));
}

/* ---- fortified ---- */

noreturn void __chk_fail(void);
public int __poll_chk(struct pollfd *fds, nfds_t n, int ms, size_t room);
public int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *ts,
    const sigset_t *mask, size_t room);

public int
__poll_chk(struct pollfd *fds, nfds_t n, int ms, size_t room)
{
	if (room / sizeof *fds < n)
		__chk_fail();
	return poll_ms(fds, n, ms, __builtin_return_address(0));
}

public int
__ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *ts,
    const sigset_t *mask, size_t room)
{
	if (room / sizeof *fds < n)
		__chk_fail();
	return poll_masked(fds, n, ts, mask, __builtin_return_address(0));
}
