/* SPDX-License-Identifier: MIT */
/*
 * weft-trace go: a trace in Go's format, for `go tool trace`.
 *
 * Go's reader accepts only what Go's scheduler can do. So:
 *
 *	A goroutine without a P (detached, or in a call for which the P was
 *	given up or taken) is in a system call: GoSyscallBegin, ProcSteal; when
 *	it has a P again, GoSyscallEndBlocked, ProcStart, GoStart.
 *	What Go allows only with a P (to spawn, to log), and is done without
 *	one, is done with a P of its own, which is held for no time; it has the
 *	next number after all others, since Go's tools make a lane for each
 *	number up to the largest.
 *	A thread that is no M is one, with a number from FOREIGN_M on; if it
 *	says something, it does so as a goroutine from FOREIGN_G on.
 *	Goroutines whose beginning is not in the trace are waiting or runnable
 *	at the beginning; those that are known too late for that are created
 *	when they are seen first.
 *
 * Numbers (gseq, pseq) say the order of what concerns a G or P; they begin
 * anew in each generation, after a status.
 */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "go_writer.h"
#include "go_state.h"
#include "names.h"

static const int64_t generation_ns = 1000000000;

/* ---- texts of the user ---- */

struct region {
	uint64_t task;
	const char *name;
	uint32_t bytes, outer;		/* outer: index, or 0 */
};

struct convert {
	struct go_state s;
	struct trace *trace;
	struct region *region;		/* [0] is not used */
	size_t regions, regions_room;
	struct idmap region_of;		/* G -> innermost */
	struct idmap tasks;		/* those that have begun */
	struct idmap site_of;		/* G -> site, of the living */
	uint64_t stopping;		/* the G that has stopped the world */
	int64_t generation_end;
};

static uint64_t
text_of(struct convert *c, const struct event *e)
{
	return go_writer_string(c->s.writer, event_text(e), e->text);
}

static uint64_t
stack_of(struct convert *c, const struct event *e)
{
	return go_writer_stack(c->s.writer, e->stack);
}

/*
 * Go's profiles leave out waits whose beginning or end has no stack. Ours are
 * taken now and then; otherwise it is what is known: where self was spawned.
 */
static uint64_t
any_stack(struct convert *c, const struct event *e)
{
	const uint64_t *site = e->self ? idmap_get(&c->site_of, e->self) :
	    NULL;
	uint64_t stack = stack_of(c, e);

	if (!stack && site)
		stack = go_writer_start(c->s.writer, *site);
	return stack ? stack : go_writer_runtime(c->s.writer);
}

static void
on_task(struct convert *c, const struct event *e, uint64_t m)
{
	uint64_t stack = stack_of(c, e);

	if (e->type == TR_TASK_BEGIN && e->extra && e->extra + 1 &&
	    !idmap_get(&c->tasks, e->extra)) {
		*idmap_put(&c->tasks, e->extra) = 1;
		go_put(&c->s, m, GO_TASK_BEGIN, 4, (uint64_t[]){ e->extra,
		    e->words[1], text_of(c, e), stack });
	} else if (e->type == TR_TASK_END &&
	    idmap_get(&c->tasks, e->extra)) {
		idmap_remove(&c->tasks, e->extra);
		go_put(&c->s, m, GO_TASK_END, 2,
		    (uint64_t[]){ e->extra, stack });
	}
}

static void
begin_region(struct convert *c, const struct event *e, uint64_t m, uint64_t g)
{
	uint64_t *inner = idmap_put(&c->region_of, g);
	uint32_t i = (uint32_t)c->regions++;

	*GROW(c->region, i, c->regions_room) = (struct region){
		.task = e->extra, .name = event_text(e), .bytes = e->text,
		.outer = (uint32_t)*inner,
	};
	*inner = i;
	go_put(&c->s, m, GO_REGION_BEGIN, 3, (uint64_t[]){ e->extra,
	    text_of(c, e), stack_of(c, e) });
}

