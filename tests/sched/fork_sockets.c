/* SPDX-License-Identifier: MIT */
/*
 * fork() from a goroutine while descriptors are waited for. The child can use
 * them with plain calls, and with weft's as any thread without a runtime; it
 * takes nothing away from the parent, and what it keeps open or closes does
 * not disturb the parent's waits.
 */
#define _GNU_SOURCE 1
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "child_process.h"
#include "connection.h"
#include "fd_expect.h"
#include "run_env.h"

static weft_waitgroup all;
static int pair[4][2];
static long stop, turns;

/* ---- load in the parent: echoes on pairs 0 and 1 ---- */

static void
ask(int fd)
{
	char c = 0, back = 0;

	while (!get(&stop)) {
		c++;
		EQ(weft_write(fd, &c, 1), 1);
		EQ(weft_read(fd, &back, 1), 1);
		EQ(back, c);
		bump(&turns);
	}
	EQ(weft_shutdown(fd, SHUT_WR), 0);
	weft_waitgroup_done(&all);
}

static void
start_load(void)
{
	for (int i = 0; i < 4; i++)
		(i % 2 ? tcp_pair : unix_pair)(pair[i]);
	weft_waitgroup_add(&all, 4);
	for (int i = 0; i < 2; i++) {
		weft_go(echo_bytes, pair[i][0], &all);
		weft_go(ask, pair[i][1]);
	}
	await(&turns, 10);
}

static void
end_load(void)
{
	await(&turns, get(&turns) + 10);
	bump(&stop);
	weft_waitgroup_wait(&all);
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < 2; k++)
			EQ(weft_close(pair[i][k]), 0);
	EQ(io_now().open, 0);
	/* Nothing had to be put right. */
	EQ(io_now().repaired, 0);
}

/* ---- what the child can do ---- */

/* On a pair that the parent has used but does not wait for. */
static int
talk_plainly(void)
{
	char c = 0;

	if (write(pair[2][0], "p", 1) != 1 || read(pair[2][1], &c, 1) != 1)
		return 1;
	return c == 'p' ? 40 : 2;
}

static int
talk_with_weft(void)
{
	int64_t when = weft_deadline(5 * WEFT_MS);
	char c = 0;

	if (weft_write(pair[2][0], "w", 1) != 1 ||
	    weft_read(pair[2][1], &c, 1) != 1 || c != 'w')
		return 1;
	if (weft_set_read_deadline(pair[2][1], when) != 0 ||
	    weft_read(pair[2][1], &c, 1) != -ETIMEDOUT)
		return 2;
	if (weft_now() < when)
		return 3;
	return weft_close(pair[2][1]) == 0 ? 41 : 4;
}

/* Sockets of its own, in both roles. */
static int
be_server(void)
{
	int l = plain_listen(1, 4), c = plain_socket(), s;
	struct sockaddr_in a = loopback(1, port_of(l));
	char x = 0;

	if (weft_connect(c, (struct sockaddr *)&a, sizeof a) != 0)
		return 2;
	s = weft_accept(l, NULL, NULL);
	if (s < 0 || weft_write(s, "s", 1) != 1 || weft_read(c, &x, 1) != 1)
		return 3;
	weft_close(s);
	weft_close(c);
	return weft_close(l) == 0 ? 42 : 4;
}

/* Both of pair 2 are known to weft before. */
static void
warm_pair(void)
{
	char c;

	EQ(weft_set_read_deadline(pair[2][1], weft_deadline(WEFT_MS)), 0);
	EQ(weft_read(pair[2][1], &c, 1), -ETIMEDOUT);
	EQ(weft_set_read_deadline(pair[2][1], WEFT_NEVER), 0);
	EQ(weft_write(pair[2][0], "c", 1), 1);
	EQ(weft_read(pair[2][1], &c, 1), 1);
}

static void
child_does(int (*what)(void), int want)
{
	pid_t pid;

	start_load();
	warm_pair();
	for (int i = 0; i < 3; i++) {
		pid = fork();
		if (pid == 0)
			_exit(what());
		EQ(exit_status(pid), want);
		await(&turns, get(&turns) + 10);
	}
	warm_pair();
	end_load();
}

