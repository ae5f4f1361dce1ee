/* SPDX-License-Identifier: MIT */
/*
 * A number that was waited for, and is another file's now: a goroutine that
 * waits for the new file is woken at once, in whatever way the old one was
 * closed and the new one got its number. (What is found out only by looking
 * again would take a second.)
 */
#define _GNU_SOURCE 1
#include <weft.h>

#include <stdio.h>

#include "calls.h"
#include "fd_pairs.h"
#include "hooked.h"
#include "run_env.h"

enum { ROUNDS = 40, SECONDS_MAX = 10 };

/* ---- ways to lose a file, and to get one ---- */

static void by_close(int fd) { EQ(close(fd), 0); }
static void by_sys_close(int fd) { EQ(sys_close(fd), 0); }
static void by_weft_close(int fd) { EQ(weft_close(fd), 0); }

static void
by_fclose(int fd)
{
	FILE *f = fdopen(fd, "r");

	OK(f != NULL);
	EQ(fclose(f), 0);
}

/* Both ends; the first has that number if all is well. */
static void new_by_pipe(int end[2]) { EQ(pipe(end), 0); }
static void new_by_pipe2(int end[2]) { EQ(pipe2(end, O_CLOEXEC), 0); }
static void new_by_sys_pipe(int end[2]) { EQ(sys_pipe(end), 0); }

static void
new_by_socketpair(int end[2])
{
	EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, end), 0);
}

static void
new_by_socket(int end[2])
{
	wire_addr a = wire_loopback(AF_INET), b = a;

	end[0] = socket(AF_INET, SOCK_DGRAM, 0);
	end[1] = socket(AF_INET, SOCK_DGRAM, 0);
	EQ(bind(end[0], &a.a.any, a.len), 0);
	b.len = sizeof b.a;
	EQ(getsockname(end[0], &b.a.any, &b.len), 0);
	EQ(connect(end[1], &b.a.any, b.len), 0);
}

/* ---- the new file is waited for ---- */

static void
write_later(int fd, uint64_t parks)
{
	OK(GETS_TO(parks, parks + 1));
	EQ(write(fd, "w", 1), 1);
}

/* A read that parks and is answered. */
static void
use(int rd, int wr)
{
	char c = 0;

	weft_go(write_later, wr, hooks_now().parks);
	EQ(read(rd, &c, 1), 1);
	EQ(c, 'w');
}

struct way {
	const char *name;
	void (*lose)(int fd);
	void (*get)(int end[2]);
};

/* Rounds in which the number was the same; the test needs some. */
static int
reuse(const struct way *w)
{
	int end[2], next[2], same = 0;
	double start = t_now();

	for (int i = 0; i < ROUNDS; i++) {
		new_by_pipe(end);
		use(end[0], end[1]);
		w->lose(end[0]);
		w->get(next);
		same += next[0] == end[0];
		use(next[0], next[1]);
		EQ(close(next[0]), 0);
		EQ(close(next[1]), 0);
		EQ(close(end[1]), 0);
	}
	if (t_now() - start > SECONDS_MAX)
		t_fail(w->name, (int)(t_now() - start), "seconds");
	return same;
}

#define WAY(lose, get) { #lose " and " #get, lose, get }
static void
reuse_each(void)
{
	static const struct way ways[] = {
		WAY(by_close, new_by_pipe), WAY(by_close, new_by_socketpair),
		WAY(by_close, new_by_pipe2), WAY(by_close, new_by_socket),
		WAY(by_close, new_by_sys_pipe),
		WAY(by_fclose, new_by_pipe), WAY(by_fclose, new_by_socketpair),
		WAY(by_fclose, new_by_sys_pipe),
		WAY(by_weft_close, new_by_sys_pipe),
		WAY(by_sys_close, new_by_pipe),
		WAY(by_sys_close, new_by_pipe2),
		WAY(by_sys_close, new_by_socketpair),
		WAY(by_sys_close, new_by_socket),
	};

	for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
		OK(reuse(&ways[i]) > 0);
}

GTEST(closed_and_made, 1) { reuse_each(); }
GTEST(closed_and_made_on_two, 2) { reuse_each(); }

/* ---- dup2 and its relatives put another file there ---- */

static void by_dup2(int fd, int to) { EQ(dup2(fd, to), to); }
static void by_dup3(int fd, int to) { EQ(dup3(fd, to, O_CLOEXEC), to); }

static void
by_close_and_dup(int fd, int to)
{
	int got;

	EQ(close(to), 0);
	got = dup(fd);
	if (got == to)
		return;
	close(got);		/* the number was another's for a moment */
	EQ(dup2(fd, to), to);
}

static void
replace(void (*put)(int fd, int to))
{
	int end[2], next[2];
	double start = t_now();

	for (int i = 0; i < ROUNDS; i++) {
		new_by_pipe(end);
		use(end[0], end[1]);
		new_by_socketpair(next);
		use(next[0], next[1]);
		put(next[0], end[0]);
		use(end[0], next[1]);
		/* Both numbers are the same file now. */
		use(next[0], next[1]);
		EQ(close(next[0]), 0);
		use(end[0], next[1]);
		EQ(close(end[0]), 0);
		EQ(close(end[1]), 0);
		EQ(close(next[1]), 0);
	}
	OK(t_now() - start < SECONDS_MAX);
}

GTEST(replaced_by_dup2, 1) { replace(by_dup2); }
GTEST(replaced_by_dup3, 1) { replace(by_dup3); }
GTEST(replaced_by_dup, 1) { replace(by_close_and_dup); }

/* Neither was seen: it takes as long as it takes, and works. */
GTEST(replaced_by_the_system_call, 1)
{
	int end[2], next[2];

	new_by_pipe(end);
	use(end[0], end[1]);
	new_by_sys_pipe(next);
	EQ(sys_dup2(next[0], end[0]), end[0]);
	use(end[0], next[1]);
	EQ(sys_close(end[0]), 0);
	EQ(sys_close(next[0]), 0);
	EQ(sys_close(next[1]), 0);
	new_by_sys_pipe(next);
	use(next[0], next[1]);
}

/* ---- the hooks leave what they did not make alone ---- */

GTEST(standard_streams_stay, 1)
{
	int was[3];

	for (int i = 0; i < 3; i++)
		was[i] = fcntl(i, F_GETFL);
	reuse(&(struct way)WAY(by_close, new_by_pipe));
	for (int i = 0; i < 3; i++)
		EQ(fcntl(i, F_GETFL), was[i]);
}
