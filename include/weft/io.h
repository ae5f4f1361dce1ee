/* SPDX-License-Identifier: MIT */
/*
 * Reading and writing; part of weft.h.
 *
 * These are the system's calls on plain file descriptors, by their names. Where
 * one would block, the goroutine waits and its thread runs others. A descriptor
 * may come from anywhere, and be blocking or not: sockets, pipes, terminals,
 * eventfd, timerfd, signalfd, inotify, pidfd. Its O_NONBLOCK is left as it is,
 * but for a socket on which connections are accepted or made, which gets it.
 * What the kernel cannot wait for (regular files, directories, some devices)
 * goes through weft_blocking.
 *
 * The result is that of the system's call, or -errno; errno is not used. A
 * write to what nobody reads any more gives -EPIPE, for a socket without a
 * SIGPIPE. Several goroutines may use one descriptor, also in one direction.
 *
 * Close with weft_close what others may be using: it ends their waits, with
 * -EBADF, and the number is not given away before they have returned; the last
 * of them closes it. (It does not end, or wait for, what others are reading
 * from or writing to a file.) Descriptors of weft's own give -EBADF. A
 * descriptor that was closed with close(2) is noticed when its number comes
 * back from one of these calls, or else, by whoever waits for it, within some
 * seconds: who waits gets -EBADF, or tries anew on what has that number now.
 * (What a plain thread has closed while no goroutine runs is noticed later.)
 * If it was non-blocking, and what has its number now is not, a call may block
 * its thread before that, and no deadline ends it.
 *
 * Who reads what another one has written comes after him, with all that he did
 * before; so does who accepts after who connects, and who finds the end after
 * who closes or shuts down. So memory can be handed over with a byte.
 * ThreadSanitizer is told so of these calls among each other, but knows nothing
 * of one of them and one of libc's.
 *
 * On other threads the calls block the thread, in the same way; while no
 * runtime is running they do not notice a weft_close.
 */
#ifndef WEFT_IO_H
#define WEFT_IO_H

#include <sys/types.h>

/* Of <sys/uio.h>, <poll.h>, <sys/socket.h>; a socklen_t is an unsigned. */
struct iovec;
struct pollfd;
struct sockaddr;
struct msghdr;

