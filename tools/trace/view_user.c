/* SPDX-License-Identifier: MIT */
/* See view_user.h; view/model.js reads these columns. */
#include "view_user.h"

#include <stdlib.h>

#include "grow.h"
#include "idmap.h"

struct task {
	uint64_t id, parent;
	int64_t ns, end;	/* end < 0: not ended */
	uint32_t g, name;
};

struct region {
	int64_t ns, end;
	uint32_t g, name, outer;	/* outer: number + 1, or 0 */
	uint64_t task;
};

struct sample {
	int64_t ns;
	uint32_t g, p, m, stack;
};

struct user {
	struct rows *rows;
	struct strings *strings;
	struct task *task;
	size_t tasks, tasks_room;
	struct idmap task_by_id;	/* -> number + 1 */
	struct region *region;
	size_t regions, regions_room;
	struct idmap innermost;		/* goroutine -> region + 1 */
	struct sample *sample;
	size_t samples, samples_room;
	struct column log, world, mark;
	int64_t log_ns, world_ns, mark_ns;
	int64_t stopped;		/* since when the world is, or -1 */
	uint32_t stopped_by;
};

struct user *
user_new(struct rows *rows, struct strings *strings)
{
	struct user *u = zeroed(1, sizeof *u);

	u->rows = rows;
	u->strings = strings;
	u->stopped = -1;
	return u;
}

/* ---- by the program ---- */

static uint32_t
text_of(struct user *u, const struct event *e)
{
	return strings_add(u->strings, event_text(e), e->text);
}

static uint64_t
word(const struct event *e, unsigned i)
{
	return e->words ? e->words[i] : 0;
}

/* Number + 1, or 0. */
static uint32_t
task_number(const struct user *u, uint64_t id)
{
	const uint64_t *i = id ? idmap_get(&u->task_by_id, id) : NULL;

	return i ? (uint32_t)*i : 0;
}

static void
begin_task(struct user *u, const struct event *e)
{
	uint64_t id = word(e, 0);

	*GROW(u->task, u->tasks, u->tasks_room) = (struct task){
		.id = id, .parent = word(e, 1), .ns = e->ns, .end = -1,
		.g = rows_g(u->rows, e->self), .name = text_of(u, e),
	};
	u->tasks++;
	if (id)
		*idmap_put(&u->task_by_id, id) = u->tasks;
}

static void
end_task(struct user *u, const struct event *e)
{
	uint32_t i = task_number(u, word(e, 0));

	if (i && u->task[i - 1].end < 0)
		u->task[i - 1].end = e->ns;
}

static void
begin_region(struct user *u, const struct event *e)
{
	uint64_t *innermost;

	if (!e->self)
		return;
	innermost = idmap_put(&u->innermost, e->self);
	*GROW(u->region, u->regions, u->regions_room) = (struct region){
		.ns = e->ns, .end = -1, .g = rows_g(u->rows, e->self),
		.name = text_of(u, e), .outer = (uint32_t)*innermost,
		.task = word(e, 0),
	};
	*innermost = ++u->regions;
}

static void
end_region(struct user *u, const struct event *e)
{
	uint64_t *i = e->self ? idmap_get(&u->innermost, e->self) : NULL;

	if (!i || !*i)
		return;
	u->region[*i - 1].end = e->ns;
	*i = u->region[*i - 1].outer;
}

/* A difference of times, which is never below 0. */
static void
put_ns(struct column *c, int64_t *last, int64_t ns)
{
	column_put(c, (uint64_t)(ns > *last ? ns - *last : 0));
	if (ns > *last)
		*last = ns;
}

static void
add_log(struct user *u, const struct event *e)
{
	put_ns(&u->log, &u->log_ns, e->ns);
	column_put(&u->log, rows_g(u->rows, e->self));
	column_put(&u->log, rows_p(e->p));
	column_put(&u->log, rows_m(u->rows, e->m));
	column_put(&u->log, task_number(u, word(e, 0)));
	column_put(&u->log, text_of(u, e));
}

/* ---- by the runtime ---- */

static void
add_sample(struct user *u, const struct event *e)
{
	*GROW(u->sample, u->samples, u->samples_room) = (struct sample){
		.ns = e->ns > 0 ? e->ns : 0, .g = rows_g(u->rows, e->g),
		.p = rows_p(e->p), .m = rows_m(u->rows, e->m),
		.stack = e->stack,
	};
	u->samples++;
}

