/* SPDX-License-Identifier: MIT */
/*
 * All that is counted, in one call. What exists now is added up from the
 * counters and queues of Ps, so that reading does not take longer with more
 * goroutines. Which goroutine waits for what is known by its record alone:
 * counting that is a call of its own, which visits all records. To keep counts
 * by reason up to date instead would add two writes to each park.
 */
#include <string.h>

#include "io_stats.h"
#include "latency.h"
#include "sized.h"
#include "snapshot.h"
#include "spawn.h"
#include "weft.h"

_Static_assert((int)LATENCY_BUCKETS <= (int)WEFT_LATENCY_BUCKETS, "metrics.h");
_Static_assert((int)WAIT_REASONS <= (int)WEFT_WAIT_REASONS_MAX, "metrics.h");

/* ---- the parts ---- */

static void
read_stats(weft_metrics *m)
{
	weft_stats s;

	weft_stats_read(&s, sizeof s);
	m->spawned = s.spawned;
	m->ended = s.ended;
	m->switches = s.switches;
	m->parks = s.parks;
	m->yields = s.yields;
	m->steals = s.steals;
	m->stolen = s.stolen;
	m->overflows = s.overflows;
	m->wakes = s.wakes;
}

static void
read_preempt(weft_metrics *m)
{
	weft_preempt_stats s;

	weft_preempt_stats_read(&s, sizeof s);
	m->preempt_asked = s.asked;
	m->preempt_signals = s.signals;
	m->preempted = s.preempted;
	m->preempt_interrupted = s.interrupted;
	m->preempt_capped = s.capped;
	memcpy(m->preempt_paused, s.paused, sizeof s.paused);
	memcpy(m->preempt_refused, s.refused, sizeof s.refused);
	memcpy(m->preempt_taken, s.taken, sizeof s.taken);
}

static void
read_io(weft_metrics *m)
{
	weft_io_stats s;

	io_stats_count(&s);
	m->io_registered = s.registered;
	m->io_polls = s.polls;
	m->io_events = s.events;
	m->io_stale = s.stale;
	m->io_timeouts = s.timeouts;
	m->io_repaired = s.repaired;
	m->io_open = s.open;
}

static void
add_p(weft_metrics *m, const struct p_view *p)
{
	int64_t queued = p_view_queued(p);

	m->queue_local += queued;
	if (queued > m->queue_longest)
		m->queue_longest = queued;
	if (p->gp && p->in_call)
		m->in_call++;
	else if (p->gp)
		m->running++;
}

static void
read_sched(weft_metrics *m)
{
	struct sched_view v;
	struct p_view p;

	snapshot_sched(&v);
	m->procs = (int)v.procs;
	m->procs_idle = (int)v.idle_procs;
	m->threads = (int)v.threads;
	m->threads_idle = (int)v.idle_threads;
	m->threads_searching = (int)v.spinning;
	m->threads_missing = v.no_thread != 0;
	m->queue_global = v.global;
	m->detached = v.computing;
	m->blocked = v.blocked;
	m->paused = v.paused;
	m->in_call = v.in_call;
	m->running = v.computing + v.blocked;
	for (uint32_t i = 0; i < v.procs && snapshot_p(i, &p); i++)
		add_p(m, &p);
}

/* Those that wait are the rest; if it is negative, one was counted twice. */
static void
read_goroutines(weft_metrics *m)
{
	m->goroutines = spawn_count();
	m->runnable = m->queue_global + m->queue_local;
	m->waiting = m->goroutines - m->running - m->runnable - m->in_call;
	if (m->waiting < 0)
		m->waiting = 0;
}

static void
read_latency(weft_metrics *m)
{
	struct latency l;

	latency_read(&l);
	memcpy(m->latency, l.buckets, sizeof l.buckets);
	m->latency_sum = l.sum_ns;
}

public void
weft_metrics_read(weft_metrics *out, size_t bytes)
{
	weft_metrics m = {
		.time = os_now_ns(),
		.stacks = stack_carved(),
		.stack_bytes = stack_reserved_bytes(),
		.record_bytes = g_record_bytes()
	};

	read_stats(&m);
	read_preempt(&m);
	read_io(&m);
	read_sched(&m);
	read_goroutines(&m);
	read_latency(&m);
	sized_out(out, bytes, &m, sizeof m);
}

/* ---- the histogram ---- */

public int64_t
weft_latency_bound(int bucket)
{
	return bucket < 0 ? 0 : latency_bound_ns((uint32_t)bucket);
}

public int64_t
weft_latency_quantile(const weft_metrics *now, const weft_metrics *before,
    double part)
{
	uint64_t n[LATENCY_BUCKETS], all = 0;
	double wanted;

	for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
		n[i] = now->latency[i] - (before ? before->latency[i] : 0);
		all += n[i];
	}
	if (!all)
		return 0;
	wanted = part * (double)all;
	for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
		wanted -= (double)n[i];
		if (n[i] && wanted <= 0)
			return latency_bound_ns(i);
	}
	return INT64_MAX;
}

/* ---- one by one ---- */

static void
count_one(struct g *gp, void *arg)
{
	weft_goroutine_counts *c = arg;
	enum gstate state = a_load_relaxed(&gp->state);

	if (state == G_DEAD || !g_site(gp) || g_is_claimed(gp))
		return;
	c->not_started += !g_stack(gp);
	c->running += state == G_RUNNING;
	c->in_call += state == G_CALL;
	c->runnable += state == G_RUNNABLE;
	c->paused += a_load_relaxed(&gp->paused) &&
	    state == G_RUNNABLE;
	if (state != G_WAITING)
		return;
	c->waiting++;
	c->waiting_for[a_load_relaxed(&gp->reason) % WEFT_WAIT_REASONS_MAX]++;
}

public void
weft_goroutine_counts_read(weft_goroutine_counts *out, size_t bytes)
{
	weft_goroutine_counts c = {0};

	g_each(count_one, &c);
	sized_out(out, bytes, &c, sizeof c);
}

public const char *
weft_wait_reason_name(int reason)
{
	if (reason < 0 || reason >= WAIT_REASONS)
		return NULL;
	return g_reason_name((enum wait_reason)reason);
}
