/* SPDX-License-Identifier: MIT */
/* The model of the scheduler: see procs.h. */
#include "procs.h"

#include <stdlib.h>
#include <string.h>

/* Instructions of an operation on one CPU, without its locked ones. */
enum {
	SPAWN_NS = 8,
	SWITCH_NS = 4,
	READY_NS = 2,
	END_NS = 4,
	VISIT_NS = 2,			/* of one P, in a search */
	FUTEX_WAKE_NS = 1200,
	WAKE_UP_NS = 4000,		/* until the thread runs */
	PARK_NS = 800,
	PATIENCE_NS = 5000,		/* STEAL_PATIENCE_NS, next.c */
	LOOK_NS = 200,			/* STEAL_PAUSES, next.c */
	BACKOFF_NS = 30000 + 5000,	/* SPIN_BACKOFF_NS, idle.c; and late */
	STEAL_AT_ONCE = 128,
	STEAL_MAX = 32,
	SPAWN_RUN = 64
};

struct procs procs;

/* ---- queues ---- */

static uint32_t
fifo_len(const struct fifo *f)
{
	return f->tail - f->head;
}

static void
fifo_put(struct fifo *f, struct task *t)
{
	if (fifo_len(f) == f->size) {
		struct task **old = f->slot;
		uint32_t size = f->size ? 2 * f->size : 64;

		f->slot = calloc(size, sizeof *f->slot);
		for (uint32_t i = f->head; i != f->tail; i++)
			f->slot[i % size] = old[i % f->size];
		f->size = size;
		free(old);
	}
	f->slot[f->tail++ % f->size] = t;
}

static struct task *
fifo_get(struct fifo *f)
{
	return fifo_len(f) ? f->slot[f->head++ % f->size] : NULL;
}

static struct task *
fifo_pop_newest(struct fifo *f)
{
	return fifo_len(f) ? f->slot[--f->tail % f->size] : NULL;
}

static bool
proc_empty(const struct proc *p)
{
	return !p->next && !fifo_len(&p->ring) && !fifo_len(&p->deque);
}

/* ---- waking: idle.c ---- */

static struct proc *mine(struct cpu *c) { return &procs.p[c->id]; }

static int
take_idle(struct cpu *c)
{
	for (int i = 0; i < procs.n; i++)
		if (procs.p[i].idle) {
			procs.p[i].idle = false;
			procs.n_idle--;
			sim_locked(c, &procs.mask);
			sim_locked(c, &procs.idle);
			sim_store(c, &procs.locked);
			return i;
		}
	return NO_CPU;
}

static void
wake_slow(struct cpu *c)
{
	int id;

	sim_locked(c, &procs.idle);
	if (procs.n_spinning)
		return;
	procs.n_spinning++;
	sim_lock_take(c, &procs.lock);
	id = take_idle(c);
	if (id == NO_CPU) {
		procs.n_spinning--;
		sim_locked(c, &procs.idle);
	}
	sim_lock_drop(c, &procs.lock);
	if (id == NO_CPU)
		return;
	procs.p[id].spins = true;
	sim_locked(c, &procs.p[id].note);
	sim_work(c, FUTEX_WAKE_NS);
	sim_wake(c, &sim.cpu[id], WAKE_UP_NS);
}

static void
idle_wake(struct cpu *c)
{
	sim_read(c, &procs.idle);
	if (procs.n_idle && !procs.n_spinning)
		wake_slow(c);
}

/* idle_any_work: until it finds some. */
static bool
any_work(struct cpu *c)
{
	sim_read(c, &procs.stopping);
	sim_read(c, &procs.global);
	for (int i = 0; i < procs.n; i++) {
		struct proc *p = &procs.p[i];

		sim_read(c, &procs.mask);
		sim_work(c, VISIT_NS);
		if (p->idle)
			continue;
		sim_read(c, &p->tail);
		sim_read(c, &p->head);
		sim_read(c, &p->top);
		sim_read(c, &p->bottom);
		if (!proc_empty(p))
			return true;
	}
	return false;
}

static void
read_all_timers(struct cpu *c)
{
	for (int i = 0; i < procs.n; i++) {
		sim_read(c, &procs.p[i].timers);
		sim_work(c, VISIT_NS);
	}
}

