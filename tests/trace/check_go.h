/* SPDX-License-Identifier: MIT */
/*
 * The rules of Go's reader of traces, version 23, as far as a converter can
 * break them: how the file is made, that all numbers of strings and stacks are
 * known, and that events come in an order in which Go's scheduler could have
 * made them. The events of a thread are in the order of its batches; of several
 * threads, the earliest event that is allowed is next.
 */
#ifndef CHECK_GO_H
#define CHECK_GO_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "idmap.h"

enum { GO_CHECK_ARGS = 4 };

/* How many arguments, and what the last of them are: s string, k stack. */
static const char *const go_check_shape[64] = {
	[9] = ".k", [10] = "..", [11] = "", [12] = "...", [13] = "..",
	[14] = ".kk", [15] = ".", [16] = "..", [17] = "", [18] = "",
	[19] = "sk", [20] = "sk", [21] = "..k", [22] = ".k", [23] = "",
	[24] = "", [25] = "...", [26] = "sk", [27] = "", [39] = "s",
	[40] = "..sk", [41] = ".k", [42] = ".sk", [43] = ".sk", [44] = ".ssk",
	[47] = ".kk", [48] = "...k",
};

struct go_check_event {
	uint64_t time;
	uint64_t arg[GO_CHECK_ARGS];
	uint8_t type;
};

struct go_check_thread {
	uint64_t id;
	struct go_check_event *event;	/* of this generation */
	size_t count, room, next;
	uint64_t p, g;			/* + 1, or 0; id, or 0 */
};

struct go_check_p {
	uint64_t status, seq, generation, m;
};

struct go_check_g {
	uint64_t status, seq, generation;
	uint64_t regions;		/* hashes, as a small stack */
	uint64_t region[64];
};

struct go_check {
	const uint8_t *data, *at, *end;
	char error[256];
	uint64_t generation;
	bool has_frequency;
	struct idmap strings, stacks;
	struct idmap thread_index, p_index, g_index, tasks;
	struct go_check_thread *thread;
	size_t threads, threads_room;
	struct go_check_p *p;
	size_t ps, ps_room;
	struct go_check_g **g;
	size_t gs, gs_room;
	uint64_t events, generations, samples, types[64];
	uint64_t last;
};

#define GO_FAIL(c, ...) do {						\
	if (!(c)->error[0])						\
		snprintf((c)->error, sizeof (c)->error, __VA_ARGS__);	\
	return false;							\
} while (0)

/* ---- bytes ---- */

static inline uint64_t
go_number(struct go_check *c, const uint8_t *end)
{
	uint64_t n = 0;

	for (unsigned shift = 0; shift < 64 && c->at < end; shift += 7) {
		uint8_t byte = *c->at++;

		n |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return n;
	}
	if (!c->error[0])
		snprintf(c->error, sizeof c->error, "a number has no end");
	c->at = c->end;
	return 0;
}

static inline struct go_check_thread *
go_thread(struct go_check *c, uint64_t id)
{
	uint64_t *i = idmap_put(&c->thread_index, id + 1);

	if (!*i) {
		*GROW(c->thread, c->threads, c->threads_room) =
			(struct go_check_thread){ .id = id };
		*i = ++c->threads;
	}
	return &c->thread[*i - 1];
}

static inline bool
go_read_events(struct go_check *c, uint64_t m, uint64_t time,
    const uint8_t *end)
{
	struct go_check_thread *t = go_thread(c, m);

	while (c->at < end) {
		struct go_check_event e = { .type = *c->at++ };
		const char *shape = e.type < 64 ? go_check_shape[e.type] :
		    NULL;

		if (!shape)
			GO_FAIL(c, "an event of type %u", e.type);
		e.time = time += go_number(c, end);
		for (unsigned i = 0; shape[i]; i++)
			e.arg[i] = go_number(c, end);
		*GROW(t->event, t->count, t->room) = e;
		t->count++;
	}
	return !c->error[0];
}

static inline bool
go_read_strings(struct go_check *c, const uint8_t *end)
{
	while (c->at < end) {
		uint64_t id, bytes;

		if (*c->at++ != 5)
			GO_FAIL(c, "no string among strings");
		id = go_number(c, end);
		bytes = go_number(c, end);
		if (!id || idmap_get(&c->strings, id))
			GO_FAIL(c, "string %llu twice",
			    (unsigned long long)id);
		if (bytes > 1024 || bytes > (uint64_t)(end - c->at))
			GO_FAIL(c, "a string of %llu bytes",
			    (unsigned long long)bytes);
		*idmap_put(&c->strings, id) = 1;
		c->at += bytes;
	}
	return !c->error[0];
}

