/* SPDX-License-Identifier: MIT */
/*
 * Dumps: collect (goroutine_stacks.h), group (dump_group.h), write
 * (dump_text.h). The list of modules is refreshed before, unless the process
 * dies or this is a signal handler: then it is that of the last dump or of the
 * start, and code loaded since has no names.
 */
#include "dump_write.h"

#include <errno.h>
#include <unistd.h>

#include "dump_text.h"
#include "fatal.h"
#include "module_list.h"
#include "os.h"
#include "preempt.h"
#include "sched.h"
#include "sized.h"
#include "spawn.h"
#include "start.h"
#include "text.h"

enum {
	PLAIN_MAX = 1000,	/* lines without stacks */
	GROUPS_DYING = 1000,
	IDS_DEFAULT = 20
};

/* ---- collecting ---- */

struct collecting {
	struct dump_groups *d;
	const struct dump_filter *filter;
	bool internals;
};

/*
 * Of the library's frames only the outermost is of interest to a user, which
 * is the function that was called, and none at the bottom.
 */
static void
trim(struct goroutine_info *g)
{
	while (g->n > 1 && text_calls_out(g->pcs[g->n - 1]))
		g->n--;
	while (g->n > 1 && text_is_ours(g->pcs[0]) &&
	    text_is_ours(g->pcs[1])) {
		g->pcs++;
		g->n--;
	}
}

static void
collect_one(const struct goroutine_info *info, void *arg)
{
	struct collecting *c = arg;
	struct goroutine_info g = *info;

	if (c->filter && !c->filter->wanted(&g, c->filter->arg))
		return;
	if (!c->internals)
		trim(&g);
	dump_groups_add(c->d, &g);
}

static int
collect(struct dump_groups *d, const struct dump_filter *filter,
    struct goroutine_walk *w, unsigned flags)
{
	struct collecting c = { d, filter, flags & WEFT_DUMP_INTERNALS };
	int err;

	if (!dump_groups_init(d, spawn_count()))
		return -ENOMEM;
	d->each = flags & WEFT_DUMP_EACH;
	w->fn = collect_one;
	w->arg = &c;
	err = goroutine_stacks(w);
	if (err)
		dump_groups_free(d);
	else
		dump_groups_sort(d);
	return err;
}

int
dump_collect(struct dump_groups *d, unsigned flags,
    const struct dump_filter *filter)
{
	struct goroutine_walk w = {
		.no_signals = flags & WEFT_DUMP_NO_SIGNALS
	};

	module_list_refresh();
	return collect(d, filter, &w, flags);
}

/* ---- writing ---- */

static struct dump_limits
limits_of(const weft_dump_options *opt)
{
	return (struct dump_limits){
		.ids = opt->max_ids ? opt->max_ids : IDS_DEFAULT,
		.groups = opt->max_groups ? opt->max_groups : UINT32_MAX,
		.frames = opt->max_frames ? opt->max_frames : UINT32_MAX
	};
}

int
dump_write(const struct dump_groups *d, int fd, const weft_dump_options *opt)
{
	struct dump_limits limits = limits_of(opt);
	struct fd_sink out;

	fd_sink_init(&out, fd, d->out, DUMP_OUT_BYTES);
	dump_text(&out.sink, d, &limits);
	return sink_flush(&out.sink);
}

/* ---- when the process dies, or in a handler ---- */

/* No memory, or another thread is at it: no stacks. */
static void
say_one(struct g *gp, void *arg)
{
	enum gstate state = a_load_relaxed(&gp->state);
	bool waits = state == G_WAITING;
	char name[G_NAME_BYTES], site[G_DESCRIBE_BYTES];
	uint32_t *n = arg;

	if (state == G_DEAD || !g_site(gp) || g_is_claimed(gp) ||
	    (*n)++ >= PLAIN_MAX)
		return;
	g_copy_name(gp, name);
	g_describe_site(gp, site, sizeof site);
	say("goroutine %ld \"%s\" [%s%s%s%s]: %s\n",
	    (long)g_id(gp), name, g_state_name(state), waits ? ": " : "",
	    waits ? g_reason_name(a_load_relaxed(&gp->reason)) : "",
	    g_stack(gp) ? ", no stack" : ", not started", site);
}

static void
say_all(void)
{
	uint32_t n = 0;

	g_each(say_one, &n);
	if (n > PLAIN_MAX)
		say("... and %u more goroutines\n", n - PLAIN_MAX);
}

void
dump_now(const ucontext_t *uc, bool dying)
{
	struct goroutine_walk w = { .uc = uc, .dying = dying };
	weft_dump_options opt = { .max_groups = GROUPS_DYING };
	struct dump_groups d;

	if (collect(&d, NULL, &w, 0) != 0) {
		say_all();
		return;
	}
	dump_write(&d, STDERR_FILENO, &opt);
	dump_groups_free(&d);
}

static void
dump_dying(void)
{
	dump_now(self()->fault_context, true);
}

/*
 * Which goroutine runs here, or which thread of the program. A thread of the
 * runtime that runs no goroutine is nothing that a user knows.
 */
static size_t
subject(char *buf, size_t cap)
{
	struct m *mp = m_self();
	struct g *gp = mp ? m_g(mp) : NULL;

	if (gp)
		return g_describe(gp, buf, cap);
	return mp ? 0 : format(buf, cap, "thread %d", os_thread_id());
}

/* This room is above fatal.c and start.c, so it registers itself. */
__attribute__((constructor)) static void
hook(void)
{
	static struct run_hook at_boot = { .boot = module_list_refresh };

	fatal_hook = dump_dying;
	fatal_subject = subject;
	run_hook_add(&at_boot);
}

/* ---- public ---- */

static bool
waited(const struct goroutine_info *g, void *arg)
{
	return g->waited_ns >= *(int64_t *)arg;
}

public int
weft_dump(int fd, const weft_dump_options *opt, size_t bytes)
{
	struct dump_filter filter = { .wanted = waited };
	struct dump_groups d;
	weft_dump_options o;
	int err;

	checkpoint();
	sized_in(&o, sizeof o, opt, bytes);
	filter.arg = &o.min_wait;
	err = dump_collect(&d, o.flags, o.min_wait > 0 ? &filter : NULL);
	if (err)
		return err;
	err = dump_write(&d, fd, &o);
	dump_groups_free(&d);
	return err;
}

public void
weft_dump_goroutines(void)
{
	if (weft_dump(STDERR_FILENO, NULL, 0) == -ENOMEM)
		say_all();
}
