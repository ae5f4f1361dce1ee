/* SPDX-License-Identifier: MIT */
/*
 * A read comes after the write whose data it returns. What is handed over
 * so is plain memory: ThreadSanitizer must have nothing to say. On other builds
 * these are tests of the calls, between threads and between goroutines.
 *
 * Each way sends one thing. A player waits for it, checks what the other has
 * left in the box, leaves something itself and sends one back, by the same way
 * over a second pair. Threads without a runtime have nothing else in common
 * that could bring an order with it; goroutines have.
 */
#define _GNU_SOURCE 1
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "fd_pairs.h"
#include "plain_thread.h"

enum { AT_ONCE = 16 };

/* Plain, and far from anything else. */
static struct box {
	char before[128];
	long value[AT_ONCE];
	char after[128];
} box;

static void
leave(long n)
{
	for (int i = 0; i < AT_ONCE; i++)
		box.value[i] = n + i;
}

static bool
is_left(long n)
{
	bool ok = true;

	for (int i = 0; i < AT_ONCE; i++)
		ok &= box.value[i] == n + i;
	return ok;
}

/* ---- ways ---- */

struct way {
	int wire;
	void (*send)(int fd);
	bool (*recv)(int fd);
};

static void by_write(int fd) { EQ(weft_write(fd, "x", 1), 1); }

static bool
by_read(int fd)
{
	char c = 0;

	return weft_read(fd, &c, 1) == 1 && c == 'x';
}

static void
by_write_full(int fd)
{
	EQ(weft_write_full(fd, "x", 1, NULL), 1);
}

static bool
by_read_full(int fd)
{
	char c = 0;

	return weft_read_full(fd, &c, 1, NULL) == 1 && c == 'x';
}

/* The error after it is not its concern. */
static bool
by_read_full_in_part(int fd)
{
	char c[2] = {0};
	size_t done = 0;
	ssize_t n;

	weft_set_read_deadline(fd, weft_deadline(10 * WEFT_MS));
	do
		n = weft_read_full(fd, c, 2, &done);
	while (done == 0 && n == -ETIMEDOUT &&
	    !weft_set_read_deadline(fd, weft_deadline(10 * WEFT_MS)));
	weft_set_read_deadline(fd, WEFT_NEVER);
	return n == -ETIMEDOUT && done == 1 && c[0] == 'x';
}

static void
by_writev(int fd)
{
	char c = 'x';
	struct iovec v = { &c, 1 };

	EQ(weft_writev(fd, &v, 1), 1);
}

static bool
by_readv(int fd)
{
	char c = 0;
	struct iovec v = { &c, 1 };

	return weft_readv(fd, &v, 1) == 1 && c == 'x';
}

static void by_send(int fd) { EQ(weft_sock_send(fd, "x", 1, 0), 1); }

static bool
by_recv(int fd)
{
	char c = 0;

	return weft_sock_recv(fd, &c, 1, 0) == 1 && c == 'x';
}