/* Function and file of frames are checked when all strings are known. */
static inline bool
go_read_stacks(struct go_check *c, const uint8_t *end, struct idmap *used)
{
	while (c->at < end) {
		uint64_t id, frames;

		if (*c->at++ != 3)
			GO_FAIL(c, "no stack among stacks");
		id = go_number(c, end);
		frames = go_number(c, end);
		if (!id || idmap_get(&c->stacks, id))
			GO_FAIL(c, "stack %llu twice", (unsigned long long)id);
		if (frames > 128)
			GO_FAIL(c, "a stack of %llu frames",
			    (unsigned long long)frames);
		*idmap_put(&c->stacks, id) = 1;
		for (uint64_t i = 0; i < frames; i++) {
			uint64_t s[2];

			go_number(c, end);
			s[0] = go_number(c, end);
			s[1] = go_number(c, end);
			go_number(c, end);
			for (int j = 0; j < 2; j++)
				if (s[j])
					*idmap_put(used, s[j]) = 1;
		}
	}
	return !c->error[0];
}

static inline bool
go_read_samples(struct go_check *c, const uint8_t *end, struct idmap *used)
{
	while (c->at < end) {
		uint64_t stack = 0;

		if (*c->at++ != 7)
			GO_FAIL(c, "no sample among samples");
		for (int i = 0; i < 5; i++)
			stack = go_number(c, end);
		if (stack)
			*idmap_put(used, stack) = 1;
		c->samples++;
	}
	return !c->error[0];
}

/* ---- rules ---- */

static inline struct go_check_p *
go_p(struct go_check *c, uint64_t p)
{
	uint64_t *i = idmap_get(&c->p_index, p + 1);

	return i ? &c->p[*i - 1] : NULL;
}

static inline struct go_check_g *
go_g(struct go_check *c, uint64_t g)
{
	uint64_t *i = g ? idmap_get(&c->g_index, g) : NULL;

	return i && *i ? c->g[*i - 1] : NULL;
}

static inline struct go_check_g *
go_new_g(struct go_check *c, uint64_t g, uint64_t status)
{
	struct go_check_g *new = zeroed(1, sizeof *new);

	*new = (struct go_check_g){ .status = status,
	    .generation = c->generation };
	*GROW(c->g, c->gs, c->gs_room) = new;
	*idmap_put(&c->g_index, g) = ++c->gs;
	return new;
}

static inline bool
go_next_g(struct go_check *c, const struct go_check_g *g, uint64_t seq)
{
	return g->generation == c->generation && g->seq + 1 == seq;
}

static inline bool
go_next_p(struct go_check *c, const struct go_check_p *p, uint64_t seq)
{
	return p->generation == c->generation && p->seq + 1 == seq;
}

enum go_answer { GO_LATER, GO_DONE, GO_WRONG };

enum { GR_RUNNABLE = 1, GR_RUNNING, GR_SYSCALL, GR_WAITING };
enum { PR_RUNNING = 1, PR_IDLE, PR_SYSCALL };

static inline enum go_answer
go_wrong(struct go_check *c, const struct go_check_thread *t,
    const struct go_check_event *e, const char *why)
{
	if (!c->error[0])
		snprintf(c->error, sizeof c->error, "generation %llu, thread "
		    "%llu, time %llu, event %u of %llu: %s",
		    (unsigned long long)c->generation,
		    (unsigned long long)t->id, (unsigned long long)e->time,
		    e->type, (unsigned long long)e->arg[0], why);
	return GO_WRONG;
}

