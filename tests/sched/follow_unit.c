/* SPDX-License-Identifier: MIT */
/*
 * The number of Ps follows the cgroup quota, of a made-up tree, and the
 * affinity mask, unless the user has said how many there are.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <weft.h>

#include "cpu.h"
#include "fixture_tree.h"
#include "follow.h"
#include "helper.h"
#include "os.h"
#include "plain_thread.h"
#include "run_env.h"
#include "t.h"

static void
quota(int cpus)
{
	char text[64];

	if (cpus)
		snprintf(text, sizeof text, "%d00000 100000\n", cpus);
	else
		snprintf(text, sizeof text, "max 100000\n");
	put("/sys/fs/cgroup/a/cpu.max", text);
}

/* A system of that many CPUs, and a cgroup with a quota. */
static void
machine(int cpus, int limit)
{
	fixture();
	put("/proc/self/cgroup", "0::/a\n");
	put("/proc/self/mountinfo", "31 24 0:27 / /sys/fs/cgroup rw"
	    " - cgroup2 cgroup2 rw\n");
	quota(limit);
	cpu_test.root = root;
	cpu_test.cpus = cpus;
	unsetenv("WEFT_PROCS");
}

/* Looks are asked for until it is so: the test's time is the limit. */
static void
await_procs(int n)
{
	while (weft_procs() != n) {
		follow_poke();
		weft_sleep(WEFT_MS);
	}
}

PLAIN_THREAD(try_unshare, *(int *)arg = os_fds_unshare())

/* Else the helper reads no files, and these tests would wait for ever. */
static void
needs_own_table(void)
{
	pthread_t t;
	int err;

	EQ(pthread_create(&t, NULL, try_unshare, &err), 0);
	pthread_join(t, NULL);
	if (err)
		t_skip("a thread has no table of descriptors of its own");
}

/* ---- the quota ---- */

static void
up_and_down(void)
{
	static const int steps[] = { 3, 1, 7, 0, 2, 5 };

	EQ(weft_procs(), 8);
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		quota(steps[i]);
		await_procs(steps[i] ? steps[i] : 8);
	}
}

TEST(follows_the_quota)
{
	needs_own_table();
	machine(8, 0);
	run_env(0, NULL, up_and_down);
	fixture_end();
}

static int in_poller[2];

static void
waits_in_poller(void)
{
	char c;

	EQ(weft_read(in_poller[0], &c, 1), 0);
}

/* Whoever sleeps in the poller is woken by a write to a descriptor. */
static void
beside_the_poller(void)
{
	weft_waitgroup wg = {0};

	EQ(pipe(in_poller), 0);
	weft_waitgroup_go(&wg, waits_in_poller);
	for (int i = 0; i < 20; i++) {
		quota(i % 2 ? 8 : 1);
		await_procs(i % 2 ? 8 : 1);
		weft_sleep(WEFT_MS);
	}
	EQ(weft_close(in_poller[1]), 0);
	weft_waitgroup_wait(&wg);
	EQ(weft_close(in_poller[0]), 0);
}

TEST(follows_while_a_thread_is_in_the_poller)
{
	needs_own_table();
	machine(8, 0);
	run_env(0, NULL, beside_the_poller);
	fixture_end();
}

static void
without_asking(void)
{
	EQ(weft_procs(), 4);
	quota(2);
	while (weft_procs() != 2)
		weft_sleep(5 * WEFT_MS);
	EQ(helper_count(), 2);
}

TEST(the_monitor_asks)
{
	needs_own_table();
	machine(4, 0);
	run_env(0, NULL, without_asking);
	fixture_end();
}

/* ---- the user wins ---- */

static void
by_hand(void)
{
	quota(3);
	await_procs(3);
	EQ(weft_set_procs(0), -EINVAL);
	OK(follow_on());
	EQ(weft_set_procs(5), 3);
	OK(!follow_on());
	quota(2);
	/* The helper is gone, and there is no other. */
	while (helper_count())
		weft_sleep(WEFT_MS);
	follow_poke();
	weft_sleep(20 * WEFT_MS);
	EQ(helper_count(), 0);
	EQ(weft_procs(), 5);
}

TEST(set_by_hand)
{
	needs_own_table();
	machine(8, 0);
	run_env(0, NULL, by_hand);
	fixture_end();
}

static void
stays_at_6(void)
{
	OK(!follow_on());
	quota(2);
	follow_poke();
	weft_sleep(20 * WEFT_MS);
	EQ(helper_count(), 0);
	EQ(weft_procs(), 6);
}

TEST(set_by_config)
{
	machine(8, 4);
	run_env(6, NULL, stays_at_6);
	fixture_end();
}

TEST(set_by_environment)
{
	machine(8, 4);
	run_env(0, "WEFT_PROCS=6", stays_at_6);
	fixture_end();
}

/* ---- the mask ---- */

static int run_tid;
static cpu_set_t usual;

static void
set_mask(const cpu_set_t *set)
{
	EQ(sched_setaffinity(run_tid, sizeof *set, set), 0);
}

static void
one_cpu_and_back(void)
{
	cpu_set_t one;
	int all = weft_procs(), first = 0;

	while (!CPU_ISSET(first, &usual))
		first++;
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	set_mask(&one);
	await_procs(1);
	set_mask(&usual);
	await_procs(all);
}

TEST(follows_the_mask)
{
	run_tid = (int)syscall(SYS_gettid);
	EQ(sched_getaffinity(0, sizeof usual, &usual), 0);
	if (cpu_default_procs() < 2)
		t_skip("there is one CPU");
	unsetenv("WEFT_PROCS");
	run_env(0, NULL, one_cpu_and_back);
}

/* ---- beside everything else ---- */

static long sent, done;
static weft_waitgroup all;

static void
pass_on(weft_chan *in, weft_chan *out)
{
	int v;

	while (weft_chan_recv(in, &v)) {
		bump(&done);
		weft_chan_send(out, &v);
	}
	weft_waitgroup_done(&all);
}

static void
resize_while_busy(void)
{
	weft_chan *c[3];
	int v = 1;

	weft_waitgroup_add(&all, 2);
	for (int i = 0; i < 3; i++)
		c[i] = weft_chan_make(sizeof v, 4);
	weft_go(pass_on, c[0], c[1]);
	weft_go(pass_on, c[1], c[2]);
	for (int i = 0; t_more(1.5); i++) {
		quota(1 + i % 6);
		follow_poke();
		for (int k = 0; k < 100; k++) {
			weft_chan_send(c[0], &v);
			weft_chan_recv(c[2], &v);
			sent++;
		}
	}
	for (int i = 0; i < 2; i++)
		weft_chan_close(c[i]);
	weft_waitgroup_wait(&all);
	EQ(done, 2 * sent);
}

TEST(nothing_lost)
{
	needs_own_table();
	machine(8, 0);
	run_env(0, NULL, resize_while_busy);
	fixture_end();
}

/*
 * A goroutine that waits for its turn to change the number, while the helper
 * has the turn and all else sleeps, is no deadlock.
 */
static void
both_change(void)
{
	for (int i = 0; t_more(1.0); i++) {
		follow_boot(true);
		quota(1 + i % 5);
		follow_poke();
		if (i % 3)
			weft_sleep(i % 7 * 20 * WEFT_US);
		OK(weft_set_procs(1 + i % 4) > 0);
		EQ(weft_procs(), 1 + i % 4);
	}
}

TEST(no_false_deadlock)
{
	needs_own_table();
	machine(8, 0);
	run_env(0, NULL, both_change);
	fixture_end();
}
