/* SPDX-License-Identifier: MIT */
/*
 * weft_set_context: calls on a descriptor that a context ends. No byte is lost
 * by it, it ends with the file, and it keeps the context.
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <unistd.h>
#include "fd_expect.h"
#include "fd_pairs.h"
#include "plain_thread.h"

static weft_waitgroup all;

/* ---- calls that begin later ---- */

static void
refused(int fd, int err)
{
	struct iovec iov = { (char[1]){0}, 1 };
	char c = 0;

	EQ(weft_read(fd, &c, 1), err);
	EQ(weft_readv(fd, &iov, 1), err);
	EQ(weft_read_full(fd, &c, 1, NULL), err);
	EQ(weft_wait_readable(fd), err);
	EQ(weft_write(fd, &c, 1), err);
	EQ(weft_writev(fd, &iov, 1), err);
	EQ(weft_wait_writable(fd), err);
}

static void
cancelled_before(int k, int rd, int wr)
{
	weft_context *ctx = weft_context_make(NULL);
	char c = 0;

	(void)k;
	EQ(weft_write(wr, "x", 1), 1);
	EQ(weft_wait_readable(rd), 0);
	EQ(weft_set_context(rd, ctx), 0);
	EQ(weft_wait_readable(rd), 0);
	weft_context_cancel(ctx, -EPROTO);
	refused(rd, -ECANCELED);
	/* One that is cancelled already. */
	EQ(weft_set_context(wr, ctx), 0);
	refused(wr, -ECANCELED);
	EQ(weft_set_context(rd, NULL), 0);
	EQ(weft_set_context(wr, NULL), 0);
	EQ(weft_read(rd, &c, 1), 1);
	EQ(c, 'x');
	EQ(weft_write(wr, "y", 1), 1);
	EQ(weft_read(rd, &c, 1), 1);
	EQ(c, 'y');
	weft_context_release(ctx);
}

GTEST(later_calls, 2) { wire_each(cancelled_before); }

/* ---- calls that wait ---- */

static void
cancel_when_awaited(weft_context *ctx, long waiters)
{
	while (wire_waiting() < waiters)
		weft_yield();
	weft_context_cancel(ctx, 0);
}

static void
cancelled_meanwhile(int k, int rd, int wr)
{
	weft_context *ctx = weft_context_make(NULL);
	char c = 0;

	(void)k;
	EQ(weft_set_context(rd, ctx), 0);
	weft_waitgroup_add(&all, 2);
	weft_go(expect_read, rd, -ECANCELED, &all);
	weft_go(expect_read, rd, -ECANCELED, &all);
	cancel_when_awaited(ctx, 2);
	weft_waitgroup_wait(&all);
	EQ(weft_set_context(rd, NULL), 0);
	EQ(weft_write(wr, "z", 1), 1);
	EQ(weft_read(rd, &c, 1), 1);
	EQ(c, 'z');
	weft_context_release(ctx);
}

GTEST(waiting_readers_on_one, 1) { wire_each(cancelled_meanwhile); }
GTEST(waiting_readers_on_four, 4) { wire_each(cancelled_meanwhile); }

/* Set while a call waits, whose context was another one, or none. */
GTEST(set_while_waiting, 2)
{
	weft_context *a = weft_context_make(NULL), *b = weft_context_make(NULL);
	int end[2];

	wire(STREAM, end);
	weft_waitgroup_add(&all, 1);
	weft_go(expect_read, end[0], -ECANCELED, &all);
	while (wire_waiting() < 1)
		weft_yield();
	EQ(weft_set_context(end[0], a), 0);
	EQ(weft_set_context(end[0], b), 0);
	weft_context_cancel(a, 0);
	while (wire_waiting() < 1)
		weft_yield();
	weft_context_cancel(b, 0);
	weft_waitgroup_wait(&all);
	/* One that is cancelled already ends a call that waits. */
	EQ(weft_set_context(end[0], NULL), 0);
	weft_waitgroup_add(&all, 1);
	weft_go(expect_read, end[0], -ECANCELED, &all);
	while (wire_waiting() < 1)
		weft_yield();
	EQ(weft_set_context(end[0], a), 0);
	weft_waitgroup_wait(&all);
	wire_drop(end);
	weft_context_release(a);
	weft_context_release(b);
}

