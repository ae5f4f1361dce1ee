/* SPDX-License-Identifier: MIT */
/*
 * What shall go on beside the loops: a heartbeat, which sleeps 1 ms again and
 * again and is late, and a message over TCP there and back, every millisecond.
 * A latency that has not ended when the program does counts with what it has
 * come to by then: one that never comes back is not forgotten.
 */
#define _GNU_SOURCE
#include "loops.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MS = 1000000, MESSAGE = 64 };

int64_t
loops_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void
loops_check(const char *what, long got, long want)
{
	if (got == want)
		return;
	fprintf(stderr, "%s: got %ld, not %ld\n", what, got, want);
	_exit(1);
}

void
series_start(struct series *s)
{
	*s = (struct series){ .ns = malloc(SERIES_MAX * sizeof *s->ns) };
	loops_check("memory", s->ns != NULL, 1);
}

static void
series_begin(struct series *s, int64_t when)
{
	__atomic_store_n(&s->since, when, __ATOMIC_RELEASE);
}

static void
series_add(struct series *s, int64_t now)
{
	long n = s->n;

	if (!s->began)
		__atomic_store_n(&s->began, now, __ATOMIC_RELEASE);
	if (n < SERIES_MAX - 1) {
		s->ns[n] = now > s->since ? now - s->since : 0;
		__atomic_store_n(&s->n, n + 1, __ATOMIC_RELEASE);
	}
	series_begin(s, 0);
}

static int
ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

struct series
series_end(const struct series *s, int64_t now)
{
	long n = __atomic_load_n(&s->n, __ATOMIC_ACQUIRE);
	int64_t since = __atomic_load_n(&s->since, __ATOMIC_ACQUIRE);
	int64_t *ns = malloc((size_t)(n + 1) * sizeof *ns);

	loops_check("memory", ns != NULL, 1);
	for (long i = 0; i < n; i++)
		ns[i] = s->ns[i];
	if (since && since < now)
		ns[n++] = now - since;
	qsort(ns, (size_t)n, sizeof *ns, ascending);
	return (struct series){ .began = __atomic_load_n(&s->began,
	    __ATOMIC_ACQUIRE), .n = n, .ns = ns };
}

double
series_ms(const struct series *s, double part)
{
	long at = (long)((double)s->n * part);

	if (s->n == 0)
		return -1;
	return (double)s->ns[at < s->n ? at : s->n - 1] / MS;
}

void
heartbeat(const struct manner *m, struct series *s)
{
	if (!s->began)
		__atomic_store_n(&s->began, m->now(), __ATOMIC_RELEASE);
	for (;;) {
		series_begin(s, m->now() + MS);
		m->sleep_ns(MS);
		series_add(s, m->now());
	}
}

void
echo_connect(int fd[2])
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t len = sizeof a;
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	loops_check("bind", bind(s, (struct sockaddr *)&a, sizeof a), 0);
	loops_check("listen", listen(s, 1), 0);
	getsockname(s, (struct sockaddr *)&a, &len);
	fd[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	loops_check("connect", connect(fd[0], (struct sockaddr *)&a, len), 0);
	fd[1] = accept(s, NULL, NULL);
	loops_check("accept", fd[1] >= 0, 1);
	close(s);
	for (int i = 0; i < 2; i++)
		setsockopt(fd[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

void
echo_ask(const struct manner *m, struct series *s, int fd)
{
	char buf[MESSAGE] = "";

	for (;;) {
		series_begin(s, m->now());
		loops_check("write", m->write(fd, buf, sizeof buf), MESSAGE);
		loops_check("read", m->read(fd, buf, sizeof buf), MESSAGE);
		series_add(s, m->now());
		m->sleep_ns(MS);
	}
}

void
echo_answer(const struct manner *m, int fd)
{
	char buf[MESSAGE];

	for (;;) {
		loops_check("read", m->read(fd, buf, sizeof buf), MESSAGE);
		loops_check("write", m->write(fd, buf, sizeof buf), MESSAGE);
	}
}
