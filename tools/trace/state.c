/* SPDX-License-Identifier: MIT */
/*
 * See state.h.
 *
 * The value of a goroutine in the table is its state (bits 0..7), the epoch in
 * which it was set (8..31) and its M (32..63). Goroutines that have ended are
 * not in it.
 */
#include "state.h"

#include <stdlib.h>

#include "grow.h"

enum { EPOCH_SHIFT = 8, EPOCH_MAX = 0xffffff };

/* ---- what is known ---- */

struct g_info
state_g(const struct state *s, uint64_t g)
{
	const uint64_t *v = g ? idmap_get(&s->g, g) : NULL;

	if (!v)
		return (struct g_info){ .state = G_UNKNOWN };
	return (struct g_info){
		.state = (enum g_state)(*v & 0xff), .m = (uint32_t)(*v >> 32),
		.stale = (*v >> EPOCH_SHIFT & EPOCH_MAX) != s->epoch,
	};
}

static void
set_g(struct state *s, uint64_t g, enum g_state state, uint32_t m)
{
	*idmap_put(&s->g, g) = (uint64_t)state |
	    (uint64_t)s->epoch << EPOCH_SHIFT | (uint64_t)m << 32;
}

uint32_t
state_m_of_p(const struct state *s, uint32_t p)
{
	const uint64_t *v = idmap_get(&s->p, (uint64_t)p + 1);

	return v ? (uint32_t)*v : 0;
}

struct m_state
state_m(const struct state *s, uint32_t m)
{
	const uint64_t *v = m ? idmap_get(&s->m, m) : NULL;

	return v ? s->ms[*v - 1] : (struct m_state){ .p = NO_P };
}

/* The same, to be changed; m is not 0. */
static struct m_state *
the_m(struct state *s, uint32_t m)
{
	uint64_t *v = idmap_put(&s->m, m);

	if (!*v) {
		*GROW(s->ms, s->ms_count, s->ms_room) =
			(struct m_state){ .p = NO_P };
		*v = ++s->ms_count;
	}
	return &s->ms[*v - 1];
}

static void
set_p(struct state *s, uint32_t p, uint32_t m)
{
	*idmap_put(&s->p, (uint64_t)p + 1) = m;
}

static bool
runs(struct g_info i)
{
	return i.state == G_RUNNING || i.state == G_CALL;
}

static bool
unknown(struct g_info i)
{
	return i.state == G_UNKNOWN || i.state == G_UNBORN;
}

/* ---- what comes out ---- */

static void
emit(struct state *s, const struct event *e)
{
	struct event *at = GROW(s->out, s->out_count, s->out_room);

	*at = *e;
	s->out_count++;
	if (e->type == TR_SAMPLE)
		return;
	if (e->ns > s->ns)
		s->ns = e->ns;
	at->ns = s->ns;
}

static void
left_out(struct state *s)
{
	s->repairs += !s->quiet;
}

static void
made(struct state *s, enum trace_type type, uint64_t g, uint32_t m,
    uint32_t arg)
{
	struct m_state ms = state_m(s, m);

	s->repairs += !s->quiet && type != TR_STATUS;
	emit(s, &(struct event){
		.ns = s->ns, .g = g, .self = ms.g, .arg = arg, .m = m,
		.p = ms.p, .type = (uint8_t)type, .flags = EVENT_MADE,
	});
}

/* ---- one step each: the event is made up, and its effect ---- */

static void
make_status(struct state *s, uint64_t g, enum g_state state, uint32_t m)
{
	const uint64_t *prior = idmap_get(&s->prior, g);
	uint32_t reason = 0;
	uint64_t site = 0;

	if (prior) {
		const struct event *e = &s->status[*prior - 1];

		site = e->extra;
		reason = event_reason(e);
	}
	made(s, TR_STATUS, g, m, (uint32_t)state | reason << 8);
	s->out[s->out_count - 1].extra = site;
	set_g(s, g, state, m);
	if (state == G_RUNNING || state == G_CALL)
		the_m(s, m)->g = g;
}

/* The goroutine of m, in a call or not, is off m then. */
static void
make_off(struct state *s, uint32_t m, enum trace_type type)
{
	uint64_t g = state_m(s, m).g;

	if (state_g(s, g).state == G_CALL)
		made(s, TR_CALL_END, g, m, 0);
	made(s, type, g, m, 0);
	the_m(s, m)->g = 0;
	set_g(s, g, type == TR_BLOCK ? G_WAITING : G_RUNNABLE, 0);
}

