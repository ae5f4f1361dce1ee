/* SPDX-License-Identifier: MIT */
/* What the scheduler is doing: see the header. */
#include "snapshot.h"

void
snapshot_sched(struct sched_view *v)
{
	*v = (struct sched_view){
		.procs = a_load_relaxed(&sched.procs),
		.idle_procs = a_load_relaxed(&sched.n_idle_p),
		.spinning = a_load_relaxed(&sched.n_spinning),
		.no_thread = a_load_relaxed(&sched.no_thread),
		.global = a_load_relaxed(&sched.globq.n),
		.urgent = a_load_relaxed(&sched.globq.urgent),
		.in_call = a_load_relaxed(&sched.n_detached[DETACHED_CALL]),
		.blocked = a_load_relaxed(&sched.n_detached[DETACHED_BLOCKED]),
		.computing = a_load_relaxed(
		    &sched.n_detached[DETACHED_RUNNING]),
		.paused = a_load_relaxed(&sched.n_paused),
		.stopping = a_load_relaxed(&sched.stopping) != 0
	};
	lock_take(&sched.lock);
	v->threads = sched.n_m;
	v->idle_threads = sched.n_idle_m;
	lock_drop(&sched.lock);
}

static bool
is_idle(uint32_t id)
{
	return a_load_relaxed(&sched.idle_mask[id / 64]) >> id % 64 & 1;
}

/* Of a queue that others use meanwhile: head may have passed the tail seen. */
static uint32_t
ring_len(struct runq *q)
{
	int32_t n = (int32_t)runq_len(q);

	return n < 0 ? 0 : n > RUNQ_SIZE ? RUNQ_SIZE : (uint32_t)n;
}

static void
see_m_of(struct p_view *v, const struct m *mp)
{
	v->state = "running";
	v->tid = m_tid(mp);
	v->gp = m_g(mp);
	v->in_call = a_load_relaxed(&mp->in_call) != 0;
	v->calls = a_load_relaxed(&mp->calls);
}

bool
snapshot_p(uint32_t id, struct p_view *v)
{
	struct p *pp = id < PROCS_MAX ? p_at(id) : NULL;
	struct m *mp;

	if (!pp)
		return false;
	*v = (struct p_view){
		.id = id,
		.state = is_idle(id) ? "idle" : "stopped",
		.ring = ring_len(&pp->q),
		.newborn = deque_len(&pp->q.deque),
		.next = runq_peek_next(&pp->q) != NULL,
		.tick = a_load_relaxed(&pp->stats.switches),
		.timers = (int64_t)a_load_relaxed(&pp->timers.first) !=
		    NEVER_NS
	};
	mp = a_load_acq(&pp->mp);	/* pairs with m_acquire */
	if (mp)
		see_m_of(v, mp);
	return true;
}

struct each {
	void (*fn)(const struct m_view *v, void *arg);
	void *arg;
};

static void
see_m(struct m *mp, void *arg)
{
	const struct each *e = arg;
	struct p *pp = m_p(mp);
	struct g *gp = m_g(mp);
	/* If it was retaken, the M finds that later. */
	bool has = pp && a_load_relaxed(&pp->mp) == mp;
	struct m_view v = {
		.tid = m_tid(mp),
		.p = has ? (int)pp->id : -1,
		.gp = gp,
		.in_call = a_load_relaxed(&mp->in_call) != 0,
		.paused = gp && a_load_relaxed(&gp->paused),
		.calls = a_load_relaxed(&mp->calls)
	};

	if (a_load_relaxed(&mp->alive))
		e->fn(&v, e->arg);
}

void
snapshot_each_m(void (*fn)(const struct m_view *v, void *arg), void *arg)
{
	struct each e = { fn, arg };

	m_each(see_m, &e);
}

struct wanted {
	const struct g *gp;
	int tid;
};

static void
is_wanted(const struct m_view *v, void *arg)
{
	struct wanted *w = arg;

	if (v->gp == w->gp)
		w->tid = v->tid;
}

int
snapshot_tid_of(const struct g *gp)
{
	struct wanted w = { .gp = gp };

	snapshot_each_m(is_wanted, &w);
	return w.tid;
}