/* idle_stop_spinning */
static void
stop_spinning(struct cpu *c)
{
	mine(c)->spins = false;
	procs.n_spinning--;
	sim_locked(c, &procs.idle);
	if (any_work(c))
		idle_wake(c);
	read_all_timers(c);
}

/* idle_start_spinning */
static bool
start_spinning(struct cpu *c)
{
	if (mine(c)->spins)
		return true;
	sim_read(c, &procs.stopping);
	sim_read(c, &procs.idle);
	if (2 * procs.n_spinning >= procs.n - procs.n_idle)
		return false;
	mine(c)->spins = true;
	procs.n_spinning++;
	sim_locked(c, &procs.idle);
	return true;
}

/* ---- the own queue: next.h ---- */

static void
put_next(struct cpu *c, struct task *t)
{
	struct proc *p = mine(c);
	struct task *old = p->next;

	p->next = t;
	sim_locked(c, &p->tail);
	if (!old)
		return;
	fifo_put(&p->ring, old);
	sim_store(c, &p->slots);
	sim_locked(c, &p->tail);
}

static struct task *
pop_newborn(struct cpu *c)
{
	struct proc *p = mine(c);
	struct task *t;

	if (!fifo_len(&p->deque))
		return NULL;
	sim_locked(c, &p->bottom);
	sim_read(c, &p->top);
	if (fifo_len(&p->deque) == 1)
		sim_locked(c, &p->top);
	/* A thief may have been faster. */
	t = fifo_pop_newest(&p->deque);
	if (t)
		sim_read(c, &t->g);
	return t;
}

static struct task *
take_local(struct cpu *c)
{
	struct proc *p = mine(c);
	struct task *t;

	sim_read(c, &procs.stopping);
	sim_read(c, &p->tail);
	if (p->next) {
		sim_locked(c, &p->tail);
		t = p->next;
		p->next = NULL;
		if (t)
			return t;
	}
	t = pop_newborn(c);
	if (!t && fifo_len(&p->ring)) {
		sim_locked(c, &p->head);
		t = fifo_get(&p->ring);
	}
	return t;
}

/* ---- stealing: next.c ---- */

static struct task *
steal_now(struct cpu *c, struct proc *v)
{
	struct proc *p = mine(c);
	struct fifo *from = fifo_len(&v->ring) ? &v->ring : &v->deque;
	uint32_t n = (fifo_len(from) + 1) / 2;
	struct task *t = NULL;

	sim_read(c, &v->slots);
	if (n > STEAL_MAX)
		n = STEAL_MAX;
	/* One step for half of the ring, one for each newborn. */
	for (uint32_t i = 0; i < n && fifo_len(from); i++) {
		if (i == 0 || from == &v->deque)
			sim_locked(c, from == &v->ring ? &v->head : &v->top);
		if (!fifo_len(from))
			break;
		if (t)
			fifo_put(&p->ring, t);
		t = fifo_get(from);
	}
	if (n > 1)
		sim_store(c, &p->tail);
	if (!t && v->next) {
		sim_locked(c, &v->tail);
		t = v->next;
		v->next = NULL;
	}
	return t;
}

static bool
owner_keeps_up(struct cpu *c, struct proc *v)
{
	uint64_t then = v->thief_saw;

	sim_read(c, &v->stats);
	sim_store(c, &v->saw);
	v->thief_saw = v->switches;
	return !fifo_len(&v->deque) && v->switches - then >
	    (fifo_len(&v->ring) + 1) * (SPAWN_RUN + 1);
}

/* Reads the victim's queue until what was in it is gone, or for long. */
static bool
owner_is_slow(struct cpu *c, struct proc *v)
{
	uint32_t tail = v->ring.tail, oldest = v->deque.head;
	bool deque = fifo_len(&v->deque);
	struct task *next = v->next;
	double end = c->now + PATIENCE_NS;

	while (c->now < end) {
		sim_work(c, LOOK_NS);
		sim_read(c, &v->top);
		sim_read(c, &v->bottom);
		sim_read(c, &v->head);
		sim_read(c, &v->tail);
		sim_turn(c);
		if (deque && (v->deque.head != oldest || !fifo_len(&v->deque)))
			deque = false;
		if (!deque && (int32_t)(v->ring.head - tail) >= 0 &&
		    (!next || v->next != next))
			return false;
	}
	return true;
}