static void
by_sendmsg(int fd)
{
	char c = 'x';
	struct iovec v = { &c, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	EQ(weft_sendmsg(fd, &m, 0), 1);
}

static bool
by_recvmsg(int fd)
{
	char c = 0;
	struct iovec v = { &c, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	return weft_recvmsg(fd, &m, 0) == 1 && c == 'x';
}

static void by_fd(int fd) { EQ(weft_send_fd(fd, fd), 0); }

static bool
by_recv_fd(int fd)
{
	int got = weft_recv_fd(fd);

	return got >= 0 && weft_close(got) == 0;
}

/* To look is enough; the byte is taken by hand. */
static bool
by_poll(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char c = 0;

	return weft_poll(&p, 1, WEFT_NEVER) == 1 &&
	    syscall(SYS_read, fd, &c, 1) == 1;
}

static bool
by_waiting(int fd)
{
	char c = 0;

	return weft_wait_readable(fd) == 0 &&
	    syscall(SYS_read, fd, &c, 1) == 1;
}

static void
by_sendfile(int fd)
{
	off_t at = 0;
	int file = memfd_create("x", MFD_CLOEXEC);

	EQ(syscall(SYS_write, file, "x", 1), 1);
	EQ(weft_sendfile(fd, file, &at, 1), 1);
	EQ(syscall(SYS_close, file), 0);
}

/* The call that moves it does not read it. */
static bool
by_splice(int fd)
{
	int aside[2];
	char c = 0;
	bool ok = raw_pipe(aside, O_CLOEXEC) == 0 &&
	    weft_splice(fd, NULL, aside[1], NULL, 1, 0) == 1 &&
	    syscall(SYS_read, aside[0], &c, 1) == 1 && c == 'x';

	wire_drop(aside);
	return ok;
}

static void
by_number(int fd)
{
	uint64_t one = 1;

	EQ(weft_write(fd, &one, sizeof one), sizeof one);
}

static bool
by_read_number(int fd)
{
	uint64_t got = 0;

	return weft_read(fd, &got, sizeof got) == sizeof got && got == 1;
}

/* ---- there and back ---- */

struct game {
	const struct way *way;
	long rounds;
	int to[2], fro[2];	/* [0]: to read from */
	weft_waitgroup over;
};

static void
serve(struct game *g)
{
	for (long i = 0; i < g->rounds; i++) {
		leave(2 * i);
		g->way->send(g->to[1]);
		OK(g->way->recv(g->fro[0]));
		OK(is_left(2 * i + 1));
	}
}

static void
reply(struct game *g)
{
	for (long i = 0; i < g->rounds; i++) {
		OK(g->way->recv(g->to[0]));
		OK(is_left(2 * i));
		leave(2 * i + 1);
		g->way->send(g->fro[1]);
	}
	weft_waitgroup_done(&g->over);
}

PLAIN_THREAD(reply_on_thread, reply(arg))

/* The first call on a descriptor does more: threads shall not meet there. */
static void
make_known(int fd)
{
	OK(fd >= 0);
	EQ(weft_set_deadline(fd, WEFT_NEVER), 0);
}

static void
connect_ends(int kind, int end[2])
{
	if (kind >= 0) {
		wire(kind, end);
	} else {
		end[0] = (int)syscall(SYS_eventfd2, 0, EFD_NONBLOCK);
		end[1] = (int)syscall(SYS_dup, end[0]);
	}
	make_known(end[0]);
	make_known(end[1]);
}

static void
play(const struct way *way, bool threads, long rounds)
{
	struct game g = { .way = way, .rounds = rounds };
	pthread_t t;

	connect_ends(way->wire, g.to);
	connect_ends(way->wire, g.fro);
	weft_waitgroup_add(&g.over, 1);
	if (threads)
		EQ(pthread_create(&t, NULL, reply_on_thread, &g), 0);
	else
		weft_go(reply, &g);
	serve(&g);
	if (threads)
		EQ(pthread_join(t, NULL), 0);
	else
		weft_waitgroup_wait(&g.over);
	wire_drop(g.to);
	wire_drop(g.fro);
}

#define WAY(name, kind, out, in, rounds)				\
	static const struct way way_##name = { kind, out, in };	\
	TEST(name##_threads) { play(&way_##name, true, rounds); }	\
	GTEST(name##_on_4, 4) { play(&way_##name, false, rounds); }

WAY(pipe, PIPE, by_write, by_read, t_scale(500))
WAY(pipe_nonblocking, PIPE_NB, by_write, by_read, t_scale(500))
WAY(pipe_full, PIPE, by_write_full, by_read_full, t_scale(500))
WAY(pipe_in_part, PIPE, by_write, by_read_full_in_part, 3)
WAY(pipe_parts, PIPE, by_writev, by_readv, t_scale(500))
WAY(pipe_spliced, PIPE, by_write, by_splice, t_scale(100))
WAY(pipe_sent_file, PIPE, by_sendfile, by_read, t_scale(100))
WAY(pipe_polled, PIPE, by_write, by_poll, t_scale(100))
WAY(pipe_awaited, PIPE, by_write, by_waiting, t_scale(100))
WAY(terminal, PTY, by_write, by_read, t_scale(100))
WAY(event, -1, by_number, by_read_number, t_scale(500))
WAY(stream, STREAM, by_write, by_read, t_scale(500))
WAY(stream_fd, STREAM, by_fd, by_recv_fd, t_scale(100))
WAY(dgram, DGRAM, by_sendmsg, by_recvmsg, t_scale(500))
WAY(tcp, TCP4, by_write, by_read, t_scale(500))
WAY(tcp_parts, TCP4, by_writev, by_readv, t_scale(500))
WAY(tcp_sent, TCP4_NB, by_send, by_recv, t_scale(500))
WAY(udp, UDP4, by_send, by_recvmsg, t_scale(500))

/* ---- once ---- */

/* One does something to an end, the other finds out at its own. */
struct once {
	void (*act)(int fd);
	bool (*notice)(int fd);
	int end[2];
};

static void *
act(void *arg)
{
	struct once *o = arg;

	leave(1);
	o->act(o->end[1]);
	return NULL;
}

static void
try_once(int kind, void (*doing)(int fd), bool (*notice)(int fd))
{
	struct once o = { .act = doing, .notice = notice };
	pthread_t t;

	connect_ends(kind, o.end);
	EQ(pthread_create(&t, NULL, act, &o), 0);
	OK(o.notice(o.end[0]));
	OK(is_left(1));
	EQ(pthread_join(t, NULL), 0);
	weft_close(o.end[0]);
}

static void by_close(int fd) { EQ(weft_close(fd), 0); }
static void by_shutdown(int fd) { EQ(weft_shutdown(fd, SHUT_WR), 0); }

static bool
at_end(int fd)
{
	char c;

	return weft_read(fd, &c, 1) == 0;
}

TEST(end_of_pipe) { try_once(PIPE, by_close, at_end); }
TEST(end_of_stream) { try_once(STREAM, by_close, at_end); }
TEST(end_of_tcp) { try_once(TCP4, by_shutdown, at_end); }

static void
by_reset(int fd)
{
	struct linger at_once = { 1, 0 };

	EQ(setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
	EQ(weft_close(fd), 0);
}

static bool
at_reset(int fd)
{
	char c;

	return weft_read(fd, &c, 1) == -ECONNRESET;
}

TEST(reset_of_tcp) { try_once(TCP4, by_reset, at_reset); }

static bool
at_refusal(int fd)
{
	ssize_t n;

	do
		n = weft_write(fd, "x", 1);
	while (n == 1 && sched_yield() == 0);
	return n == -EPIPE || n == -ECONNRESET;
}

TEST(reader_closed_stream) { try_once(STREAM, by_close, at_refusal); }

/* ---- a connection ---- */

static wire_addr listens_at;
static int caller;

static void *
call_it(void *unused)
{
	leave(1);
	EQ(weft_connect(caller, &listens_at.a.any, listens_at.len), 0);
	return unused;
}

TEST(connection)
{
	int fd = raw_socket(AF_INET, SOCK_STREAM), got;
	pthread_t t;

	listens_at = wire_loopback(AF_INET);
	EQ(bind(fd, &listens_at.a.any, listens_at.len), 0);
	EQ(listen(fd, 1), 0);
	EQ(getsockname(fd, &listens_at.a.any, &listens_at.len), 0);
	caller = raw_socket(AF_INET, SOCK_STREAM);
	make_known(caller);
	make_known(fd);
	EQ(pthread_create(&t, NULL, call_it, NULL), 0);
	got = weft_accept(fd, NULL, NULL);
	OK(got >= 0);
	OK(is_left(1));
	EQ(pthread_join(t, NULL), 0);
	weft_close(got);
	weft_close(caller);
	weft_close(fd);
}

/* ---- a file ---- */

static int file, file_again;

static void *
put_in_file(void *unused)
{
	leave(1);
	EQ(weft_pwrite(file_again, "x", 1, 0), 1);
	return unused;
}

TEST(in_a_file)
{
	pthread_t t;
	char c = 0;

	file = memfd_create("x", MFD_CLOEXEC);
	file_again = dup(file);
	make_known(file);
	make_known(file_again);
	EQ(pthread_create(&t, NULL, put_in_file, NULL), 0);
	while (weft_pread(file, &c, 1, 0) == 0)
		sched_yield();
	EQ(c, 'x');
	OK(is_left(1));
	EQ(pthread_join(t, NULL), 0);
	weft_close(file);
	weft_close(file_again);
}

/* ---- through another process ---- */

static int into;

static void *
put_into(void *unused)
{
	leave(1);
	EQ(weft_write(into, "x", 1), 1);
	return unused;
}

/* Passes on one byte. */
static void
pass_on(int from, int to)
{
	char c;

	_exit(read(from, &c, 1) != 1 || write(to, &c, 1) != 1);
}

TEST(through_a_process)
{
	int to[2], fro[2], status = -1;
	pthread_t t;
	pid_t pid;

	connect_ends(PIPE, to);
	connect_ends(STREAM, fro);
	pid = fork();
	if (pid == 0)
		pass_on(to[0], fro[1]);
	into = to[1];
	EQ(pthread_create(&t, NULL, put_into, NULL), 0);
	OK(by_read(fro[0]));
	OK(is_left(1));
	EQ(pthread_join(t, NULL), 0);
	EQ(waitpid(pid, &status, 0), pid);
	EQ(status, 0);
	wire_drop(to);
	wire_drop(fro);
}