static inline enum go_answer
go_proc_event(struct go_check *c, struct go_check_thread *t,
    const struct go_check_event *e)
{
	struct go_check_p *p = e->type == 11 ? go_p(c, t->p - 1) :
	    go_p(c, e->arg[0]);

	switch (e->type) {
	case 10:
		if (!p || p->status != PR_IDLE ||
		    !go_next_p(c, p, e->arg[1]) || t->p)
			return GO_LATER;
		p->status = PR_RUNNING;
		p->seq = e->arg[1];
		t->p = e->arg[0] + 1;
		return GO_DONE;
	case 11:
		if (!t->p || !p)
			return go_wrong(c, t, e, "no P to stop");
		p->status = PR_IDLE;
		t->p = 0;
		return GO_DONE;
	case 12: {
		uint64_t *v = idmap_get(&c->thread_index, e->arg[2] + 1);
		struct go_check_thread *victim = v ? &c->thread[*v - 1] : NULL;

		if (!p || p->status != PR_SYSCALL ||
		    !go_next_p(c, p, e->arg[1]))
			return GO_LATER;
		if (!victim || victim->p != e->arg[0] + 1)
			return go_wrong(c, t, e, "the thread has another P");
		p->status = PR_IDLE;
		p->seq = e->arg[1];
		victim->p = 0;
		return GO_DONE;
	}
	default:
		if (p && p->status != e->arg[1])
			return go_wrong(c, t, e, "another status of P");
		if (!p) {
			*GROW(c->p, c->ps, c->ps_room) = (struct go_check_p){
				.status = e->arg[1] };
			*idmap_put(&c->p_index, e->arg[0] + 1) = ++c->ps;
			p = &c->p[c->ps - 1];
		}
		p->seq = 0;
		p->generation = c->generation;
		if (p->status != PR_IDLE)
			t->p = e->arg[0] + 1;
		return GO_DONE;
	}
}

static inline enum go_answer
go_status_event(struct go_check *c, struct go_check_thread *t,
    const struct go_check_event *e)
{
	struct go_check_g *g = go_g(c, e->arg[0]);

	if (e->arg[2] < GR_RUNNABLE || e->arg[2] > GR_WAITING)
		return go_wrong(c, t, e, "no status");
	if (!g && c->generations > 1)
		return go_wrong(c, t, e, "a new G after the first generation");
	if (g && g->status != e->arg[2])
		return go_wrong(c, t, e, "another status of G");
	if (!g)
		g = go_new_g(c, e->arg[0], e->arg[2]);
	g->seq = 0;
	g->generation = c->generation;
	if (g->status == GR_SYSCALL && e->arg[1] != t->id)
		return go_wrong(c, t, e, "a system call of another thread");
	if (g->status == GR_RUNNING || g->status == GR_SYSCALL) {
		if (t->g && t->g != e->arg[0])
			return go_wrong(c, t, e, "the thread has another G");
		t->g = e->arg[0];
	}
	return GO_DONE;
}

/* Those that begin a goroutine, or make it runnable or running. */
static inline enum go_answer
go_start_event(struct go_check *c, struct go_check_thread *t,
    const struct go_check_event *e)
{
	struct go_check_g *g = go_g(c, e->arg[0]), *self = go_g(c, t->g);

	switch (e->type) {
	case 14: case 47:
		if (!t->p)
			return go_wrong(c, t, e, "no P");
		if (self && self->status != GR_RUNNING)
			return go_wrong(c, t, e, "the creator does not run");
		if (g)
			return go_wrong(c, t, e, "it exists");
		go_new_g(c, e->arg[0], e->type == 14 ? GR_RUNNABLE :
		    GR_WAITING);
		return GO_DONE;
	case 15:
		if (t->g || g)
			return go_wrong(c, t, e, "it exists");
		go_new_g(c, e->arg[0], GR_SYSCALL);
		t->g = e->arg[0];
		return GO_DONE;
	case 16:
		if (!g || g->status != GR_RUNNABLE ||
		    !go_next_g(c, g, e->arg[1]))
			return GO_LATER;
		if (!t->p || t->g)
			return go_wrong(c, t, e, "no P, or a G");
		g->status = GR_RUNNING;
		g->seq = e->arg[1];
		t->g = e->arg[0];
		return GO_DONE;
	default:
		if (!g || g->status != GR_WAITING ||
		    !go_next_g(c, g, e->arg[1]))
			return GO_LATER;
		g->status = GR_RUNNABLE;
		g->seq = e->arg[1];
		return GO_DONE;
	}
}

static inline void
go_remove_g(struct go_check *c, struct go_check_thread *t)
{
	idmap_remove(&c->g_index, t->g);
	t->g = 0;
}

