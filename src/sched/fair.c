/* SPDX-License-Identifier: MIT */
/* Fairness by time. See fair.h. */
#include "fair.h"

#include "os.h"
#include "sched.h"

enum {
	QUANTUM_FEW_US = 32,	/* see learn: some 80 us */
	SERVE_FEW_US = 256	/* some 700 us */
};

static const int64_t timed_after = 1000000;	/* a chain as long as this */
static const int64_t timed_for = 100000000;
static const int64_t share_after = 8000000;	/* others waited so long */
static const int64_t share_for = 100000000;
static const int64_t between_max = 10000000;

/* ---- the owner ---- */

/*
 * The chain has lasted so long by its count alone. The quantum follows the
 * longest of these, and forgets it soon. What a chain was given beyond its
 * count does not count: it would keep the quantum as long as it is. Nor does
 * one long chain count for all: a thread that had to wait for a CPU measures
 * too much.
 */
static void
learn(struct fairness *f, uint64_t used)
{
	uint64_t most = FAIR_SLICE_FEW_US * cpu_cycles_few_us();
	uint64_t step = f->quantum * 8 + QUANTUM_FEW_US * cpu_cycles_few_us();

	if (used > step)
		used = step;
	if (used > most)
		used = most;
	f->quantum -= f->quantum / 8;
	if (used > f->quantum)
		f->quantum = used;
}

void
fair_chain_timed(struct fairness *f)
{
	uint64_t now = cpu_cycles();

	if (!f->extended)
		learn(f, now - f->chain_at);
	f->extended = false;
	f->chain_at = now;
}

bool
fair_goes_on_timed(struct fairness *f)
{
	uint64_t used = cpu_cycles() - f->chain_at;

	if (!f->extended)
		learn(f, used);
	f->extended = true;
	return used < f->quantum;
}

void
fair_due_empty(struct fairness *f)
{
	if (f->serves)
		a_and_relaxed(&f->due, ~(UINT32_C(1) << f->served));
	f->serves = false;
}

/* A source that may give out more keeps its bit until then. */
static void
begin_to_serve(struct fairness *f, uint32_t source)
{
	f->served = source;
	f->serves = source == FAIR_NEWEST || source == FAIR_OLDEST;
	if (f->serves)
		f->served_at = cpu_cycles();
	else
		a_and_relaxed(&f->due, ~(UINT32_C(1) << source));
}

int
fair_next_due(struct fairness *f, bool more)
{
	uint32_t due;

	if (f->serves && more && cpu_cycles() - f->served_at <
	    SERVE_FEW_US * cpu_cycles_few_us())
		return (int)f->served;
	fair_due_empty(f);
	due = a_load_relaxed(&f->due);
	for (uint32_t i = 1; i <= FAIR_SOURCES; i++) {
		uint32_t source = (f->served + i) % FAIR_SOURCES;

		if (!(due >> source & 1))
			continue;
		begin_to_serve(f, source);
		return (int)source;
	}
	return -1;
}

/* Others get as much time as the urgent turn took, at most between_max: the P
 * may have been idle since. */
static void
end_urgent_turn(struct fairness *f, int64_t now)
{
	int64_t ns = now - f->urgent_at;

	if (ns > between_max)
		ns = between_max;
	a_store_relaxed(&f->urgent_next, (uint64_t)(now + ns));
	a_store_relaxed(&f->urgent_turn, false);
	a_store_relaxed(&f->urgent_chain, false);
}

void
fair_urgent_over(struct fairness *f)
{
	if (a_load_relaxed(&f->urgent_turn))
		end_urgent_turn(f, os_now_ns());
	a_store_relaxed(&f->urgent_chain, false);
}

bool
fair_urgent(struct fairness *f, bool waits)
{
	int64_t now;

	if (likely(!a_load_relaxed(&f->share))) {
		if (unlikely(a_load_relaxed(&f->urgent_turn)))
			a_store_relaxed(&f->urgent_turn, false);
		return waits;
	}
	now = os_now_ns();
	if (a_load_relaxed(&f->urgent_turn))
		end_urgent_turn(f, now);
	return waits && now >= (int64_t)a_load_relaxed(&f->urgent_next);
}

