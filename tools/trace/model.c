/* SPDX-License-Identifier: MIT */
/* See model.h. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

/* ---- records ---- */

struct g_model *
model_g(const struct model *m, uint64_t id)
{
	const uint64_t *i = id ? idmap_get(&m->g_index, id) : NULL;

	return i ? &m->g[*i - 1] : NULL;
}

const char *
model_name(const struct model *m, uint32_t name)
{
	return name ? m->names.s + name : "";
}

const char *
model_reason(const struct model *m, uint32_t reason)
{
	return reason == NO_REASON ? "not known" :
	    reason == SPAWN_REASON ? "spawned waiting" :
	    trace_reason(m->trace, reason);
}

void
model_site_text(const struct site_model *s, struct text *out)
{
	const char *file = s->site ? strrchr(s->site->file, '/') : NULL;

	if (s->site && !*s->site->file)
		text_add(out, "%s", s->site->function);	/* the main one */
	else if (s->site)
		text_add(out, "%s %s:%d", s->site->function,
		    file ? file + 1 : s->site->file, s->site->line);
	else
		text_add(out, "?");
}

static uint32_t
site_of(struct model *m, uint64_t address)
{
	uint64_t *i;

	if (!address)
		return 0;
	i = idmap_put(&m->site_index, address);
	if (!*i) {
		*GROW(m->site, m->sites, m->sites_room) = (struct site_model){
			.address = address,
			.site = trace_site(m->trace, address),
		};
		*i = m->sites++;
	}
	return (uint32_t)*i;
}

static struct p_model *
p_of(struct model *m, uint32_t p)
{
	uint64_t *i = idmap_put(&m->p_index, (uint64_t)p + 1);

	if (!*i) {
		*GROW(m->p, m->ps, m->ps_room) = (struct p_model){ .id = p };
		*i = ++m->ps;
		m->idle++;
	}
	return &m->p[*i - 1];
}

/* Adds a wait to the list that begins at *first. */
static void
add_wait(struct model *m, uint32_t *first, uint32_t reason, int64_t ns)
{
	uint32_t i = *first;

	while (i && m->waits[i].reason != reason)
		i = m->waits[i].next;
	if (!i) {
		i = (uint32_t)m->waits_count++;
		*GROW(m->waits, i, m->waits_room) = (struct waits){
			.reason = reason, .next = *first,
		};
		*first = i;
	}
	m->waits[i].count++;
	m->waits[i].ns += ns;
	if (ns > m->waits[i].max)
		m->waits[i].max = ns;
}

/* ---- what a goroutine does ---- */

/* Keeps the longest ones, in order. */
static void
add_stall(struct model *m, struct stall s)
{
	size_t i = m->stalls;

	if (i == STALLS && s.ns <= m->stall[i - 1].ns)
		return;
	if (i < STALLS)
		m->stalls++;
	else
		i--;
	for (; i > 0 && m->stall[i - 1].ns < s.ns; i--)
		m->stall[i] = m->stall[i - 1];
	m->stall[i] = s;
}

static void
note_stall(struct model *m, const struct g_model *g, uint32_t p, int64_t ns)
{
	struct stall s = {
		.kind = g->kind, .no_p = g->no_p, .p = p, .ns = ns,
		.at = g->since, .g = g->id, .name = g->name,
	};

	if (m->stalls == STALLS && ns <= m->stall[STALLS - 1].ns)
		return;
	if (p != NO_P) {
		s.after = p_of(m, p)->last_g;
		s.after_ns = p_of(m, p)->last_ns;
	}
	add_stall(m, s);
}

/* The state that g was in is over. */
static void
close_state(struct model *m, struct g_model *g)
{
	struct site_model *site = &m->site[g->site];
	int64_t ns = m->now - g->since;

	g->ns[g->kind] += ns;
	site->ns[g->kind] += ns;
	m->ns[g->kind] += ns;
	if (g->kind == KIND_BLOCKED) {
		add_wait(m, &g->waits, g->reason, ns);
		add_wait(m, &site->waits, g->reason, ns);
		add_wait(m, &m->all_waits, g->reason, ns);
	}
	if (g->kind == KIND_RUNNABLE)
		m->runnable--;
	g->since = m->now;
}

static void
enter(struct model *m, struct g_model *g, enum kind kind)
{
	close_state(m, g);
	g->kind = (uint8_t)kind;
	g->no_p = false;
	if (kind == KIND_RUNNABLE)
		m->runnable++;
}

