/* SPDX-License-Identifier: MIT */
/*
 * New goroutines. weft_go is three calls: begin takes a record, the capture
 * (arch) stores the arguments in it, end queues it.
 *
 * A spawner that outruns its children lets them run when a few dozen are
 * queued: that reuses warm records and stacks, where going on would ask for
 * new ones, fill the ring and spill to the global queue.
 */
#include <errno.h>
#include <string.h>

#include "fatal.h"
#include "hard.h"
#include "sched.h"
#include "weft.h"

_Static_assert(WEFT_ARG_BYTES == ARG_WORDS * sizeof(uint64_t), "weft.h");

static struct p *
own_p(void)
{
	struct m *mp = m_self();

	return mp ? mp->pp : NULL;
}

enum {
	SPAWN_RUN = 64,		/* as many as run before the spawner does */
	SPAWN_AHEAD = 64
};

/* Has the caller spawned many since it last let others run? */
static bool
runs_ahead(struct p *pp)
{
	uint64_t switches = a_load_relaxed(&pp->stats.switches);

	if (pp->spawn_at != switches) {
		pp->spawn_at = switches;
		pp->spawn_run = 0;
	}
	return ++pp->spawn_run > SPAWN_RUN &&
	    nest_len(&pp->q.nest) >= SPAWN_AHEAD;
}

static void
make_room(void)
{
	struct m *mp = m_self();

	if (mp && mp->curg && unlikely(runs_ahead(mp->pp) ||
	    a_load_relaxed(&sched.stopping)))
		sched_yield_now();
}

struct g *
spawn_make(int stack_class, const struct weft_site *site, void (*fn)(void *),
    void *arg)
{
	struct p *pp = own_p();
	struct g *gp = pp ? g_alloc(&pp->gs) : g_alloc_any();

	if (unlikely(!gp))
		return NULL;
	a_store_relaxed(&gp->site, site);
	gp->fn = fn;
	gp->args[0] = (uintptr_t)arg;
	gp->stack_class = (uint8_t)stack_class;
	gp->captured = CAPTURE_NONE;
	gp->main = false;
	a_store_relaxed(&gp->named, false);
	gp->fenv = false;
	return gp;
}

/* Checks, makes room, makes the record: 0 and *out, or -errno. */
static int
prepare(const weft_opt *opt, const weft_site *site, void (*fn)(void *),
    void *arg, struct g **out)
{
	int class = stack_default_class;

	if (unlikely(!sched_is_up()))
		return -EPERM;
	if (opt && opt->stack && (class = stack_class(opt->stack)) < 0)
		return -EINVAL;
	make_room();
	*out = spawn_make(class, site, fn, arg);
	if (unlikely(!*out))
		return -ENOMEM;
	if (opt && opt->name)
		g_set_name(*out, opt->name);
	(*out)->fenv = opt && opt->fenv;
	return 0;
}

static void
count(void)
{
	struct p *pp = own_p();

	if (pp)
		a_bump(&pp->stats.spawned, 1);
	else
		a_add_relaxed(&sched.spawned_any, 1);
}

struct g *
spawn_waiting(const struct weft_site *site, void (*fn)(void *), void *arg)
{
	struct g *gp = spawn_make(stack_default_class, site, fn, arg);

	if (gp) {
		count();
		a_store_relaxed(&gp->reason, WAIT_SLEEP);
		g_set(gp, G_DEAD, G_WAITING);
	}
	return gp;
}

/* Queues the new goroutine. It may be gone when this returns: id first. */
static int64_t
publish(struct g *gp)
{
	int64_t id = g_id(gp);

	count();
	g_set(gp, G_DEAD, G_RUNNABLE);
	sched_submit(gp);
	if (hard_coin())
		weft_yield();
	return id;
}

public int
weft_go_begin_(const weft_opt *opt, const weft_site *site, void (*fn)(void),
    int kind)
{
	struct self *me;
	struct g *gp;
	int err;

	if (unlikely(!fn))
		fatal("weft_go: null function (%s at %s:%d)", site->fn,
		    site->file, site->line);
	err = prepare(opt, site, (void (*)(void *))fn, NULL, &gp);
	if (unlikely(err))
		return err;
	gp->captured = (uint8_t)kind;
	/* From here to weft_go_end_ nothing lets another goroutine run. */
	me = self();
	me->born = gp;
	me->args = gp->args;
	return 0;
}

public int64_t
weft_go_end_(void)
{
	return publish(self()->born);
}

public int64_t
weft_spawn(const weft_opt *opt, void (*fn)(void *arg), const void *arg,
    size_t size)
{
	static const weft_site site = { "weft_spawn", "?", 0 };
	struct g *gp;
	int err;

	if (!fn)
		fatal("weft_spawn: null function");
	if (size > WEFT_ARG_BYTES)
		return -E2BIG;
	err = prepare(opt, &site, fn, (void *)(uintptr_t)arg, &gp);
	if (err)
		return err;
	if (size) {
		memcpy(gp->args, arg, size);
		gp->captured = CAPTURE_COPY;
	}
	return publish(gp);
}

public void
weft_exit(void)
{
	struct m *mp = m_self();
	struct g *gp;

	if (!mp || !mp->curg)
		fatal("weft_exit: not on a goroutine");
	gp = mp->curg;
	ending_run(gp);
	if (gp->main) {
		lock_take(&sched.lock);
		sched.main_exited = true;
		lock_drop(&sched.lock);
	}
	sched_exit();
}

public int64_t
weft_self_id(void)
{
	struct m *mp = m_self();

	return mp && mp->curg ? g_id(mp->curg) : 0;
}

public const char *
weft_self_name(void)
{
	struct m *mp = m_self();

	return mp && mp->curg ? g_name(mp->curg) : "";
}

/*
 * Ended ones first, so that one which is spawned and ends meanwhile counts as
 * existing rather than as minus one. What the ended ones did is visible to
 * who counts: pairs with the end of a goroutine.
 */
int64_t
spawn_count(void)
{
	uint64_t ended = 0, spawned;

	for (uint32_t i = 0; i < PROCS_MAX && p_at(i); i++)
		ended += a_load_acq(&p_at(i)->stats.ended);
	spawned = a_load_relaxed(&sched.spawned_any);
	for (uint32_t i = 0; i < PROCS_MAX && p_at(i); i++)
		spawned += a_load_relaxed(&p_at(i)->stats.spawned);
	return (int64_t)(spawned - ended);
}

public int64_t
weft_count(void)
{
	return spawn_count();
}
