/* SPDX-License-Identifier: MIT */
/*
 * See order.h.
 *
 * The order within a ring is exact, times across rings nearly so. Of the next
 * events of all rings, the earliest whose cause has been seen is the next:
 * a goroutine starts only when it is RUNNABLE, and so on (ready). One that is
 * not ready waits for others, but not longer than PATIENCE_NS of the trace:
 * its cause was lost then, and it is applied as it is.
 *
 * Where it is known that events were lost, or not yet recorded (a flight
 * recording begins on each ring at another time), nothing is waited for that
 * may not come.
 */
#include "order.h"

#include <stdlib.h>

#include "cursor.h"
#include "state.h"

enum {
	PATIENCE_NS = 50 * 1000 * 1000,
	HURRY_NS = 20 * 1000,	/* ... of a flight recording's beginning */
	WAITING_MAX = 256	/* rings */
};

struct order {
	struct trace *trace;
	struct stacks stacks;
	struct state state;
	struct cursor *cursor;		/* one for each ring */
	struct idmap of_p;		/* P + 1 -> cursor + 1 */
	uint32_t *heap;			/* cursors, by time */
	size_t heap_count;
	int64_t all_ns;			/* from then on, all rings are there;
					 * again not if one is cut off */
	bool finished;
};

/* ---- the heap ---- */

static bool
earlier(const struct order *o, uint32_t a, uint32_t b)
{
	int64_t x = o->cursor[a].event.ns, y = o->cursor[b].event.ns;

	return x < y || (x == y && a < b);
}

