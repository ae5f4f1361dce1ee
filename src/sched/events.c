/* SPDX-License-Identifier: MIT */
/* See events.h. */
#include "events.h"

#include <string.h>

#include "backtrace.h"
#include "fatal.h"
#include "sched.h"

static struct {
	struct lock lock;
	struct trace_ring ring;
} shared = { .lock = LOCK_INIT(RANK_TRACE_SHARED),
	     .ring = { .id = TRACE_RING_SHARED } };

/* ---- which ring ---- */

static uint32_t
m_number(const struct m *mp)
{
	return (uint32_t)mp->id + 1;	/* 0: none */
}

static uint32_t
thread_number(void)
{
	struct self *me = self();

	if (!me->tid)
		me->tid = (uint32_t)os_thread_id();
	return me->tid;
}

/* The id of the goroutine that mp runs already, or 0. One that was paused is
 * about to run: TR_RESUME says so. */
static uint64_t
runs_already(const struct m *mp)
{
	const struct g *gp = m_g(mp);

	return gp && !a_load_relaxed(&gp->paused) ?
	    (uint64_t)g_id(gp) : 0;
}

/* The shared ring: which thread, and which goroutine it runs. */
static a64 *
put_thread(struct trace_ring *r, a64 *at, const struct m *mp)
{
	uint32_t m = mp ? m_number(mp) : 0;
	uint64_t word = mp ? m_g(mp) ? (uint64_t)g_id(m_g(mp)) : 0 :
	    thread_number() | (uint64_t)self()->monitor << 32;

	if (r->has_thread && r->thread_m == m && r->thread_word == word)
		return at;
	r->has_thread = true;
	r->thread_m = m;
	r->thread_word = word;
	at = trace_put(r, at, TR_THREAD, m);
	return trace_put_word(at, word);
}

/* What a ring knew is of the trace before: nothing was noted since. */
static cold void
begin_ring(struct trace_ring *r, const struct m *mp, uint64_t g)
{
	r->m = m_number(mp);
	r->g = g;
}

/*
 * The ring that this thread may write, and where the next event of up to
 * `words` words goes: NULL if it is lost. Ends with close_ring.
 */
static always_inline struct trace_ring *
open_ring(struct m *mp, uint32_t words, a64 **at)
{
	struct p *pp = mp ? m_p(mp) : NULL;

	if (likely(pp)) {
		if (trace_is_new(&pp->trace))
			begin_ring(&pp->trace, mp, runs_already(mp));
		*at = trace_open(&pp->trace, words);
		return &pp->trace;
	}
	lock_take(&shared.lock);
	*at = trace_open(&shared.ring, words + 2);
	if (*at)
		*at = put_thread(&shared.ring, *at, mp);
	return &shared.ring;
}

static always_inline void
close_ring(struct trace_ring *r, a64 *at)
{
	if (likely(at))
		trace_close(r, at);
	if (unlikely(r == &shared.ring))
		lock_drop(&shared.lock);
}

/* ---- goroutines ---- */

/* Where gp was spawned, if it is not where the last one was. */
static always_inline a64 *
put_site(struct trace_ring *r, a64 *at, const struct g *gp)
{
	const void *site = g_site(gp);

	if (likely(site == r->site))
		return at;
	r->site = site;
	at = trace_put(r, at, TR_SITE, 0);
	return trace_put_word(at, (uintptr_t)site);
}

static a64 *
put_name(struct trace_ring *r, a64 *at, const struct g *gp)
{
	if (!a_load_relaxed(&gp->named))
		return at;
	at = trace_put_id(r, at, TR_NAME, g_id(gp));
	for (int i = 0; i < G_NAME_WORDS; i++)
		at = trace_put_word(at, a_load_relaxed(&gp->name[i]));
	return at;
}

noinline void
events_create_slow(struct m *mp, struct g *gp, bool waiting)
{
	a64 *at;
	struct trace_ring *r = open_ring(mp, 8, &at);

	if (likely(at)) {
		at = put_site(r, at, gp);
		at = trace_put_id(r, at,
		    waiting ? TR_CREATE_WAITING : TR_CREATE, g_id(gp));
		at = put_name(r, at, gp);
	}
	close_ring(r, at);
}

noinline void
events_start_slow(struct p *pp, struct g *gp, bool at_once)
{
	struct trace_ring *r = &pp->trace;
	a64 *at;

	if (trace_is_new(r))
		begin_ring(r, a_load_relaxed(&pp->mp), 0);
	at = trace_open(r, 2);
	if (likely(at)) {
		uint64_t now = at_once ? r->last : cpu_cycles();

		at = trace_put_id_at(r, at, now, TR_START, g_id(gp));
		trace_close(r, at);
	}
	r->g = (uint64_t)g_id(gp);	/* a chunk may have begun with this */
}

