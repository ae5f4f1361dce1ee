/* SPDX-License-Identifier: MIT */
/*
 * The poller on epoll. It is woken through an eventfd in the set, which is
 * edge-triggered: each write to it is an event, so it need not be read.
 *
 * Both have high numbers (see own_fds.c). If the program closes one all the
 * same that is a fatal error: a thread that sleeps here could not be woken any
 * more, and no new poller can be made while a thread sleeps in the old one.
 *
 * epoll_pwait2 (Linux 5.11) takes nanoseconds. Without it timeouts are rounded
 * up to milliseconds: late, never early.
 */
#include "poller.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>

#include "fatal.h"
#include "fdcall.h"
#include "os.h"
#include "valgrind.h"

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

#define WAKE_TAG UINT64_MAX
#define NS_PER_MS INT64_C(1000000)

enum {
	EFD_FLAGS = 02000000 | 04000,	/* EFD_CLOEXEC | EFD_NONBLOCK */
	WATCHED = (int)(EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI),
	MS_MAX = 1000 * 1000,
	MOMENT_NS = 300 * 1000 * 1000
};

/* constant after os_poller_open; -1: not open, for which every call fails */
static long epoll_fd = -1, wake_fd = -1;

static a32 no_pwait2;		/* the kernel refused it once */

static int
control_raw(int op, int fd, uint64_t tag)
{
	struct epoll_event e = { .events = (uint32_t)WATCHED | EPOLLET };

	e.data.u64 = tag;
	return (int)syscall6(SYS_epoll_ctl, epoll_fd, op, fd, (long)&e, 0, 0);
}

/*
 * The eventfd is in the set: if adding it fails with -EEXIST both numbers are
 * what they were, and nothing has changed. A program that closes all its
 * descriptors may be about to exec, so it is given MOMENT_NS for that.
 */
void
os_poller_check(void)
{
	if (likely(control_raw(EPOLL_CTL_ADD, (int)wake_fd, WAKE_TAG) ==
	    -EEXIST))
		return;
	os_sleep_ns(MOMENT_NS);
	fatal("descriptors %ld and %ld are weft's own, and the program has "
	    "closed one of them", epoll_fd, wake_fd);
}

/*
 * -EBADF and -EINVAL mean that our descriptors may be closed. The kernel does
 * not return them for a number that was just looked at, and seldom otherwise.
 */
static int
control(int op, int fd, uint64_t tag)
{
	int err = control_raw(op, fd, tag);

	if (unlikely(err == -EBADF || err == -EINVAL) && epoll_fd >= 0)
		os_poller_check();
	return err;
}

static void
shut(long *fd)
{
	if (*fd >= 0)
		fd_close((int)*fd);
	*fd = -1;
}

int
os_poller_open(void)
{
	int err;

	/* Valgrind has no epoll_pwait2, and complains at each call. */
	if (vg_running())
		a_store_relaxed(&no_pwait2, 1);
	epoll_fd = os_fd_move_high(syscall6(SYS_epoll_create1, EPOLL_CLOEXEC,
	    0, 0, 0, 0, 0));
	if (epoll_fd < 0)
		return (int)epoll_fd;
	wake_fd = os_fd_move_high(syscall6(SYS_eventfd2, 0, EFD_FLAGS, 0, 0, 0,
	    0));
	err = wake_fd < 0 ? (int)wake_fd :
	    control_raw(EPOLL_CTL_ADD, (int)wake_fd, WAKE_TAG);
	if (err)
		os_poller_close();
	return err;
}

void
os_poller_close(void)
{
	shut(&wake_fd);
	shut(&epoll_fd);
}

void
os_poller_fds(int fd[2])
{
	fd[0] = (int)epoll_fd;
	fd[1] = (int)wake_fd;
}

int
os_poller_add(int fd, uint64_t tag)
{
	return control(EPOLL_CTL_ADD, fd, tag);
}

int
os_poller_remove(int fd)
{
	return control(EPOLL_CTL_DEL, fd, 0);
}

int
os_poller_retag(int fd, uint64_t tag)
{
	return control(EPOLL_CTL_MOD, fd, tag);
}

/*
 * A file that is in the set cannot be added again, and nothing changes.
 * (EPOLL_CTL_MOD would report it again.) One that was not is removed at once;
 * an event of it that a thread fetches meanwhile counts as a wake-up.
 */
bool
os_poller_has(int fd)
{
	if (control(EPOLL_CTL_ADD, fd, WAKE_TAG) == -EEXIST)
		return true;
	os_poller_remove(fd);
	return false;
}

static uint32_t
translate(uint32_t events)
{
	uint32_t what = 0;

	if (events & (EPOLLIN | EPOLLPRI))
		what |= POLLER_IN;
	if (events & EPOLLOUT)
		what |= POLLER_OUT;
	if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		what |= POLLER_HUP;
	if (events & EPOLLPRI)
		what |= POLLER_URGENT;
	return what;
}

static long
wait_ms(struct epoll_event *ev, int64_t timeout_ns)
{
	int64_t ms = timeout_ns / NS_PER_MS + (timeout_ns % NS_PER_MS > 0);

	if (timeout_ns < 0)
		ms = -1;
	else if (ms > MS_MAX)
		ms = MS_MAX;
	return syscall6(SYS_epoll_pwait, epoll_fd, (long)ev, POLLER_MAX,
	    (long)ms, 0, 0);
}

static long
wait_ns(struct epoll_event *ev, int64_t timeout_ns)
{
	struct timespec ts = {
		.tv_sec = timeout_ns / 1000000000,
		.tv_nsec = timeout_ns % 1000000000
	};
	long n;

	if (timeout_ns == 0 || timeout_ns == FOREVER ||
	    a_load_relaxed(&no_pwait2))
		return wait_ms(ev, timeout_ns);
	n = syscall6(SYS_epoll_pwait2, epoll_fd, (long)ev, POLLER_MAX,
	    (long)&ts, 0, 0);
	if (n != -ENOSYS)
		return n;
	a_store_relaxed(&no_pwait2, 1);
	return wait_ms(ev, timeout_ns);
}

int
os_poller_wait(struct poller_event *out, int64_t timeout_ns, bool *woken)
{
	struct epoll_event ev[POLLER_MAX];
	long got = wait_ns(ev, timeout_ns);
	int n = 0;

	if (unlikely(got < 0 && got != -EINTR))
		os_poller_check();
	*woken = false;
	for (long i = 0; i < got; i++) {
		if (ev[i].data.u64 == WAKE_TAG) {
			*woken = true;
			continue;
		}
		out[n].tag = ev[i].data.u64;
		out[n++].what = translate(ev[i].events);
	}
	return n;
}

void
os_poller_wake(void)
{
	uint64_t one = 1;

	if (unlikely(fd_write((int)wake_fd, &one, sizeof one) != sizeof one))
		os_poller_check();
}
