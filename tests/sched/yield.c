/* SPDX-License-Identifier: MIT */
/* weft_yield: everybody gets a turn, and on one processor in order. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include <weft.h>

#include "plain_thread.h"
#include "run_env.h"
#include "t.h"

static weft_waitgroup all;

/* ---- order: one processor, so no atomics below ---- */

enum { PEERS = 8, TURNS = 50 };

static int arrived, turns;
static int order[PEERS * TURNS];

static void
take_turns(int me)
{
	arrived++;
	while (arrived < PEERS)
		weft_yield();
	for (int i = 0; i < TURNS; i++) {
		order[turns++] = me;
		weft_yield();
	}
	weft_waitgroup_done(&all);
}

/* Which starts first is not promised; from then on they go round and round. */
ETEST(first_come_first_served, 1, "WEFT_SLICE_US=1000000")
{
	unsigned seen = 0;

	weft_waitgroup_add(&all, PEERS);
	for (int i = 0; i < PEERS; i++)
		OK(weft_try_go(take_turns, i) > 0);
	weft_waitgroup_wait(&all);
	EQ(turns, PEERS * TURNS);
	for (int i = 0; i < PEERS; i++)
		seen |= 1u << order[i];
	EQ(seen, (1u << PEERS) - 1);
	for (int i = PEERS; i < PEERS * TURNS; i++)
		EQ(order[i], order[i - PEERS]);
}

static int ping;

static void
alternate(int me)
{
	for (int i = 0; i < 1000; i++) {
		while (ping != me)
			weft_yield();
		ping = !me;
	}
	weft_waitgroup_done(&all);
}

GTEST(two_alternate, 1)
{
	weft_waitgroup_add(&all, 2);
	OK(weft_try_go(alternate, 0) > 0);
	OK(weft_try_go(alternate, 1) > 0);
	weft_waitgroup_wait(&all);
	EQ(ping, 0);
}

/* ---- starvation: each of these would hang ---- */

static int done;

static bool is_done(void) { return __atomic_load_n(&done, __ATOMIC_ACQUIRE); }
static void set_done(void) { __atomic_store_n(&done, 1, __ATOMIC_RELEASE); }

static void
yield_until_done(void)
{
	while (!is_done())
		weft_yield();
	weft_waitgroup_done(&all);
}

static void
start_yielders(int n)
{
	weft_waitgroup_add(&all, n);
	for (int i = 0; i < n; i++)
		OK(weft_try_go(yield_until_done) > 0);
}

GTEST(a_spawned_one_gets_a_turn, 1)
{
	start_yielders(4);
	OK(weft_try_go(set_done) > 0);
	weft_waitgroup_wait(&all);
	OK(is_done());
}

static void *
spawn_set_done(void *arg)
{
	(void)arg;
	OK(weft_try_go(set_done) > 0);
	return NULL;
}

/* What other threads start is queued elsewhere. */
GTEST(a_foreign_one_gets_a_turn, 1)
{
	pthread_t t;

	start_yielders(4);
	EQ(pthread_create(&t, NULL, spawn_set_done, NULL), 0);
	weft_waitgroup_wait(&all);
	pthread_join(t, NULL);
	OK(is_done());
}

static weft_waitgroup gate;

static void
wait_then_set_done(void)
{
	weft_waitgroup_wait(&gate);
	set_done();
}

GTEST(a_woken_one_gets_a_turn, 1)
{
	weft_waitgroup_add(&gate, 1);
	OK(weft_try_go(wait_then_set_done) > 0);
	weft_yield();
	start_yielders(4);
	weft_waitgroup_done(&gate);
	weft_waitgroup_wait(&all);
	OK(is_done());
}

/* Each starts the next one, which is always the hottest, after so long. */
static void
chain(double seconds)
{
	double end = seconds > 0 ? t_now() + seconds : 0;

	while (end > 0 && t_now() < end)
		;
	if (is_done())
		weft_waitgroup_done(&all);
	else
		OK(weft_try_go(chain, seconds) > 0);
}

static void
yield_beside_chain(double seconds, int yields)
{
	weft_waitgroup_add(&all, 1);
	OK(weft_try_go(chain, seconds) > 0);
	for (int i = 0; i < yields; i++)
		weft_yield();
	set_done();
	weft_waitgroup_wait(&all);
}

GTEST(a_chain_of_spawns_starves_none, 1) { yield_beside_chain(0, 100); }
GTEST(a_slow_chain_of_spawns_starves_none, 1)
{
	yield_beside_chain(1e-4, 30);
}

GTEST(alone, 1)
{
	int64_t id = weft_self_id();

	for (int i = 0; i < 1000; i++)
		weft_yield();
	EQ(weft_self_id(), id);
}

/* ---- everywhere ---- */

static long total;

static void
count_yields(long n)
{
	for (long i = 0; i < n; i++) {
		__atomic_add_fetch(&total, 1, __ATOMIC_RELAXED);
		weft_yield();
	}
	weft_waitgroup_done(&all);
}

GTEST(many_on_four, 4)
{
	long each = t_scale(200), n = t_scale(2000);

	weft_waitgroup_add(&all, (int)n);
	for (long i = 0; i < n; i++)
		OK(weft_try_go(count_yields, each) > 0);
	weft_waitgroup_wait(&all);
	EQ(total, n * each);
}

static void *
yield_plainly(void *arg)
{
	for (int i = 0; i < 100; i++)
		weft_yield();
	*(bool *)arg = true;
	return NULL;
}

static void
on_a_thread(void)
{
	bool returned = false;

	thread_run(yield_plainly, &returned);
	OK(returned);
}

TEST(thread_without_runtime)
{
	on_a_thread();
}

GTEST(thread_beside_runtime, 1)
{
	on_a_thread();
}