/* P p is free then. */
static void
make_free(struct state *s, uint32_t p)
{
	uint32_t m = state_m_of_p(s, p);

	if (!m)
		return;
	if (state_m(s, m).g)
		made(s, TR_P_TAKEN, state_m(s, m).g, m, p);
	else
		made(s, TR_P_STOP, 0, m, TRACE_STOP_OTHER);
	the_m(s, m)->p = NO_P;
	set_p(s, p, 0);
}

/* m has p then, and goes on with what it runs. */
static void
make_hold(struct state *s, uint32_t p, uint32_t m)
{
	uint32_t old;

	if (state_m_of_p(s, p) == m)
		return;
	make_free(s, p);
	old = state_m(s, m).p;
	if (old != NO_P)
		make_free(s, old);
	made(s, TR_P_START, state_m(s, m).g, m, m);
	s->out[s->out_count - 1].p = p;
	the_m(s, m)->p = p;
	set_p(s, p, m);
}

/* m runs g then, which was RUNNABLE or PAUSED there. */
static void
make_start(struct state *s, enum trace_type type, uint64_t g, uint32_t m)
{
	if (state_m(s, m).g)
		make_off(s, m, TR_YIELD);
	made(s, type, g, m, (uint32_t)g);
	the_m(s, m)->g = g;
	set_g(s, g, G_RUNNING, m);
}

/* g is RUNNABLE then. */
static void
make_runnable(struct state *s, uint64_t g)
{
	struct g_info i = state_g(s, g);

	if (i.state == G_PAUSED)
		make_start(s, TR_RESUME, g, i.m);
	if (unknown(i)) {
		make_status(s, g, G_RUNNABLE, 0);
	} else if (i.state == G_WAITING) {
		made(s, TR_UNBLOCK, g, 0, 0);
		set_g(s, g, G_RUNNABLE, 0);
	} else if (i.state != G_RUNNABLE) {
		make_off(s, i.m, TR_YIELD);
	}
}

/* g is WAITING then; false: it is RUNNABLE already. */
static bool
make_waiting(struct state *s, uint64_t g)
{
	struct g_info i = state_g(s, g);

	if (unknown(i))
		make_status(s, g, G_WAITING, 0);
	else if (runs(i))
		make_off(s, i.m, TR_BLOCK);
	return state_g(s, g).state == G_WAITING;
}

/* m runs g then, in a call perhaps, with the P that it has or without. */
static void
make_running(struct state *s, uint64_t g, uint32_t m)
{
	struct g_info i = state_g(s, g);

	if (runs(i) && i.m == m)
		return;
	if (state_m(s, m).g)
		make_off(s, m, TR_YIELD);
	if (unknown(i)) {
		make_status(s, g, G_RUNNING, m);
		return;
	}
	if (i.state == G_PAUSED && i.m == m) {
		make_start(s, TR_RESUME, g, m);
	} else {
		make_runnable(s, g);
		make_start(s, TR_START, g, m);
	}
}

/* ---- events ---- */

static void
apply_p_start(struct state *s, struct event *e)
{
	struct g_info i = state_g(s, e->g);
	struct m_state ms = state_m(s, e->m);
	uint64_t resumed = 0;

	if (!e->m || e->p == NO_P)
		return left_out(s);
	if (state_m_of_p(s, e->p))
		make_free(s, e->p);
	if (ms.p != NO_P)
		make_free(s, ms.p);
	if (ms.g && ms.g != e->g)
		make_off(s, e->m, TR_YIELD);
	if (e->g && unknown(i)) {
		make_status(s, e->g, G_RUNNING, e->m);
	} else if (e->g && !(runs(i) && i.m == e->m)) {
		resumed = e->g;
		e->g = 0;
	}
	e->self = e->g;
	emit(s, e);
	the_m(s, e->m)->p = e->p;
	set_p(s, e->p, e->m);
	if (resumed && i.state == G_PAUSED && i.m == e->m) {
		s->repairs--;
		make_start(s, TR_RESUME, resumed, e->m);
		s->out[s->out_count - 1].flags = 0;
	} else if (resumed) {
		make_running(s, resumed, e->m);
	}
}

