/* SPDX-License-Identifier: MIT */
/*
 * A plain thread that waits in a hooked call can be cancelled there, as in the
 * system's: these calls are cancellation points.
 */
#define _GNU_SOURCE 1
#include <weft.h>

#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "calls.h"
#include "counter.h"
#include "fd_pairs.h"
#include "hooked.h"
#include "plain_thread.h"

static int tid, cleaned;
static int empty[2], full[2], pair[2], full_pair[2], listener, ep;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

/* ---- calls that wait for ever ---- */

#define WAITS(name, ...)						\
	static void							\
	wait_##name(void)						\
	{								\
		char c[8] = {0};					\
		struct iovec v = { c, sizeof c };			\
		struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };	\
		struct pollfd p = { .fd = empty[0], .events = POLLIN };	\
		struct epoll_event e;					\
		struct timespec day = { 86400, 0 };			\
		fd_set set;						\
									\
		(void)m, (void)p, (void)e, (void)day;			\
		FD_ZERO(&set);						\
		FD_SET(empty[0], &set);					\
		EQ(__VA_ARGS__, -2);	/* does not return */		\
	}

WAITS(read, read(empty[0], c, 1))
WAITS(readv, readv(empty[0], &v, 1))
WAITS(write, write(full[1], c, 1))
WAITS(writev, writev(full[1], &v, 1))
WAITS(recv, recv(pair[0], c, 1, 0))
WAITS(recvfrom, recvfrom(pair[0], c, 1, 0, NULL, NULL))
WAITS(recvmsg, recvmsg(pair[0], &m, 0))
WAITS(send, send(full_pair[1], c, 1, 0))
WAITS(sendto, sendto(full_pair[1], c, 1, 0, NULL, 0))
WAITS(sendmsg, sendmsg(full_pair[1], &m, 0))
WAITS(accept, accept(listener, NULL, NULL))
WAITS(accept4, accept4(listener, NULL, NULL, 0))
WAITS(poll, poll(&p, 1, -1))
WAITS(ppoll, ppoll(&p, 1, NULL, NULL))
WAITS(select, select(empty[0] + 1, &set, NULL, NULL, NULL))
WAITS(pselect, pselect(empty[0] + 1, &set, NULL, NULL, NULL, NULL))
WAITS(epoll_wait, epoll_wait(ep, &e, 1, -1))
WAITS(nanosleep, nanosleep(&day, NULL))
WAITS(clock_nanosleep, clock_nanosleep(CLOCK_MONOTONIC, 0, &day, NULL))
WAITS(sleep, (int)sleep(86400))
WAITS(usleep, usleep(4000000000u))
WAITS(read_chk, __read_chk(empty[0], c, 1, sizeof c))
WAITS(recv_chk, __recv_chk(pair[0], c, 1, sizeof c, 0))
WAITS(recvfrom_chk, __recvfrom_chk(pair[0], c, 1, sizeof c, 0, NULL, NULL))
WAITS(poll_chk, __poll_chk(&p, 1, -1, sizeof p))
WAITS(ppoll_chk, __ppoll_chk(&p, 1, NULL, NULL, sizeof p))

/* The lock is held again when the clean-up handler is called. */
static void
unlock(void *m)
{
	EQ(pthread_mutex_unlock(m), 0);
}

static void
wait_cond_wait(void)
{
	EQ(pthread_mutex_lock(&mutex), 0);
	pthread_cleanup_push(unlock, &mutex);
	for (;;)
		pthread_cond_wait(&cond, &mutex);
	pthread_cleanup_pop(1);
}

static void
wait_cond_timedwait(void)
{
	struct timespec when;

	clock_gettime(CLOCK_REALTIME, &when);
	when.tv_sec += 86400;
	EQ(pthread_mutex_lock(&mutex), 0);
	pthread_cleanup_push(unlock, &mutex);
	for (;;)
		pthread_cond_timedwait(&cond, &mutex, &when);
	pthread_cleanup_pop(1);
}

#define ROW(name) { #name, wait_##name }
static const struct row {
	const char *name;
	void (*wait)(void);
} rows[] = {
	ROW(read), ROW(readv), ROW(write), ROW(writev), ROW(recv),
	ROW(recvfrom), ROW(recvmsg), ROW(send), ROW(sendto), ROW(sendmsg),
	ROW(accept), ROW(accept4), ROW(poll), ROW(ppoll), ROW(select),
	ROW(pselect), ROW(epoll_wait), ROW(nanosleep), ROW(clock_nanosleep),
	ROW(sleep), ROW(usleep), ROW(read_chk), ROW(recv_chk),
	ROW(recvfrom_chk), ROW(poll_chk), ROW(ppoll_chk), ROW(cond_wait),
	ROW(cond_timedwait),
};
enum { ROWS = sizeof rows / sizeof rows[0] };

/* ---- cancelled there ---- */

static void
clean(void *arg)
{
	counter_add(arg, 1);
}

static void *
wait_thread(void *arg)
{
	const struct row *r = arg;

	pthread_cleanup_push(clean, &cleaned);
	__atomic_store_n(&tid, thread_id(), __ATOMIC_RELEASE);
	r->wait();
	pthread_cleanup_pop(0);
	return NULL;
}

/* The thread ends, cancelled, soon; says which call it was if not. */
static void
cancel_in(const struct row *r)
{
	struct timespec limit;
	void *result = NULL;
	pthread_t t;
	int err;

	counter_set(&tid, 0);
	counter_set(&cleaned, 0);
	t = thread_start(wait_thread, (void *)(uintptr_t)r);
	await_asleep(&tid);
	EQ(pthread_cancel(t), 0);
	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += 5;
	err = pthread_timedjoin_np(t, &result, &limit);
	if (err || result != PTHREAD_CANCELED || counter_get(&cleaned) != 1)
		t_fail("not cancelled", err, r->name);
}

static void
cancel_each(void)
{
	struct epoll_event e = { .events = EPOLLIN };
	wire_addr a = wire_loopback(AF_INET);

	if (T_SANITIZED)
		t_skip("sanitizers have calls of their own");
	EQ(pipe(empty), 0);
	EQ(pipe(full), 0);
	wire_stuff(full[1]);
	EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, full_pair), 0);
	wire_stuff(full_pair[1]);
	listener = wire_listen(SOCK_STREAM, &a, 4);
	ep = epoll_create1(0);
	EQ(epoll_ctl(ep, EPOLL_CTL_ADD, empty[0], &e), 0);
	for (int i = 0; i < ROWS; i++)
		cancel_in(&rows[i]);
}

TEST(without_a_runtime) { cancel_each(); }

GTEST(beside_a_runtime, 2) { thread_call_blocking(cancel_each); }

/* A cancellation that is there before the call ends it at once. */
static void *
read_when_cancelled(void *arg)
{
	char c;

	(void)arg;
	pthread_cancel(pthread_self());
	EQ(read(empty[0], &c, 1), -2);
	return NULL;
}

TEST(cancelled_before)
{
	void *result;
	pthread_t t;

	EQ(pipe(empty), 0);
	t = thread_start(read_when_cancelled, NULL);
	EQ(pthread_join(t, &result), 0);
	OK(result == PTHREAD_CANCELED);
}
