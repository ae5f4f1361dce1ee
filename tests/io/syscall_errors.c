/* SPDX-License-Identifier: MIT */
/*
 * The kernel refuses: no descriptor in the whole system, no memory, a peer
 * that has gone, a signal. A call that is refused for a reason that passes
 * waits and tries again; other reasons are the caller's to know.
 */
#define _GNU_SOURCE 1
#include <sys/un.h>

#include "fd_expect.h"
#include "run_env.h"
#include "syscall_inject.h"

enum { TIMES = 4 };

static weft_waitgroup all;
static int listener;

/* ---- accepting ---- */

static void
client(int port)
{
	char c = 'c';
	int fd = plain_connect(1, port);

	EQ(weft_write(fd, &c, 1), 1);
	EQ(weft_read(fd, &c, 1), 1);
	EQ(weft_close(fd), 0);
	weft_waitgroup_done(&all);
}

static void
serve(int fd)
{
	echo_byte(fd);
	EQ(weft_close(fd), 0);
}

/* Returns what accept says until the client is there. */
static int
accept_despite(int error)
{
	int fd, told = 0;

	weft_waitgroup_add(&all, 1);
	inject(SYS_accept4, error, TIMES);
	weft_go(client, port_of(listener));
	for (int i = 0; (fd = weft_accept(listener, NULL, NULL)) < 0; i++) {
		told = fd;
		OK(i < TIMES);
	}
	OK(injected(SYS_accept4));
	serve(fd);
	weft_waitgroup_wait(&all);
	return told;
}

static void
refused_for_a_while(void)
{
	listener = plain_listen(1, 16);
	EQ(accept_despite(EMFILE), 0);
	EQ(accept_despite(ENFILE), 0);
	EQ(accept_despite(EINTR), 0);
	/* These are told, or waited for; the connection is not lost. */
	for (int i = 0; i < 4; i++) {
		static const int errors[] = { ENOMEM, ENOBUFS, ECONNABORTED,
			EPROTO };
		int told = accept_despite(errors[i]);

		OK(told == 0 || told == -errors[i]);
		printf("# %s: %s\n", strerror(errors[i]),
		    told ? "told" : "tried again");
	}
	fflush(stdout);
	EQ(weft_close(listener), 0);
}

TEST(accept_is_refused)
{
	inject_run(SYS_accept4, 2, refused_for_a_while);
}

/* Refused for good: until its deadline, and without many calls. */
static void
refused_for_good(void)
{
	static const int errors[] = { EMFILE, ENFILE };
	int64_t when;
	int fd;

	listener = plain_listen(1, 16);
	fd = plain_connect(1, port_of(listener));
	for (int i = 0; i < 2; i++) {
		long before = inject_seen(SYS_accept4);

		inject(SYS_accept4, errors[i], 1000000);
		when = weft_deadline(200 * WEFT_MS);
		EQ(weft_set_read_deadline(listener, when), 0);
		EQ(weft_accept(listener, NULL, NULL), -ETIMEDOUT);
		OK(weft_now() >= when);
		/* It does not ask all the time. */
		OK(inject_seen(SYS_accept4) - before < 200);
		OK(inject_seen(SYS_accept4) - before > 0);
	}
	inject(SYS_accept4, 0, 0);
	EQ(weft_set_read_deadline(listener, WEFT_NEVER), 0);
	NEED(weft_close(NEED(weft_accept(listener, NULL, NULL))));
	EQ(weft_close(listener), 0);
	NEED(close(fd));
}

TEST(accept_is_refused_for_good)
{
	inject_run(SYS_accept4, 2, refused_for_good);
}

/* ---- while it is refused ---- */

/*
 * It pauses between tries, in the end for 50 ms. What ends the call comes just
 * after a try: it must not wait for the next. The best of some rounds counts,
 * since a woken goroutine may have to wait for a processor.
 */
enum { ROUNDS = 4, TRIES = 10 };

struct refused {
	long nr;
	int (*call)(int fd);
	int fd, result;
};

static int
accept_it(int fd)
{
	return weft_accept(fd, NULL, NULL);
}

static int
connect_it(int fd)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX, .sun_path = "/none" };

	return weft_connect(fd, (struct sockaddr *)&to, sizeof to);
}

static void
be_refused(struct refused *r)
{
	r->result = r->call(r->fd);
	weft_waitgroup_done(&all);
}

static void
await_tries(long nr, long n)
{
	while (inject_seen(nr) < n)
		weft_sleep(100 * WEFT_US);
}

static int
end_by_close(int fd)
{
	EQ(weft_close(fd), 0);
	return -EBADF;
}

static int
end_by_deadline(int fd)
{
	EQ(weft_set_deadline(fd, weft_now()), 0);
	return -ETIMEDOUT;
}