void
fair_chain_urgent(struct fairness *f)
{
	fair_chain(f);		/* ends the urgent turn before this one */
	a_store_relaxed(&f->urgent_chain, true);
	if (a_load_relaxed(&f->share)) {
		f->urgent_at = os_now_ns();
		a_store_relaxed(&f->urgent_turn, true);
	}
}

/* ---- the monitor ---- */

static int64_t share_until;	/* of all Ps: any of them runs urgent ones */

/* Does the source have goroutines? *mark changes if it has given one out. */
static bool
waits_in(struct p *pp, enum fair_source source, bool stuck, uint32_t *mark)
{
	switch (source) {
	case FAIR_NEXT:
		/* Another goroutine: the one before it had its turn. */
		*mark = (uint32_t)((uintptr_t)runq_peek_next(&pp->q) >> 6);
		return *mark != 0;
	case FAIR_RING:
		*mark = a_load_relaxed(&pp->q.head);
		return runq_len(&pp->q) > 0;
	case FAIR_NEWEST:
		*mark = a_load_relaxed(&pp->q.deque.bottom);
		return deque_len(&pp->q.deque) > 0;
	case FAIR_OLDEST:
		*mark = a_load_relaxed(&pp->q.deque.top);
		return deque_len(&pp->q.deque) > 0;
	case FAIR_GLOBAL:
		*mark = a_load_relaxed(&sched.globq.n_taken);
		return globq_len(&sched.globq) >
		    a_load_relaxed(&sched.globq.urgent);
	default:
		*mark = a_load_relaxed(&pp->fair.visits);
		return stuck;
	}
}

/* For how long has the source given out none? Negative if it is empty. */
static int64_t
waited(struct p *pp, enum fair_source source, bool stuck, int64_t now)
{
	struct fairness *f = &pp->fair;
	uint32_t mark;
	bool some = waits_in(pp, source, stuck, &mark);

	if (!some || mark != f->seen[source].mark) {
		f->seen[source].mark = mark;
		f->seen[source].since = now;
	}
	return some ? now - f->seen[source].since : -1;
}

/*
 * The ring has given out none for ns. It is a long chain if the thread has
 * computed for timed_after since, and was not just waiting for a CPU.
 */
static bool
long_chain(struct fairness *f, int tid, int64_t ns)
{
	int64_t cpu = ns < 0 ? 0 : os_thread_cpu_ns(tid);

	if (ns > 0 && tid == f->ring_tid)
		return cpu - f->ring_cpu >= timed_after;
	f->ring_tid = ns < 0 ? 0 : tid;
	f->ring_cpu = cpu;
	return false;
}

/* Since when has the source waited for a turn, or for its next mark? */
static int64_t
last_served(const struct fairness *f, enum fair_source source)
{
	int64_t since = f->seen[source].since, marked = f->seen[source].marked;

	return since > marked ? since : marked;
}

/*
 * The turns of a chain may be a little shorter than a slice: after a whole one
 * a goroutine in the ring would wait for two of them, and the next turn.
 */
static int64_t
due_after(enum fair_source source, int64_t slice)
{
	return source == FAIR_RING ? slice / 2 : slice;
}

bool
fair_watch(struct p *pp, int tid, bool stuck, int64_t now, int64_t slice)
{
	struct fairness *f = &pp->fair;
	bool any = false, urgent = globq_urgent(&sched.globq);

	for (int s = 0; s < FAIR_SOURCES; s++) {
		int64_t ns = waited(pp, s, stuck, now);

		any |= s != FAIR_NEXT && ns >= 0;
		if (s == FAIR_RING && long_chain(f, tid, ns))
			f->timed_until = now + timed_for;
		if (urgent && ns >= share_after)
			share_until = now + share_for;
		if (ns < 0 || now - last_served(f, s) < due_after(s, slice))
			continue;
		f->seen[s].marked = now;
		fair_set_due(f, s);
	}
	a_store_relaxed(&f->timed, now < f->timed_until);
	a_store_relaxed(&f->share, now < share_until);
	return any;
}
