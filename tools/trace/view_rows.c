/* SPDX-License-Identifier: MIT */
/*
 * See view_rows.h. What a row can be derived from by the reader is not written:
 * the goroutine that runs on the P, the M that had it last, and numbers of new
 * goroutines, which are counted. `holder` is what the reader knows then.
 */
#include "view_rows.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "idmap.h"

/* As in view/columns.js. */
enum view_state {
	V_NONE, V_RUNNABLE, V_RUNNING, V_CALL, V_WAITING, V_DETACHED, V_PAUSED,
	V_DEAD
};

enum view_cause {
	C_NONE, C_CREATE, C_CREATE_WAITING, C_STATUS, C_START, C_BLOCK, C_YIELD,
	C_PREEMPTED, C_NO_P, C_END, C_UNBLOCK, C_CALL_BEGIN, C_CALL_END,
	C_PAUSE, C_RESUME, C_TAKEN_CALL, C_TAKEN_BLOCKED, C_TAKEN_RUNNING,
	C_LOST, C_P_START
};

struct goroutine {
	uint64_t id, site;
	uint32_t name;
	uint8_t state;
};

struct holder { uint32_t m, g; };	/* g + 1, or 0 */

struct rows {
	struct strings *strings;
	struct goroutine *g;
	size_t gs, gs_room;
	struct idmap g_by_id;		/* -> number + 1 */
	uint64_t *m;			/* numbers in the trace; m[0]: none */
	size_t ms, ms_room;
	struct idmap m_by_number;	/* -> number in the page */
	struct idmap g_on_m;		/* -> goroutine + 1 */
	uint64_t *object;
	size_t objects, objects_room;
	struct idmap object_by_address;
	struct holder holder[VIEW_P_MAX + 1];
	int64_t ns;			/* of the row before */
	uint32_t last;			/* its goroutine */
	struct column t, k, p, mc, gc, a, o, s;
};

struct row {
	uint32_t g;
	enum view_state state;
	enum view_cause cause;
	uint64_t a;		/* WAITING: reason + 1; else by, + 1 */
};

struct rows *
rows_new(struct strings *strings)
{
	struct rows *r = zeroed(1, sizeof *r);

	r->strings = strings;
	*GROW(r->m, r->ms, r->ms_room) = 0;
	r->ms = 1;
	*GROW(r->object, r->objects, r->objects_room) = 0;
	r->objects = 1;
	return r;
}

/* ---- numbers ---- */

uint32_t
rows_g(const struct rows *r, uint64_t id)
{
	const uint64_t *i = id ? idmap_get(&r->g_by_id, id) : NULL;

	return i ? (uint32_t)*i : 0;
}

uint32_t
rows_p(uint32_t p)
{
	return p < VIEW_P_MAX ? p + 1 : 0;
}

uint32_t
rows_m(struct rows *r, uint32_t m)
{
	uint64_t *i;

	if (!m)
		return 0;
	i = idmap_put(&r->m_by_number, m);
	if (!*i) {
		*GROW(r->m, r->ms, r->ms_room) = m;
		*i = r->ms++;
	}
	return (uint32_t)*i;
}

static uint32_t
object_number(struct rows *r, uint64_t address)
{
	uint64_t *i;

	if (!address)
		return 0;
	i = idmap_put(&r->object_by_address, address);
	if (!*i) {
		*GROW(r->object, r->objects, r->objects_room) = address;
		*i = r->objects++;
	}
	return (uint32_t)*i;
}

/* The number of a goroutine, which may be new. */
static uint32_t
number(struct rows *r, uint64_t id)
{
	uint64_t *i = idmap_put(&r->g_by_id, id);

	if (!*i) {
		*GROW(r->g, r->gs, r->gs_room) = (struct goroutine){ .id = id };
		*i = ++r->gs;
	}
	return (uint32_t)*i - 1;
}

/* ---- the columns of a row ---- */

static void
put_m(struct rows *r, struct holder *h, uint32_t m)
{
	column_put(&r->mc, h->m == m ? 0 : (uint64_t)m + 1);
	h->m = m;
}

static void
put_g(struct rows *r, const struct holder *h, uint32_t g, bool first)
{
	int64_t step = (int64_t)g - r->last;
	uint64_t zigzag = step < 0 ? (uint64_t)-step * 2 - 1 :
	    (uint64_t)step * 2;

	column_put(&r->gc, first ? 0 : h->g == g + 1 ? 1 : zigzag + 2);
	r->last = g;
}

