/* SPDX-License-Identifier: MIT */
/*
 * Reading and writing; part of weft.h.
 *
 * These are the system's calls on plain file descriptors, by their names. Where
 * one would block, the goroutine parks and its thread runs others. A descriptor
 * may come from anywhere, and be blocking or not: sockets, pipes, terminals,
 * eventfd, timerfd, signalfd, inotify, pidfd. O_NONBLOCK is left as it is,
 * except on a socket on which connections are accepted or made, where it is
 * set. Calls on what the kernel cannot wait for (regular files, directories,
 * some devices) go through weft_blocking; but weft_pread takes what is in
 * memory at once.
 *
 * The result is that of the system's call, or -errno; errno is not used. A
 * write to a pipe or socket that has no reader gives -EPIPE, for a socket
 * without a SIGPIPE. Several goroutines may use one descriptor, also in one
 * direction.
 *
 * Close with weft_close what other goroutines may be using: it ends their
 * waits, with -EBADF, and the descriptor number is not reused until all calls
 * in flight have returned; the last of them closes it. (It neither ends nor
 * waits for reads and writes of a file.) Descriptors of the runtime's own give
 * -EBADF. That a descriptor was closed with close(2) is noticed when its number
 * comes back from one of these calls, or else, if a goroutine waits for it,
 * within some seconds: waiters get -EBADF, or retry on the new file. (What a
 * plain thread has closed while no goroutine runs is noticed later.) If the old
 * file was non-blocking and the new one is not, a call may block its thread
 * before that, and no deadline ends it.
 *
 * A read synchronizes with (happens after) the write whose data it returns; an
 * accept with the connect; a read of the end of file with the close or
 * shutdown. So memory can be handed over with a byte. ThreadSanitizer is told
 * so for these calls among each other, but not for one of them and one of
 * libc's.
 *
 * On other threads the calls block the thread, in the same way; while no
 * runtime is running they do not notice a weft_close.
 */
#ifndef WEFT_IO_H
#define WEFT_IO_H

#include <stdarg.h>
#include <sys/types.h>

/* Of <sys/uio.h>, <poll.h>, <sys/socket.h>, <sys/stat.h>; a socklen_t is an
 * unsigned. */
struct iovec;
struct pollfd;
struct sockaddr;
struct msghdr;
struct stat;