/* The M that has the P goes on without it. */
static void
part_p(struct state *s, struct event *e)
{
	if (!e->m || state_m_of_p(s, e->p) != e->m)
		return left_out(s);
	e->g = state_m(s, e->m).g;
	emit(s, e);
	the_m(s, e->m)->p = NO_P;
	set_p(s, e->p, 0);
}

static void
apply_p_taken(struct state *s, struct event *e)
{
	e->p = e->arg;
	e->arg = (uint32_t)(e->extra >> 32);
	e->m = (uint32_t)e->extra;
	part_p(s, e);
}

static void
apply_create(struct state *s, struct event *e)
{
	if (!e->g || !unknown(state_g(s, e->g)))
		return left_out(s);
	emit(s, e);
	set_g(s, e->g, e->type == TR_CREATE ? G_RUNNABLE : G_WAITING, 0);
}

/* Those of a running goroutine come first; others are known by later events. */
static void
apply_status(struct state *s, struct event *e)
{
	enum g_state state = event_status(e);

	if (!e->g || state_g(s, e->g).state != G_UNKNOWN ||
	    (state != G_RUNNABLE && state != G_WAITING))
		return;
	e->m = 0;
	e->p = NO_P;
	e->self = 0;
	emit(s, e);
	set_g(s, e->g, state, 0);
}

static void
apply_start(struct state *s, struct event *e)
{
	struct g_info i;

	if (!e->g || !e->m)
		return left_out(s);
	if (state_m(s, e->m).g == e->g)
		return;			/* a resumed one, known already */
	if (state_m(s, e->m).g)
		make_off(s, e->m, TR_YIELD);
	i = state_g(s, e->g);
	e->type = i.state == G_PAUSED && i.m == e->m ? TR_RESUME : TR_START;
	if (e->type == TR_START)
		make_runnable(s, e->g);
	e->self = 0;
	emit(s, e);
	the_m(s, e->m)->g = e->g;
	set_g(s, e->g, G_RUNNING, e->m);
}

static void
apply_unblock(struct state *s, struct event *e)
{
	if (!e->g || !make_waiting(s, e->g))
		return left_out(s);
	emit(s, e);
	set_g(s, e->g, G_RUNNABLE, 0);
}

/* Self is off its M: TR_BLOCK, TR_YIELD, TR_END. */
static void
apply_off(struct state *s, struct event *e)
{
	if (!e->g || !e->m)
		return left_out(s);
	make_running(s, e->g, e->m);
	if (state_g(s, e->g).state == G_CALL)
		made(s, TR_CALL_END, e->g, e->m, 0);
	e->p = state_m(s, e->m).p;
	emit(s, e);
	the_m(s, e->m)->g = 0;
	if (e->type == TR_END)
		idmap_remove(&s->g, e->g);
	else
		set_g(s, e->g, e->type == TR_BLOCK ? G_WAITING : G_RUNNABLE,
		    0);
}

static void
apply_call(struct state *s, struct event *e)
{
	enum g_state want = e->type == TR_CALL_BEGIN ? G_RUNNING : G_CALL;
	enum g_state then = e->type == TR_CALL_BEGIN ? G_CALL : G_RUNNING;

	if (!e->g || !e->m)
		return left_out(s);
	if (unknown(state_g(s, e->g)) && want == G_CALL) {
		if (state_m(s, e->m).g)
			make_off(s, e->m, TR_YIELD);
		make_status(s, e->g, G_CALL, e->m);
	}
	make_running(s, e->g, e->m);
	if (state_g(s, e->g).state != want)
		return left_out(s);
	e->p = state_m(s, e->m).p;
	emit(s, e);
	set_g(s, e->g, then, e->m);
}

/* Written by its own thread, or by another. */
static void
apply_pause(struct state *s, struct event *e)
{
	struct g_info i = state_g(s, e->g);

	if (runs(i))
		e->m = i.m;
	if (!e->g || !e->m)
		return left_out(s);
	make_running(s, e->g, e->m);
	if (state_g(s, e->g).state == G_CALL)
		made(s, TR_CALL_END, e->g, e->m, 0);
	e->p = state_m(s, e->m).p;
	e->self = e->g;
	emit(s, e);
	the_m(s, e->m)->g = 0;
	set_g(s, e->g, G_PAUSED, e->m);
}

