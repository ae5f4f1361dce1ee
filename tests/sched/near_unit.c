/* SPDX-License-Identifier: MIT */
/*
 * A made-up machine of 2 sockets x 64 CPUs: which M and which P are woken, and
 * that no goroutine is lost or starves while threads move about on it.
 */
#define _GNU_SOURCE 1
#include <weft.h>

#include "idle.h"
#include "machine_tree.h"
#include "run_env.h"
#include "sched.h"
#include "t.h"

static void
made_up_machine(void)
{
	two_sockets_of_64();
	topology_test.root = root;
}

/* ---- choices ---- */

static struct m ms[8];
static struct p ps[4];

static void
idle_ms_at(const uint32_t *cpus, int n)
{
	a_store_relaxed(&sched.procs, 128);
	list_init(&sched.idle_m);
	for (int i = 0; i < n; i++) {
		m_idle_put(&ms[i]);
		ms[i].position = topology_position(cpus[i]);
	}
}

static void
expect_m(uint32_t from, const struct m *mp)
{
	EQ(m_idle_get_near(topology_position(from)) - ms, mp - ms);
}

TEST(wakes_a_near_thread)
{
	static const uint32_t cpus[] = { 1, 40, 9, 65, 35 };

	made_up_machine();
	topology_read(root);
	OK(!topology.flat);
	lock_take(&sched.lock);
	idle_ms_at(cpus, 5);
	/* Last in, first out: but it is on the other socket. */
	expect_m(0, &ms[3]);
	expect_m(0, &ms[0]);
	expect_m(0, &ms[2]);
	expect_m(41, &ms[1]);
	expect_m(0, &ms[4]);
	OK(!m_idle_get_near(0));
	EQ(sched.n_idle_m, 0);
	lock_drop(&sched.lock);
	fixture_end();
}

TEST(the_watcher_is_the_last_choice)
{
	static const uint32_t cpus[] = { 40, 1 };

	made_up_machine();
	topology_read(root);
	lock_take(&sched.lock);
	idle_ms_at(cpus, 2);
	sched.watcher = &ms[1];
	expect_m(0, &ms[0]);
	sched.watcher = NULL;
	expect_m(0, &ms[1]);
	lock_drop(&sched.lock);
	fixture_end();
}

TEST(takes_a_near_p)
{
	static const uint32_t cpus[] = { 32, 8, 64, 33 };

	made_up_machine();
	topology_read(root);
	lock_take(&sched.lock);
	for (uint32_t i = 0; i < 4; i++) {
		ps[i].id = i;
		ps[i].state = P_RUNNING;
		a_store_rel(&sched.allp[i], &ps[i]);	/* as world_make_ps */
		a_store_relaxed(&sched.position[i],
		    topology_position(cpus[i]));
		p_idle_put(&ps[i]);
	}
	EQ(p_idle_get_at(topology_position(0))->id, 2);
	EQ(p_idle_get_at(topology_position(0))->id, 1);
	EQ(p_idle_get_at(topology_position(39))->id, 0);
	EQ(p_idle_get_at(topology_position(0))->id, 3);
	OK(!p_idle_get_at(0));
	lock_drop(&sched.lock);
	fixture_end();
}

/* On a flat machine nothing differs from the usual choice. */
TEST(flat)
{
	OK(topology.flat);
	lock_take(&sched.lock);
	list_init(&sched.idle_m);
	a_store_relaxed(&sched.procs, 8);
	for (int i = 0; i < 3; i++)
		m_idle_put(&ms[i]);
	OK(m_idle_get_near(5) == &ms[2]);
	lock_drop(&sched.lock);
}

/* ---- a whole scheduler ---- */

/* Threads move to another of its CPUs now and then. */
static uint32_t
wandering_cpu(void)
{
	static __thread uint32_t calls, cpu;
	static uint32_t seed;

	if (calls++ % 16 == 0)
		cpu = __atomic_add_fetch(&seed, 37, __ATOMIC_RELAXED) % 128;
	return cpu;
}

static long done;
static weft_waitgroup all;

static void
tree(int depth)
{
	weft_waitgroup wg = {0};

	for (int i = 0; i < 2 && depth > 0; i++)
		weft_waitgroup_go(&wg, tree, depth - 1);
	weft_waitgroup_wait(&wg);
	bump(&done);
}

static void
pass_on(weft_chan *in, weft_chan *out)
{
	int v;

	while (weft_chan_recv(in, &v))
		weft_chan_send(out, &v);
	weft_chan_close(out);
	weft_waitgroup_done(&all);
}

/* A pipeline and a tree of goroutines, again and again. */
static void
work(void)
{
	enum { STAGES = 8, DEPTH = 7 };
	weft_chan *c[STAGES + 1];
	int v = 0, n = 0, trees = 0;

	OK(!topology.flat);
	for (int i = 0; i <= STAGES; i++)
		c[i] = weft_chan_make(sizeof v, 4);
	weft_waitgroup_add(&all, STAGES);
	for (int i = 0; i < STAGES; i++)
		weft_go(pass_on, c[i], c[i + 1]);
	for (; t_more(1.0); trees++) {
		for (int i = 0; i < 4; i++)
			weft_chan_send(c[0], &n), n++;
		tree(DEPTH);
		for (int i = 4; i > 0; i--)
			OK(weft_chan_recv(c[STAGES], &v) && v == n - i);
		if (trees % 16 == 5)
			OK(weft_set_procs(1 + trees * 7 % 128) > 0);
	}
	weft_chan_close(c[0]);
	weft_waitgroup_wait(&all);
	EQ(done, (long)trees * ((2 << DEPTH) - 1));
}

static void
run_on(int procs)
{
	made_up_machine();
	topology_test.cpu = wandering_cpu;
	run_env(procs, NULL, work);
	fixture_end();
}

TEST(nothing_lost_2)
{
	run_on(2);
}

TEST(nothing_lost_64)
{
	run_on(64);
}

TEST(nothing_lost_128)
{
	run_on(128);
}

/*
 * Work beside a P that is stuck on the far socket is found in each round: all
 * children run although their parent does not let go of its P.
 */
static void
child(void)
{
	bump(&done);
}

static void
stuck_parent(void)
{
	for (int i = 0; i < 100; i++)
		weft_go(child);
	for (double end = t_now() + 30; get(&done) < 100 && t_now() < end; )
		;
	EQ(get(&done), 100);
}

static uint32_t
one_socket_each(void)
{
	static __thread uint32_t cpu;
	static uint32_t n;

	if (!cpu)
		cpu = 1 + __atomic_fetch_add(&n, 1, __ATOMIC_RELAXED) % 2 * 62;
	return cpu;
}

TEST(far_work_is_found)
{
	made_up_machine();
	topology_test.cpu = one_socket_each;
	setenv("WEFT_MAX_DETACHED", "-1", 1);
	run_env(2, "WEFT_PREEMPT_SIGNAL=-1", stuck_parent);
	fixture_end();
}
