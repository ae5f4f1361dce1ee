/* SPDX-License-Identifier: MIT */
/*
 * Reading and writing bytes, by the kind of the descriptor:
 *
 *	socket		recv and send with MSG_DONTWAIT, with or without
 *			O_NONBLOCK; and no SIGPIPE
 *	non-blocking	read and write
 *	blocking	with RWF_NOWAIT, where the kernel has it; otherwise
 *			poll, and the call if it is ready, one caller at a time.
 *			If another process is faster the thread blocks, so the
 *			call is announced
 *	file		an announced call
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "fdio.h"
#include "preempt.h"
#include "tsan_io.h"
#include "weft.h"

/* What a pipe that is ready takes at least; the kernel's limit of parts. */
enum { PIPE_ATOM = 4096, PARTS_MAX = 1024 };
enum { NOWAIT = 8 };			/* RWF_NOWAIT */

struct bytes {
	void *p;
	size_t n;
};

struct vec {
	const struct iovec *iov;
	int n;
};

/*
 * A socket returned an error or 0. If the number is not a socket's any more,
 * it was closed externally: probe it again, and retry.
 */
static noinline long
no_bytes(struct desc *d, long n)
{
	if (n == -ENOTSOCK)
		return desc_revalidate(d) ? -EBADF : -EINTR;
	return n == 0 || n == -EPIPE ? fdio_take_error(d, n) : n;
}

/* More than max bytes? */
static bool
is_more(const struct vec *v, size_t max)
{
	for (int i = 0; i < v->n; i++) {
		if (v->iov[i].iov_len > max)
			return true;
		max -= v->iov[i].iov_len;
	}
	return false;
}

static bool
is_empty(const struct vec *v)
{
	return !is_more(v, 0);
}

/* ---- blocking ones ---- */

/*
 * -EOPNOTSUPP: not for this kind. The kernel may also return -EAGAIN because
 * one of its own locks is taken, which no event would end: so then poll.
 */
static long
nowait(struct desc *d, enum dir dir, const struct vec *v)
{
	long n = syscall6(dir == DIR_IN ? SYS_preadv2 : SYS_pwritev2, d->fd,
	    (long)v->iov, v->n, -1, -1, NOWAIT);

	return n == -EAGAIN && fdio_ready_now(d, dir) ? -EINTR : n;
}

/* Not ready; that never changes if it was opened for the other direction. */
static long
not_ready(struct desc *d, enum dir dir)
{
	long mode = fd_control(d->fd, F_GETFL, 0) & O_ACCMODE;

	return mode == (dir == DIR_IN ? O_WRONLY : O_RDONLY) ? -EBADF : -EAGAIN;
}

/*
 * One try on a blocking descriptor. `raw` is the call, on `arg`, which is all
 * of v, or as much of it as does not block if the descriptor is ready.
 */
static noinline long
slow(struct desc *d, enum dir dir, const struct vec *v, fdio_try *raw,
    void *arg)
{
	long n;

	if (!(a_load_relaxed(&d->flags) & NO_NOWAIT << dir)) {
		n = nowait(d, dir, v);
		if (n != -EOPNOTSUPP && n != -ENOSYS)
			return n;
		desc_flag(d, NO_NOWAIT << dir);
	}
	if (!desc_lock_dir(d, dir))
		return -EAGAIN;
	if (is_empty(v) || fdio_ready_now(d, dir))
		n = fdio_blocking(raw, d, arg);
	else
		n = not_ready(d, dir);
	desc_unlock_dir(d, dir);
	return n;
}

/* ---- reading ---- */

static long
read_raw(struct desc *d, void *arg)
{
	const struct bytes *b = arg;

	return fd_read(d->fd, b->p, b->n);
}

/* Not a socket. */
static noinline long
read_other(struct desc *d, void *arg)
{
	const struct bytes *b = arg;
	struct iovec iov = { b->p, b->n };
	struct vec v = { &iov, 1 };

	switch (a_load_relaxed(&d->kind)) {
	case KIND_POLLED:
		return read_raw(d, arg);
	case KIND_SLOW:
		return slow(d, DIR_IN, &v, read_raw, arg);
	}
	return fdio_blocking(read_raw, d, arg);
}

static inline long
try_read(struct desc *d, void *arg)
{
	const struct bytes *b = arg;
	long n;

	if (unlikely(a_load_relaxed(&d->kind) > KIND_SOCKET))
		return read_other(d, arg);
	if (unlikely(!b->n))
		return read_raw(d, arg);	/* never blocks, unlike recv */
	n = fd_recv(d->fd, b->p, b->n, MSG_DONTWAIT);
	return likely(n > 0) ? n : no_bytes(d, n);
}