static void
put_by(struct rows *r, const struct holder *h, uint64_t by)
{
	column_put(&r->a, !by ? 0 : h->g == by ? 1 : by + 1);
}

static void
put_row(struct rows *r, const struct event *e, struct row w)
{
	uint32_t p = rows_p(e->p);
	struct holder *h = &r->holder[p];
	bool first = r->g[w.g].state == V_NONE;

	column_put(&r->t, (uint64_t)(e->ns - r->ns));
	r->ns = e->ns;
	column_byte(&r->k, (uint8_t)(w.state | w.cause << 3));
	column_put(&r->p, p);
	put_m(r, h, rows_m(r, e->m));
	put_g(r, h, w.g, first);
	if (w.state == V_WAITING) {
		column_put(&r->a, w.a);
		column_put(&r->o, object_number(r, e->type == TR_BLOCK ?
		    e->extra : 0));
	} else {
		put_by(r, h, w.a);
	}
	column_put(&r->s, e->stack);
	if (w.state == V_RUNNING || w.state == V_CALL)
		h->g = w.g + 1;
	r->g[w.g].state = (uint8_t)w.state;
}

/* ---- events ---- */

/* The reader counts goroutines by their first rows, so none is without one. */
static void
change(struct rows *r, const struct event *e, uint64_t id,
    enum view_state state, enum view_cause cause, uint64_t a)
{
	uint32_t g;

	if (!id)
		return;
	g = number(r, id);
	put_row(r, e, (struct row){ g, state, cause, a });
	if (!e->m)
		return;
	if (state == V_RUNNING || state == V_CALL || state == V_DETACHED)
		*idmap_put(&r->g_on_m, e->m) = (uint64_t)g + 1;
	else if (e->type != TR_CREATE && e->type != TR_CREATE_WAITING &&
	    e->type != TR_UNBLOCK && e->type != TR_STATUS)
		*idmap_put(&r->g_on_m, e->m) = 0;
}

static uint64_t
reason_of(const struct event *e)
{
	uint32_t reason = event_reason(e);

	return (reason < 65534 ? reason : 65534) + 1;
}

static void
add_status(struct rows *r, const struct event *e)
{
	static const uint8_t states[] = {
		[G_DEAD] = V_DEAD, [G_RUNNABLE] = V_RUNNABLE,
		[G_RUNNING] = V_RUNNING, [G_CALL] = V_CALL,
		[G_WAITING] = V_WAITING, [G_PAUSED] = V_PAUSED,
	};
	uint32_t status = event_status(e);
	enum view_state state = status < sizeof states ?
	    states[status] : V_NONE;

	if (state == V_NONE)
		return;
	if (state == V_RUNNING && e->p == NO_P)
		state = V_DETACHED;
	change(r, e, e->g, state, C_STATUS,
	    state == V_WAITING ? reason_of(e) : 0);
}

static void
add_yield(struct rows *r, const struct event *e)
{
	change(r, e, e->g, V_RUNNABLE, e->arg == TRACE_YIELD_PREEMPTED ?
	    C_PREEMPTED : e->arg == TRACE_YIELD_NO_P ? C_NO_P : C_YIELD, 0);
}

/* What M m runs goes on without a P. */
static void
detach(struct rows *r, const struct event *e, uint32_t m,
    enum view_cause cause)
{
	const uint64_t *g = m ? idmap_get(&r->g_on_m, m) : NULL;
	struct event without = *e;
	uint8_t state;

	if (!g || !*g)
		return;
	without.m = m;
	without.p = NO_P;
	state = r->g[*g - 1].state;
	if (state == V_RUNNING || state == V_CALL)
		change(r, &without, r->g[*g - 1].id,
		    state == V_CALL ? V_CALL : V_DETACHED, cause, 0);
}

static enum view_cause
taken_cause(const struct event *e)
{
	uint64_t why = e->extra >> 32;

	return why == TRACE_TAKEN_CALL ? C_TAKEN_CALL :
	    why == TRACE_TAKEN_BLOCKED ? C_TAKEN_BLOCKED : C_TAKEN_RUNNING;
}

static void
add_p_start(struct rows *r, const struct event *e)
{
	uint32_t g = rows_g(r, e->g);
	bool call = g && r->g[g - 1].state == V_CALL;

	change(r, e, e->g, call ? V_CALL : V_RUNNING, C_P_START, 0);
}