static struct task *
steal(struct cpu *c)
{
	uint32_t n = (uint32_t)procs.n, at = sim_random(c, n);
	struct task *t;

	for (uint32_t i = 0; i < n && !sim.stop; i++, at = (at + 1) % n) {
		struct proc *v = &procs.p[at];

		sim_read(c, &procs.mask);
		sim_work(c, VISIT_NS);
		if (v == mine(c) || v->idle)
			continue;
		sim_read(c, &v->tail);
		sim_read(c, &v->head);
		sim_read(c, &v->top);
		sim_read(c, &v->bottom);
		if (proc_empty(v))
			continue;
		if (fifo_len(&v->ring) < STEAL_AT_ONCE &&
		    (owner_keeps_up(c, v) || !owner_is_slow(c, v)))
			continue;
		if ((t = steal_now(c, v)))
			return t;
	}
	return NULL;
}

/* ---- parking: idle.c ---- */

static bool
spin_backoff(struct cpu *c)
{
	struct proc *p = mine(c);
	uint64_t sum = 0;

	if (!p->spins)
		return false;
	for (int i = 0; i < procs.n; i++)
		if (i != c->id) {
			sim_read(c, &procs.p[i].stats);
			sum += procs.p[i].switches;
		}
	if (sum == p->activity && !any_work(c))
		return false;
	p->activity = sum;
	read_all_timers(c);
	sim_work(c, BACKOFF_NS);
	return true;
}

static void
give_up_p(struct cpu *c)
{
	sim_lock_take(c, &procs.lock);
	mine(c)->idle = true;
	procs.n_idle++;
	sim_locked(c, &procs.mask);
	sim_locked(c, &procs.idle);
	sim_store(c, &procs.locked);
	sim_lock_drop(c, &procs.lock);
	if (mine(c)->spins) {
		mine(c)->spins = false;
		procs.n_spinning--;
		sim_locked(c, &procs.idle);
	}
}

/* There is work after all; unless another CPU has woken this one. */
static bool
reacquire(struct cpu *c)
{
	bool got;

	sim_lock_take(c, &procs.lock);
	got = mine(c)->idle;
	if (got) {
		mine(c)->idle = false;
		procs.n_idle--;
		sim_locked(c, &procs.mask);
		sim_locked(c, &procs.idle);
	}
	sim_lock_drop(c, &procs.lock);
	if (got) {
		mine(c)->spins = true;
		procs.n_spinning++;
		sim_locked(c, &procs.idle);
	}
	return got;
}

/* False if the run ends. */
static bool
park(struct cpu *c)
{
	if (spin_backoff(c))
		return !sim.stop;
	give_up_p(c);
	if (any_work(c) && reacquire(c))
		return true;
	read_all_timers(c);
	sim_work(c, PARK_NS);
	sim_turn(c);
	/* It was woken on its way. */
	if (!mine(c)->idle)
		return !sim.stop;
	if (!sim_sleep(c))
		return false;
	sim_locked(c, &mine(c)->note);
	return true;
}

static struct task *
find(struct cpu *c)
{
	struct task *t = take_local(c);

	while (!t && !sim.stop) {
		sim_read(c, &procs.global);
		if (start_spinning(c))
			t = steal(c);
		if (!t && !park(c))
			return NULL;
		if (!t)
			t = take_local(c);
	}
	if (t && mine(c)->spins)
		stop_spinning(c);
	return t;
}

/* ---- tasks ---- */

/* A new record, with its lines in no cache. */
static struct task *
new_task(void)
{
	struct task *t = malloc(sizeof *t);

	line_init(&t->g, "goroutine's record");
	line_init(&t->chan, "channel");
	t->all_link = procs.all;
	procs.all = t;
	return t;
}

struct task *
task_make(struct cpu *c, task_fn run, struct task *parent)
{
	struct proc *p = mine(c);
	struct task *t = p->dead;

	if (t)
		p->dead = t->link;
	else
		t = new_task();
	*t = (struct task){ .run = run, .g = t->g, .chan = t->chan,
		.parent = parent, .all_link = t->all_link };
	return t;
}