static void
write_much(int fd, ssize_t *result)
{
	static const char bytes[1 << 20];

	*result = weft_write_full(fd, bytes, sizeof bytes, NULL);
	weft_waitgroup_done(&all);
}

GTEST(waiting_writer, 2)
{
	weft_context *ctx = weft_context_make(NULL);
	ssize_t result = 0;
	int end[2];

	for (int k = 0; k < PTY; k++) {
		if (!wire_make(k, end))
			continue;
		ctx = weft_context_make(NULL);
		EQ(weft_set_context(end[1], ctx), 0);
		/* room for all of it would prove nothing */
		if (wire_is_socket(k))
			setsockopt(end[1], SOL_SOCKET, SO_SNDBUF,
			    &(int){ 4096 }, sizeof(int));
		weft_waitgroup_add(&all, 1);
		weft_go(write_much, end[1], &result);
		cancel_when_awaited(ctx, 1);
		weft_waitgroup_wait(&all);
		EQ(result, -ECANCELED);
		wire_drop(end);
		weft_context_release(ctx);
	}
}

/* ---- deadlines ---- */

static void
over_in_time(int k, int rd, int wr)
{
	int64_t when = weft_deadline(2 * WEFT_MS);
	weft_context *ctx = weft_context_make_until(NULL, when);
	char c;

	(void)k, (void)wr;
	EQ(weft_set_context(rd, ctx), 0);
	EQ(weft_read(rd, &c, 1), -ETIMEDOUT);
	OK(weft_now() >= when);
	refused(rd, -ETIMEDOUT);
	EQ(weft_context_error(ctx), -ETIMEDOUT);
	EQ(weft_set_context(rd, NULL), 0);
	weft_context_release(ctx);
}

GTEST(deadline_of_the_context, 2) { wire_each(over_in_time); }

/* Beside a deadline of the descriptor: what is first ends the call. */
GTEST(beside_a_deadline, 2)
{
	weft_context *ctx = weft_context_make(NULL);
	int64_t when = weft_deadline(2 * WEFT_MS);
	int end[2];
	char c;

	wire(TCP4, end);
	EQ(weft_set_context(end[0], ctx), 0);
	EQ(weft_set_deadline(end[0], when), 0);
	EQ(weft_read(end[0], &c, 1), -ETIMEDOUT);
	OK(weft_now() >= when);
	EQ(weft_set_deadline(end[0], 0), 0);
	weft_waitgroup_add(&all, 1);
	weft_go(expect_read, end[0], -ECANCELED, &all);
	cancel_when_awaited(ctx, 1);
	weft_waitgroup_wait(&all);
	EQ(weft_set_deadline(end[0], weft_deadline(3600 * WEFT_SECOND)), 0);
	EQ(weft_read(end[0], &c, 1), -ECANCELED);
	EQ(weft_set_context(end[0], NULL), 0);
	/* The deadline is still there. */
	EQ(weft_set_read_deadline(end[0], weft_now()), 0);
	EQ(weft_read(end[0], &c, 1), -ETIMEDOUT);
	wire_drop(end);
	weft_context_release(ctx);
}

TEST(without_a_runtime)
{
	weft_context *ctx = weft_context_make(NULL), *timed;
	int64_t when = weft_deadline(5 * WEFT_MS);
	int end[2];
	char c;

	wire(PIPE, end);
	timed = weft_context_make_until(NULL, when);
	EQ(weft_set_context(end[0], timed), 0);
	EQ(weft_read(end[0], &c, 1), -ETIMEDOUT);
	OK(weft_now() >= when);
	EQ(weft_set_context(end[0], ctx), 0);
	weft_context_cancel(ctx, 0);
	EQ(weft_read(end[0], &c, 1), -ECANCELED);
	weft_context_release(ctx);
	weft_context_release(timed);
	wire_drop(end);
}