/* Its P, or none: then it goes on detached. */
static void
add_running(struct rows *r, const struct event *e, enum view_cause cause)
{
	change(r, e, e->g, e->p == NO_P ? V_DETACHED : V_RUNNING, cause, 0);
}

static void
add_site(struct rows *r, const struct event *e)
{
	uint32_t g = rows_g(r, e->g);

	if (g && e->extra && (e->type == TR_CREATE || e->type == TR_STATUS ||
	    e->type == TR_CREATE_WAITING))
		r->g[g - 1].site = e->extra;
}

static void
add_name(struct rows *r, const struct event *e)
{
	uint32_t g = rows_g(r, e->g);

	if (g)
		r->g[g - 1].name = strings_add(r->strings, event_text(e),
		    strnlen(event_text(e), e->words ? 24 : 0));
}

void
rows_add(struct rows *r, const struct event *e)
{
	switch (e->type) {
	case TR_CREATE:
		change(r, e, e->g, V_RUNNABLE, C_CREATE, rows_g(r, e->self));
		break;
	case TR_CREATE_WAITING:
		change(r, e, e->g, V_WAITING, C_CREATE_WAITING, 0);
		break;
	case TR_STATUS:
		add_status(r, e);
		break;
	case TR_START:
		add_running(r, e, C_START);
		break;
	case TR_BLOCK:
		change(r, e, e->g, V_WAITING, C_BLOCK, reason_of(e));
		break;
	case TR_YIELD:
		add_yield(r, e);
		break;
	case TR_END:
		change(r, e, e->g, V_DEAD, C_END, 0);
		break;
	case TR_UNBLOCK:
		change(r, e, e->g, V_RUNNABLE, C_UNBLOCK, rows_g(r, e->self));
		break;
	case TR_CALL_BEGIN:
		change(r, e, e->g, V_CALL, C_CALL_BEGIN, 0);
		break;
	case TR_CALL_END:
		add_running(r, e, C_CALL_END);
		break;
	case TR_PAUSE:
		change(r, e, e->g, V_PAUSED, C_PAUSE, 0);
		break;
	case TR_RESUME:
		add_running(r, e, C_RESUME);
		break;
	case TR_P_START:
		add_p_start(r, e);
		break;
	case TR_P_STOP:
		detach(r, e, e->m, C_CALL_BEGIN);
		break;
	case TR_P_TAKEN:
		detach(r, e, (uint32_t)e->extra, taken_cause(e));
		break;
	case TR_NAME:
		add_name(r, e);
		break;
	}
	add_site(r, e);
}

/* ---- the end ---- */

static void
write_goroutines(struct rows *r, uint32_t (*site)(void *, uint64_t),
    void *context, FILE *out)
{
	struct column ids = {0}, sites = {0}, names = {0};
	uint64_t last = 0;

	for (size_t i = 0; i < r->gs; i++) {
		column_word(&ids, &last, r->g[i].id);
		column_put(&sites, site(context, r->g[i].site));
		column_put(&names, r->g[i].name);
	}
	column_write(&ids, "g.id", out);
	column_write(&sites, "g.site", out);
	column_write(&names, "g.name", out);
}

static void
write_words(const uint64_t *words, size_t count, const char *name, FILE *out)
{
	struct column c = {0};
	uint64_t last = 0;

	for (size_t i = 0; i < count; i++)
		column_word(&c, &last, words[i]);
	column_write(&c, name, out);
}

void
rows_write(struct rows *r, uint32_t (*site)(void *, uint64_t),
    void *context, FILE *out)
{
	column_write(&r->t, "rows.t", out);
	column_write(&r->k, "rows.k", out);
	column_write(&r->p, "rows.p", out);
	column_write(&r->mc, "rows.m", out);
	column_write(&r->gc, "rows.g", out);
	column_write(&r->a, "rows.a", out);
	column_write(&r->o, "rows.o", out);
	column_write(&r->s, "rows.s", out);
	write_goroutines(r, site, context, out);
	write_words(r->m, r->ms, "threads", out);
	write_words(r->object, r->objects, "objects", out);
}

void
rows_free(struct rows *r)
{
	idmap_free(&r->g_by_id);
	idmap_free(&r->m_by_number);
	idmap_free(&r->g_on_m);
	idmap_free(&r->object_by_address);
	free(r->g);
	free(r->m);
	free(r->object);
	free(r);
}