public ssize_t
weft_read(int fd, void *buf, size_t len)
{
	struct bytes b = { buf, len };

	return tsan_io_acquire(fdio_call(fd, DIR_IN, try_read, &b, len));
}

static long
readv_raw(struct desc *d, void *arg)
{
	const struct vec *v = arg;

	return syscall6(SYS_readv, d->fd, (long)v->iov, v->n, 0, 0, 0);
}

static long
try_readv(struct desc *d, void *arg)
{
	const struct vec *v = arg;
	struct msghdr m = { .msg_iov = (struct iovec *)(uintptr_t)v->iov,
	    .msg_iovlen = (size_t)v->n };
	long n;

	switch (a_load_relaxed(&d->kind)) {
	case KIND_POLLED:
		return readv_raw(d, arg);
	case KIND_SLOW:
		return slow(d, DIR_IN, v, readv_raw, arg);
	case KIND_FILE:
		return fdio_blocking(readv_raw, d, arg);
	}
	if (is_empty(v))
		return readv_raw(d, arg);	/* never blocks, unlike recv */
	n = syscall6(SYS_recvmsg, d->fd, (long)&m, MSG_DONTWAIT, 0, 0, 0);
	return n > 0 ? n : no_bytes(d, n);
}

public ssize_t
weft_readv(int fd, const struct iovec *iov, int n)
{
	struct vec v = { iov, n };

	if (n < 0 || n > PARTS_MAX)
		return -EINVAL;
	return tsan_io_acquire(fdio_call(fd, DIR_IN, try_readv, &v, 0));
}

/* ---- writing ---- */

static long
write_raw(struct desc *d, void *arg)
{
	const struct bytes *b = arg;

	return fd_write(d->fd, b->p, b->n);
}

/*
 * A blocking descriptor would block until all is written. With one atom at a
 * time it does not, as long as no other process writes. (A terminal may block:
 * it has less room.)
 */
static long
slow_write(struct desc *d, const struct vec *v, struct bytes part)
{
	if (part.n > PIPE_ATOM)
		part.n = PIPE_ATOM;
	return slow(d, DIR_OUT, v, write_raw, &part);
}

static noinline long
write_other(struct desc *d, struct bytes b)
{
	struct iovec iov = { b.p, b.n };
	struct vec v = { &iov, 1 };

	switch (a_load_relaxed(&d->kind)) {
	case KIND_POLLED:
		return write_raw(d, &b);
	case KIND_SLOW:
		return slow_write(d, &v, b);
	}
	return fdio_blocking(write_raw, d, &b);
}

static inline long
try_write(struct desc *d, void *arg)
{
	const struct bytes *b = arg;
	long n;

	if (unlikely(a_load_relaxed(&d->kind) > KIND_SOCKET))
		return write_other(d, *b);
	n = fd_send(d->fd, b->p, b->n, MSG_DONTWAIT | MSG_NOSIGNAL);
	return likely(n >= 0) ? n : no_bytes(d, n);
}

/* Writes all of it, unless there is an error. */
static ssize_t
write_all(struct desc *d, const char *p, size_t len, size_t *done)
{
	*done = 0;
	do {
		struct bytes b = { (void *)(uintptr_t)(p + *done),
		    len - *done };
		long n = fdio_loop(d, DIR_OUT, try_write, &b, 0);

		if (n < 0)
			return n;
		*done += (size_t)n;
		if (n == 0)
			break;
	} while (*done < len);
	return (ssize_t)*done;
}

/* The whole call. With `done` the caller learns both, bytes and error. */
static ssize_t
write_call(int fd, const void *buf, size_t len, size_t *done)
{
	struct desc *d;
	size_t mine = 0;
	ssize_t n;

	tsan_io_release();
	checkpoint();
	n = desc_enter(fd, &d);
	if (likely(!n)) {
		n = write_all(d, buf, len, &mine);
		if (unlikely(n < 0 && mine && !done)) {
			fdio_save_error(d, DIR_OUT, n);
			n = (ssize_t)mine;
		}
		desc_leave(d);
	}
	if (done)
		*done = mine;
	return tsan_io_wrote(n);
}

public ssize_t
weft_write(int fd, const void *buf, size_t len)
{
	return write_call(fd, buf, len, NULL);
}

public ssize_t
weft_write_full(int fd, const void *buf, size_t len, size_t *done)
{
	size_t mine;

	return write_call(fd, buf, len, done ? done : &mine);
}

static long
writev_raw(struct desc *d, void *arg)
{
	const struct vec *v = arg;

	return syscall6(SYS_writev, d->fd, (long)v->iov, v->n, 0, 0, 0);
}

