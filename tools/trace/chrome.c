/* SPDX-License-Identifier: MIT */
/*
 * weft-trace chrome: a trace in the JSON of Chrome's tracing, which Perfetto
 * reads.
 *
 *	process 1	a thread for each P: what ran there; arrows lead from
 *			where a goroutine was made runnable to where it ran
 *	process 2	a thread for each M: what ran there without a P
 *	asynchronous	tasks, and regions by goroutine
 *	counter		how many goroutines were runnable
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "json.h"
#include "names.h"
#include "order.h"

enum { PROCESSORS = 1, THREADS = 2 };

static const int64_t counter_ns = 50000;	/* between two of a counter */

struct lane {
	int process;		/* 0: it does not run */
	uint32_t thread;
};

struct routine {
	uint64_t id;
	const struct site *site;
	char name[25];
	struct lane lane;
	int64_t since, call_since;	/* call: -1: not in one */
	uint64_t arrow;			/* that leads to it, or 0 */
	bool runnable;
};

struct chrome {
	struct trace *trace;
	FILE *out;
	struct idmap index;		/* id -> index + 1 */
	struct routine *routine;
	size_t routines, room;
	uint32_t *free;			/* indexes */
	size_t frees, frees_room;
	struct idmap lanes;		/* that have a name */
	uint64_t arrows;
	uint64_t runnable;
	int64_t ns, counted;
	bool comma;
};

/* ---- JSON ---- */

/* Begins an event: {"ph":.., "ts":.., "pid":.., "tid":.. */
static void
begin(struct chrome *c, char phase, int64_t ns, struct lane l)
{
	fprintf(c->out, "%s{\"ph\":\"%c\",\"ts\":%" PRId64 ".%03d,\"pid\":%d,"
	    "\"tid\":%u", c->comma ? ",\n" : "", phase, ns / 1000,
	    (int)(ns % 1000), l.process, l.thread);
	c->comma = true;
}

static void
put_name(struct chrome *c, const char *key, const char *s, size_t bytes)
{
	fprintf(c->out, ",\"%s\":", key);
	json_string(c->out, s, bytes);
}

static void
name_lane(struct chrome *c, struct lane l)
{
	uint64_t *known = idmap_put(&c->lanes,
	    ((uint64_t)l.process << 32 | l.thread) + 1);

	if (*known)
		return;
	*known = 1;
	begin(c, 'M', 0, l);
	fprintf(c->out, ",\"name\":\"thread_name\",\"args\":{\"name\":\"%s "
	    "%u\"}}", l.process == PROCESSORS ? "P" : "M", l.thread);
	begin(c, 'M', 0, l);
	fprintf(c->out, ",\"name\":\"thread_sort_index\",\"args\":{"
	    "\"sort_index\":%u}}", l.thread);
}

static void
name_process(struct chrome *c, int process, const char *name)
{
	begin(c, 'M', 0, (struct lane){ process, 0 });
	fprintf(c->out, ",\"name\":\"process_name\",\"args\":{\"name\":\"%s\""
	    "}}", name);
}

/* ---- goroutines ---- */

static struct routine *
routine_of(struct chrome *c, uint64_t g)
{
	uint64_t *i = idmap_put(&c->index, g);

	if (!*i) {
		if (c->frees) {
			*i = c->free[--c->frees] + 1;
		} else {
			(void)GROW(c->routine, c->routines, c->room);
			*i = ++c->routines;
		}
		c->routine[*i - 1] =
			(struct routine){ .id = g, .call_since = -1 };
	}
	return &c->routine[*i - 1];
}

static void
forget(struct chrome *c, struct routine *r)
{
	*GROW(c->free, c->frees, c->frees_room) = (uint32_t)(r - c->routine);
	c->frees++;
	idmap_remove(&c->index, r->id);
}

