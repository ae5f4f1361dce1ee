/* SPDX-License-Identifier: MIT */
/* TCP on loopback, both ends in this process, a goroutine at each end. */
#include "echo.h"
#include "bench.h"

#include <stdio.h>
#include <sys/resource.h>

#include <weft.h>

void
echo_descriptors(const char *name, unsigned long n)
{
	struct rlimit l;
	char line[64];

	snprintf(line, sizeof line, "%s: descriptors, ulimit -n", name);
	bench_check(line, getrlimit(RLIMIT_NOFILE, &l), 0);
	if (l.rlim_cur >= n)
		return;
	if (l.rlim_max < n)
		bench_check(line, (long)l.rlim_max, (long)n);
	l.rlim_cur = n;
	bench_check(line, setrlimit(RLIMIT_NOFILE, &l), 0);
}

static void
serve(int fd)
{
	char buf[ECHO_BYTES];
	ssize_t n;

	while ((n = weft_read(fd, buf, sizeof buf)) > 0)
		if (weft_write(fd, buf, (size_t)n) != n)
			break;
	weft_close(fd);
}

/* Waits without a stack for what comes next. */
static void
serve_once(int fd)
{
	char buf[ECHO_BYTES];
	ssize_t n = weft_read(fd, buf, sizeof buf);

	if (n <= 0 || weft_write(fd, buf, (size_t)n) != n ||
	    weft_go_readable(fd, serve_once, fd) < 0)
		weft_close(fd);
}

static void
acceptor(struct echo_server *s)
{
	int fd;

	while ((fd = weft_accept(s->fd, NULL, NULL)) >= 0) {
		int64_t id = s->readable ?
		    weft_go_readable(fd, serve_once, fd) :
		    weft_try_go(serve, fd);

		bench_check("echo: serve", id > 0, true);
		__atomic_add_fetch(&s->accepted, 1, __ATOMIC_RELAXED);
	}
}

void
echo_start(struct echo_server *s, bool readable)
{
	*s = (struct echo_server){ .readable = readable };
	s->fd = weft_listen("tcp", "127.0.0.1:0");
	bench_check("echo: listen", s->fd < 0 ? s->fd : 0, 0);
	s->port = weft_local_port(s->fd);
	weft_go(acceptor, s);
}

void
echo_stop(struct echo_server *s)
{
	weft_close(s->fd);
}

int
echo_dial(const struct echo_server *s)
{
	char address[32];
	int fd;

	snprintf(address, sizeof address, "127.0.0.1:%d", s->port);
	fd = weft_dial("tcp", address);
	bench_check("echo: dial", fd < 0 ? fd : 0, 0);
	return fd;
}

void
echo_trip(int fd)
{
	char buf[ECHO_BYTES] = {0};
	ssize_t n;

	bench_check("echo: write", weft_write(fd, buf, sizeof buf), ECHO_BYTES);
	for (long got = 0; got < ECHO_BYTES; got += n) {
		n = weft_read(fd, buf, sizeof buf);
		if (n <= 0)
			bench_check("echo: read", n, ECHO_BYTES);
	}
}

static void
client(int fd, int trips, weft_waitgroup *wg)
{
	for (int i = 0; i < trips; i++)
		echo_trip(fd);
	weft_close(fd);
	weft_waitgroup_done(wg);
}

/* All are connected before the clock starts, if not yet accepted. */
static void
echo(const char *name, int conns, int trips)
{
	enum { MAX_CONNS = 1000 };
	int fds[MAX_CONNS];
	struct echo_server s;
	weft_waitgroup wg = {0};
	int64_t before = weft_goroutines();
	double t;

	echo_start(&s, false);
	for (int i = 0; i < conns; i++)
		fds[i] = echo_dial(&s);
	t = bench_now_ns();
	weft_waitgroup_add(&wg, conns);
	for (int i = 0; i < conns; i++)
		weft_go(client, fds[i], trips, &wg);
	weft_waitgroup_wait(&wg);
	bench_ns_op(name, (long)conns * trips, bench_now_ns() - t);
	echo_stop(&s);
	bench_settle(before);
}

void
bench_echo(void)
{
	echo_descriptors("echo", 2200);
	echo("echo_64conn", 64, 5000);
	echo("echo_1000conn", 1000, 300);
}
