/* SPDX-License-Identifier: MIT */
/*
 * The stacks of all goroutines, equal ones counted together: by functions,
 * reason for waiting, names and labels, not by ids.
 *
 * Nothing is stopped. A goroutine that does not run is walked from its saved
 * context; if that is another one afterwards it is walked again. What another
 * thread changes meanwhile can make the result wrong, never the walk unsafe:
 * it reads within the stack, whose memory stays mapped, and does not use the
 * stack's header, which only its owner may. One that runs is shown as the
 * function that it was spawned with; the caller has its whole stack.
 */
#include "profile_goroutine.h"

#include <errno.h>

#include "backtrace.h"
#include "labels.h"
#include "m.h"
#include "module_list.h"
#include "os.h"
#include "profile_stack.h"
#include "stack_request.h"

enum { TRIES = 3 };

/* Of one profile; too large for a goroutine's stack. */
struct collector {
	struct profile_table table;
	struct g *self;
	struct backtrace walk;
	uintptr_t pcs[PROFILE_DEPTH];
};

/* What tells whether a goroutine ran meanwhile, as far as one can. */
struct seen {
	int64_t id;
	enum gstate state;
	struct stack *stack;
	struct frame frame;
};

/* Others write the frame with plain stores. */
__attribute__((no_sanitize("thread"))) static struct seen
look(const struct g *gp)
{
	const volatile struct frame *f = &gp->frame;

	return (struct seen){ g_id(gp), a_load_relaxed(&gp->state),
	    g_stack(gp), { .sp = f->sp, .bp = f->bp, .pc = f->pc } };
}

static bool
same(const struct seen *a, const struct seen *b)
{
	return a->id == b->id && a->state == b->state &&
	    a->stack == b->stack && a->frame.sp == b->frame.sp &&
	    a->frame.pc == b->frame.pc;
}

__attribute__((no_sanitize("thread"))) static unsigned
entry(const struct g *gp, uintptr_t *pcs)
{
	pcs[0] = (uintptr_t)*(void (*const volatile *)(void *))&gp->fn;
	return 1;
}

static unsigned
walk(struct collector *c, const struct g *gp, const struct seen *s)
{
	struct unwind_stack st;

	if (!s->stack || (s->state != G_WAITING && s->state != G_RUNNABLE &&
	    gp != c->self) || !stack_request_bounds(gp, s->id, &st))
		return entry(gp, c->pcs);
	if (gp == c->self)
		return backtrace_here(&c->walk, &st, 0, c->pcs, PROFILE_DEPTH);
	return backtrace_parked(&c->walk, &s->frame, &st, c->pcs,
	    PROFILE_DEPTH);
}

/* Its name and labels, if they are still those of this goroutine. */
__attribute__((no_sanitize("thread"))) static void
describe(struct profile_key *key, const struct g *gp)
{
	profile_key_goroutine(key, gp);
	key->goroutine = 0;
	if (!label_exists(key->labels))
		key->labels = 0;
}

static void
collect(struct g *gp, void *arg)
{
	struct collector *c = arg;
	struct profile_key key = { .pcs = c->pcs };
	struct seen before, after = look(gp);
	unsigned n;
	int tries = 0;

	do {
		before = after;
		if (before.state == G_DEAD || !g_site(gp) ||
		    g_is_claimed(gp))
			return;
		n = walk(c, gp, &before);
		if (before.state == G_WAITING)
			key.reason = a_load_relaxed(&gp->reason);
		after = look(gp);
	} while (!same(&before, &after) && ++tries < TRIES);
	if (tries == TRIES || !n)
		n = entry(gp, c->pcs);
	n = profile_stack_cut_outer(c->pcs, n);
	key.depth = (uint16_t)profile_stack_cut_inner(c->pcs, n,
	    before.state != G_RUNNABLE);
	describe(&key, gp);
	profile_table_add(&c->table, &key, 1, 0);
}

int
profile_goroutine_open(struct profile_file *f)
{
	struct m *mp = m_self();
	struct collector *c = os_map(round_up(sizeof *c, PAGE));

	if (!c)
		return -ENOMEM;
	if (profile_table_make(&c->table) != 0) {
		os_unmap(c, round_up(sizeof *c, PAGE));
		return -ENOMEM;
	}
	c->self = mp ? m_g(mp) : NULL;
	module_list_refresh();
	*f = (struct profile_file){
		.types = { { "goroutine", "count" } },
		.n_types = 1,
		.period_type = { "goroutine", "count" },
		.period = 1,
		.time_ns = profile_time_of_day(),
		.reasons = true,
		.table = &c->table,
	};
	g_each(collect, c);
	return 0;
}

void
profile_goroutine_close(struct profile_file *f)
{
	struct collector *c = container_of(f->table, struct collector, table);

	profile_table_free(&c->table);
	os_unmap(c, round_up(sizeof *c, PAGE));
}