#ifdef __cplusplus
extern "C" {
#endif

/* ---- reading and writing ----------------------------------------------- */

/*
 * A write waits until all is written. If there is an error after some bytes it
 * gives how many, and the next call gives the error, if it is still there. That
 * a connection has died is kept for the next call that would give -EPIPE, or 0
 * for the end.
 */
ssize_t weft_read(int fd, void *buf, size_t len);
ssize_t weft_write(int fd, const void *buf, size_t len);
ssize_t weft_readv(int fd, const struct iovec *iov, int n);
ssize_t weft_writev(int fd, const struct iovec *iov, int n);
/* At a place in a file. */
ssize_t weft_pread(int fd, void *buf, size_t len, off_t at);
ssize_t weft_pwrite(int fd, const void *buf, size_t len, off_t at);

/*
 * All of it. read_full gives less only at the end of the file; if there is an
 * error after some bytes it is the result, and *done (if not NULL) says how
 * many.
 */
ssize_t weft_read_full(int fd, void *buf, size_t len, size_t *done);
ssize_t weft_write_full(int fd, const void *buf, size_t len, size_t *done);

/*
 * From descriptor to descriptor, in the kernel. sendfile: from a file. splice:
 * one of the two is a pipe. copy: until the end of `from`, or max bytes
 * (INT64_MAX: no limit; 0 or less: nothing), of any kinds; if there is an error
 * after some bytes, it gives how many were written, as weft_write. What it has
 * read and could not write may be lost.
 */
ssize_t weft_sendfile(int to, int from, off_t *at, size_t len);
ssize_t weft_splice(int from, off_t *from_at, int to, off_t *to_at,
    size_t len, unsigned flags);
int64_t weft_copy(int to, int from, int64_t max);

/* Opening may block (a FIFO, a far file system). Always with O_CLOEXEC. */
int weft_open(const char *path, int flags, mode_t mode);
int weft_fsync(int fd);
/* Closes it, after it has ended the waits of others; see the head. */
int weft_close(int fd);

/*
 * Waits for several descriptors, as poll(2): the number of those with revents,
 * 0 at `when`. A closed one gives POLLNVAL. At most 65,536; -ENOMEM.
 */
int weft_poll(struct pollfd *fds, size_t n, int64_t when);

/* Waits until a read, or write, would not block: 0, or as they would fail. */
int weft_wait_readable(int fd);
int weft_wait_writable(int fd);

/* ---- sockets ----------------------------------------------------------- */

/*
 * recv(2) and send(2); the short names are those of channels. On a stream the
 * calls that send may send less than all, once there is room for any: use
 * weft_write for all of it.
 */
ssize_t weft_sock_recv(int fd, void *buf, size_t len, int flags);
ssize_t weft_sock_send(int fd, const void *buf, size_t len, int flags);
ssize_t weft_recvfrom(int fd, void *buf, size_t len, int flags,
    struct sockaddr *from, unsigned *from_len);
ssize_t weft_sendto(int fd, const void *buf, size_t len, int flags,
    const struct sockaddr *to, unsigned to_len);
ssize_t weft_recvmsg(int fd, struct msghdr *msg, int flags);
ssize_t weft_sendmsg(int fd, const struct msghdr *msg, int flags);

/*
 * The new descriptor is non-blocking and closed by exec. If the process has no
 * descriptor left it waits until one may be free, and tries again (for at most
 * as long as the read deadline says, or until it is closed); the connection
 * stays in the queue.
 */
int weft_accept(int fd, struct sockaddr *from, unsigned *from_len);
int weft_connect(int fd, const struct sockaddr *to, unsigned to_len);
int weft_shutdown(int fd, int how);

/* ---- deadlines --------------------------------------------------------- */

/*
 * From `when` on (weft_deadline(ns)) calls in that direction give -ETIMEDOUT, those
 * that wait already too; none does so earlier. WEFT_NEVER removes it. It
 * belongs to the descriptor and holds until it is changed or the descriptor is
 * closed, by close(2) too: another file that gets the number has no deadline.
 * 0 or -EBADF. For what the kernel cannot wait for it has no effect. A write
 * to a blocking terminal, once begun, is not ended by it, nor by weft_close,
 * before the terminal has taken the next 4096 bytes.
 */
int weft_set_deadline(int fd, int64_t when);
int weft_set_read_deadline(int fd, int64_t when);
int weft_set_write_deadline(int fd, int64_t when);

/* ---- goroutines that begin when there is something to read ------------- */

/*
 * weft_go_readable(fd, fn, args...)
 * weft_go_readable_opt(opt, fd, fn, args...)
 *
 * As weft_go, but the goroutine begins when fd can be read: until then it has
 * no stack, and an idle connection costs some 400 bytes. It also begins when
 * the read deadline is reached, or fd closed with weft_close, and finds that
 * out by reading; which may have to wait, if another one was faster or the
 * kernel late. One at a time for a descriptor: -EBUSY. -EPERM for what the
 * kernel cannot wait for, -EBADF.
 */
#ifdef __cplusplus
#define weft_go_readable(fd, ...) \
	weft_go_readable_opt(weft_opt(), fd, __VA_ARGS__)
#else
#define weft_go_readable(fd, ...) \
	weft_go_readable_opt(((weft_opt){0}), fd, __VA_ARGS__)
#endif
#define weft_go_readable_opt(opt, fd, ...) \
	weft_go_opt(weft_opt_readable_(opt, fd), __VA_ARGS__)

static inline weft_opt
weft_opt_readable_(weft_opt opt, int fd)
{
	opt.readable_ = fd < 0 ? -1 : fd + 1;
	return opt;
}

/* ---- lines ------------------------------------------------------------- */

/*
 * A descriptor read through a buffer. One goroutine uses it at a time.
 *
 *	weft_reader r = WEFT_READER(fd);
 *	while ((n = weft_reader_line(&r, &line)) > 0) ...
 *	weft_reader_free(&r);
 *
 * A call that fails has lost nothing: after -ETIMEDOUT, say, the next one goes
 * on with all that had come.
 *
 * Between two reads it does not hold the number: if that is closed meanwhile
 * the next one fails, or reads what has the number then. So end who reads with
 * weft_shutdown or a deadline, and close when he is done.
 */
typedef struct weft_reader {
	int fd;
	bool ended;		/* the end was seen, and is not asked for again
				 * unless you make this false */
	char *buf;		/* what is unread: buf[start .. end) */
	size_t start, end, cap;
	size_t max;		/* it grows up to that: 64 KiB if 0 */
} weft_reader;
#define WEFT_READER(fd) { (fd), false, NULL, 0, 0, 0, 0 }

/*
 * The next line with its '\n', in place: valid until the next call on r.
 * Returns its length; at the end of the file a last line without '\n' and then
 * 0; -EMSGSIZE if it is longer than max (its beginning is in the buffer, for
 * read, or peek and skip), -ENOMEM, or as weft_read.
 */
ssize_t weft_reader_line(weft_reader *r, char **line);
/* The same up to, and with, another byte. */
ssize_t weft_reader_until(weft_reader *r, int byte, char **text);
/*
 * At least n bytes in the buffer, in place, not taken: how many are there,
 * fewer than n only at the end; -EMSGSIZE if n is more than max. Skip takes
 * some of these, all if n is more.
 */
ssize_t weft_reader_peek(weft_reader *r, size_t n, char **data);
void weft_reader_skip(weft_reader *r, size_t n);
/* As weft_read and weft_read_full, what is in the buffer first. */
ssize_t weft_reader_read(weft_reader *r, void *buf, size_t len);
ssize_t weft_reader_read_full(weft_reader *r, void *buf, size_t len,
    size_t *done);
/* Frees the buffer, and forgets what is unread and the end; the descriptor
 * stays open. It can be used again. */
void weft_reader_free(weft_reader *r);

/* ---- seeing inside ----------------------------------------------------- */

/* What was counted of descriptors since the start. */
typedef struct weft_io_stats {
	uint64_t registered;	/* descriptors made known to the kernel */
	uint64_t polls;		/* times it was asked what is ready */
	uint64_t events;	/* what it said */
	uint64_t stale;		/* of these, of descriptors closed since */
	uint64_t timeouts;	/* waits that a deadline ended */
	uint64_t repaired;	/* descriptors found closed behind our back */
	int64_t open;		/* registered and not closed, now */
	int64_t waiting;	/* who waits for one, now; takes a walk */
} weft_io_stats;

void weft_io_stats_read(weft_io_stats *out);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* WEFT_IO_H */
