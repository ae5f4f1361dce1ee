/* SPDX-License-Identifier: MIT */
/*
 * From descriptor to descriptor. The kernel may block in these calls, since
 * one end may be a file or blocking: they are announced. -EAGAIN does not say
 * which end is not ready, so both are polled.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "fdio.h"
#include "preempt.h"
#include "tsan_io.h"
#include "weft.h"

enum {
	ATOM = 16 * 1024,
	COPY_BYTES = 64 * 1024,
	SENDFILE_MAX = 1 << 30,
	SPLICE_NONBLOCK = 2	/* SPLICE_F_NONBLOCK */
};

struct pair {
	struct desc *from, *to;
	off_t *from_at, *to_at;
	size_t n;
	unsigned flags;
};

/* Within a call on both. Waits for the end that is not ready. */
static int
wait_for_one(struct pair *p)
{
	static const enum dir dirs[] = { DIR_IN, DIR_OUT };

	for (int i = 0; i < 2; i++) {
		struct desc *d = i ? p->to : p->from;
		uint32_t seen;

		if (a_load_relaxed(&d->kind) == KIND_FILE)
			continue;
		if (desc_try(d, dirs[i], &seen)) {
			if (fdio_ready_now(d, dirs[i]))
				continue;
			desc_drained(d, dirs[i], seen);
		}
		return desc_wait(d, dirs[i]);
	}
	return 0;
}

static long
pair_loop(struct pair *p, fdio_try *fn)
{
	for (;;) {
		long n;

		n = desc_limit_error(p->from, DIR_IN);
		if (!n)
			n = desc_limit_error(p->to, DIR_OUT);
		if (n)
			return n;
		n = fdio_blocking(fn, NULL, p);
		if (n == -EINTR)
			continue;
		if (n != -EAGAIN)
			return n;
		n = wait_for_one(p);
		if (n)
			return n;
	}
}

static long
pair_call(int from, int to, struct pair *p, fdio_try *fn)
{
	long n;

	tsan_io_release();
	checkpoint();
	n = desc_enter(from, &p->from);
	if (n)
		return n;
	n = desc_enter(to, &p->to);
	if (!n) {
		n = pair_loop(p, fn);
		desc_leave(p->to);
	}
	desc_leave(p->from);
	return tsan_io_acquire(n);
}

/* ---- without a signal ---- */

static long
mask(int how, const uint64_t *set, uint64_t *old)
{
	return syscall6(SYS_rt_sigprocmask, how, (long)set, (long)old,
	    sizeof *set, 0, 0);
}

/*
 * sendfile and splice have no flag against SIGPIPE. The kernel sends it to this
 * thread: so it is blocked, and taken out of the pending set, unless it was
 * pending before. An announced call stays on its thread.
 */
static long
without_sigpipe(fdio_try *fn, void *arg)
{
	static const struct timespec now;
	const uint64_t broken = UINT64_C(1) << (SIGPIPE - 1);
	uint64_t old = 0, pending = 0;
	long n;

	mask(SIG_BLOCK, &broken, &old);
	if (old & broken)
		syscall6(SYS_rt_sigpending, (long)&pending, sizeof pending, 0,
		    0, 0, 0);
	n = fn(NULL, arg);
	if (n == -EPIPE && !(pending & broken))
		syscall6(SYS_rt_sigtimedwait, (long)&broken, 0, (long)&now,
		    sizeof broken, 0, 0);
	if (!(old & broken))
		mask(SIG_SETMASK, &old, NULL);
	return n;
}

static bool
is_socket(const struct desc *d)
{
	return a_load_relaxed(&d->kind) <= KIND_SOCKET;
}

static bool
may_be_pipe(const struct desc *d)
{
	uint8_t kind = a_load_relaxed(&d->kind);

	return kind == KIND_POLLED || kind == KIND_SLOW;
}

/*
 * Into a blocking socket these would send all of it. An atom does not block if
 * the socket is ready, unless its buffers were made very small.
 */
static size_t
part(const struct pair *p)
{
	if (p->n <= ATOM || !is_socket(p->to) ||
	    fd_control(p->to->fd, F_GETFL, 0) & O_NONBLOCK)
		return p->n;
	return ATOM;
}

/* ---- sendfile ---- */

static long
sendfile_raw(struct desc *none, void *arg)
{
	struct pair *p = arg;

	(void)none;
	return syscall6(SYS_sendfile, p->to->fd, p->from->fd,
	    (long)p->from_at, (long)part(p), 0, 0);
}