static void
put_title(struct chrome *c, const struct routine *r)
{
	struct text title = {0};

	text_add(&title, "G%" PRIu64, r->id);
	if (r->name[0])
		text_add(&title, " %s", r->name);
	else if (r->site)
		text_add(&title, " %.100s", r->site->function);
	put_name(c, "name", title.s, title.bytes);
	text_free(&title);
}

static void
put_slice(struct chrome *c, const struct routine *r, int64_t since,
    const char *name, const char *why)
{
	int64_t ns = c->ns - since;

	name_lane(c, r->lane);
	begin(c, 'X', since, r->lane);
	fprintf(c->out, ",\"dur\":%" PRId64 ".%03d", ns / 1000,
	    (int)(ns % 1000));
	if (name)
		put_name(c, "name", name, strlen(name));
	else
		put_title(c, r);
	fprintf(c->out, ",\"args\":{\"goroutine\":%" PRIu64, r->id);
	if (why)
		put_name(c, "then", why, strlen(why));
	fputs("}}", c->out);
}

/* What it did on its lane is over. */
static void
leave(struct chrome *c, struct routine *r, const char *why)
{
	if (!r->lane.process)
		return;
	if (r->call_since >= 0)
		put_slice(c, r, r->call_since > r->since ? r->call_since :
		    r->since, "call", NULL);
	put_slice(c, r, r->since, NULL, why);
	r->lane.process = 0;
}

static struct lane
lane_of(const struct event *e)
{
	return e->p != NO_P ? (struct lane){ PROCESSORS, e->p } :
	    (struct lane){ THREADS, e->m };
}

static void
enter(struct chrome *c, struct routine *r, struct lane l)
{
	r->lane = l;
	r->since = c->ns;
	if (r->arrow) {
		begin(c, 'f', c->ns, l);
		fprintf(c->out, ",\"bp\":\"e\",\"cat\":\"wake\",\"name\":"
		    "\"wake\",\"id\":%" PRIu64 "}", r->arrow);
		r->arrow = 0;
	}
}

/* It is runnable from now on, because of what happens on this lane. */
static void
awaken(struct chrome *c, struct routine *r, const struct event *e)
{
	if (!e->m && !e->tid)
		return;
	r->arrow = ++c->arrows;
	begin(c, 's', c->ns, lane_of(e));
	fprintf(c->out, ",\"cat\":\"wake\",\"name\":\"wake\",\"id\":%" PRIu64
	    "}", r->arrow);
}

static void
set_runnable(struct chrome *c, struct routine *r, bool runnable)
{
	c->runnable += (uint64_t)runnable - r->runnable;
	r->runnable = runnable;
	if (c->ns - c->counted < counter_ns)
		return;
	c->counted = c->ns;
	begin(c, 'C', c->ns, (struct lane){ PROCESSORS, 0 });
	fprintf(c->out, ",\"name\":\"goroutines\",\"args\":{\"runnable\":%"
	    PRIu64 "}}", c->runnable);
}

/* ---- events ---- */

static void
on_run(struct chrome *c, struct routine *r, const struct event *e)
{
	switch (e->type) {
	case TR_START:
	case TR_RESUME:
		set_runnable(c, r, false);
		enter(c, r, lane_of(e));
		break;
	case TR_BLOCK:
		leave(c, r, trace_reason(c->trace, e->arg));
		break;
	case TR_YIELD:
		leave(c, r, yield_name(e->arg));
		set_runnable(c, r, true);
		break;
	case TR_PAUSE:
		leave(c, r, "paused");
		set_runnable(c, r, true);
		break;
	case TR_END:
		leave(c, r, "end");
		forget(c, r);
		break;
	case TR_P_START:
		leave(c, r, "has a P");
		enter(c, r, lane_of(e));
		break;
	case TR_P_STOP:
	case TR_P_TAKEN:
		leave(c, r, e->type == TR_P_STOP ? "gave its P up" :
		    "its P was taken");
		enter(c, r, (struct lane){ THREADS, e->m });
		break;
	case TR_CALL_BEGIN:
		r->call_since = c->ns;
		break;
	case TR_CALL_END:
		if (r->lane.process && r->call_since >= 0)
			put_slice(c, r, r->call_since > r->since ?
			    r->call_since : r->since, "call", NULL);
		r->call_since = -1;
		break;
	default:
		break;
	}
}