/* One that began before the trace is left out. */
static void
end_region(struct convert *c, const struct event *e, uint64_t m, uint64_t g)
{
	uint64_t *inner = idmap_get(&c->region_of, g);
	const struct region *r = inner && *inner ? &c->region[*inner] : NULL;

	if (!r)
		return;
	go_put(&c->s, m, GO_REGION_END, 3, (uint64_t[]){ r->task,
	    go_writer_string(c->s.writer, r->name, r->bytes),
	    stack_of(c, e) });
	*inner = r->outer;
}

static void
on_world(struct convert *c, const struct event *e, uint64_t m, uint64_t g)
{
	static const char why[] = "stop the world";

	if (e->type == TR_WORLD_STOP && !c->stopping) {
		c->stopping = g;
		go_put(&c->s, m, GO_STW_BEGIN, 2, (uint64_t[]){
		    go_writer_string(c->s.writer, why, sizeof why - 1),
		    stack_of(c, e) });
	} else if (e->type == TR_WORLD_START && c->stopping == g) {
		c->stopping = 0;
		go_put(&c->s, m, GO_STW_END, 0, NULL);
	}
}

/* With a goroutine that runs, and a P. */
static void
say(struct convert *c, const struct event *e, uint64_t m, uint64_t g)
{
	switch (e->type) {
	case TR_TASK_BEGIN:
	case TR_TASK_END:
		on_task(c, e, m);
		break;
	case TR_REGION_BEGIN:
		begin_region(c, e, m, g);
		break;
	case TR_REGION_END:
		end_region(c, e, m, g);
		break;
	case TR_LOG:
		go_put(&c->s, m, GO_LOG, 4, (uint64_t[]){ e->extra, 0,
		    text_of(c, e), stack_of(c, e) });
		break;
	case TR_NAME:
		go_put(&c->s, m, GO_LABEL, 1, (uint64_t[]){ text_of(c, e) });
		break;
	case TR_PROCS:
		go_put(&c->s, m, GO_PROCS_CHANGE, 2,
		    (uint64_t[]){ e->arg, stack_of(c, e) });
		break;
	default:
		on_world(c, e, m, g);
		break;
	}
}

static void
on_said(struct convert *c, const struct event *e, uint64_t m)
{
	struct go_visit visit;
	uint64_t g = e->self;

	if (e->type == TR_NAME && e->self != e->g)
		return;
	if (!g && m >= FOREIGN_M)
		g = go_foreign(&c->s, m);
	if (!g || go_running(&c->s, m) != g)
		return;
	visit = go_visit_begin(&c->s, m);
	say(c, e, m, g);
	go_visit_end(&c->s, m, visit);
}

/* ---- Ps ---- */

static void
on_p_start(struct convert *c, const struct event *e, uint64_t m)
{
	bool call = e->g && go_in_call(&c->s, e->g);

	if (e->g)
		go_put_end_blocked(&c->s, m);
	go_put_p_start(&c->s, m, e->p);
	if (e->g)
		go_put_start(&c->s, m, e->g);
	if (call)
		go_put_syscall(&c->s, m);
}

/* By m itself, or by `taker`. */
static void
on_p_lost(struct convert *c, const struct event *e, uint64_t m, uint64_t taker)
{
	if (!e->g) {
		go_put_p_stop(&c->s, m);
		return;
	}
	if (go_status(&c->s, e->g) == GO_G_RUNNING)
		go_put_syscall(&c->s, m);
	go_put_steal(&c->s, taker, m);
}

/* ---- goroutines ---- */

static void
on_create(struct convert *c, const struct event *e, uint64_t m)
{
	bool waiting = e->type == TR_CREATE_WAITING;
	struct go_visit visit = go_visit_begin(&c->s, m);

	if (e->extra)
		*idmap_put(&c->site_of, e->g) = e->extra;

	go_put_create(&c->s, m, e->g, waiting, e->extra, stack_of(c, e));
	go_visit_end(&c->s, m, visit);
}