/* Those of the goroutine that the thread has, which is not running. */
static inline enum go_answer
go_syscall_event(struct go_check *c, struct go_check_thread *t,
    const struct go_check_event *e)
{
	struct go_check_g *g = go_g(c, t->g);
	struct go_check_p *p = t->p ? go_p(c, t->p - 1) : NULL;

	if (e->type == 24 && p && p->status == PR_SYSCALL)
		return GO_LATER;
	if (!g || g->status != GR_SYSCALL)
		return go_wrong(c, t, e, "not in a system call");
	switch (e->type) {
	case 18:
		if (p)
			return go_wrong(c, t, e, "with a P");
		go_remove_g(c, t);
		return GO_DONE;
	case 23:
		if (!p || p->status != PR_SYSCALL)
			return go_wrong(c, t, e, "the P was not kept");
		p->status = PR_RUNNING;
		g->status = GR_RUNNING;
		return GO_DONE;
	default:
		g->status = GR_RUNNABLE;
		t->g = 0;
		return GO_DONE;
	}
}

static inline enum go_answer
go_region_event(struct go_check *c, struct go_check_thread *t,
    const struct go_check_event *e, struct go_check_g *g)
{
	uint64_t region = e->arg[0] * 31 + (e->arg[1] != 0);

	if (e->type == 42 && g->regions < 64)
		g->region[g->regions++] = region;
	else if (e->type == 43 && g->regions &&
	    g->region[--g->regions] != region)
		return go_wrong(c, t, e, "another region is inner");
	return GO_DONE;
}

/* Those of a goroutine that runs, with a P. */
static inline enum go_answer
go_running_event(struct go_check *c, struct go_check_thread *t,
    const struct go_check_event *e)
{
	struct go_check_g *g = go_g(c, t->g);
	struct go_check_p *p = t->p ? go_p(c, t->p - 1) : NULL;

	if (!p || !g || g->status != GR_RUNNING || p->status != PR_RUNNING)
		return go_wrong(c, t, e, "no P, or no G that runs");
	switch (e->type) {
	case 17:
		go_remove_g(c, t);
		break;
	case 19: case 20:
		g->status = e->type == 19 ? GR_RUNNABLE : GR_WAITING;
		t->g = 0;
		break;
	case 22:
		if (!go_next_p(c, p, e->arg[0]))
			return go_wrong(c, t, e, "another number of P");
		p->seq = e->arg[0];
		p->status = PR_SYSCALL;
		g->status = GR_SYSCALL;
		break;
	case 40:
		if (idmap_get(&c->tasks, e->arg[0]))
			return go_wrong(c, t, e, "the task has begun");
		*idmap_put(&c->tasks, e->arg[0]) = 1;
		break;
	case 41:
		idmap_remove(&c->tasks, e->arg[0]);
		break;
	case 42: case 43:
		return go_region_event(c, t, e, g);
	default:
		break;
	}
	return GO_DONE;
}

static inline enum go_answer
go_advance(struct go_check *c, struct go_check_thread *t,
    const struct go_check_event *e)
{
	switch (e->type) {
	case 10: case 11: case 12: case 13:
		return go_proc_event(c, t, e);
	case 25: case 48:
		return go_status_event(c, t, e);
	case 14: case 15: case 16: case 21: case 47:
		return go_start_event(c, t, e);
	case 18: case 23: case 24:
		return go_syscall_event(c, t, e);
	default:
		return go_running_event(c, t, e);
	}
}

/* ---- generations ---- */

static inline bool
go_check_ids(struct go_check *c)
{
	for (size_t i = 0; i < c->threads; i++)
		for (size_t j = 0; j < c->thread[i].count; j++) {
			const struct go_check_event *e =
			    &c->thread[i].event[j];
			const char *shape = go_check_shape[e->type];

			for (unsigned a = 0; shape[a]; a++) {
				struct idmap *map = shape[a] == 's' ?
				    &c->strings : &c->stacks;

				if (shape[a] != '.' && e->arg[a] &&
				    !idmap_get(map, e->arg[a]))
					GO_FAIL(c, "no %s %llu",
					    shape[a] == 's' ? "string" :
					    "stack",
					    (unsigned long long)e->arg[a]);
			}
		}
	return true;
}

/* The thread whose event is next: the earliest that may be. NULL: none. */
static inline struct go_check_thread *
go_step(struct go_check *c, bool *left)
{
	uint64_t tried = 0;
	bool first = true;

	for (;;) {
		struct go_check_thread *best = NULL;

		for (size_t i = 0; i < c->threads; i++) {
			struct go_check_thread *t = &c->thread[i];
			uint64_t time;

			if (t->next == t->count)
				continue;
			*left = true;
			time = t->event[t->next].time;
			if ((first || time > tried) && (!best ||
			    time < best->event[best->next].time))
				best = t;
		}
		if (!best)
			return NULL;
		tried = best->event[best->next].time;
		first = false;
		switch (go_advance(c, best, &best->event[best->next])) {
		case GO_DONE:
			return best;
		case GO_WRONG:
			return NULL;
		default:
			break;
		}
	}
}