/* ---- how long it is kept ---- */

/* A context that only the descriptor has. */
static void
set_child(int fd, weft_context *parent)
{
	weft_context *child = weft_context_make(parent);

	EQ(weft_set_context(fd, child), 0);
	weft_context_release(child);
}

/* Only the descriptor has it: its parent's cancel still arrives. */
GTEST(is_retained, 2)
{
	weft_context *parent = weft_context_make(NULL);
	int end[2];
	char c;

	wire(STREAM, end);
	set_child(end[0], parent);
	weft_waitgroup_add(&all, 1);
	weft_go(expect_read, end[0], -ECANCELED, &all);
	cancel_when_awaited(parent, 1);
	weft_waitgroup_wait(&all);
	EQ(weft_read(end[0], &c, 1), -ECANCELED);
	wire_drop(end);
	weft_context_release(parent);
}

/* Another file of the same number has none, however the first was closed. */
static void
ends_with_the_file(int k, bool ours)
{
	weft_context *ctx = weft_context_make(NULL);
	int end[2], next[2], number;
	char c = 0;

	wire(k, end);
	number = end[0];
	EQ(weft_set_context(end[0], ctx), 0);
	weft_context_cancel(ctx, 0);
	EQ(weft_read(end[0], &c, 1), -ECANCELED);
	EQ(ours ? weft_close(number) : close(number), 0);
	wire(k, next);
	if (next[1] == number) {
		next[1] = dup(number);
		close(number);
	}
	if (next[0] != number) {
		dup_to_free(next[0], number);
		close(next[0]);
		next[0] = number;
	}
	EQ(weft_write(next[1], "n", 1), 1);
	EQ(weft_read(number, &c, 1), 1);
	EQ(c, 'n');
	wire_drop(next);
	weft_close(end[1]);
	weft_context_release(ctx);
}

GTEST(ends_with_weft_close, 2)
{
	ends_with_the_file(PIPE_NB, true);
	ends_with_the_file(STREAM, true);
	ends_with_the_file(TCP4, true);
}

GTEST(ends_with_close, 2)
{
	ends_with_the_file(PIPE_NB, false);
	ends_with_the_file(STREAM, false);
	ends_with_the_file(TCP4, false);
}

/*
 * The same if it is cancelled while the new file is waited for: which the
 * kernel reports by itself only once the new one is known.
 */
GTEST(cancelled_after_close, 2)
{
	weft_context *ctx = weft_context_make(NULL);
	int end[2], next[2];

	wire(STREAM, end);
	EQ(weft_set_context(end[0], ctx), 0);
	close(end[0]);
	wire(STREAM, next);
	wire_same_number(end[0], next[0]);
	weft_waitgroup_add(&all, 1);
	weft_go(expect_read, next[0], 1, &all);
	weft_context_cancel(ctx, 0);
	weft_sleep(WEFT_MS);
	EQ(weft_write(next[1], "w", 1), 1);
	weft_waitgroup_wait(&all);
	wire_drop(next);
	weft_close(end[1]);
	weft_context_release(ctx);
}

/*
 * The monitor finds that the number is closed, and detaches the context; the
 * call ends, and a cancel later on finds nothing to do.
 */
GTEST(found_closed_by_the_monitor, 2)
{
	weft_context *parent = weft_context_make(NULL);
	int end[2];

	wire(STREAM, end);
	set_child(end[0], parent);
	weft_waitgroup_add(&all, 1);
	weft_go(expect_read, end[0], -EBADF, &all);
	while (wire_waiting() < 1)
		weft_yield();
	close(end[0]);
	weft_waitgroup_wait(&all);
	weft_context_cancel(parent, 0);
	weft_context_release(parent);
	weft_close(end[1]);
}

/* ---- other calls ---- */

