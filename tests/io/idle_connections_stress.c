/* SPDX-License-Identifier: MIT */
/*
 * Many connections on which nothing happens: what each costs, and what one on
 * which something happens feels of them. At full size:
 *
 *	WEFT_IDLE=18000 build/tests/io/idle_connections_stress
 *
 * The far ends belong to another process, so that each connection costs this
 * one a single descriptor. What the kernel keeps for a socket is not counted.
 */
#define _GNU_SOURCE 1
#include <signal.h>
#include <sys/prctl.h>

#include "connection.h"
#include "fd_expect.h"
#include "run_env.h"

/* A sanitizer has memory of its own for each stack. */
enum { MEASURED = !T_SANITIZED };

enum { WARM = 64, ROUNDS = 2000 };
enum { ENOUGH = 3000 };	/* that what others need does not count */
/* Bytes for each: a page of stack and what is beside it; no stack at all. */
enum { WITH_GOROUTINE = 5 * 1024, WITHOUT = 600 };

static int listener, control;
static long idle, woken;
static weft_waitgroup all;

/* ---- the far ends, in a process of their own ---- */

/*
 * Makes connections when told so ('c' and a number), talks on all of them when
 * told so ('t'), closes all and ends when the control connection does.
 */
static void
be_far_ends(int fd, int port)
{
	int *far = calloc((size_t)idle, sizeof *far);
	long n = 0, more;
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(fd, &c, 1) == 1) {
		if (c == 'c' && read(fd, &more, sizeof more) == sizeof more)
			while (more-- > 0)
				far[n++] = plain_connect(1, port);
		for (long i = 0; c == 't' && i < n; i++)
			NEED((int)write(far[i], "t", 1));
		NEED((int)write(fd, "k", 1));
	}
	_exit(0);
}

/* Before the runtime, with as many descriptors as there can be. */
static void
start_far_ends(void)
{
	struct rlimit r;
	int fd[2];

	limit_fds(RLIM_INFINITY);
	NEED(getrlimit(RLIMIT_NOFILE, &r));
	idle = from_env("WEFT_IDLE", t_scale(6000));
	if ((rlim_t)idle + 100 > r.rlim_cur)
		idle = (long)r.rlim_cur - 100;
	listener = plain_listen(1, 4096);
	unix_pair(fd);
	if (NEED(fork()) == 0) {
		NEED(close(fd[0]));
		be_far_ends(fd[1], port_of(listener));
	}
	NEED(close(fd[1]));
	control = fd[0];
}

static void
tell(char what, long n)
{
	char m[1 + sizeof n];

	m[0] = what;
	memcpy(m + 1, &n, sizeof n);
	EQ(weft_write(control, m, what == 'c' ? sizeof m : 1),
	    what == 'c' ? sizeof m : 1);
}

static void
told(void)
{
	char k = 0;

	EQ(weft_read(control, &k, 1), 1);
	EQ(k, 'k');
}

/* ---- this end ---- */

static void
ends(int fd)
{
	char c;

	EQ(weft_read(fd, &c, 1), 0);
	EQ(weft_close(fd), 0);
	weft_waitgroup_done(&all);
}

static void
waits(int fd)
{
	check_byte(fd, 't');
	bump(&woken);
	ends(fd);
}

static void
begins(int fd)
{
	check_byte(fd, 't');
	bump(&woken);
	OK(weft_go_readable(fd, ends, fd) > 0);
}

static void
accept_some(long n, bool readable)
{
	tell('c', n);
	weft_waitgroup_add(&all, (int)n);
	while (n-- > 0) {
		int fd = NEED(weft_accept(listener, NULL, NULL));

		if (readable)
			OK(weft_go_readable(fd, begins, fd) > 0);
		else
			OK(weft_try_go(waits, fd) > 0);
	}
	told();
}

static void
answer(int fd)
{
	char c;

	while (weft_read(fd, &c, 1) == 1)
		EQ(weft_write(fd, &c, 1), 1);
	EQ(weft_close(fd), 0);
	weft_waitgroup_done(&all);
}

/* Round trips between two goroutines while all others wait. */
static void
measure_latency(void)
{
	long n = t_scale(ROUNDS);
	int64_t *ns = calloc((size_t)n, sizeof *ns);
	char c = 'x';
	int fd[2];

	tcp_pair(fd);
	weft_waitgroup_add(&all, 1);
	weft_go(answer, fd[0]);
	for (long i = 0; i < n; i++) {
		int64_t start = weft_now();

		EQ(weft_write(fd[1], &c, 1), 1);
		EQ(weft_read(fd[1], &c, 1), 1);
		ns[i] = weft_now() - start;
	}
	EQ(weft_close(fd[1]), 0);
	print_times("round trips beside them", ns, (size_t)n);
	free(ns);
}

static void
body(bool readable, long at_most)
{
	int64_t before, each;
	long n = idle - WARM;

	accept_some(WARM, readable);
	await_waiting(WARM);
	before = t_resident();
	accept_some(n, readable);
	await_waiting(n + WARM);
	each = (t_resident() - before) / n;
	printf("# %ld idle connections, %lld bytes each\n", idle,
	    (long long)each);
	fflush(stdout);
	if (MEASURED && idle >= ENOUGH)
		OK(each < at_most);
	measure_latency();
	tell('t', 0);
	await(&woken, idle);
	told();
	EQ(weft_close(control), 0);
	weft_waitgroup_wait(&all);
	EQ(weft_close(listener), 0);
	EQ(io_now().open, 0);
}

static void with_goroutines(void) { body(false, WITH_GOROUTINE); }
static void when_readable(void) { body(true, WITHOUT); }

TEST(a_goroutine_each)
{
	start_far_ends();
	run_env(2, NULL, with_goroutines);
}

TEST(begun_when_readable)
{
	start_far_ends();
	run_env(2, NULL, when_readable);
}