/*
 * The stack of the goroutine that runs, unless this P has just taken one: a
 * walk costs as much as a dozen events.
 */
static noinline a64 *
put_stack(struct trace_ring *r, a64 *at, struct m *mp)
{
	struct stack *s = g_stack(m_g(mp));
	struct unwind_stack st = { (uintptr_t)s->lo, (uintptr_t)stack_top(s) };
	uintptr_t pcs[TRACE_STACK_MAX];
	struct p *pp = m_p(mp);
	unsigned n = 0;

	if (!pp->walk)
		pp->walk = os_map(round_up(sizeof *pp->walk, PAGE));
	if (pp->walk)
		n = backtrace_here(pp->walk, &st, 2, pcs, TRACE_STACK_MAX);

	at = trace_put(r, at, TR_STACK, n);
	for (unsigned i = 0; i < n; i++)
		at = trace_put_word(at, pcs[i]);
	r->stack_at = r->last;
	return at;
}

static always_inline bool
stack_is_due(const struct trace_ring *r, const struct m *mp)
{
	uint64_t every = a_load_relaxed(&trace.stack_every);

	return every && m_p(mp) && r->last - r->stack_at >= every;
}

noinline void
events_block_slow(struct m *mp, enum wait_reason why, const void *object)
{
	a64 *at;
	struct trace_ring *r = open_ring(mp, 4 + TRACE_STACK_MAX, &at);

	if (likely(at)) {
		at = trace_put(r, at, TR_BLOCK, why);
		at = trace_put_word(at, (uintptr_t)object);
		if (stack_is_due(r, mp))
			at = put_stack(r, at, mp);
	}
	r->g = 0;
	close_ring(r, at);
}

noinline void
events_self_slow(struct m *mp, enum trace_type type, uint32_t arg)
{
	a64 *at;
	struct trace_ring *r = open_ring(mp, 1, &at);

	if (likely(at))
		at = trace_put(r, at, type, arg);
	if (type == TR_END || type == TR_YIELD)
		r->g = 0;
	close_ring(r, at);
}

noinline void
events_ready_slow(struct m *mp, const struct g *gp)
{
	a64 *at;
	struct trace_ring *r = open_ring(mp, 2, &at);

	if (likely(at))
		at = trace_put_id(r, at, TR_UNBLOCK, g_id(gp));
	close_ring(r, at);
}

noinline void
events_ready_list_slow(struct m *mp, const struct glist *l)
{
	uint32_t was = mp ? rt_enter(mp) : 0;

	for (const struct g *gp = l->head; gp; gp = gp->link)
		events_ready_slow(mp, gp);
	if (mp)
		rt_leave(mp, was);
}

/* ---- Ps ---- */

noinline void
events_p_start_slow(struct m *mp, struct p *pp)
{
	struct trace_ring *r = &pp->trace;
	uint64_t id = runs_already(mp);
	a64 *at;

	r->m = 0;
	r->g = 0;
	at = trace_open(r, 2);
	if (at) {
		at = trace_put(r, at, TR_P_START, m_number(mp));
		trace_close(r, trace_put_word(at, id));
	}
	r->m = m_number(mp);
	r->g = id;
}

static enum trace_stop
why_stop(const struct m *mp)
{
	if (a_load_relaxed(&sched.stopping))
		return TRACE_STOP_WORLD;
	if (!m_g(mp))
		return TRACE_STOP_IDLE;
	return a_load_relaxed(&mp->in_call) ? TRACE_STOP_CALL :
	    TRACE_STOP_OTHER;
}

noinline void
events_p_stop_slow(struct m *mp)
{
	events_self_slow(mp, TR_P_STOP, why_stop(mp));
	m_p(mp)->trace.m = 0;
	m_p(mp)->trace.g = 0;
}

bool
events_taken_open(void)
{
	if (!trace_on())
		return false;
	lock_take(&shared.lock);
	return true;
}

void
events_taken_close(const struct p *pp, const struct m *mp, int why)
{
	struct trace_ring *r = &shared.ring;
	enum trace_taken how = why == WEFT_RETAKE_CALL ? TRACE_TAKEN_CALL :
	    why == WEFT_RETAKE_ASLEEP ? TRACE_TAKEN_BLOCKED :
	    TRACE_TAKEN_RUNNING;
	a64 *at = pp ? trace_open(r, 4) : NULL;

	if (at) {
		at = put_thread(r, at, NULL);
		at = trace_put(r, at, TR_P_TAKEN, pp->id);
		at = trace_put_word(at, m_number(mp) | (uint64_t)how << 32);
	}
	close_ring(r, at);
}