static void
end_world(struct user *u, int64_t ns)
{
	if (u->stopped < 0)
		return;
	put_ns(&u->world, &u->world_ns, u->stopped);
	column_put(&u->world, (uint64_t)(ns - u->stopped));
	column_put(&u->world, u->stopped_by);
	u->stopped = -1;
}

/* The numbers of kinds are those of MARKS in view/tracks.js. */
static void
add_mark(struct user *u, const struct event *e, uint32_t kind, uint32_t p,
    uint32_t m, uint32_t arg)
{
	if (!rows_p(p))
		return;
	put_ns(&u->mark, &u->mark_ns, e->ns);
	column_put(&u->mark, kind);
	column_put(&u->mark, rows_p(p));
	column_put(&u->mark, rows_m(u->rows, m));
	column_put(&u->mark, arg);
}

static void
add_taken(struct user *u, const struct event *e)
{
	add_mark(u, e, 1, e->arg, (uint32_t)e->extra,
	    (uint32_t)(e->extra >> 32));
}

void
user_add(struct user *u, const struct event *e)
{
	switch (e->type) {
	case TR_TASK_BEGIN:
		begin_task(u, e);
		break;
	case TR_TASK_END:
		end_task(u, e);
		break;
	case TR_REGION_BEGIN:
		begin_region(u, e);
		break;
	case TR_REGION_END:
		end_region(u, e);
		break;
	case TR_LOG:
		add_log(u, e);
		break;
	case TR_SAMPLE:
		add_sample(u, e);
		break;
	case TR_WORLD_STOP:
		end_world(u, e->ns);
		u->stopped = e->ns;
		u->stopped_by = rows_g(u->rows, e->self);
		break;
	case TR_WORLD_START:
		end_world(u, e->ns);
		break;
	case TR_P_TAKEN:
		add_taken(u, e);
		break;
	case TR_STEAL:
		add_mark(u, e, 2, e->p, e->m, e->arg);
		break;
	case TR_TIMERS:
		add_mark(u, e, 3, e->p, e->m, e->arg);
		break;
	case TR_NETPOLL:
		add_mark(u, e, 4, e->p, e->m, e->arg);
		break;
	case TR_PROCS:
		add_mark(u, e, 5, e->p, e->m, e->arg);
		break;
	}
}

/* ---- the end ---- */

/* A length + 1; 0: it has not ended. */
static uint64_t
length(int64_t ns, int64_t end)
{
	return end < ns ? 0 : (uint64_t)(end - ns) + 1;
}

static void
write_tasks(struct user *u, FILE *out)
{
	struct column c = {0};

	for (size_t i = 0; i < u->tasks; i++) {
		const struct task *t = &u->task[i];

		column_put(&c, t->id);
		column_put(&c, task_number(u, t->parent));
		column_put(&c, (uint64_t)t->ns);
		column_put(&c, length(t->ns, t->end));
		column_put(&c, t->g);
		column_put(&c, t->name);
	}
	column_write(&c, "tasks", out);
}

static void
write_regions(struct user *u, FILE *out)
{
	struct column c = {0};

	for (size_t i = 0; i < u->regions; i++) {
		const struct region *r = &u->region[i];

		column_put(&c, r->g);
		column_put(&c, (uint64_t)r->ns);
		column_put(&c, length(r->ns, r->end));
		column_put(&c, task_number(u, r->task));
		column_put(&c, r->name);
	}
	column_write(&c, "regions", out);
}

static int
by_time(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	return (x->ns > y->ns) - (x->ns < y->ns);
}

static void
write_samples(struct user *u, FILE *out)
{
	struct column c = {0};
	int64_t ns = 0;

	if (u->samples)
		qsort(u->sample, u->samples, sizeof *u->sample, by_time);
	for (size_t i = 0; i < u->samples; i++) {
		const struct sample *s = &u->sample[i];

		put_ns(&c, &ns, s->ns);
		column_put(&c, s->g);
		column_put(&c, s->p);
		column_put(&c, s->m);
		column_put(&c, s->stack);
	}
	column_write(&c, "samples", out);
}

void
user_write(struct user *u, FILE *out)
{
	write_tasks(u, out);
	write_regions(u, out);
	write_samples(u, out);
	column_write(&u->log, "logs", out);
	column_write(&u->world, "world", out);
	column_write(&u->mark, "marks", out);
	idmap_free(&u->task_by_id);
	idmap_free(&u->innermost);
	free(u->task);
	free(u->region);
	free(u->sample);
	free(u);
}
