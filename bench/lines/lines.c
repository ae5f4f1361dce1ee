/* SPDX-License-Identifier: MIT */
/*
 * What an operation of the scheduler writes: operations between marks, for
 * bench/lines/run, which has valgrind tell the address of every store, and
 * says to which line of which record it went.
 *
 *	weft-lines [idle]
 *
 * With `idle`: those for which a P must be idle; on 2 Ps, else on 1.
 *
 * Prints a map of the records ("map NAME ADDRESS BYTES") and the addresses of
 * the marks ("op NAME ADDRESS"): a store to the mark of an operation begins one
 * pass of it, and a store to mark_end ends it. An operation is done in many
 * passes, and the reader takes what most of them wrote: other threads run, too.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chan.h"
#include "expire.h"
#include "parking_lot.h"
#include "sched.h"
#include "slab.h"
#include "weft.h"

enum { PASSES = 40, PASSES_IDLE = 7 };	/* the latter wait long */

static volatile char mark_end, mark_none, *mark = &mark_none;

static inline void begin(void) { *mark = 1; }
static inline void end(void) { mark_end = 1; }

/* ---- the map ---- */

static void
show(const char *name, const volatile void *at, size_t bytes)
{
	printf("map %s %lx %zu\n", name, (unsigned long)(uintptr_t)at, bytes);
}