/* The index of its record stays: records of ended goroutines are kept. */
static struct g_model *
add_g(struct model *m, uint64_t id, uint64_t site, enum kind kind)
{
	struct g_model *g = GROW(m->g, m->gs, m->gs_room);

	*g = (struct g_model){
		.id = id, .created = -1, .ended = -1, .since = m->now,
		.site = site_of(m, site), .kind = (uint8_t)kind,
		.reason = NO_REASON,
	};
	*idmap_put(&m->g_index, id) = ++m->gs;
	m->site[g->site].goroutines++;
	if (kind == KIND_RUNNABLE)
		m->runnable++;
	return g;
}

/* Numbers without a name are one reason: there may be any number of them. */
static uint32_t
reason_of(const struct model *m, const struct event *e)
{
	uint32_t reason = event_reason(e);

	return e->type == TR_BLOCK && e->flags & EVENT_MADE ? NO_REASON :
	    reason < m->trace->reasons ? reason : NO_REASON;
}

static void
on_create(struct model *m, const struct event *e)
{
	struct g_model *g = add_g(m, e->g, e->extra,
	    e->type == TR_CREATE ? KIND_RUNNABLE : KIND_BLOCKED);

	g->created = m->now;
	g->parent = e->self;
	g->reason = SPAWN_REASON;
	m->site[g->site].created++;
}

/* Of what it did before: the state has lasted since the beginning. */
static void
on_status(struct model *m, const struct event *e)
{
	static const uint8_t kind[] = {
		[G_RUNNABLE] = KIND_RUNNABLE, [G_RUNNING] = KIND_RUNNING,
		[G_CALL] = KIND_CALL, [G_WAITING] = KIND_BLOCKED,
	};
	enum g_state state = event_status(e);
	struct g_model *g;

	if (state < G_RUNNABLE || state > G_WAITING)
		return;
	g = add_g(m, e->g, e->extra, kind[state]);
	g->since = state == G_RUNNING ? m->now : 0;
	g->reason = reason_of(m, e);
}

static void
on_start(struct model *m, struct g_model *g, const struct event *e)
{
	int64_t ns = m->now - g->since;

	if (g->kind == KIND_RUNNABLE || g->kind == KIND_PAUSED) {
		histogram_add(&m->latency, ns);
		note_stall(m, g, e->p, ns);
		if (ns > m->site[g->site].longest_runnable)
			m->site[g->site].longest_runnable = ns;
	}
	enter(m, g, e->p == NO_P ? KIND_DETACHED : KIND_RUNNING);
	g->starts++;
	m->site[g->site].starts++;
}

static void
on_end(struct model *m, struct g_model *g)
{
	close_state(m, g);
	g->ended = m->now;
	idmap_remove(&m->g_index, g->id);
}

/* Its M got a P, or lost it. */
static void
on_p(struct model *m, struct g_model *g, const struct event *e)
{
	if (e->type == TR_P_START && g->kind == KIND_DETACHED) {
		note_stall(m, g, e->p, m->now - g->since);
		enter(m, g, KIND_RUNNING);
	} else if (e->type != TR_P_START && g->kind == KIND_RUNNING) {
		enter(m, g, KIND_DETACHED);
	}
}

static void
on_name(struct model *m, struct g_model *g, const struct event *e)
{
	if (!m->names.bytes)
		text_put(&m->names, "", 1);
	g->name = (uint32_t)m->names.bytes;
	text_put(&m->names, event_text(e), e->text);
	text_put(&m->names, "", 1);
}

static void
on_goroutine(struct model *m, struct g_model *g, const struct event *e)
{
	switch (e->type) {
	case TR_START:
	case TR_RESUME:
		on_start(m, g, e);
		break;
	case TR_BLOCK:
		enter(m, g, KIND_BLOCKED);
		g->reason = reason_of(m, e);
		break;
	case TR_YIELD:
		enter(m, g, KIND_RUNNABLE);
		g->no_p = e->arg == TRACE_YIELD_NO_P;
		break;
	case TR_UNBLOCK:
		enter(m, g, KIND_RUNNABLE);
		break;
	case TR_END:
		on_end(m, g);
		break;
	case TR_CALL_BEGIN:
		enter(m, g, KIND_CALL);
		break;
	case TR_CALL_END:
		enter(m, g, e->p == NO_P ? KIND_DETACHED : KIND_RUNNING);
		break;
	case TR_PAUSE:
		enter(m, g, KIND_PAUSED);
		break;
	case TR_P_START:
	case TR_P_STOP:
	case TR_P_TAKEN:
		on_p(m, g, e);
		break;
	case TR_NAME:
		on_name(m, g, e);
		break;
	default:
		break;
	}
}