/* The first part that is not empty: writev may write less than all. */
static struct bytes
first_part(const struct vec *v)
{
	for (int i = 0; i < v->n; i++)
		if (v->iov[i].iov_len)
			return (struct bytes){ v->iov[i].iov_base,
			    v->iov[i].iov_len };
	return (struct bytes){ NULL, 0 };
}

static long
try_writev(struct desc *d, void *arg)
{
	const struct vec *v = arg;
	struct msghdr m = { .msg_iov = (struct iovec *)(uintptr_t)v->iov,
	    .msg_iovlen = (size_t)v->n };
	long n;

	switch (a_load_relaxed(&d->kind)) {
	case KIND_POLLED:
		return writev_raw(d, arg);
	case KIND_SLOW:
		if (is_more(v, PIPE_ATOM))
			return slow_write(d, v, first_part(v));
		return slow(d, DIR_OUT, v, writev_raw, arg);
	case KIND_FILE:
		return fdio_blocking(writev_raw, d, arg);
	}
	n = syscall6(SYS_sendmsg, d->fd, (long)&m,
	    MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0, 0);
	return n >= 0 ? n : no_bytes(d, n);
}

/* Skips n bytes; *rest is what is left of the part in which they end. */
static bool
advance(struct vec *v, size_t n, struct bytes *rest)
{
	while (v->n && n >= v->iov->iov_len) {
		n -= v->iov->iov_len;
		v->iov++;
		v->n--;
	}
	if (!v->n)
		return false;
	*rest = (struct bytes){ (char *)v->iov->iov_base + n,
	    v->iov->iov_len - n };
	v->iov++;
	v->n--;
	return true;
}

/* The first part of it by itself, and then the rest, until all is written. */
static ssize_t
writev_all(struct desc *d, struct vec v)
{
	long n = fdio_loop(d, DIR_OUT, try_writev, &v, 0);
	ssize_t total = n;
	struct bytes rest;
	size_t done;

	while (n > 0 && advance(&v, (size_t)n, &rest)) {
		n = write_all(d, rest.p, rest.n, &done);
		total += (ssize_t)done;
		if (n < 0 || !v.n)
			break;
		n = fdio_loop(d, DIR_OUT, try_writev, &v, 0);
		total += n > 0 ? n : 0;
	}
	if (unlikely(n < 0 && total > 0))
		fdio_save_error(d, DIR_OUT, n);
	return total;
}

public ssize_t
weft_writev(int fd, const struct iovec *iov, int n)
{
	struct vec v = { iov, n };
	struct desc *d;
	ssize_t r;

	if (n < 0 || n > PARTS_MAX)
		return -EINVAL;
	tsan_io_release();
	checkpoint();
	r = desc_enter(fd, &d);
	if (r)
		return r;
	r = writev_all(d, v);
	desc_leave(d);
	return tsan_io_wrote(r);
}

/* ---- reading all of it ---- */

/* Until the end, as one user: the number is not reused in between. */
static ssize_t
read_all(struct desc *d, char *p, size_t len, size_t *done)
{
	while (*done < len) {
		struct bytes b = { p + *done, len - *done };
		long n = fdio_loop(d, DIR_IN, try_read, &b, b.n);

		if (n < 0)
			return n;
		if (n == 0)
			break;
		*done += (size_t)n;
	}
	return (ssize_t)*done;
}

public ssize_t
weft_read_full(int fd, void *buf, size_t len, size_t *done)
{
	struct desc *d;
	size_t mine = 0;
	ssize_t n;

	checkpoint();
	n = desc_enter(fd, &d);
	if (likely(!n)) {
		n = read_all(d, buf, len, &mine);
		desc_leave(d);
	}
	if (done)
		*done = mine;
	tsan_io_acquire(mine ? 0 : n);	/* some may have come before an error */
	return n;
}

/* ---- waiting only ---- */

static long
ready_in(struct desc *d, void *unused)
{
	(void)unused;
	return a_load_relaxed(&d->kind) == KIND_FILE ||
	    fdio_ready_now(d, DIR_IN) ? 0 : -EAGAIN;
}

static long
ready_out(struct desc *d, void *unused)
{
	(void)unused;
	return a_load_relaxed(&d->kind) == KIND_FILE ||
	    fdio_ready_now(d, DIR_OUT) ? 0 : -EAGAIN;
}

public int
weft_wait_readable(int fd)
{
	return (int)tsan_io_acquire(fdio_call(fd, DIR_IN, ready_in, NULL, 0));
}

public int
weft_wait_writable(int fd)
{
	return (int)fdio_call(fd, DIR_OUT, ready_out, NULL, 0);
}