#define FIELD(base, name, field) \
	show(name "." #field, &(base)->field, sizeof (base)->field)

static void
show_sched(void)
{
	FIELD(&sched, "sched", lock);
	FIELD(&sched, "sched", stopping);
	FIELD(&sched, "sched", n_idle_p);
	FIELD(&sched, "sched", idle_mask);
	FIELD(&sched, "sched", procs);
	FIELD(&sched, "sched", n_spinning);
	FIELD(&sched, "sched", globq);
	FIELD(&sched, "sched", watch_until);
	FIELD(&sched, "sched", idle_m);
	FIELD(&sched, "sched", n_idle_m);
	FIELD(&sched, "sched", idle_gen);
	FIELD(&sched, "sched", steal_order);
}

static void
show_p(struct p *pp)
{
	FIELD(pp, "P", state);
	FIELD(pp, "P", mp);
	FIELD(pp, "P", fair);
	FIELD(pp, "P", spawn_run);
	FIELD(pp, "P", gs);
	FIELD(pp, "P", stacks);
	FIELD(pp, "P", stats);
	FIELD(pp, "P", thief_saw);
	FIELD(pp, "P", q.head);
	FIELD(pp, "P", q.tail);
	FIELD(pp, "P", q.next);
	FIELD(pp, "P", q.ring);
	FIELD(pp, "P", q.deque.top);
	FIELD(pp, "P", q.deque.bottom);
	FIELD(pp, "P", q.deque.first);
	FIELD(pp, "P", timers.lock);
	FIELD(pp, "P", timers.first);
	show("P.timers.slots", pp->timers.slots, 4096);
	show("P.timers", &pp->timers, sizeof pp->timers);
	show("P", pp, sizeof *pp);
}

static void
show_g(struct g *gp, void *arg)
{
	(void)arg;
	FIELD(gp, "G", link);
	FIELD(gp, "G", state);
	FIELD(gp, "G", frame);
	show("G", gp, sizeof *gp);
	if (g_stack(gp))
		show("stack", g_stack(gp)->lo, stack_bytes(g_stack(gp)) + 4096);
}

static void
show_chan(weft_chan *c)
{
	FIELD(c, "chan", lock);
	FIELD(c, "chan", n);
	FIELD(c, "chan", receivers);
	FIELD(c, "chan", senders);
	show("chan", c, sizeof *c + 64);
}

/* ---- operations ---- */

static weft_chan *buffered, *direct, *back;
static weft_mutex mutex;
static weft_sem sem;
static weft_waitgroup wg;
static struct timer timer;
static weft_timer *user_timer;
static struct runq thief;
static struct g *stolen, none;
static bool quit;

static void nothing(void) { }

static void
on_time(struct timer *t, int64_t now, struct glist *woken)
{
	(void)t, (void)now, (void)woken;
}

/* What the main goroutine yields to. */
static void
yielder(void)
{
	while (!quit) {
		weft_yield();
		end();
	}
}

/* Waits in `direct`; a value of 2 is to be answered. */
static void
receiver(void)
{
	for (long v; weft_chan_recv(direct, &v); ) {
		end();
		if (v == 2)
			weft_chan_send(back, &v);
		begin();	/* of `park` */
	}
}

static void spawn(void) { weft_go(nothing); }
static void spawn_end(void) { weft_go(end); }

/* Newest first: the second one ends, and the first one begins. */
static void
spawn_two(void)
{
	weft_go(end);
	weft_go(begin);
}

static void
send_buffered(void)
{
	long v = 1;

	weft_chan_send(buffered, &v);
}

static void
recv_buffered(void)
{
	long v;

	weft_chan_recv(buffered, &v);
}

/* The receiver becomes runnext. */
static void
send_waiter(void)
{
	long v = 1;

	weft_chan_send(direct, &v);
}

/* The receiver is runnext, and this goroutine waits for its answer. */
static void
park_for_answer(void)
{
	long v = 2;

	weft_chan_send(direct, &v);
	begin();
	weft_chan_recv(back, &v);
}

static void lock_mutex(void) { weft_mutex_lock(&mutex); }
static void unlock_mutex(void) { weft_mutex_unlock(&mutex); }
static void sem_take(void) { weft_sem_acquire(&sem, 1); }
static void sem_give(void) { weft_sem_release(&sem, 1); }
static void wg_add(void) { weft_waitgroup_add(&wg, 1); }
static void wg_done(void) { weft_waitgroup_done(&wg); }
static void timer_add(void) { expire_arm(&timer, weft_now() + 1000000000); }
static void timer_end(void) { timer_stop(&timer); }
static void arm_due(void) { expire_arm(&timer, weft_now() - 1); }

static void
timer_reset(void)
{
	weft_timer_reset(user_timer, 60000 * WEFT_MS);
}

static void
timer_fire(void)
{
	struct glist woken = {0};

	timer_heap_run(&m_p(m_self())->timers, weft_now(), &woken);
}

static void
select_ready(void)
{
	long v = 1;

	weft_case c[] = { WEFT_CASE_RECV(direct, &v),
	    WEFT_CASE_SEND(buffered, v) };
	weft_select(c, 2);
}

/* As a thief: of the own queue, into one that no P has. */
static void
steal_newborn(void)
{
	uint32_t n;

	stolen = runq_steal_deque(&thief, &m_p(m_self())->q, &n);
}

/* In one step, since no P may run it. */
static void
global_put_get(void)
{
	lock_take(&sched.lock);
	globq_put_one(&sched.globq, &none);
	globq_get(&sched.globq);
	lock_drop(&sched.lock);
}

static void
settle(void)
{
	while (weft_goroutines() > 3)
		weft_yield();
}

/* What was taken goes back, and is run. */
static void
unsteal(void)
{
	struct m *mp = m_self();

	rt_enter(mp);
	sched_submit(m_p(mp), stolen);
	rt_leave_out(mp);
	settle();
}

/* Until the other P is idle; this goroutine keeps its own. */
static void
wait_idle(void)
{
	while (a_load_relaxed(&sched.n_idle_p) != 1 ||
	    a_load_relaxed(&sched.n_spinning))
		sched_yield();
}

/*
 * fn is one pass. If `whole`, all of it is between the marks; otherwise it is
 * marked where it begins and ends, maybe by other goroutines.
 */
static struct op {
	const char *name;
	bool whole;
	void (*before)(void), (*fn)(void), (*after)(void);
	volatile char mark;
} on_one[] = {
	{ "spawn", true, NULL, spawn, settle, 0 },
	{ "yield_to_another", false, begin, weft_yield, NULL, 0 },
	{ "yield_to_a_newborn", true, spawn_end, weft_yield, settle, 0 },
	{ "end,_a_newborn_begins", false, spawn_two, weft_yield, settle, 0 },
	{ "send_into_a_buffer", true, NULL, send_buffered, recv_buffered, 0 },
	{ "receive_from_it", true, send_buffered, recv_buffered, NULL, 0 },
	{ "send_to_a_waiter:_ready", true, weft_yield, send_waiter,
	    weft_yield, 0 },
	{ "receive:_park,_to_runnext", false, NULL, park_for_answer,
	    weft_yield, 0 },
	{ "receive:_park,_to_the_ring", false, send_waiter, weft_yield, NULL,
	    0 },
	{ "select_of_two,_one_ready", true, NULL, select_ready, recv_buffered,
	    0 },
	{ "mutex_lock", true, NULL, lock_mutex, unlock_mutex, 0 },
	{ "mutex_unlock", true, lock_mutex, unlock_mutex, NULL, 0 },
	{ "semaphore_acquire", true, sem_give, sem_take, NULL, 0 },
	{ "semaphore_release", true, NULL, sem_give, sem_take, 0 },
	{ "waitgroup_add", true, NULL, wg_add, wg_done, 0 },
	{ "waitgroup_done", true, wg_add, wg_done, NULL, 0 },
	{ "timer_add", true, NULL, timer_add, timer_end, 0 },
	{ "timer_stop", true, timer_add, timer_end, NULL, 0 },
	{ "timer_reset", true, NULL, timer_reset, NULL, 0 },
	{ "timer_fire", true, arm_due, timer_fire, NULL, 0 },
	{ "steal_of_one_newborn", true, spawn, steal_newborn, unsteal, 0 },
	{ "global_queue,_put_and_get", true, NULL, global_put_get, NULL, 0 },
}, on_two[] = {
	{ "spawn_that_wakes_an_idle_P", true, wait_idle, spawn, settle, 0 },
};

static struct op *ops = on_one;
static int n_ops = countof(on_one), passes = PASSES;

static void
pass(struct op *o, bool marked)
{
	mark = &mark_none;
	if (o->before && o->before != begin)
		o->before();
	mark = marked ? &o->mark : &mark_none;
	if (o->whole || o->before == begin)
		begin();
	o->fn();
	if (o->whole)
		end();
	mark = &mark_none;
	if (o->after)
		o->after();
}

static void
show_map(void)
{
	for (int i = 0; i < n_ops; i++)
		printf("op %s %lx\n", ops[i].name,
		    (unsigned long)(uintptr_t)&ops[i].mark);
	show_sched();
	for (uint32_t i = 0; i < (uint32_t)weft_procs(); i++)
		show_p(p_at(i));
	show("M", m_self(), sizeof(struct m));
	show("self", self(), sizeof(struct self));
	show_chan(buffered);
	show_chan(direct);
	show_chan(back);
	show("timer", &timer, sizeof timer);
	show("timer", user_timer, 128);
	show("mutex", &mutex, sizeof mutex);
	show("semaphore", &sem, sizeof sem);
	show("waitgroup", &wg, sizeof wg);
	show("G", &none, sizeof none);
	g_each(show_g, NULL);
	show("end", &mark_end, 1);
	fflush(stdout);
}

static int
measure(int argc, char **argv)
{
	(void)argc, (void)argv;
	buffered = weft_chan_make(sizeof(long), 64);
	direct = weft_chan_make(sizeof(long), 0);
	back = weft_chan_make(sizeof(long), 1);
	user_timer = weft_timer_make(60000 * WEFT_MS);
	timer_init(&timer, on_time);
	weft_go(receiver);
	weft_go(ops == on_one ? yielder : nothing);
	weft_yield();
	for (int k = 0; k < passes / 4; k++)
		for (int i = 0; i < n_ops; i++)
			pass(&ops[i], false);
	show_map();
	for (int i = 0; i < n_ops; i++)
		for (int k = 0; k < passes; k++)
			pass(&ops[i], true);
	quit = true;
	weft_chan_close(direct);
	return 0;
}

int
main(int argc, char **argv)
{
	static char buffer[1 << 18];
	bool idle = argc > 1 && !strcmp(argv[1], "idle");
	weft_config c = { .procs = idle ? 2 : 1 };

	/* The reader must not find a part of the map. */
	setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
	if (idle) {
		ops = on_two;
		n_ops = countof(on_two);
		passes = PASSES_IDLE;
	}
	return weft_run_config(&c, sizeof c, measure, argc, argv);
}