static void
accepts(int fd, int result)
{
	EQ(weft_accept(fd, NULL, NULL), result);
	weft_waitgroup_done(&all);
}

GTEST(accept, 2)
{
	weft_context *ctx = weft_context_make(NULL);
	int fd = weft_listen("tcp", "127.0.0.1:0");

	EQ(weft_set_context(fd, ctx), 0);
	weft_waitgroup_add(&all, 1);
	weft_go(accepts, fd, -ECANCELED);
	cancel_when_awaited(ctx, 1);
	weft_waitgroup_wait(&all);
	EQ(weft_accept(fd, NULL, NULL), -ECANCELED);
	EQ(weft_close(fd), 0);
	weft_context_release(ctx);
}

static void
connects(int fd, wire_addr *to)
{
	EQ(weft_connect(fd, &to->a.any, to->len), -ECANCELED);
	weft_waitgroup_done(&all);
}

/* No event announces room in its queue: connect sleeps and tries again. */
GTEST(connect_to_a_full_queue, 2)
{
	weft_context *ctx = weft_context_make(NULL);
	wire_addr w = wire_unix(true);
	int ear = wire_listen(SOCK_STREAM, &w, 0), fd[8], n = 0;

	do
		fd[n] = raw_socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK);
	while (connect(fd[n], &w.a.any, w.len) == 0 && ++n < 7);
	EQ(weft_set_context(fd[n], ctx), 0);
	weft_waitgroup_add(&all, 1);
	weft_go(connects, fd[n], &w);
	weft_sleep(2 * WEFT_MS);
	weft_context_cancel(ctx, 0);
	weft_waitgroup_wait(&all);
	do
		weft_close(fd[n]);
	while (n-- > 0);
	weft_close(ear);
	weft_context_release(ctx);
}

static void
copies(int to, int from)
{
	EQ(weft_copy(to, from, INT64_MAX), -ECANCELED);
	weft_waitgroup_done(&all);
}

static void
splices(int to, int from)
{
	EQ(weft_splice(from, NULL, to, NULL, 100, 0), -ECANCELED);
	weft_waitgroup_done(&all);
}

GTEST(copy_and_splice, 2)
{
	for (int i = 0; i < 4; i++) {
		weft_context *ctx = weft_context_make(NULL);
		int from[2], to[2];

		wire(PIPE_NB, from);
		wire(STREAM, to);
		EQ(weft_set_context(from[0], ctx), 0);
		weft_waitgroup_add(&all, 1);
		if (i % 2)
			weft_go(copies, to[1], from[0]);
		else
			weft_go(splices, to[1], from[0]);
		cancel_when_awaited(ctx, 1);
		weft_waitgroup_wait(&all);
		wire_drop(from);
		wire_drop(to);
		weft_context_release(ctx);
	}
}

GTEST(goroutine_that_begins_when_readable, 2)
{
	weft_context *ctx = weft_context_make(NULL);
	int end[2];

	wire(TCP4, end);
	EQ(weft_set_context(end[0], ctx), 0);
	weft_waitgroup_add(&all, 1);
	OK(weft_go_readable(end[0], expect_read, end[0], -ECANCELED, &all) > 0);
	weft_context_cancel(ctx, 0);
	weft_waitgroup_wait(&all);
	/* At once, if it is cancelled already. */
	weft_waitgroup_add(&all, 1);
	OK(weft_go_readable(end[0], expect_read, end[0], -ECANCELED, &all) > 0);
	weft_waitgroup_wait(&all);
	/* Or if it is set to one that is. */
	EQ(weft_set_context(end[0], NULL), 0);
	weft_waitgroup_add(&all, 1);
	OK(weft_go_readable(end[0], expect_read, end[0], -ECANCELED, &all) > 0);
	EQ(weft_set_context(end[0], ctx), 0);
	weft_waitgroup_wait(&all);
	wire_drop(end);
	weft_context_release(ctx);
}

static void *
thread_reads(void *fd)
{
	char c;

	EQ(weft_read(*(int *)fd, &c, 1), -ECANCELED);
	return NULL;
}

