/* SPDX-License-Identifier: MIT */
/*
 * select and pselect: by poll. The sets are copied before the kernel looks at
 * them, since it clears those that have nothing, and they say what to wait for.
 *
 * A set may lie where there is no memory, for which the kernel has an error and
 * we would fault: so the kernel copies, too.
 */
#define _GNU_SOURCE 1
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/uio.h>
#include <unistd.h>

#include "counts.h"
#include "real.h"
#include "timespan.h"
#include "wait.h"

enum {
	SELECT_MAX = 65536,	/* more are the kernel's: weft_poll refuses */
	KINDS = 3,		/* to read, to write, exceptions */
	WORD = sizeof(unsigned long),
	WORD_BITS = WORD * 8
};

struct sets {
	/* constant */
	int n;
	fd_set *set[KINDS];	/* of the caller, or NULL */
	size_t bytes;		/* of a set, as the kernel rounds it */
	unsigned long *copy[KINDS];
	/* the call itself */
	struct pollfd *fds;	/* those that are in a set */
	nfds_t n_fds;
};

/* Copies by the kernel, from the caller's sets or back: false if it cannot. */
static bool
copy_sets(struct sets *s, bool back)
{
	struct iovec ours[KINDS], theirs[KINDS];
	unsigned long n = 0;
	ssize_t done;

	for (int i = 0; i < KINDS; i++) {
		if (!s->set[i])
			continue;
		ours[n] = (struct iovec){ s->copy[i], s->bytes };
		theirs[n++] = (struct iovec){ s->set[i], s->bytes };
	}
	done = back ? process_vm_writev(getpid(), ours, n, theirs, n, 0) :
	    process_vm_readv(getpid(), ours, n, theirs, n, 0);
	return done == (ssize_t)(n * s->bytes);
}

static bool
has(const struct sets *s, int kind, int fd)
{
	return s->copy[kind][fd / WORD_BITS] >> fd % WORD_BITS & 1;
}

static void
list_sets(struct sets *s)
{
	static const short events[KINDS] = { POLLIN, POLLOUT, POLLPRI };

	for (int fd = 0; fd < s->n; fd++) {
		short wanted = 0;

		for (int i = 0; i < KINDS; i++)
			if (has(s, i, fd))
				wanted |= events[i];
		if (wanted)
			s->fds[s->n_fds++] = (struct pollfd){ fd, wanted, 0 };
	}
}

/* False: memory was refused, or the sets are not there. */
static bool
open_sets(struct sets *s)
{
	size_t words = ((size_t)s->n + WORD_BITS - 1) / WORD_BITS;
	char *p = calloc(1, KINDS * words * WORD +
	    (size_t)s->n * sizeof *s->fds + 1);

	if (!p)
		return false;
	s->bytes = words * WORD;
	for (int i = 0; i < KINDS; i++)
		s->copy[i] = (void *)(p + (size_t)i * s->bytes);
	s->fds = (void *)(p + KINDS * s->bytes);
	if (copy_sets(s, false))
		return true;
	free(p);
	return false;
}

/* Asks again after a signal, as poll_now. */
static long
select_now(int n, fd_set *const set[KINDS])
{
	struct timeval zero;
	int before = errno;
	long r;

	do {
		zero = (struct timeval){0};
		r = raw_result(real()->select(n, set[0], set[1], set[2],
		    &zero));
	} while (r == -EINTR);
	errno = before;
	return r;
}

/* The kernel's call, announced. */
static long
announced_select(int n, fd_set *const set[KINDS], const struct timespec *ts,
    const sigset_t *mask)
{
	long r;

	wait_announce();
	r = raw_result(real()->pselect(n, set[0], set[1], set[2], ts, mask));
	wait_announced();
	return r;
}

/* The same for what is left of the time. */
static long
select_rest(struct sets *s, int64_t when)
{
	int64_t left = when - weft_now();
	struct timespec ts = { left / WEFT_SECOND, left % WEFT_SECOND };

	if (left < 0)
		ts = (struct timespec){0};
	return copy_sets(s, true) ? announced_select(s->n, s->set,
	    when == WEFT_NEVER ? NULL : &ts, NULL) : -EFAULT;
}

/*
 * poll tells of an end and of errors, whatever is asked for; select does not
 * where only exceptions are: these are not waited for again.
 */
static void
drop_unwanted(struct sets *s)
{
	for (nfds_t i = 0; i < s->n_fds; i++)
		if (s->fds[i].revents && s->fds[i].events == POLLPRI)
			s->fds[i].fd = -1;
}

/* Waits until one of them has an event, or `when`: as select. */
static long
select_parked(struct sets *s, int64_t when)
{
	long r;

	for (;;) {
		count(parks);
		r = weft_poll(s->fds, s->n_fds, when);
		if (r < 0)
			return select_rest(s, when);
		if (!copy_sets(s, true))
			return -EFAULT;
		r = select_now(s->n, s->set);
		if (r || (when != WEFT_NEVER && weft_now() >= when))
			return r;
		drop_unwanted(s);
	}
}

/* The sets are open. */
static long
select_until(struct sets *s, int64_t when, const void *caller)
{
	long r = select_now(s->n, s->set);
	bool kept;

	if (r == 0) {
		list_sets(s);
		kept = wait_keep_thread(caller);
		r = select_parked(s, when);
		wait_kept_thread(kept);
	}
	return r;
}

/* False: the call is the system's. */
static bool
select_ours(int n, fd_set *set[KINDS], const struct timespec *ts,
    int64_t when, const void *caller, long *r)
{
	struct sets s = { .n = n, .set = { set[0], set[1], set[2] } };

	if (is_now(ts)) {
		*r = select_now(n, set);
		return true;
	}
	if (n < 0 || n > SELECT_MAX || (ts && !is_time(ts)) ||
	    wait_how() == WAIT_REAL || !open_sets(&s))
		return false;
	*r = select_until(&s, when, caller);
	free(s.copy[0]);
	return true;
}

/* What is left of the time, as Linux tells it. */
static void
set_left(struct timeval *tv, int64_t when)
{
	int64_t left = when - weft_now();

	if (left < 0)
		left = 0;
	tv->tv_sec = left / WEFT_SECOND;
	tv->tv_usec = left % WEFT_SECOND / WEFT_US;
}

public int
select(int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict ex,
    struct timeval *restrict tv)
{
	fd_set *set[KINDS] = { in, out, ex };
	struct timespec ts = {0};
	int64_t when;
	long r;

	if (!on_goroutine())
		return real()->select(n, in, out, ex, tv);
	if (tv)
		ts = (struct timespec){ tv->tv_sec, tv->tv_usec * 1000L };
	when = end_of(tv ? &ts : NULL);
	if (!select_ours(n, set, tv ? &ts : NULL, when,
	    __builtin_return_address(0), &r))
		return real()->select(n, in, out, ex, tv);
	if (tv && r >= 0)
		set_left(tv, when);
	return (int)libc_result(r);
}

public int
pselect(int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict ex,
    const struct timespec *restrict ts, const sigset_t *restrict mask)
{
	fd_set *set[KINDS] = { in, out, ex };
	long r;

	if (!on_goroutine())
		return real()->pselect(n, in, out, ex, ts, mask);
	if (mask && wait_how() == WAIT_PARK)
		r = announced_select(n, set, ts, mask);
	else if (mask || !select_ours(n, set, ts, end_of(ts),
	    __builtin_return_address(0), &r))
		return real()->pselect(n, in, out, ex, ts, mask);
	return (int)libc_result(r);
}