/* Runs without a P: for a moment it has one. */
static void
start_detached(struct convert *c, uint64_t m, uint64_t g)
{
	go_put_p_start(&c->s, m, c->s.extra_p);
	go_put_start(&c->s, m, g);
	go_put_syscall(&c->s, m);
	go_put_steal(&c->s, m, m);
}

/* One that is in a call on a thread that is not known waits for it. */
static bool
waits(const struct event *e)
{
	return event_status(e) == G_WAITING ||
	    (event_status(e) != G_RUNNABLE && !e->m);
}

static void
on_status(struct convert *c, const struct event *e, uint64_t m)
{
	enum g_state state = event_status(e);
	bool waiting = waits(e);

	if (state < G_RUNNABLE || state > G_WAITING)
		return;
	if (e->extra)
		*idmap_put(&c->site_of, e->g) = e->extra;
	if (go_status(&c->s, e->g) == GO_G_NONE) {
		struct go_visit visit = go_visit_begin(&c->s, RUNTIME_M);

		go_put_known(&c->s, RUNTIME_M, e->g, waiting, e->extra);
		go_visit_end(&c->s, RUNTIME_M, visit);
	}
	if (waiting || state == G_RUNNABLE)
		return;
	if (e->p == NO_P)
		start_detached(c, m, e->g);
	else
		go_put_start(&c->s, m, e->g);
	if (state == G_CALL && e->p != NO_P)
		go_put_syscall(&c->s, m);
	go_set_call(&c->s, e->g, state == G_CALL);
}

static void
on_start(struct convert *c, const struct event *e, uint64_t m)
{
	if (e->p == NO_P)
		start_detached(c, m, e->g);
	else
		go_put_start(&c->s, m, e->g);
}

/*
 * Profiles of Go's tool are made by reason: "network", and all with "chan",
 * "sync" or "select" in them. Ours are among these then.
 */
static const char *
go_reason(struct convert *c, const struct event *e, char out[64])
{
	static const char *const io[] = { "read", "write", "poll" };
	static const char *const own[] = { "chan", "select", "sleep", "sync" };
	const char *why = trace_reason(c->trace, e->arg);

	if (e->flags & EVENT_MADE)
		return "not known";
	for (size_t i = 0; i < sizeof io / sizeof *io; i++)
		if (strcmp(why, io[i]) == 0)
			return "network";
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (strstr(why, own[i]))
			return why;
	if (strncmp(why, "nothing", 7) == 0)
		return "forever";
	snprintf(out, 64, "sync (%.50s)", why);
	return out;
}

static void
on_block(struct convert *c, const struct event *e, uint64_t m)
{
	char why[64];
	struct go_visit visit = {0};

	if (e->p == NO_P)
		visit = go_visit_begin(&c->s, m);
	go_put_off(&c->s, m, GO_BLOCK, go_reason(c, e, why), any_stack(c, e));
	if (e->p == NO_P)
		go_visit_end(&c->s, m, visit);
}

static void
on_yield(struct convert *c, const struct event *e, uint64_t m)
{
	if (e->p == NO_P)
		go_put_end_blocked(&c->s, m);
	else
		go_put_off(&c->s, m, GO_STOP, e->type == TR_PAUSE ? "paused" :
		    e->arg == TRACE_YIELD_PREEMPTED ? "preempted" :
		    yield_name(e->arg), stack_of(c, e));
}

static void
on_end(struct convert *c, const struct event *e, uint64_t m)
{
	idmap_remove(&c->region_of, e->g);
	idmap_remove(&c->site_of, e->g);
	if (c->stopping == e->g)
		c->stopping = 0;
	go_put_destroy(&c->s, m);
}

/* Without a P it is in a system call anyway. */
static void
on_call(struct convert *c, const struct event *e, uint64_t m)
{
	go_set_call(&c->s, e->g, e->type == TR_CALL_BEGIN);
	if (e->p == NO_P)
		return;
	if (e->type == TR_CALL_BEGIN)
		go_put_syscall(&c->s, m);
	else
		go_put_syscall_end(&c->s, m);
}