static void
on_create(struct chrome *c, struct routine *r, const struct event *e)
{
	enum g_state state = event_status(e);

	r->site = trace_site(c->trace, e->extra);
	if (e->type == TR_CREATE)
		awaken(c, r, e);
	if (e->type != TR_STATUS || state == G_RUNNABLE)
		set_runnable(c, r, e->type != TR_CREATE_WAITING);
	else if ((state == G_RUNNING || state == G_CALL) && e->m)
		enter(c, r, lane_of(e));
	if (e->type == TR_STATUS && state == G_CALL)
		r->call_since = c->ns;
}

static void
on_async(struct chrome *c, const struct event *e, const char *category,
    uint64_t id)
{
	bool begins = e->type == TR_TASK_BEGIN || e->type == TR_REGION_BEGIN;

	begin(c, begins ? 'b' : 'e', c->ns, lane_of(e));
	fprintf(c->out, ",\"cat\":\"%s\",\"id\":%" PRIu64, category, id);
	if (begins)
		put_name(c, "name", event_text(e), e->text);
	else
		fputs(",\"name\":\"\"", c->out);
	putc('}', c->out);
}

static void
on_instant(struct chrome *c, const struct event *e)
{
	const char *name = type_name(e->type);

	begin(c, 'i', c->ns, lane_of(e));
	fputs(",\"s\":\"t\"", c->out);
	if (e->text)
		put_name(c, "name", event_text(e), e->text);
	else
		put_name(c, "name", name, strlen(name));
	putc('}', c->out);
}

static void
on_user(struct chrome *c, const struct event *e)
{
	switch (e->type) {
	case TR_TASK_BEGIN:
	case TR_TASK_END:
		on_async(c, e, "task", e->extra);
		break;
	case TR_REGION_BEGIN:
	case TR_REGION_END:
		on_async(c, e, "region", e->g);
		break;
	case TR_LOG:
	case TR_WORLD_STOP:
	case TR_WORLD_START:
	case TR_PROCS:
		on_instant(c, e);
		break;
	default:
		break;
	}
}

static void
on_event(struct chrome *c, const struct event *e)
{
	struct routine *r;

	if (e->type == TR_SAMPLE)
		return;
	c->ns = e->ns;
	if (e->type >= TR_TASK_BEGIN || !e->g) {
		on_user(c, e);
		return;
	}
	r = routine_of(c, e->g);
	if (e->type == TR_CREATE || e->type == TR_CREATE_WAITING ||
	    e->type == TR_STATUS) {
		on_create(c, r, e);
	} else if (e->type == TR_UNBLOCK) {
		awaken(c, r, e);
		set_runnable(c, r, true);
	} else if (e->type == TR_NAME) {
		memcpy(r->name, event_text(e), e->text);
		r->name[e->text] = '\0';
	} else if (e->type == TR_WORLD_STOP || e->type == TR_WORLD_START) {
		on_instant(c, e);
	} else {
		on_run(c, r, e);
	}
}

int
command_chrome(struct trace *t, FILE *out)
{
	struct order *o = order_open(t);
	struct chrome c = { .trace = t, .out = out };
	struct event e;

	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", out);
	name_process(&c, PROCESSORS, "Ps");
	name_process(&c, THREADS, "threads without a P");
	while (order_next(o, &e) && !ferror(out))
		on_event(&c, &e);
	for (size_t i = 0; i < c.routines; i++)
		leave(&c, &c.routine[i], "the trace ends");
	fputs("\n]}\n", out);
	free(c.routine);
	free(c.free);
	idmap_free(&c.index);
	idmap_free(&c.lanes);
	order_close(o);
	return 0;
}