GTEST(plain_thread, 2)
{
	weft_context *ctx = weft_context_make(NULL);
	int end[2];
	pthread_t t;

	wire(TCP4, end);
	EQ(weft_set_context(end[0], ctx), 0);
	EQ(pthread_create(&t, NULL, thread_reads, &end[0]), 0);
	cancel_when_awaited(ctx, 1);
	pthread_join(t, NULL);
	wire_drop(end);
	weft_context_release(ctx);
}

/* One for many descriptors, as a server's. */
GTEST(many_descriptors, 4)
{
	enum { MANY = 200 };
	weft_context *ctx = weft_context_make(NULL);
	int end[MANY][2];

	weft_waitgroup_add(&all, MANY);
	for (int i = 0; i < MANY; i++) {
		wire(i % 2 ? PIPE_NB : STREAM_NB, end[i]);
		EQ(weft_set_context(end[i][0], ctx), 0);
		weft_go(expect_read, end[i][0], -ECANCELED, &all);
	}
	cancel_when_awaited(ctx, MANY);
	weft_waitgroup_wait(&all);
	for (int i = 0; i < MANY; i++)
		wire_drop(end[i]);
	weft_context_release(ctx);
}

GTEST(what_has_none, 1)
{
	weft_context *ctx = weft_context_make(NULL);
	int fd = open("/proc/self/exe", O_RDONLY);
	char c;

	EQ(weft_set_context(-1, ctx), -EBADF);
	EQ(weft_set_context(1000, ctx), -EBADF);
	/* No effect on a file. */
	EQ(weft_set_context(fd, ctx), 0);
	weft_context_cancel(ctx, 0);
	EQ(weft_read(fd, &c, 1), 1);
	EQ(weft_set_context(fd, NULL), 0);
	weft_close(fd);
	weft_context_release(ctx);
}

/* ---- poll ---- */

static void
polls(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	weft_context *ctx = weft_context_make(NULL);
	int64_t when = weft_deadline(3 * WEFT_MS);
	weft_context *timed = weft_context_make_until(NULL, when);

	EQ(weft_poll_context(&p, 1, timed), -ETIMEDOUT);
	OK(weft_now() >= when);
	weft_context_release(timed);
	weft_context_cancel(ctx, 0);
	EQ(weft_poll_context(&p, 1, ctx), -ECANCELED);
	EQ(weft_poll_context(NULL, 0, ctx), -ECANCELED);
	EQ(weft_try_poll(&p, 1), 0);
	weft_context_release(ctx);
}

TEST(poll_without_a_runtime)
{
	int end[2];

	wire(PIPE, end);
	polls(end[0]);
	wire_drop(end);
}

static void
expect_poll(int fd, weft_context *ctx, int result)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	EQ(weft_poll_context(&p, 1, ctx), result);
	weft_waitgroup_done(&all);
}

GTEST(poll, 2)
{
	weft_context *ctx = weft_context_make(NULL);
	struct pollfd p;
	int end[2];

	wire(STREAM, end);
	polls(end[0]);
	weft_waitgroup_add(&all, 1);
	weft_go(expect_poll, end[0], ctx, -ECANCELED);
	cancel_when_awaited(ctx, 1);
	weft_waitgroup_wait(&all);
	/* Ready is preferred; and the root is never cancelled. */
	weft_waitgroup_add(&all, 1);
	weft_go(expect_poll, end[0], NULL, 1);
	EQ(weft_write(end[1], "p", 1), 1);
	weft_waitgroup_wait(&all);
	p = (struct pollfd){ .fd = end[0], .events = POLLIN };
	EQ(weft_poll_context(&p, 1, ctx), 1);
	EQ(p.revents, POLLIN);
	/* The descriptor's own does not matter to poll. */
	EQ(weft_set_context(end[0], ctx), 0);
	EQ(weft_poll(&p, 1, 0), 1);
	wire_drop(end);
	weft_context_release(ctx);
}