static inline bool
go_run_generation(struct go_check *c)
{
	struct go_check_thread *t;
	bool left;

	while (left = false, (t = go_step(c, &left))) {
		c->types[t->event[t->next].type]++;
		c->last = t->event[t->next++].time;
		c->events++;
	}
	if (left)
		GO_FAIL(c, "generation %llu: no event can be next after time "
		    "%llu", (unsigned long long)c->generation,
		    (unsigned long long)c->last);
	for (size_t i = 0; i < c->threads; i++)
		c->thread[i].count = c->thread[i].next = 0;
	return true;
}

static inline bool
go_all_known(struct go_check *c, const struct idmap *used,
    const struct idmap *known)
{
	for (size_t i = 0; i < used->room; i++)
		if (used->entry[i].key &&
		    !idmap_get(known, used->entry[i].key))
			GO_FAIL(c, "a frame or sample names what is not there");
	return true;
}

static inline bool
go_read_batch(struct go_check *c, struct idmap *strings, struct idmap *stacks)
{
	uint64_t m, time, bytes;
	const uint8_t *end;

	m = go_number(c, c->end);
	time = go_number(c, c->end);
	bytes = go_number(c, c->end);
	if (bytes > 65536 || bytes > (uint64_t)(c->end - c->at))
		GO_FAIL(c, "a batch of %llu bytes", (unsigned long long)bytes);
	end = c->at + bytes;
	if (!bytes)
		return true;
	switch (*c->at) {
	case 2:
		c->at++;
		return go_read_stacks(c, end, strings);
	case 4:
		c->at++;
		return go_read_strings(c, end);
	case 6:
		c->at++;
		return go_read_samples(c, end, stacks);
	case 8:
		c->at++;
		if (c->has_frequency || !go_number(c, end))
			GO_FAIL(c, "no frequency, or two");
		c->has_frequency = true;
		return true;
	default:
		return go_read_events(c, m, time, end);
	}
}

/* The batches of one generation, and then its events. */
static inline bool
go_generation_ok(struct go_check *c)
{
	struct idmap strings = {0}, stacks = {0};
	bool good = true;

	c->has_frequency = false;
	while (good && c->at < c->end) {
		const uint8_t *start = c->at;
		uint64_t generation;

		if (*c->at++ != 1)
			GO_FAIL(c, "no batch at byte %zu",
			    (size_t)(start - c->data));
		generation = go_number(c, c->end);
		if (generation != c->generation) {
			c->at = start;
			break;
		}
		good = go_read_batch(c, &strings, &stacks);
	}
	good = good && go_all_known(c, &strings, &c->strings) &&
	    go_all_known(c, &stacks, &c->stacks) && go_check_ids(c) &&
	    go_run_generation(c);
	idmap_free(&strings);
	idmap_free(&stacks);
	idmap_free(&c->strings);
	idmap_free(&c->stacks);
	if (good && !c->has_frequency)
		GO_FAIL(c, "no frequency");
	return good;
}

/* False: c->error says why. Free it with go_check_free. */
static inline bool
go_check(struct go_check *c, const uint8_t *data, size_t bytes)
{
	*c = (struct go_check){ .data = data, .at = data, .end = data + bytes };
	if (bytes < 16 || memcmp(data, "go 1.23 trace\0\0", 16) != 0)
		GO_FAIL(c, "no trace of Go 1.23");
	c->at += 16;
	while (c->at < c->end) {
		c->generation++;
		c->generations++;
		if (!go_generation_ok(c))
			return false;
		if (c->at < c->end && c->at[1] != c->generation + 1 &&
		    c->generation < 126)
			GO_FAIL(c, "generation %u after %llu", c->at[1],
			    (unsigned long long)c->generation);
	}
	return true;
}

static inline void
go_check_free(struct go_check *c)
{
	for (size_t i = 0; i < c->threads; i++)
		free(c->thread[i].event);
	for (size_t i = 0; i < c->gs; i++)
		free(c->g[i]);
	free(c->thread);
	free(c->p);
	free(c->g);
	idmap_free(&c->thread_index);
	idmap_free(&c->p_index);
	idmap_free(&c->g_index);
	idmap_free(&c->tasks);
}

#endif