GTEST(talks_plainly, 2) { child_does(talk_plainly, 40); }
GTEST(talks_with_weft, 2) { child_does(talk_with_weft, 41); }
GTEST(serves, 2) { child_does(be_server, 42); }
GTEST(serves_on_1, 1) { child_does(be_server, 42); }

/* ---- what it does with those the parent waits for ---- */

static long read_late;

static void
reads_late(int fd)
{
	check_byte(fd, 'l');
	bump(&read_late);
	weft_waitgroup_done(&all);
}

/* Closes its own: those of the parent stay, also in epoll. */
static int
close_all(void)
{
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < 2; k++)
			if (weft_close(pair[i][k]) != 0 ||
			    fcntl(pair[i][k], F_GETFD) >= 0)
				return 1;
	return 43;
}

static int
close_range_plainly(void)
{
	for (int fd = 3; fd < 256; fd++)
		close(fd);
	return 44;
}

static void
child_closes(int (*what)(void), int want)
{
	pid_t pid;

	start_load();
	weft_waitgroup_add(&all, 2);
	weft_go(reads_late, pair[2][0]);
	OK(weft_go_readable(pair[3][0], reads_late, pair[3][0]) > 0);
	await_waiting(2);
	pid = fork();
	if (pid == 0)
		_exit(what());
	EQ(exit_status(pid), want);
	EQ(get(&read_late), 0);
	EQ(weft_write(pair[2][1], "l", 1), 1);
	EQ(weft_write(pair[3][1], "l", 1), 1);
	await(&read_late, 2);
	end_load();
}

GTEST(closes_its_own, 2) { child_closes(close_all, 43); }
GTEST(closes_all_numbers, 2) { child_closes(close_range_plainly, 44); }

/*
 * It keeps a connection that the parent closes. The kernel could still tell
 * the parent of it, again and again; its number is soon another's.
 */
static void
kept_by_child(void)
{
	int gate[2], fresh[2], number;
	weft_io_stats s;
	pid_t pid;
	char c;

	start_load();
	warm_pair();
	NEED(pipe(gate));
	pid = fork();
	if (pid == 0) {
		NEED(close(gate[1]));
		_exit(read(gate[0], &c, 1) == 0 ? 45 : 1);
	}
	number = pair[2][1];
	EQ(weft_close(number), 0);
	EQ(write(pair[2][0], "nobody", 6), 6);
	unix_pair(fresh);
	if (fresh[0] != number && fresh[1] != number)
		t_skip("the number was given to another user");
	EQ(weft_set_read_deadline(number, weft_deadline(5 * WEFT_MS)), 0);
	EQ(weft_read(number, &c, 1), -ETIMEDOUT);
	EQ(weft_set_read_deadline(number, WEFT_NEVER), 0);
	EQ(write(pair[2][0], "still", 5), 5);
	EQ(write(fresh[0] == number ? fresh[1] : fresh[0], "n", 1), 1);
	EQ(weft_read(number, &c, 1), 1);
	EQ(c, 'n');
	s = io_now();
	OK(s.stale < 100);
	NEED(close(gate[1]));
	EQ(exit_status(pid), 45);
	NEED(close(gate[0]));
	pair[2][1] = fresh[0];
	end_load();
	EQ(weft_close(fresh[1]), 0);
}

GTEST(keeps_one, 2) { kept_by_child(); }
GTEST(keeps_one_on_1, 1) { kept_by_child(); }

/* ---- in the middle of it all ---- */

/* The same descriptor is read by both: each byte is read once. */
GTEST(shares_one, 2)
{
	enum { BYTES = 200 };
	pid_t pid;
	int mine = 0;
	char c;

	start_load();
	NEED(fcntl(pair[2][0], F_SETFL, O_NONBLOCK));
	pid = fork();
	if (pid == 0) {
		int n = 0;

		while (weft_read(pair[2][0], &c, 1) == 1 && c != 'e')
			n++;
		_exit(n);
	}
	for (int i = 0; i < BYTES; i++) {
		EQ(weft_write(pair[2][1], "b", 1), 1);
		mine += i % 2 && recv(pair[2][0], &c, 1, MSG_DONTWAIT) == 1;
	}
	EQ(weft_write(pair[2][1], "e", 1), 1);
	EQ(exit_status(pid) + mine, BYTES);
	end_load();
}