#ifdef __cplusplus
extern "C" {
#endif

/* ---- reading and writing ----------------------------------------------- */

/*
 * A write waits until all is written. If an error occurs after some bytes,
 * their number is returned, and the next call returns the error, if it still
 * holds. The error that ended a connection (-ECONNRESET) is returned by that
 * call where the kernel would say -EPIPE, or 0 as at the end of a stream.
 */
ssize_t weft_read(int fd, void *buf, size_t len);
ssize_t weft_write(int fd, const void *buf, size_t len);
ssize_t weft_readv(int fd, const struct iovec *iov, int n);
ssize_t weft_writev(int fd, const struct iovec *iov, int n);
/* As weft_read and weft_write, at an offset of a file; the file's own offset
 * stays. A pwrite may write a part. */
ssize_t weft_pread(int fd, void *buf, size_t len, off_t at);
ssize_t weft_pwrite(int fd, const void *buf, size_t len, off_t at);

/*
 * All of it: as many calls as that needs. read_full returns less than len only
 * at the end of the file. An error after some bytes is returned, and *done (if
 * not NULL) is their number.
 */
ssize_t weft_read_full(int fd, void *buf, size_t len, size_t *done);
ssize_t weft_write_full(int fd, const void *buf, size_t len, size_t *done);

/*
 * From descriptor to descriptor, in the kernel. sendfile: from a file. splice:
 * one of the two is a pipe. copy: of any kinds, until the end of `from`, or max
 * bytes (INT64_MAX: no limit; 0 or less: nothing); after an error it returns
 * the number of bytes written, as weft_write does. What it has read and could
 * not write may be lost.
 */
ssize_t weft_sendfile(int to, int from, off_t *at, size_t len);
ssize_t weft_splice(int from, off_t *from_at, int to, off_t *to_at,
    size_t len, unsigned flags);
int64_t weft_copy(int to, int from, int64_t max);

/*
 * Closes fd, as close(2): 0, or -EBADF if it is not open (or the runtime's
 * own), -EIO and the like for a file. Other goroutines that wait on it return
 * -EBADF, and the number is not reused before their calls have returned. A
 * second close of a number may hit the next file that has got it: let one
 * goroutine own the descriptor. Another goroutine unblocks the owner with
 * weft_shutdown, a deadline or a context.
 */
int weft_close(int fd);

/*
 * The number fd was just returned by the system, or is about to be closed, by a
 * call that is not one of these: what was known of it is void, and goroutines
 * that wait on it return -EBADF. Not needed, but without it a wait on a number
 * that was closed by close(2) and is another file now may last for a second
 * longer than it should. Any thread.
 */
void weft_fd_replaced(int fd);
long weft_fd_call_(int fd, bool out, long (*attempt)(void *arg), void *arg,
    size_t want);

/*
 * Waits for several descriptors, as poll(2): the number of those with revents,
 * or 0 at `when` (0: no limit). A closed one gives POLLNVAL. At most 65,536;
 * -ENOMEM. try does not wait. context: -ECANCELED or -ETIMEDOUT when ctx is
 * cancelled. Deadlines and contexts of the descriptors have no effect here.
 */
int weft_poll(struct pollfd *fds, size_t n, int64_t when);
int weft_try_poll(struct pollfd *fds, size_t n);
int weft_poll_context(struct pollfd *fds, size_t n, weft_context *ctx);

/* Waits until a read, or write, would not block: 0, or as they would fail. */
int weft_wait_readable(int fd);
int weft_wait_writable(int fd);

/* ---- files ------------------------------------------------------------- */

/*
 * The system's calls, which may block (a FIFO, a slow disk, a remote file
 * system) and are announced as by weft_blocking. open: the descriptor, always
 * with O_CLOEXEC; the others: 0; or -errno.
 *
 * No deadline, context or weft_close ends such a call, nor a read of a regular
 * file: check the context between reads. To wait for the writer of a FIFO with
 * a limit, open it with O_RDONLY | O_NONBLOCK, which does not block, and wait
 * for POLLIN with weft_poll_context before the first read, which would give 0
 * as long as there was no writer:
 *
 *	fd = weft_open(path, O_RDONLY | O_NONBLOCK, 0);
 *	struct pollfd p = { fd, POLLIN, 0 };
 *	n = weft_poll_context(&p, 1, ctx);
 */
int weft_open(const char *path, int flags, mode_t mode);
int weft_stat(const char *path, struct stat *out);
int weft_lstat(const char *path, struct stat *out);
int weft_fstat(int fd, struct stat *out);
int weft_rename(const char *from, const char *to);
int weft_unlink(const char *path);
int weft_mkdir(const char *path, mode_t mode);
int weft_rmdir(const char *path);
int weft_ftruncate(int fd, off_t len);
int weft_fsync(int fd);
int weft_fdatasync(int fd);

/*
 * The contents of a file, of any kind: at most max bytes (-EMSGSIZE: there are
 * more), NUL-terminated, to be freed with free(). With an error *out is NULL.
 * len may be NULL.
 */
int weft_read_file(const char *path, size_t max, char **out, size_t *len);
/*
 * Creates or overwrites a file: 0 or -errno, and after an error a part may be
 * written. To replace a file in one step, write another one, weft_rename it.
 */
int weft_write_file(const char *path, const void *data, size_t len,
    mode_t mode);

/*
 * The entries of a directory, without "." and "..", in no order. One goroutine
 * uses it at a time.
 *
 *	weft_dir d;
 *	weft_dir_entry e;
 *	err = weft_dir_open(&d, path);
 *	while (!err && weft_dir_next(&d, &e) > 0) ...
 *	weft_dir_close(&d);
 */
typedef struct weft_dir {
	int fd_;
	char *buf_;
	size_t start_, end_;
} weft_dir;

/* An entry of a directory; its name is valid until the next call on that. */
typedef struct weft_dir_entry {
	const char *name;
	uint64_t inode;
	int type;		/* DT_REG ... of <dirent.h>; DT_UNKNOWN: the
				 * file system does not say, use weft_lstat */
} weft_dir_entry;

/*
 * open: 0 or -errno. next: 1 and an entry in *out; 0 at the end; -errno, and
 * then it has skipped nothing. close frees the buffer and closes the
 * descriptor; it may be called after a failed open, and again. They may block,
 * as weft_open.
 */
int weft_dir_open(weft_dir *dir, const char *path);
int weft_dir_next(weft_dir *dir, weft_dir_entry *out);
void weft_dir_close(weft_dir *dir);

/* ---- sockets ----------------------------------------------------------- */

/*
 * As recv(2), recvfrom(2), recvmsg(2), send(2), sendto(2) and sendmsg(2), with
 * -errno. (weft_recv and weft_send are those of channels.) With MSG_DONTWAIT a
 * call does not wait. from and from_len may be NULL. On a stream the calls that
 * send may send a part, once there is room for any: use weft_write for all of
 * it.
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
 * accept: the descriptor of a new connection, non-blocking and close-on-exec,
 * or -errno; from and from_len may be NULL. What goes wrong with a single
 * connection (-ECONNABORTED, -EPROTO, network errors) is not returned: the next
 * one is accepted. If the process has no descriptor or memory left (-EMFILE,
 * -ENFILE, -ENOBUFS, -ENOMEM) accept waits and tries again; the connection
 * stays in the queue. So a server's loop may end with an error: the next call
 * would return it, too. -EBADF: the listener was closed; -EINVAL: it was shut
 * down, or does not listen; -ETIMEDOUT, -ECANCELED: its read deadline or
 * context; -ENOTSOCK. (But -EPERM: a rule of the system forbids that one
 * connection.)
 *
 * connect: 0 when the connection is made, or why it was not; the write deadline
 * and the context limit it. After an error close the socket.
 *
 * shutdown: as shutdown(2), 0 or -errno. It ends the waits of other goroutines:
 * with SHUT_RD reads return what has arrived and then 0, and an accept -EINVAL;
 * with SHUT_WR writes return -EPIPE.
 */
int weft_accept(int fd, struct sockaddr *from, unsigned *from_len);
int weft_connect(int fd, const struct sockaddr *to, unsigned to_len);
int weft_shutdown(int fd, int how);

/* ---- deadlines and contexts -------------------------------------------- */

/*
 * From `when` on (weft_deadline(ns)) calls in that direction, or in both,
 * return -ETIMEDOUT, also those that wait already, and even if they need not
 * wait; none does so earlier. 0 or WEFT_NEVER removes the deadline. It is a
 * point in time: for a limit on idleness set it anew before each call. A time
 * that has passed ends calls at once: weft_set_read_deadline(fd, weft_now())
 * ends the reads of other goroutines, and writes go on. (A goroutine that sets
 * its deadline before each read may overwrite this one: let it look at a flag,
 * under a lock, when it does.)
 *
 * A deadline belongs to the file: it holds until it is changed or the
 * descriptor is closed, also by close(2), and another file that gets the number
 * has none. 0 or -EBADF. It has no effect on what the kernel cannot wait for. A
 * write to a blocking terminal, once begun, is not ended by it, nor by
 * weft_close, before the terminal has taken the next 4096 bytes.
 */
int weft_set_deadline(int fd, int64_t when);
int weft_set_read_deadline(int fd, int64_t when);
int weft_set_write_deadline(int fd, int64_t when);

/*
 * Once ctx is cancelled, reads and writes of fd return -ECANCELED, or
 * -ETIMEDOUT if the deadline of ctx was over; also those that wait already. To
 * end the reads and still write (a farewell) use weft_set_read_deadline(fd,
 * weft_now()) instead. NULL removes the context. It belongs to the file, as a
 * deadline of weft_set_deadline does, beside which it may be set, and has no
 * effect where that has none. The descriptor retains ctx until it is replaced
 * or the descriptor closed. 0, -EBADF, -ENOMEM.
 *
 * While no runtime is running a call that waits notices the deadline of ctx,
 * but not that it is cancelled.
 */
int weft_set_context(int fd, weft_context *ctx);

/* ---- goroutines that begin when there is something to read ------------- */

/*
 * weft_go_readable(fd, fn, args...)
 * weft_go_readable_opt(opt, fd, fn, args...)
 *
 * As weft_try_go, with its results, but the goroutine begins when fd can be
 * read: until then it has no stack, and an idle connection costs some 400
 * bytes. It also begins when the read deadline is reached or fd is closed with
 * weft_close, and finds that out by reading. The read may have to wait, if
 * another goroutine was faster or the kernel late. One at a time for a
 * descriptor: -EBUSY. -EPERM for what the kernel cannot wait for, -EBADF.
 */
#ifdef __cplusplus
#define weft_go_readable(fd, ...) \
	weft_go_readable_opt(weft_opt(), fd, __VA_ARGS__)
#else
#define weft_go_readable(fd, ...) \
	weft_go_readable_opt(((weft_opt){0}), fd, __VA_ARGS__)
#endif
#define weft_go_readable_opt(opt, fd, ...) \
	weft_try_go_opt(weft_opt_readable_(opt, fd), __VA_ARGS__)

static inline weft_opt
weft_opt_readable_(weft_opt opt, int fd)
{
	opt.readable_ = fd < 0 ? -1 : fd + 1;
	return opt;
}

/* ---- buffered reading -------------------------------------------------- */

/*
 * Reads a descriptor through a buffer. One goroutine uses it at a time.
 *
 *	weft_reader r = WEFT_READER(fd);
 *	while ((n = weft_reader_line(&r, &line)) > 0) ...
 *	weft_reader_free(&r);
 *
 * A call that fails has lost nothing: after -ETIMEDOUT, say, the next one
 * continues with all that had arrived.
 *
 * WEFT_READER(fd) is an initialiser. To assign: r = (weft_reader){ .fd = fd }.
 *
 * Between two reads it does not hold the descriptor: if that is closed
 * meanwhile the next read fails, or reads what has the number then. Unblock the
 * reader with weft_shutdown, a deadline or a context; close after it returns.
 */
typedef struct weft_reader {
	int fd;
	bool ended;		/* the end was read, and is not asked for again
				 * unless the caller makes this false */
	char *buf;		/* unread: buf[start .. end) */
	size_t start, end, cap;
	size_t max;		/* it grows up to that: 64 KiB if 0 */
} weft_reader;
#define WEFT_READER(fd) { (fd), false, NULL, 0, 0, 0, 0 }

/*
 * The next line with its '\n', in place: valid until the next call on r. It is
 * not NUL-terminated, so strchr, sscanf and %s would read beyond it; the caller
 * may change its n bytes: if line[n - 1] is '\n', line[n - 1] = 0 terminates
 * it.
 *
 * Returns its length n; at the end of the file a last line without '\n', and
 * then 0; -EMSGSIZE if it is longer than max, with its '\n' (its beginning is
 * in the buffer, for read, or peek and skip), -ENOMEM, or as weft_read.
 */
ssize_t weft_reader_line(weft_reader *r, char **line);
/* As weft_reader_line, with another delimiter than '\n'. */
ssize_t weft_reader_until(weft_reader *r, int byte, char **text);
/*
 * peek: at least n bytes in the buffer, in place, not consumed (nor terminated
 * with a NUL): how many are there, fewer than n only at the end; -EMSGSIZE if n
 * is more than max. skip consumes n of these, or all if n is more.
 */
ssize_t weft_reader_peek(weft_reader *r, size_t n, char **data);
void weft_reader_skip(weft_reader *r, size_t n);
/* As weft_read and weft_read_full, from the buffer first. */
ssize_t weft_reader_read(weft_reader *r, void *buf, size_t len);
ssize_t weft_reader_read_full(weft_reader *r, void *buf, size_t len,
    size_t *done);
/* Frees the buffer, and drops what is unread and the end; the descriptor stays
 * open. The reader can be used again. */
void weft_reader_free(weft_reader *r);

/* ---- buffered writing -------------------------------------------------- */

/*
 * Writes a descriptor through a buffer. One goroutine uses it at a time.
 *
 *	weft_writer w = WEFT_WRITER(fd);
 *	weft_writer_printf(&w, "%s: %d\n", name, value);
 *	err = weft_writer_flush(&w);
 *	weft_writer_free(&w);
 *
 * What a call has taken is in the buffer or written. text, printf and byte take
 * all of theirs, or nothing and return -errno; for a longer text the buffer
 * grows. write does the same with less than a buffer; more is written at once,
 * as weft_write does, which may return less than len. A flush that fails keeps
 * what was not written, and the next one continues there. So after -ETIMEDOUT,
 * say, the same call can be made again, and no byte is lost or written twice.
 *
 * WEFT_WRITER(fd) is an initialiser. To assign: w = (weft_writer){ .fd = fd }.
 */
typedef struct weft_writer {
	int fd;
	char *buf;		/* not written yet: buf[start .. end) */
	size_t start, end, cap;
	size_t size;		/* of the buffer: 8 KiB if 0 */
} weft_writer;
#define WEFT_WRITER(fd) { (fd), NULL, 0, 0, 0, 0 }

/* The number of bytes taken; or -ENOMEM, or as weft_write. */
ssize_t weft_writer_write(weft_writer *w, const void *data, size_t len);
ssize_t weft_writer_text(weft_writer *w, const char *text);
/* As weft_writer_text; -EINVAL if libc refuses the format or an argument. */
ssize_t weft_writer_printf(weft_writer *w, const char *format, ...)
    __attribute__((__format__(__printf__, 2, 3)));
ssize_t weft_writer_vprintf(weft_writer *w, const char *format, va_list args)
    __attribute__((__format__(__printf__, 2, 0)));
/* 0 or -errno. */
int weft_writer_byte(weft_writer *w, int byte);
int weft_writer_flush(weft_writer *w);
/* Frees the buffer, with what was not flushed; the descriptor stays open. The
 * writer can be used again. */
void weft_writer_free(weft_writer *w);

/* ---- statistics -------------------------------------------------------- */

/* What was counted of descriptors since the start. */
typedef struct weft_io_stats {
	uint64_t registered;	/* descriptors registered with the poller */
	uint64_t polls;		/* calls of the poller */
	uint64_t events;	/* events that it reported */
	uint64_t stale;		/* of these, of descriptors closed since */
	uint64_t timeouts;	/* waits that a deadline ended */
	uint64_t repaired;	/* descriptors found to be closed externally */
	int64_t open;		/* registered and not closed, now */
	int64_t waiting;	/* current waiters (takes O(descriptors)) */
} weft_io_stats;

/* As weft_stats_read. */
void weft_io_stats_read(weft_io_stats *out, size_t bytes);

/* ---- options ----------------------------------------------------------- */

/* Options by name, as two arguments: a pointer and the size. */
#ifdef __cplusplus
#define WEFT_OPTIONS_(type, ...) \
	(&(const type &)type{__VA_ARGS__}), sizeof(type)
#else
#define WEFT_OPTIONS_(type, ...) (&(const type){__VA_ARGS__}), sizeof(type)
#endif

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* WEFT_IO_H */
