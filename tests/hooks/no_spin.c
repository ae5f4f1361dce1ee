/* SPDX-License-Identifier: MIT */
/*
 * Waits whose events do not tell what the call waits for: trying again at each
 * of them would use a processor all the time, or return too early.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <poll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include <weft.h>

#include "connection.h"
#include "counter.h"
#include "fd_pairs.h"
#include "hooked.h"
#include "run_env.h"
#include "t.h"

/* While one waits; a loop makes many thousands of them in that time. */
enum { FEW = 50, MS = 300 };

/* ---- a full queue of datagrams ---- */

static void
send_one(const wire_addr *to, int *sent)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	EQ(sendto(fd, "hello", 5, 0, &to->a.any, to->len), 5);
	counter_set(sent, 1);
	EQ(close(fd), 0);
}

/* How many were in it. */
static int
drain(int fd)
{
	char buf[8];
	int n = 0;

	while (recv(fd, buf, sizeof buf, MSG_DONTWAIT) > 0)
		n++;
	return n;
}

/* The kernel says that the sender's own buffer has room, which it has. */
GTEST(full_datagram_queue, 1)
{
	wire_addr a = wire_unix(true);
	int to = wire_bound(SOCK_DGRAM, &a), sent = 0;
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	weft_waitgroup wg = {0};
	uint64_t parks;
	int queued = 0, drained;

	while (sendto(fd, "hello", 5, MSG_DONTWAIT, &a.a.any, a.len) == 5)
		queued++;
	EQ(errno, EAGAIN);
	parks = stats_now().parks;
	weft_waitgroup_go(&wg, send_one, &a, &sent);
	weft_sleep(MS * WEFT_MS);
	EQ(counter_get(&sent), 0);
	OK(stats_now().parks - parks < FEW);
	drained = drain(to);
	weft_waitgroup_wait(&wg);
	EQ(sent, 1);
	/* It may have been sent while the queue was being drained. */
	EQ(drained + drain(to), queued + 1);
	EQ(close(fd), 0);
	EQ(close(to), 0);
}

/* ---- exceptions of a pipe ---- */

/* A hang-up is an event of poll, and none of select's exceptions. */
GTEST(exceptions_of_a_hung_up_pipe, 1)
{
	struct timeval limit = { 0, MS * 1000 };
	double start = t_now();
	uint64_t parks = hooks_now().parks;
	fd_set set;
	int end[2];

	EQ(pipe(end), 0);
	EQ(close(end[1]), 0);
	FD_ZERO(&set);
	FD_SET(end[0], &set);
	EQ(select(end[0] + 1, NULL, NULL, &set, &limit), 0);
	OK(t_now() - start >= MS / 1e3);
	OK(hooks_now().parks - parks < FEW);
	EQ(FD_ISSET(end[0], &set), 0);
	EQ(close(end[0]), 0);
}

/* ---- a least number of bytes ---- */

enum { FIRST = 10, LEAST = 100 };

/* As much again: TCP wakes a reader that has taken a part only for that. */
static void
write_rest(int fd, const int *tid)
{
	char rest[LEAST] = {0};

	await_asleep(tid);
	EQ(write(fd, rest, sizeof rest), sizeof rest);
}

static void
read_least(int end[2])
{
	int least = LEAST, tid = 0;
	weft_waitgroup wg = {0};
	char buf[200];

	EQ(setsockopt(end[0], SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least),
	    0);
	EQ(write(end[1], "0123456789", FIRST), FIRST);
	weft_waitgroup_go(&wg, write_rest, end[1], &tid);
	__atomic_store_n(&tid, thread_id(), __ATOMIC_RELEASE);
	EQ(read(end[0], buf, sizeof buf), FIRST + LEAST);
	weft_waitgroup_wait(&wg);
	EQ(close(end[0]), 0);
	EQ(close(end[1]), 0);
}

GTEST(least_bytes, 2)
{
	int end[2];

	unix_pair(end);
	read_least(end);
	tcp_pair(end);
	read_least(end);
}