/* ---- all ---- */

/* The thread in Go's terms. */
static uint64_t
thread_of(const struct event *e)
{
	return e->m ? e->m : e->tid ? FOREIGN_M + e->tid : RUNTIME_M;
}

static void
convert(struct convert *c, const struct event *e)
{
	uint64_t m = thread_of(e);

	switch (e->type) {
	case TR_P_START:
		on_p_start(c, e, m);
		break;
	case TR_P_STOP:
		on_p_lost(c, e, m, m);
		break;
	case TR_P_TAKEN:
		on_p_lost(c, e, m, e->tid ? FOREIGN_M + e->tid : m);
		break;
	case TR_CREATE:
	case TR_CREATE_WAITING:
		on_create(c, e, m);
		break;
	case TR_STATUS:
		on_status(c, e, m);
		break;
	case TR_START:
	case TR_RESUME:
		on_start(c, e, m);
		break;
	case TR_BLOCK:
		on_block(c, e, m);
		break;
	case TR_YIELD:
	case TR_PAUSE:
		on_yield(c, e, m);
		break;
	case TR_END:
		on_end(c, e, m);
		break;
	case TR_UNBLOCK:
		go_put_unblock(&c->s, m, e->g, any_stack(c, e));
		break;
	case TR_CALL_BEGIN:
	case TR_CALL_END:
		on_call(c, e, m);
		break;
	case TR_SAMPLE:
		go_writer_sample(c->s.writer, e);
		break;
	case TR_STEAL:
	case TR_TIMERS:
	case TR_NETPOLL:
	case TR_RUNNING:
		break;
	default:
		on_said(c, e, m);
		break;
	}
}

/*
 * A recording that begins in the middle of things: what its goroutines did
 * before they are seen first is known only then, but must be said first.
 */
static void
tell_prior(struct convert *c)
{
	struct order *o = order_open(c->trace);
	struct idmap created = {0};
	struct event e;

	while (order_next(o, &e))
		if (e.type == TR_CREATE || e.type == TR_CREATE_WAITING)
			*idmap_put(&created, e.g) = 1;
		else if (e.type == TR_STATUS && !idmap_get(&created, e.g) &&
		    event_status(&e) >= G_RUNNABLE &&
		    event_status(&e) <= G_WAITING)
			go_put_known(&c->s, RUNTIME_M, e.g, waits(&e),
			    e.extra);
	idmap_free(&created);
	order_close(o);
}

static void
free_convert(struct convert *c)
{
	free(c->region);
	idmap_free(&c->region_of);
	idmap_free(&c->tasks);
	idmap_free(&c->site_of);
	go_state_free(&c->s);
}

int
command_go(struct trace *t, FILE *out)
{
	struct order *o = order_open(t);
	struct convert c = { .trace = t, .regions = 1 };
	struct event e;

	*GROW(c.region, 0, c.regions_room) = (struct region){0};
	for (size_t i = 0; i < t->rings; i++)
		if (t->ring[i].id != TRACE_RING_SHARED &&
		    t->ring[i].id >= c.s.extra_p)
			c.s.extra_p = t->ring[i].id + 1;
	c.s.writer = go_writer_open(out, t, order_stacks(o));
	go_generation(&c.s);
	c.generation_end = generation_ns;
	if (t->flight)
		tell_prior(&c);
	while (order_next(o, &e) && !ferror(out)) {
		if (e.type != TR_SAMPLE)
			c.s.ns = e.ns;
		if (c.s.ns >= c.generation_end) {
			go_generation(&c.s);
			c.generation_end = c.s.ns + generation_ns;
		}
		convert(&c, &e);
	}
	go_writer_close(c.s.writer);
	free_convert(&c);
	order_close(o);
	return 0;
}