static void
heap_up(struct order *o, size_t i, uint32_t c)
{
	while (i > 0 && earlier(o, c, o->heap[(i - 1) / 2])) {
		o->heap[i] = o->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	o->heap[i] = c;
}

static void
heap_push(struct order *o, uint32_t c)
{
	heap_up(o, o->heap_count++, c);
}

static uint32_t
heap_pop(struct order *o)
{
	uint32_t top = o->heap[0], c = o->heap[--o->heap_count];
	size_t n = o->heap_count, i = 0, child;

	while ((child = 2 * i + 1) < n) {
		if (child + 1 < n &&
		    earlier(o, o->heap[child + 1], o->heap[child]))
			child++;
		if (!earlier(o, o->heap[child], c))
			break;
		o->heap[i] = o->heap[child];
		i = child;
	}
	o->heap[i] = c;
	return top;
}

/* ---- what an event needs ---- */

/* The holder of P p has nothing more to say on its ring. */
static bool
silent(const struct order *o, uint32_t p)
{
	const uint64_t *i = idmap_get(&o->of_p, (uint64_t)p + 1);

	return !i || !o->cursor[*i - 1].valid ||
	    o->cursor[*i - 1].event.type == TR_P_START;
}

static bool
ready_p_start(const struct order *o, const struct event *e)
{
	struct g_info i = state_g(&o->state, e->g);
	struct m_state ms = state_m(&o->state, e->m);

	if (state_m_of_p(&o->state, e->p) || ms.p != NO_P)
		return false;
	if (!e->g)
		return !ms.g;
	return i.state == G_UNKNOWN || i.stale || i.m == e->m;
}

/* On the shared ring: self has no P. */
static bool
ready_without_p(const struct order *o, const struct event *e)
{
	uint32_t p = state_m(&o->state, e->m).p;

	return e->p != NO_P || !e->m || p == NO_P || silent(o, p);
}

static bool
ready_start(const struct order *o, const struct event *e)
{
	struct g_info i = state_g(&o->state, e->g);

	return i.state == G_RUNNABLE || i.state == G_PAUSED ||
	    i.state == G_UNKNOWN || (i.state != G_UNBORN && i.stale);
}

static bool
ready_unblock(const struct order *o, const struct event *e)
{
	struct g_info i = state_g(&o->state, e->g);

	return i.state == G_WAITING || i.state == G_UNKNOWN ||
	    (i.state != G_UNBORN && i.stale);
}

static bool
ready_taken(const struct order *o, const struct event *e)
{
	return state_m_of_p(&o->state, e->arg) == (uint32_t)e->extra &&
	    silent(o, e->arg);
}

static bool
ready(const struct order *o, const struct event *e)
{
	switch (e->type) {
	case TR_P_START:
		return ready_p_start(o, e);
	case TR_P_TAKEN:
		return ready_taken(o, e);
	case TR_START:
		return ready_start(o, e);
	case TR_UNBLOCK:
		return ready_without_p(o, e) && ready_unblock(o, e);
	case TR_SAMPLE:
	case TR_STATUS:
		return true;
	default:
		return ready_without_p(o, e);
	}
}

/* ---- the next one ---- */

/* Which ring is next, taken out of the heap, which is not empty. */
static uint32_t
choose(struct order *o)
{
	uint32_t waiting[WAITING_MAX], chosen;
	size_t n = 0;

	for (;;) {
		const struct event *e = &o->cursor[o->heap[0]].event;
		int64_t late = n ? e->ns - o->cursor[waiting[0]].event.ns : 0;

		if (late > (e->ns < o->all_ns ? HURRY_NS : PATIENCE_NS)) {
			chosen = waiting[0];
			break;
		}
		chosen = heap_pop(o);
		if (ready(o, e))
			break;
		waiting[n++] = chosen;
		if (!o->heap_count || n == WAITING_MAX) {
			chosen = waiting[0];
			break;
		}
	}
	for (size_t i = 0; i < n; i++)
		if (waiting[i] != chosen)
			heap_push(o, waiting[i]);
	return chosen;
}

static void
step(struct order *o)
{
	uint32_t i = choose(o);
	struct cursor *c = &o->cursor[i];

	bool starts = c->event.type == TR_P_START;

	if (c->gap)
		state_resync(&o->state, c->ring->id == TRACE_RING_SHARED ?
		    NO_P : c->ring->id, starts ? 0 : c->gap_m, c->gap_g,
		    c->event.ns, c->lost);
	state_apply(&o->state, &c->event);
	cursor_next(c);
	if (c->valid)
		heap_push(o, i);
	else if (!o->trace->ended)
		o->all_ns = INT64_MAX;
}

bool
order_next(struct order *o, struct event *e)
{
	struct state *s = &o->state;

	while (s->taken == s->out_count) {
		s->taken = s->out_count = 0;
		if (o->heap_count) {
			step(o);
		} else if (!o->finished) {
			o->finished = o->trace->walked = true;
			state_finish(s);
		} else {
			return false;
		}
	}
	*e = s->out[s->taken++];
	return true;
}

/* ---- beginning and end ---- */

static void
foretell(void *state, const struct event *e)
{
	state_foretell(state, e);
}

/* A ring without its first block begins late; so do all others then. */
static void
begin_ring(struct order *o, uint32_t i)
{
	struct trace *t = o->trace;
	struct cursor *c = &o->cursor[i];

	cursor_init(c, t, &t->ring[i], &o->stacks);
	cursor_next(c);
	if (t->ring[i].id != TRACE_RING_SHARED)
		*idmap_put(&o->of_p, (uint64_t)t->ring[i].id + 1) = i + 1;
	if (t->ring[i].block[0].number &&
	    trace_ns(t, t->ring[i].block[0].start) > o->all_ns)
		o->all_ns = trace_ns(t, t->ring[i].block[0].start);
	if (c->valid)
		heap_push(o, i);
}

struct order *
order_open(struct trace *t)
{
	struct order *o = zeroed(1, sizeof *o);

	o->trace = t;
	o->cursor = zeroed(t->rings, sizeof *o->cursor);
	o->heap = zeroed(t->rings, sizeof *o->heap);
	cursor_scan(t, foretell, &o->state);
	for (size_t i = 0; i < t->rings; i++)
		begin_ring(o, (uint32_t)i);
	return o;
}

const struct stacks *
order_stacks(const struct order *o)
{
	return &o->stacks;
}

uint64_t
order_repairs(const struct order *o)
{
	return o->state.repairs;
}

void
order_close(struct order *o)
{
	free(o->cursor);
	free(o->heap);
	idmap_free(&o->of_p);
	stacks_free(&o->stacks);
	state_free(&o->state);
	free(o);
}
