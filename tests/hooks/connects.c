/* SPDX-License-Identifier: MIT */
/* accept and connect through the hooks, by goroutines that wait. */
#define _GNU_SOURCE 1
#include <weft.h>

#include "calls.h"
#include "counter.h"
#include "fd_pairs.h"
#include "hooked.h"
#include "listener.h"
#include "run_env.h"

enum { MANY = 50 };

/* ---- accept ---- */

/* The connection is as accept makes it, or as accept4 was told to. */
static void
accept_one(int listener, int flags, weft_waitgroup *wg)
{
	wire_addr from;
	char c = 0;
	int fd;

	from.len = sizeof from.a;
	fd = flags < 0 ? accept(listener, &from.a.any, &from.len) :
	    accept4(listener, &from.a.any, &from.len, flags);
	OK(fd >= 0);
	EQ(from.len, sizeof from.a.in);
	EQ(from.a.any.sa_family, AF_INET);
	EQ(fcntl(fd, F_GETFL) & O_NONBLOCK,
	    flags > 0 && (flags & SOCK_NONBLOCK) ? O_NONBLOCK : 0);
	EQ(fcntl(fd, F_GETFD), flags > 0 && (flags & SOCK_CLOEXEC) ?
	    FD_CLOEXEC : 0);
	EQ(send(fd, "a", 1, 0), 1);
	if (flags <= 0)
		EQ(read(fd, &c, 1), 1);
	EQ(close(fd), 0);
	weft_waitgroup_done(wg);
}

static void
connect_one(wire_addr *to, weft_waitgroup *wg)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char c = 0;

	EQ(connect(fd, &to->a.any, to->len), 0);
	EQ(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	EQ(recv(fd, &c, 1, 0), 1);
	EQ(c, 'a');
	EQ(write(fd, &c, 1), 1);
	EQ(close(fd), 0);
	weft_waitgroup_done(wg);
}

/* Many wait for one listener, and each gets one of as many connections. */
static void
accept_many(int flags)
{
	uint64_t parks = hooks_now().parks;
	wire_addr a = wire_loopback(AF_INET);
	int listener = wire_listen(SOCK_STREAM, &a, MANY);
	int was = fcntl(listener, F_GETFL);
	weft_waitgroup wg = {0};

	weft_waitgroup_add(&wg, 2 * MANY);
	for (int i = 0; i < MANY; i++)
		weft_go(accept_one, listener, flags, &wg);
	OK(GETS_TO(parks, parks + MANY));
	FEW_THREADS();
	for (int i = 0; i < MANY; i++)
		weft_go(connect_one, &a, &wg);
	weft_waitgroup_wait(&wg);
	EQ(fcntl(listener, F_GETFL), was);
	EQ(close(listener), 0);
}

GTEST(many_accepts, 1) { accept_many(-1); }
GTEST(many_accept4s, 2) { accept_many(0); }
GTEST(accept4_cloexec, 1) { accept_many(SOCK_CLOEXEC | SOCK_NONBLOCK); }
ETEST(many_accepts_that_move, 2, "WEFT_MIGRATE=1") { accept_many(-1); }

/* ---- connect ---- */

static void
connect_wait(wire_addr *to, int *made, weft_waitgroup *wg)
{
	int fd = socket(to->a.any.sa_family, SOCK_STREAM, 0);

	EQ(connect(fd, &to->a.any, to->len), 0);
	EQ(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	counter_add(made, 1);
	EQ(close(fd), 0);
	weft_waitgroup_done(wg);
}

/* A queue that is full: they wait until there is room. */
GTEST(full_queue, 1)
{
	enum { WAITERS = 10 };
	wire_addr a = wire_loopback(AF_INET);
	int listener = wire_listen(SOCK_STREAM, &a, 1), made = 0;
	int filling[FILLING], n = fill(listener, filling);
	uint64_t parks = hooks_now().parks;
	weft_waitgroup wg = {0};

	weft_waitgroup_add(&wg, WAITERS);
	for (int i = 0; i < WAITERS; i++)
		weft_go(connect_wait, &a, &made, &wg);
	OK(GETS_TO(parks, parks + WAITERS));
	EQ(counter_get(&made), 0);
	FEW_THREADS();
	for (int i = 0; i < n + WAITERS; i++)
		EQ(close(accept(listener, NULL, NULL)), 0);
	weft_waitgroup_wait(&wg);
	EQ(made, WAITERS);
	close_all(filling, n);
	EQ(close(listener), 0);
}

/* The kernel does not say when that of a unix listener has room again. */
GTEST(full_queue_of_a_unix_listener, 1)
{
	wire_addr a = wire_unix(true);
	int listener = wire_listen(SOCK_STREAM, &a, 0), made = 0;
	int first = socket(AF_UNIX, SOCK_STREAM, 0);
	weft_waitgroup wg = {0};

	EQ(connect(first, &a.a.any, a.len), 0);
	weft_waitgroup_add(&wg, 3);
	for (int i = 0; i < 3; i++)
		weft_go(connect_wait, &a, &made, &wg);
	for (int i = 0; i < 100; i++)
		weft_yield();
	EQ(counter_get(&made), 0);
	for (int i = 0; i < 4; i++)
		EQ(close(accept(listener, NULL, NULL)), 0);
	weft_waitgroup_wait(&wg);
	EQ(made, 3);
	EQ(close(first), 0);
	EQ(close(listener), 0);
}

/* Nothing listens there. */
static void
refused(wire_addr *to, weft_waitgroup *wg)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), err = -1;
	socklen_t len = sizeof err;

	EQ(connect(fd, &to->a.any, to->len), -1);
	EQ(errno, ECONNREFUSED);
	EQ(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	EQ(getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len), 0);
	EQ(err, 0);
	EQ(close(fd), 0);
	weft_waitgroup_done(wg);
}

GTEST(no_listener, 1)
{
	wire_addr a = wire_loopback(AF_INET);
	int bound = wire_bound(SOCK_STREAM, &a);
	weft_waitgroup wg = {0};

	weft_waitgroup_add(&wg, MANY);
	for (int i = 0; i < MANY; i++)
		weft_go(refused, &a, &wg);
	weft_waitgroup_wait(&wg);
	EQ(close(bound), 0);
}

/* A connection that the program began without waiting for it. */
GTEST(non_blocking_connect, 1)
{
	wire_addr a = wire_loopback(AF_INET);
	int listener = wire_listen(SOCK_STREAM, &a, 4), err = -1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	socklen_t len = sizeof err;

	EQ(connect(fd, &a.a.any, a.len), -1);
	EQ(errno, EINPROGRESS);
	EQ(poll(&p, 1, -1), 1);
	EQ(p.revents, POLLOUT);
	EQ(getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len), 0);
	EQ(err, 0);
	EQ(connect(fd, &a.a.any, a.len), 0);
	EQ(connect(fd, &a.a.any, a.len), -1);
	EQ(errno, EISCONN);
	EQ(close(fd), 0);
	EQ(close(listener), 0);
}