noinline void
events_count_slow(enum trace_type type, uint32_t n)
{
	struct m *mp = m_self();
	uint32_t was = mp ? rt_enter(mp) : 0;

	events_self_slow(mp, type, n);
	if (mp)
		rt_leave(mp, was);
}

void
events_running(struct m *mp)
{
	/* It may have interrupted one that writes an event, or has a lock. */
	if (!trace_on() || self()->locks || a_load_relaxed(&mp->inside))
		return;
	rt_enter(mp);
	if (m_p(mp) && m_g(mp))
		events_self_slow(mp, TR_RUNNING, 0);
	rt_leave_out(mp);
}

noinline void
events_pause_slow(struct m *mp, enum trace_type type)
{
	a64 *at;
	struct trace_ring *r = open_ring(mp, 2, &at);

	if (at)
		at = trace_put_id(r, at, type, g_id(m_g(mp)));
	if (type == TR_RESUME)
		r->g = (uint64_t)g_id(m_g(mp));
	close_ring(r, at);
}

/* ---- for observe ---- */

static a64 *
put_text(a64 *at, const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 8) {
		uint64_t word = 0;

		memcpy(&word, text + i, bytes - i < 8 ? bytes - i : 8);
		at = trace_put_word(at, word);
	}
	return at;
}

void
events_user(enum trace_type type, const uint64_t *words, unsigned n,
    const char *text)
{
	size_t bytes = text ? strnlen(text, TRACE_TEXT_MAX) : 0;
	struct m *mp = m_self();
	struct trace_ring *r;
	a64 *at;

	/* In a signal handler that has interrupted us. */
	if (self()->locks || (mp && a_load_relaxed(&mp->inside)))
		return;
	if (mp)
		rt_enter(mp);
	r = open_ring(mp, TRACE_EVENT_WORDS, &at);
	if (at) {
		at = trace_put(r, at, type, (uint32_t)bytes << 16);
		for (unsigned i = 0; i < n; i++)
			at = trace_put_word(at, words[i]);
		at = put_text(at, text, bytes);
	}
	close_ring(r, at);
	if (mp)
		rt_leave_out(mp);
}

static void
put_status(struct g *gp, void *arg)
{
	enum gstate state = a_load_relaxed(&gp->state);
	a64 *at;
	struct trace_ring *r;

	(void)arg;
	if (state == G_DEAD || !g_site(gp) || g_is_claimed(gp))
		return;
	r = open_ring(NULL, 10, &at);
	if (at) {
		at = put_site(r, at, gp);
		at = trace_put_id(r, at, TR_STATUS, g_id(gp));
		at = trace_put_word(at, state |
		    (uint64_t)a_load_relaxed(&gp->reason) << 8);
		at = put_name(r, at, gp);
	}
	close_ring(r, at);
}

void
events_status(void)
{
	g_each(put_status, NULL);
}

void
events_sample(uint64_t cycles, uint32_t m, uint32_t p, uint64_t g,
    const uintptr_t *pcs, unsigned n)
{
	struct trace_ring *r = &shared.ring;
	a64 *at;

	/* The thread that was interrupted may hold one of our locks. */
	if (!trace_on() || self()->locks || !lock_try(&shared.lock))
		return;
	at = trace_open(r, 4 + TRACE_STACK_MAX);
	if (n > TRACE_STACK_MAX)
		n = TRACE_STACK_MAX;
	if (at) {
		at = trace_put(r, at, TR_SAMPLE, n);
		at = trace_put_word(at, cycles);
		at = trace_put_word(at, m | (uint64_t)p << 32);
		at = trace_put_word(at, g);
		for (unsigned i = 0; i < n; i++)
			at = trace_put_word(at, pcs[i]);
	}
	close_ring(r, at);
}

struct trace_ring *
events_ring(uint32_t i)
{
	if (i == 0)
		return &shared.ring;
	return i <= PROCS_MAX && p_at(i - 1) ? &p_at(i - 1)->trace : NULL;
}

void
events_forked(void)
{
	shared.lock = (struct lock)LOCK_INIT(RANK_TRACE_SHARED);
	shared.ring = (struct trace_ring){ .id = TRACE_RING_SHARED };
	self()->tid = 0;
	trace_forked();
}
