/* SPDX-License-Identifier: MIT */
/*
 * Echoes go on while all processors have goroutines that never come back, two
 * for each, or others that never sleep. How long a round trip takes is
 * printed; what is checked is that all of them end.
 *
 *	WEFT_ROUNDS=1000 build/tests/io/echo_cpu_hogs_stress
 */
#define _GNU_SOURCE 1
#include "connection.h"
#include "fd_expect.h"
#include "run_env.h"

enum { PAIRS = 4 };

static weft_waitgroup echoes, load;
static long stop, rounds;
static int64_t *times;

static void
ask(int fd, int64_t *ns)
{
	for (long i = 0; i < rounds; i++) {
		int64_t start = weft_now();
		long got = -1;

		EQ(weft_write_full(fd, &i, sizeof i, NULL), sizeof i);
		EQ(weft_read_full(fd, &got, sizeof got, NULL), sizeof got);
		EQ(got, i);
		ns[i] = weft_now() - start;
	}
	EQ(weft_close(fd), 0);
	weft_waitgroup_done(&echoes);
}

/* All echo at once; returns when each has had its rounds. */
static void
run_echoes(const char *what, void (*pair)(int *))
{
	times = calloc((size_t)rounds * PAIRS, sizeof *times);
	weft_waitgroup_add(&echoes, 2 * PAIRS);
	for (int i = 0; i < PAIRS; i++) {
		int fd[2];

		pair(fd);
		weft_go(echo_and_close, fd[0], &echoes);
		weft_go(ask, fd[1], times + i * rounds);
	}
	weft_waitgroup_wait(&echoes);
	print_times(what, times, (size_t)rounds * PAIRS);
	free(times);
}

/* ---- hogs ---- */

static void
hog(void)
{
	compute(&stop);
	weft_waitgroup_done(&load);
}

static void
hogged(void)
{
	int n = 2 * weft_procs();

	rounds = from_env("WEFT_ROUNDS", t_scale(20));
	printf("# %s\n", can_preempt() ? "preempted" : "not preempted");
	weft_waitgroup_add(&load, n);
	for (int i = 0; i < n; i++)
		weft_go(hog);
	run_echoes("tcp", tcp_pair);
	run_echoes("unix", unix_pair);
	bump(&stop);
	weft_waitgroup_wait(&load);
}

ETEST(hogs_on_1, 1, NULL) { hogged(); }
ETEST(hogs_on_2, 2, NULL) { hogged(); }
ETEST(hogs_without_signals_on_1, 1, "WEFT_PREEMPT_SIGNAL=-1") { hogged(); }
ETEST(hogs_without_signals_on_2, 2, "WEFT_PREEMPT_SIGNAL=-1") { hogged(); }
/* They keep their processors for whole slices, one after the other. */
ETEST(hogs_not_loose_on_2, 2, "WEFT_MAX_DETACHED=-1")
{
	if (!can_preempt())
		t_skip("hogs keep their processors for ever");
	hogged();
}

/* ---- others that are always ready ---- */

static void
yields(void)
{
	while (!get(&stop))
		weft_yield();
	weft_waitgroup_done(&load);
}

/* A ball for each two; none of them is ever without work for long. */
static void
plays(weft_chan *in, weft_chan *out, bool serves)
{
	if (serves)
		weft_chan_send(out, NULL);
	while (weft_chan_recv(in, NULL) && !get(&stop))
		weft_chan_send(out, NULL);
	/* The one that has the ball, or the one that was told. */
	weft_chan_close(out);
	weft_waitgroup_done(&load);
}

static void
spawns(void)
{
	while (!get(&stop)) {
		weft_waitgroup wg = {0};

		weft_waitgroup_add(&wg, 8);
		for (int i = 0; i < 8; i++)
			weft_go(weft_waitgroup_done, &wg);
		weft_waitgroup_wait(&wg);
	}
	weft_waitgroup_done(&load);
}

static weft_chan *ball[64];

static void
play_games(int n)
{
	weft_waitgroup_add(&load, 2 * n);
	for (int i = 0; i < n; i++) {
		weft_chan *a = ball[2 * i] = weft_chan_make(0, 1);
		weft_chan *b = ball[2 * i + 1] = weft_chan_make(0, 1);

		weft_go(plays, a, b, true);
		weft_go(plays, b, a, false);
	}
}

static void
end_load(int games)
{
	bump(&stop);
	weft_waitgroup_wait(&load);
	for (int i = 0; i < 2 * games; i++)
		weft_chan_release(ball[i]);
}

static void
beside_yields(void)
{
	int n = 2 * weft_procs();

	rounds = from_env("WEFT_ROUNDS", t_scale(200));
	weft_waitgroup_add(&load, n);
	for (int i = 0; i < n; i++)
		weft_go(yields);
	run_echoes("tcp", tcp_pair);
	run_echoes("unix", unix_pair);
	end_load(0);
}

static void
beside_games(void)
{
	int n = 2 * weft_procs();

	rounds = from_env("WEFT_ROUNDS", t_scale(200));
	play_games(n);
	run_echoes("tcp", tcp_pair);
	run_echoes("unix", unix_pair);
	end_load(n);
}

static void
beside_all(void)
{
	int n = weft_procs();

	rounds = from_env("WEFT_ROUNDS", t_scale(100));
	play_games(n);
	weft_waitgroup_add(&load, 2 * n);
	for (int i = 0; i < n; i++) {
		weft_go(yields);
		weft_go(spawns);
	}
	run_echoes("tcp", tcp_pair);
	run_echoes("unix", unix_pair);
	end_load(n);
}

GTEST(yields_on_1, 1) { beside_yields(); }
GTEST(yields_on_2, 2) { beside_yields(); }
GTEST(yields_on_8, 8) { beside_yields(); }
GTEST(games_on_1, 1) { beside_games(); }
GTEST(games_on_2, 2) { beside_games(); }
GTEST(games_on_8, 8) { beside_games(); }
GTEST(all_on_1, 1) { beside_all(); }
GTEST(all_on_2, 2) { beside_all(); }
GTEST(all_on_8, 8) { beside_all(); }