/* By another thread: that it runs is seen when its M has a P. */
static void
apply_resume(struct state *s, struct event *e)
{
	struct g_info i = state_g(s, e->g);

	if (runs(i) || (i.state == G_PAUSED && i.m != e->m))
		return;
	apply_start(s, e);
}

/* What the user or the runtime says; by a goroutine, it runs there. */
static void
apply_said(struct state *s, struct event *e)
{
	if (!e->m) {
		e->g = e->g == e->self ? 0 : e->g;
		e->self = 0;
	}
	if (e->self) {
		make_running(s, e->self, e->m);
		e->p = state_m(s, e->m).p;
	}
	emit(s, e);
}

/* An event on the ring of a P says that its M holds that P. */
static void
hold_own(struct state *s, const struct event *e)
{
	if (e->p == NO_P || !e->m || e->type == TR_P_START ||
	    e->type == TR_P_STOP || e->type == TR_SAMPLE)
		return;
	make_hold(s, e->p, e->m);
}

/* An event on the shared ring says that its M has no P. */
static void
hold_none(struct state *s, const struct event *e)
{
	uint32_t p = state_m(s, e->m).p;

	if (e->p == NO_P && e->m && p != NO_P && e->type != TR_SAMPLE) {
		s->repairs--;
		make_free(s, p);
	}
}

void
state_apply(struct state *s, const struct event *given)
{
	static void (*const apply[TR_TYPES])(struct state *, struct event *) = {
		[TR_P_START] = apply_p_start, [TR_P_STOP] = part_p,
		[TR_P_TAKEN] = apply_p_taken, [TR_CREATE] = apply_create,
		[TR_CREATE_WAITING] = apply_create,
		[TR_START] = apply_start, [TR_BLOCK] = apply_off,
		[TR_YIELD] = apply_off, [TR_END] = apply_off,
		[TR_UNBLOCK] = apply_unblock, [TR_CALL_BEGIN] = apply_call,
		[TR_CALL_END] = apply_call, [TR_PAUSE] = apply_pause,
		[TR_RESUME] = apply_resume, [TR_STATUS] = apply_status,
		[TR_WORLD_STOP] = apply_said, [TR_WORLD_START] = apply_said,
		[TR_TASK_BEGIN] = apply_said, [TR_TASK_END] = apply_said,
		[TR_REGION_BEGIN] = apply_said, [TR_REGION_END] = apply_said,
		[TR_LOG] = apply_said, [TR_NAME] = apply_said,
		[TR_PROCS] = apply_said,
	};
	struct event e = *given;

	if (e.ns > s->ns && e.type != TR_SAMPLE)
		s->ns = e.ns;
	hold_own(s, &e);
	hold_none(s, &e);
	if (apply[e.type])
		apply[e.type](s, &e);
	else
		emit(s, &e);
}

void
state_resync(struct state *s, uint32_t p, uint32_t m, uint64_t g, int64_t ns,
    bool lost)
{
	if (lost && s->epoch < EPOCH_MAX)
		s->epoch++;
	if (p == NO_P)
		return;
	s->quiet = true;
	if (ns > s->ns)
		s->ns = ns;
	if (!m)
		make_free(s, p);
	else
		make_hold(s, p, m);
	if (m && g)
		make_running(s, g, m);
	else if (m && state_m(s, m).g)
		make_off(s, m, TR_YIELD);
	s->quiet = false;
}

/* ---- beginning and end ---- */

void
state_foretell(struct state *s, const struct event *e)
{
	if (!e->g)
		return;
	if (e->type == TR_STATUS) {
		*GROW(s->status, s->status_count, s->status_room) = *e;
		*idmap_put(&s->prior, e->g) = ++s->status_count;
	} else {
		set_g(s, e->g, G_UNBORN, 0);
	}
}

/* Goroutines that were in a call all the time. */
void
state_finish(struct state *s)
{
	for (size_t i = 0; i < s->status_count; i++) {
		struct event e = s->status[i];

		if (event_status(&e) != G_CALL ||
		    state_g(s, e.g).state != G_UNKNOWN)
			continue;
		e.p = NO_P;
		e.ns = s->ns;
		emit(s, &e);
		set_g(s, e.g, G_CALL, 0);
	}
}

void
state_free(struct state *s)
{
	idmap_free(&s->g);
	idmap_free(&s->p);
	idmap_free(&s->m);
	idmap_free(&s->prior);
	free(s->ms);
	free(s->status);
	free(s->out);
}