/* How late it was. */
static int64_t
end_refused(struct refused *r, int (*end)(int fd))
{
	long tries = inject_seen(r->nr);
	int64_t ended;
	int want;

	weft_waitgroup_add(&all, 1);
	weft_go(be_refused, r);
	await_tries(r->nr, tries + TRIES);
	ended = weft_now();
	want = end(r->fd);
	weft_waitgroup_wait(&all);
	ended = weft_now() - ended;
	EQ(r->result, want);
	if (want != -EBADF)
		EQ(weft_close(r->fd), 0);
	return ended;
}

static void
ends_at_once(long nr, int (*call)(int fd), int (*end)(int fd))
{
	int64_t best = INT64_MAX;

	for (int i = 0; i < ROUNDS; i++) {
		struct refused r = { .nr = nr, .call = call };
		int64_t late;

		r.fd = nr == SYS_accept4 ? plain_listen(1, 16) :
		    NEED(socket(AF_UNIX, SOCK_STREAM, 0));
		late = end_refused(&r, end);
		if (late < best)
			best = late;
	}
	OK(best < 25 * WEFT_MS);
}

static void
refused_ends(long nr, int error, int (*call)(int fd))
{
	inject(nr, error, 1000000);
	ends_at_once(nr, call, end_by_close);
	ends_at_once(nr, call, end_by_deadline);
}

static void
accepts_end(void)
{
	refused_ends(SYS_accept4, EMFILE, accept_it);
}

TEST(accept_ends_between_tries)
{
	inject_run(SYS_accept4, 2, accepts_end);
}

static void
connects_end(void)
{
	refused_ends(SYS_connect, EAGAIN, connect_it);
}

TEST(connect_ends_between_tries)
{
	inject_run(SYS_connect, 2, connects_end);
}

/* ---- registering ---- */

/* Waits for a byte that is sent once it waits, or fails. */
static ssize_t
read_despite(int error)
{
	char c = 0;
	int fd[2];
	ssize_t r;

	unix_pair(fd);
	inject(SYS_epoll_ctl, error, error != 0);
	EQ(weft_set_read_deadline(fd[0], weft_deadline(5 * WEFT_MS)), 0);
	r = weft_read(fd[0], &c, 1);
	inject(SYS_epoll_ctl, 0, 0);
	/* Whatever it was, it is over. */
	EQ(weft_set_read_deadline(fd[0], weft_deadline(5 * WEFT_MS)), 0);
	EQ(weft_read(fd[0], &c, 1), -ETIMEDOUT);
	EQ(weft_set_read_deadline(fd[0], WEFT_NEVER), 0);
	EQ(weft_write(fd[1], "x", 1), 1);
	EQ(weft_read(fd[0], &c, 1), 1);
	EQ(weft_close(fd[0]), 0);
	EQ(weft_close(fd[1]), 0);
	return r;
}

static void
not_registered(void)
{
	static const int errors[] = { ENOMEM, ENOSPC };

	read_despite(0);	/* weft's own are registered now */
	for (int i = 0; i < 2; i++) {
		ssize_t r = read_despite(errors[i]);

		OK(r == -errors[i] || r == -ETIMEDOUT);
		printf("# %s: %s\n", strerror(errors[i]),
		    r == -errors[i] ? "told" : "tried again");
	}
	fflush(stdout);
	EQ(io_now().open, 0);
}

TEST(register_is_refused)
{
	inject_run(SYS_epoll_ctl, 2, not_registered);
}

/* ---- reading and writing, cut short ---- */

static void
interrupted(void)
{
	char c = 0;
	int fd[2];

	tcp_pair(fd);
	for (int i = 0; i < 20; i++) {
		inject(SYS_recvfrom, EINTR, i % 3);
		inject(SYS_sendto, EINTR, (i + 1) % 3);
		EQ(weft_write(fd[1], "x", 1), 1);
		EQ(weft_read(fd[0], &c, 1), 1);
		EQ(weft_sock_send(fd[0], "x", 1, 0), 1);
		EQ(weft_sock_recv(fd[1], &c, 1, 0), 1);
	}
	EQ(weft_close(fd[0]), 0);
	EQ(weft_close(fd[1]), 0);
}

TEST(calls_are_interrupted)
{
	inject_start((long[]){ SYS_recvfrom, SYS_sendto }, 2);
	run_env(2, NULL, interrupted);
}

/* ---- the kernel says that it would block, for reasons of its own ---- */

/* Of a pipe that is not empty, of which no event will come. */
static void
busy_for_a_moment(void)
{
	char c;
	int fd[2];

	NEED(pipe(fd));
	EQ(write(fd[1], "xxxx", 4), 4);
	for (int i = 0; i < 4; i++) {
		inject(SYS_preadv2, EAGAIN, i > 0);
		EQ(weft_read(fd[0], &c, 1), 1);
		/* the first event of it has come */
		weft_sleep(10 * WEFT_MS);
	}
	await_injected(SYS_preadv2);
	EQ(weft_close(fd[0]), 0);
	NEED(close(fd[1]));
}

TEST(asked_again_what_would_block)
{
	inject_run(SYS_preadv2, 2, busy_for_a_moment);
}