void
task_spawn(struct cpu *c, struct task *t)
{
	struct proc *p = mine(c);

	sim_work(c, SPAWN_NS);
	sim_store(c, &t->g);
	sim_store(c, &p->slots);
	sim_locked(c, &p->bottom);
	fifo_put(&p->deque, t);
	idle_wake(c);
}

void
task_ready(struct cpu *c, struct task *t)
{
	sim_work(c, READY_NS);
	sim_store(c, &t->g);
	put_next(c, t);
	idle_wake(c);
}

void
task_yield(struct cpu *c, struct task *t)
{
	struct proc *p = mine(c);

	sim_store(c, &t->g);
	fifo_put(&p->ring, t);
	sim_store(c, &p->slots);
	sim_locked(c, &p->tail);
	idle_wake(c);
}

void
task_again(struct cpu *c, struct task *t)
{
	mine(c)->again = t;
}

void
task_count(struct cpu *c)
{
	if (++procs.done < procs.target || sim.stop)
		return;
	procs.done_at = c->now;
	sim.stop = true;
	/* Sleepers find out. */
	for (int i = 0; i < procs.n; i++)
		sim_wake(c, &sim.cpu[i], 0);
}

/* A CPU without work at the start is idle, and has parked long ago. */
static struct task *
first_work(struct cpu *c)
{
	mine(c)->idle = true;
	procs.n_idle++;
	if (!sim_sleep(c))
		return NULL;
	sim_locked(c, &mine(c)->note);
	return find(c);
}

void
procs_main(struct cpu *c, struct task *first)
{
	struct proc *p = mine(c);
	struct task *t = first ? first : first_work(c);

	for (; t && !sim.stop; t = find(c)) {
		bool waits;

		sim_work(c, SWITCH_NS);
		sim_store(c, &t->g);
		sim_store(c, &p->stats);
		p->switches++;
		do {
			p->again = NULL;
			waits = t->run(c, t);
		} while (p->again && !sim.stop);
		if (waits)
			continue;
		sim_work(c, END_NS);
		t->link = p->dead;
		p->dead = t;
	}
}

/* ---- a run ---- */

static void
proc_init(struct proc *p)
{
	line_init(&p->tail, "P: runnext and tail");
	line_init(&p->bottom, "P: deque.bottom");
	line_init(&p->slots, "P: slots");
	line_init(&p->stats, "P: stats");
	line_init(&p->timers, "P: timers");
	line_init(&p->head, "P: head");
	line_init(&p->top, "P: deque.top");
	line_init(&p->saw, "P: thief_saw");
	line_init(&p->note, "M: note");
}

void
procs_init(int n)
{
	memset(&procs, 0, sizeof procs);
	procs.n = n;
	line_init(&procs.stopping, "sched: stopping");
	line_init(&procs.idle, "sched: n_idle_p, n_spinning");
	line_init(&procs.mask, "sched: idle_mask");
	line_init(&procs.global, "sched: globq");
	line_init(&procs.locked, "sched: lock");
	sim_lock_init(&procs.lock, &procs.locked);
	for (int i = 0; i < n; i++)
		proc_init(&procs.p[i]);
}

void
procs_free(void)
{
	struct task *next;

	for (struct task *t = procs.all; t; t = next) {
		next = t->all_link;
		free(t);
	}
	for (int i = 0; i < procs.n; i++) {
		free(procs.p[i].ring.slot);
		free(procs.p[i].deque.slot);
	}
}

void
procs_each_line(void (*fn)(const struct line *l, void *arg), void *arg)
{
	fn(&procs.stopping, arg);
	fn(&procs.idle, arg);
	fn(&procs.mask, arg);
	fn(&procs.global, arg);
	fn(&procs.locked, arg);
	for (int i = 0; i < procs.n; i++) {
		struct proc *p = &procs.p[i];

		fn(&p->tail, arg);
		fn(&p->bottom, arg);
		fn(&p->slots, arg);
		fn(&p->stats, arg);
		fn(&p->timers, arg);
		fn(&p->head, arg);
		fn(&p->top, arg);
		fn(&p->saw, arg);
		fn(&p->note, arg);
	}
}