/* ---- what a P does ---- */

static void
enter_p(struct model *m, struct p_model *p, enum p_kind kind)
{
	int64_t ns = m->now - p->since;

	p->ns[p->kind] += ns;
	if (p->kind == P_IDLE && ns > p->longest_idle) {
		p->longest_idle = ns;
		p->longest_idle_at = p->since;
	}
	m->idle += (kind == P_IDLE) - (p->kind == P_IDLE);
	p->kind = (uint8_t)kind;
	p->since = m->now;
}

static void
p_begins(struct model *m, struct p_model *p, uint64_t g)
{
	p->last_g = g;
	p->last_since = m->now;
	enter_p(m, p, g ? P_RUN : P_SEARCH);
}

static void
p_ends(struct model *m, struct p_model *p, enum p_kind kind)
{
	if (p->kind == P_RUN || p->kind == P_CALL)
		p->last_ns = m->now - p->last_since;
	enter_p(m, p, kind);
}

static void
on_processor(struct model *m, struct p_model *p, const struct event *e)
{
	switch (e->type) {
	case TR_P_START:
		p->starts++;
		p_begins(m, p, e->g);
		break;
	case TR_START:
	case TR_RESUME:
		p_begins(m, p, e->g);
		break;
	case TR_STATUS:
		if (event_status(e) == G_RUNNING)
			p_begins(m, p, e->g);
		break;
	case TR_BLOCK:
	case TR_YIELD:
	case TR_END:
	case TR_PAUSE:
		p_ends(m, p, P_SEARCH);
		break;
	case TR_CALL_BEGIN:
	case TR_CALL_END:
		enter_p(m, p, e->type == TR_CALL_BEGIN ? P_CALL : P_RUN);
		break;
	case TR_P_TAKEN:
		p->taken++;
		p_ends(m, p, P_IDLE);
		break;
	case TR_P_STOP:
		p_ends(m, p, P_IDLE);
		break;
	case TR_STEAL:
		p->steals++;
		p->stolen += e->arg >> 16;
		break;
	default:
		break;
	}
}

/* ---- all ---- */

struct model *
model_begin(struct trace *t)
{
	struct model *m = zeroed(1, sizeof *m);

	m->trace = t;
	*GROW(m->site, m->sites, m->sites_room) = (struct site_model){0};
	m->sites = 1;
	*GROW(m->waits, m->waits_count, m->waits_room) = (struct waits){0};
	m->waits_count = 1;
	return m;
}

void
model_add(struct model *m, const struct event *e)
{
	struct g_model *g;

	m->event_count += !(e->flags & EVENT_MADE);
	m->events[e->type] += !(e->flags & EVENT_MADE);
	if (e->type == TR_SAMPLE)
		return;
	if (m->runnable && m->idle)
		m->idle_ns += e->ns - m->now;
	m->now = e->ns;
	if (e->type == TR_CREATE || e->type == TR_CREATE_WAITING)
		on_create(m, e);
	else if (e->type == TR_STATUS)
		on_status(m, e);
	else if ((g = model_g(m, e->g)))
		on_goroutine(m, g, e);
	if (e->p != NO_P)
		on_processor(m, p_of(m, e->p), e);
}

/* What is still so at the end has lasted until then. */
void
model_finish(struct model *m, uint64_t repairs)
{
	for (size_t i = 0; i < m->gs; i++) {
		struct g_model *g = &m->g[i];

		if (g->ended >= 0)
			continue;
		if (g->kind == KIND_RUNNABLE || g->kind == KIND_PAUSED ||
		    g->kind == KIND_DETACHED)
			note_stall(m, g, NO_P, m->now - g->since);
		close_state(m, g);
	}
	for (size_t i = 0; i < m->ps; i++)
		enter_p(m, &m->p[i], m->p[i].kind);
	m->end_ns = m->now;
	m->repairs = repairs;
}

struct model *
model_of(struct trace *t)
{
	struct model *m = model_begin(t);
	struct order *o = order_open(t);
	struct event e;

	while (order_next(o, &e))
		model_add(m, &e);
	model_finish(m, order_repairs(o));
	order_close(o);
	return m;
}

void
model_free(struct model *m)
{
	free(m->g);
	free(m->site);
	free(m->p);
	free(m->waits);
	text_free(&m->names);
	idmap_free(&m->g_index);
	idmap_free(&m->site_index);
	idmap_free(&m->p_index);
	free(m);
}