static long
sendfile_now(struct desc *none, void *arg)
{
	struct pair *p = arg;

	(void)none;
	if (a_load_relaxed(&p->to->kind) != KIND_FILE &&
	    !fdio_ready_now(p->to, DIR_OUT))
		return -EAGAIN;
	return is_socket(p->to) ? without_sigpipe(sendfile_raw, p) :
	    sendfile_raw(none, p);
}

public ssize_t
weft_sendfile(int to, int from, off_t *at, size_t len)
{
	struct pair p = { .from_at = at, .n = len };

	return pair_call(from, to, &p, sendfile_now);
}

/* ---- splice ---- */

static long
splice_raw(struct desc *none, void *arg)
{
	struct pair *p = arg;

	(void)none;
	return syscall6(SYS_splice, p->from->fd, (long)p->from_at, p->to->fd,
	    (long)p->to_at, (long)part(p), p->flags | SPLICE_NONBLOCK);
}

/*
 * SPLICE_F_NONBLOCK is for pipes only: a blocking socket is polled first. (The
 * kernel refuses to splice between two sockets, or a socket and a file.)
 */
static long
splice_now(struct desc *none, void *arg)
{
	struct pair *p = arg;
	bool from = is_socket(p->from), to = is_socket(p->to);

	if ((from && may_be_pipe(p->to) && !fdio_ready_now(p->from, DIR_IN)) ||
	    (to && may_be_pipe(p->from) && !fdio_ready_now(p->to, DIR_OUT)))
		return -EAGAIN;
	return to ? without_sigpipe(splice_raw, p) : splice_raw(none, p);
}

public ssize_t
weft_splice(int from, off_t *from_at, int to, off_t *to_at, size_t len,
    unsigned flags)
{
	struct pair p = { .from_at = from_at, .to_at = to_at, .n = len,
	    .flags = flags };
	ssize_t n;

	if (!(flags & SPLICE_NONBLOCK))
		return pair_call(from, to, &p, splice_now);
	tsan_io_release();
	checkpoint();
	n = desc_enter(from, &p.from);
	if (n)
		return n;
	n = desc_enter(to, &p.to);
	if (!n) {
		n = fdio_blocking(splice_now, NULL, &p);
		desc_leave(p.to);
	}
	desc_leave(p.from);
	return tsan_io_acquire(n);
}

/* ---- until the end ---- */

/* What sendfile cannot do it refuses before the first byte: -EINVAL. */
static int64_t
copy_file(struct desc *to, struct desc *from, int64_t max)
{
	int64_t done = 0;

	while (done < max) {
		size_t part = max - done < SENDFILE_MAX ?
		    (size_t)(max - done) : SENDFILE_MAX;
		ssize_t n = weft_sendfile(to->fd, from->fd, NULL, part);

		if (n < 0 && done)
			fdio_save_error(to, DIR_OUT, n);
		if (n < 0)
			return done ? done : n;
		if (n == 0)
			break;
		done += n;
	}
	return done;
}

static int64_t
copy_bytes(struct desc *to, struct desc *from, int64_t max)
{
	char *buf = malloc(COPY_BYTES);
	int64_t done = 0;
	ssize_t n = 0;

	if (!buf)
		return -ENOMEM;
	while (done < max) {
		size_t part = max - done < COPY_BYTES ?
		    (size_t)(max - done) : COPY_BYTES, put;

		n = weft_read(from->fd, buf, part);
		if (n < 0 && done)
			fdio_save_error(from, DIR_IN, n);
		if (n <= 0)
			break;
		n = weft_write_full(to->fd, buf, (size_t)n, &put);
		done += (int64_t)put;
		if (n < 0 && done)
			fdio_save_error(to, DIR_OUT, n);
		if (n < 0)
			break;
	}
	free(buf);
	return n < 0 && !done ? n : done;
}

static int64_t
copy(struct desc *to, struct desc *from, int64_t max)
{
	bool file = a_load_relaxed(&from->kind) == KIND_FILE;
	int64_t n = file ? copy_file(to, from, max) : -EINVAL;

	return n == -EINVAL || n == -EOVERFLOW ? copy_bytes(to, from, max) : n;
}

/* A user of both throughout: between its calls no number is reused. */
public int64_t
weft_copy(int to, int from, int64_t max)
{
	struct desc *in, *out;
	int64_t n = desc_enter(from, &in);

	if (n)
		return n;
	n = desc_enter(to, &out);
	if (!n) {
		n = copy(out, in, max);
		desc_leave(out);
	}
	desc_leave(in);
	return n;
}
