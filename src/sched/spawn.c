/* SPDX-License-Identifier: MIT */
/*
 * New goroutines. weft_go is three calls: begin takes a record, the capture
 * (arch) stores the arguments in it, end queues it.
 *
 * A spawner that outruns its children yields when a few dozen are queued: that
 * reuses warm records and stacks, where going on would ask for new ones, fill
 * the ring and spill to the global queue. Unless the children take long.
 *
 * An owned goroutine (of a group or a waitgroup) runs a function of its owner,
 * which calls the user's: see g_set_owner. It takes the path of weft_spawn with
 * a copied argument, so the path of a plain weft_go knows nothing of it.
 *
 * A goroutine may begin later: when a descriptor is readable, at a time, when
 * it has received from a channel. It is WAITING from the start, with the reason
 * of a goroutine that waits for the same, and it differs from one in having no
 * stack: whatever wakes it makes it run for the first time.
 */
#include "spawn.h"

#include <errno.h>
#include <string.h>

#include "events.h"
#include "exit_hook.h"
#include "expire.h"
#include "fatal.h"
#include "fork.h"
#include "hard.h"
#include "latency.h"
#include "observed.h"
#include "preempt.h"
#include "readable.h"
#include "sched.h"
#include "sized.h"
#include "start.h"
#include "weft.h"

_Static_assert(WEFT_ARG_BYTES == ARG_WORDS * sizeof(uint64_t), "weft.h");

enum {
	SPAWN_RUN = 64,		/* as many as run before the spawner does */
	SPAWN_AHEAD = 64,
	SPAWN_SLOW_RUN = 16384,	/* ... if they take long, */
	SPAWN_SLOW_FEW_US = 256	/* ... some hundred microseconds */
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
	    deque_len(&pp->q.deque) >= SPAWN_AHEAD;
}

/*
 * Yields to the children. If that took long they are no short ones, and there
 * is nothing to be had by waiting for them: the next time is far. The monitor
 * ends that wait after about a millisecond (stuck.c).
 */
static void
let_children_run(struct p *pp)
{
	uint64_t start = cpu_cycles();
	struct m *mp;

	a_add_relaxed(&pp->spawners_wait, 1);
	sched_yield_now();
	a_add_relaxed(&pp->spawners_wait, -1u);
	if (likely(cpu_cycles() - start <
	    SPAWN_SLOW_FEW_US * cpu_cycles_few_us()))
		return;
	mp = m_self();
	rt_enter(mp);
	pp = m_p(mp);
	if (pp) {
		pp->spawn_at = a_load_relaxed(&pp->stats.switches);
		pp->spawn_run = SPAWN_RUN - SPAWN_SLOW_RUN;
	}
	rt_leave_out(mp);
}

/*
 * Goes inside, after letting others run if the caller runs ahead of them.
 * Returns the M that it is on then.
 */
static struct m *
enter_to_spawn(struct m *mp)
{
	struct p *pp;

	rt_enter(mp);
	pp = m_p(mp);
	if (unlikely(pp && runs_ahead(pp))) {
		rt_leave_out(mp);
		let_children_run(pp);
		mp = m_self();
		rt_enter(mp);
	}
	return mp;
}

/* pp is the P of the caller, which is inside, or NULL. */
static struct g *
make(struct p *pp, int stack_class, const weft_site *site,
    void (*fn)(void *), void *arg)
{
	struct g *gp = pp ? g_alloc(&pp->gs) : g_alloc_any();

	if (unlikely(!gp))
		return NULL;
	a_store_relaxed(&gp->site, site);
	gp->fn = fn;
	gp->args[0] = (uintptr_t)arg;
	gp->stack_class = (uint8_t)stack_class;
	gp->captured = CAPTURE_NONE;
	gp->main = gp->fenv = gp->holds_thread = gp->in_future = false;
	a_store_relaxed(&gp->labelled, false);
	gp->regions = 0;
	a_store_relaxed(&gp->named, false);
	return gp;
}

/* The same. */
static void
count(struct p *pp)
{
	if (pp)
		a_bump(&pp->stats.spawned, 1);
	else
		a_add_relaxed(&sched.no_p_stats.spawned, 1);
}

struct g *
spawn_make(int stack_class, const weft_site *site, void (*fn)(void *),
    void *arg)
{
	struct m *mp = m_self();
	uint32_t was = mp ? rt_enter(mp) : 0;
	struct g *gp = make(mp ? m_p(mp) : NULL, stack_class, site, fn, arg);

	if (mp)
		rt_leave(mp, was);
	return gp;
}

struct g *
spawn_waiting(const weft_site *site, void (*fn)(void *), void *arg)
{
	struct m *mp = m_self();
	uint32_t was = mp ? rt_enter(mp) : 0;
	struct p *pp = mp ? m_p(mp) : NULL;
	struct g *gp = make(pp, stack_default_class, site, fn, arg);

	if (gp) {
		count(pp);
		a_store_relaxed(&gp->reason, WAIT_SLEEP);
		g_set(gp, G_DEAD, G_WAITING);
		events_create(mp, gp, true);
	}
	if (mp)
		rt_leave(mp, was);
	return gp;
}

static cold void
convert(weft_opt *room, const weft_opt *opt, size_t bytes)
{
	sized_in(room, sizeof *room, opt, bytes);
}

/* The options of a program whose weft_opt may have another size: see room. */
static inline const weft_opt *
options(const weft_opt *opt, size_t bytes, weft_opt *room)
{
	if (likely(!opt || bytes == sizeof *opt))
		return opt;
	convert(room, opt, bytes);
	return room;
}

static void
attach_readable(struct g *gp, uint64_t fd)
{
	readable_attach((int)fd, gp);
}

static void
attach_time(struct g *gp, uint64_t when)
{
	expire_arm_g(gp, (int64_t)when);
}

/* The goroutine that is being made does not begin at once: capture_into. */
static cold void
begin_later(struct g *gp, enum wait_reason reason,
    void (*attach)(struct g *gp, uint64_t arg), uint64_t arg)
{
	struct self *me = self();

	a_store_relaxed(&gp->reason, reason);
	me->spawn_attach = attach;
	me->spawn_arg = arg;
}

/* The same, if the options say so. */
static cold void
begin_as_told(struct g *gp, const weft_opt *opt)
{
	if (opt->readable_)
		begin_later(gp, WAIT_READ, attach_readable,
		    (uint64_t)opt->readable_ - 1);
	else if (opt->at_)
		begin_later(gp, WAIT_SLEEP, attach_time, (uint64_t)opt->at_);
}

/* The class of stack that is asked for, and the descriptor is reserved. */
static cold int
claim_options(const weft_opt *opt, int *class)
{
	if (opt->stack && (*class = stack_class(opt->stack)) < 0)
		return -EINVAL;
	return opt->readable_ ? readable_claim(opt->readable_ - 1) : 0;
}

static cold void
apply_options(struct g *gp, const weft_opt *opt)
{
	if (opt->name)
		g_set_name(gp, opt->name);
	gp->fenv = opt->fenv;
}

static cold int
no_record(struct m *mp, const weft_opt *opt)
{
	if (mp)
		rt_leave_out(mp);
	if (opt && opt->readable_)
		readable_drop(opt->readable_ - 1);
	return -ENOMEM;
}

/*
 * A goroutine has the labels of its spawner. They are in the header of its
 * stack, so it gets that now. If there is no memory for one it has no labels:
 * it may not even run. Inside, or a thread without an M.
 */
static cold void
inherit_labels(struct m *mp, struct g *gp)
{
	struct g *from = mp ? m_g(mp) : NULL;
	struct stack_cache none = {0};
	struct stack_cache *cache = mp && m_p(mp) ? &m_p(mp)->stacks : &none;

	if (!from || !a_load_relaxed(&from->labelled))
		return;
	if (sched_give_stack(cache, gp)) {
		a_store_relaxed(&g_stack(gp)->labels,
		    a_load_relaxed(&g_stack(from)->labels));
		a_store_relaxed(&gp->labelled, true);
	}
}

/*
 * Lets others run, makes the record: 0, or -errno. On success the caller is
 * inside, on M *mp, or is a thread without one: NULL.
 */
static int
prepare(const weft_opt *opt, const weft_site *site, void (*fn)(void *),
    void *arg, struct m **mp, struct g **out)
{
	int class = stack_default_class, err;

	checkpoint_within();
	if (thread_state_list_changed())
		thread_state_find_cxx();
	if (unlikely(opt != NULL) && (err = claim_options(opt, &class)) != 0)
		return err;
	*mp = m_self();
	if (likely(*mp))
		*mp = enter_to_spawn(*mp);
	*out = make(*mp ? m_p(*mp) : NULL, class, site, fn, arg);
	if (unlikely(!*out))
		return no_record(*mp, opt);
	if (unlikely(opt != NULL))
		apply_options(*out, opt);
	return 0;
}

/* A goroutine has been made, and no other thread knows of it yet. */
static cold void
tell_observers(struct m *mp, struct g *gp, bool waiting)
{
	if (observed_by() & OBSERVED_LABELS)
		inherit_labels(mp, gp);
	events_create(mp, gp, waiting);
}

/* The same for one that begins later. */
static cold void
publish_later(struct m *mp, struct g *gp)
{
	void (*attach)(struct g *gp, uint64_t arg) = self()->spawn_attach;
	uint64_t arg = self()->spawn_arg;

	if (observed())
		tell_observers(mp, gp, true);
	g_set(gp, G_DEAD, G_WAITING);
	if (mp)
		rt_leave_out(mp);
	attach(gp, arg);
}

/*
 * Queues the new goroutine, and leaves. It may be gone when this returns: id
 * first.
 */
static int64_t
publish(struct m *mp, struct g *gp, bool later)
{
	struct p *pp = mp ? m_p(mp) : NULL;
	int64_t id = g_id(gp);

	count(pp);
	if (unlikely(later)) {
		publish_later(mp, gp);
		return id;
	}
	if (observed())
		tell_observers(mp, gp, false);
	make_runnable(gp, G_DEAD);
	sched_submit(pp, gp);
	if (mp)
		rt_leave_out(mp);
	if (hard_coin())
		weft_yield();
	return id;
}

/*
 * From here to weft_go_end_ nothing lets another goroutine run, and inside
 * nothing preempts it: what is kept in between is the thread's.
 */
static inline void
capture_into(struct g *gp)
{
	struct self *me = self();

	me->spawning = gp;
	me->spawn_attach = NULL;
	me->args = gp->args;
}

noreturn cold void
spawn_fatal_null(const char *verb, const weft_site *site)
{
	fatal("%s(%s): null function (at %s:%d)", verb, site->fn, site->file,
	    site->line);
}

/*
 * The runtime does not run. Once it has ended a goroutine can be made as
 * before, and never runs: the caller is one of those that are left, on its way
 * to its next yield, and has done nothing wrong.
 */
static cold void
check_ended(const char *verb, const weft_site *site)
{
	if (!sched_has_ended())
		fatal("%s(%s): no runtime is running; call it from weft_main "
		    "or below weft_run", verb, site->fn);
}

noreturn static cold void
fatal_refused(const char *verb, const weft_site *site, size_t stack, int err)
{
	if (err == -EINVAL)
		fatal("%s(%s): a stack of %zu bytes is out of range", verb,
		    site->fn, stack);
	fatal("%s(%s): out of memory: no record, %ld goroutines exist", verb,
	    site->fn, (long)spawn_count());
}

public void
weft_go_begin_(const weft_opt *opt, size_t opt_bytes, const weft_site *site,
    void (*fn)(void), int kind)
{
	weft_opt room;
	struct m *mp;
	struct g *gp;
	int err;

	opt = options(opt, opt_bytes, &room);
	if (unlikely(!fn))
		spawn_fatal_null("weft_go", site);
	/* A goroutine has a runtime, or had one until a moment ago. */
	if (unlikely(!m_self()) && !sched_is_up())
		check_ended("weft_go", site);
	err = prepare(opt, site, (void (*)(void *))fn, NULL, &mp, &gp);
	if (unlikely(err))
		fatal_refused("weft_go", site, opt ? opt->stack : 0, err);
	gp->captured = (uint8_t)kind & 3;
	capture_into(gp);
}

public int
weft_try_go_begin_(const weft_opt *opt, size_t opt_bytes,
    const weft_site *site, void (*fn)(void), int kind)
{
	weft_opt room;
	struct m *mp;
	struct g *gp;
	int err;

	opt = options(opt, opt_bytes, &room);
	if (unlikely(!fn))
		spawn_fatal_null("weft_try_go", site);
	if (unlikely(!sched_is_up()))
		return -EPERM;
	err = prepare(opt, site, (void (*)(void *))fn, NULL, &mp, &gp);
	if (unlikely(err))
		return err;
	gp->captured = (uint8_t)kind & 3;
	capture_into(gp);
	if (opt)
		begin_as_told(gp, opt);
	return 0;
}

int
spawn_later_begin(const weft_opt *opt, size_t opt_bytes,
    const weft_site *site, void (*run)(void *), void *start,
    const struct spawn_later *later)
{
	weft_opt room;
	struct m *mp;
	struct g *gp;
	int err = prepare(options(opt, opt_bytes, &room), site, run, NULL,
	    &mp, &gp);

	if (err)
		return err;
	gp->captured = CAPTURE_COPY;
	gp->start = start;
	capture_into(gp);
	begin_later(gp, later->reason, later->attach, later->arg);
	return 0;
}

void
spawn_owned_check(const char *verb, const weft_site *site, void (*fn)(void))
{
	if (unlikely(!fn))
		spawn_fatal_null(verb, site);
	if (unlikely(!sched_is_up()))
		check_ended(verb, site);
}

int
spawn_owned_begin(const weft_site *site, void (*fn)(void), int kind,
    void (*run)(void *), void *owner)
{
	struct m *mp;
	struct g *gp;
	int err = prepare(NULL, site, run, NULL, &mp, &gp);

	if (unlikely(err))
		return err;
	gp->captured = CAPTURE_COPY;
	g_set_owner(gp, owner, fn, (enum capture)kind);
	capture_into(gp);
	return 0;
}

int
spawn_future_begin(const weft_site *site, void (*run)(void *), void *future,
    uint64_t args[ARG_WORDS], struct g **out)
{
	struct self *me;
	struct m *mp;
	int err = prepare(NULL, site, run, future, &mp, out);

	if (unlikely(err))
		return err;
	me = self();
	me->spawning = *out;
	me->args = args;
	return 0;
}

void
spawn_future_end(void)
{
	struct self *me = self();
	struct m *mp = me->mp;
	struct g *gp = me->spawning;
	struct p *pp = mp ? m_p(mp) : NULL;

	count(pp);
	if (observed())
		tell_observers(mp, gp, false);
	make_runnable(gp, G_DEAD);
	g_make_claimable(gp);
	/* Atomic: a dump or the scavenger may look at the goroutine that had
	 * the record before, and find out only then that it is gone. */
	a_or_relaxed(&gp->hold, HOLD_FUTURE);
	sched_submit(pp, gp);
	if (mp)
		rt_leave_out(mp);
}

void
spawn_owned_refused(const char *verb, const weft_site *site, int err)
{
	fatal_refused(verb, site, 0, err);
}

public int64_t
weft_go_end_(void)
{
	struct self *me = self();

	return publish(me->mp, me->spawning, me->spawn_attach != NULL);
}

int64_t
spawn_owned_end(void *arg)
{
	struct self *me = self();

	me->args[0] = (uintptr_t)arg;
	return publish(me->mp, me->spawning, false);
}

public int64_t
weft_spawn(const weft_opt *opt, size_t opt_bytes, void (*fn)(void *arg),
    const void *arg, size_t size)
{
	static const weft_site site = { "weft_spawn", "", 0 };
	weft_opt room;
	struct m *mp;
	struct g *gp;
	int err;

	if (!fn)
		fatal("weft_spawn: null function");
	if (size > WEFT_ARG_BYTES)
		return -E2BIG;
	if (!sched_is_up())
		return -EPERM;
	opt = options(opt, opt_bytes, &room);
	err = prepare(opt, &site, fn, (void *)(uintptr_t)arg, &mp, &gp);
	if (err)
		return err;
	/* From here on a collector finds arg there; until here it has it from
	 * a register. */
	self()->spawning = gp;
	__asm__ volatile("" : : "r"(arg) : "memory");
	if (size) {
		memcpy(gp->args, arg, size);
		gp->captured = CAPTURE_COPY;
	}
	if (opt)
		begin_as_told(gp, opt);
	return publish(mp, gp, opt && (opt->readable_ || opt->at_));
}

calls_out public void
weft_goexit(void)
{
	struct m *mp = m_self();
	struct g *gp = mp ? m_g(mp) : fork_child_g();

	if (!gp)
		fatal("weft_goexit: not on a goroutine");
	if (gp->in_future)
		fatal("weft_goexit: in the function of a future, which must "
		    "return");
	exit_hook_run(gp);
	if (!m_self())
		fork_child_exit(0);
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

	return mp && m_g(mp) ? g_id(m_g(mp)) : 0;
}

public const char *
weft_self_name(void)
{
	struct m *mp = m_self();

	return mp && m_g(mp) ? g_name(m_g(mp)) : "";
}

/*
 * Ended ones first, so that one which is spawned and ends meanwhile counts as
 * existing rather than as minus one. What the ended ones did is visible to the
 * caller.
 */
int64_t
spawn_count(void)
{
	/* pairs with reap_detached */
	uint64_t ended = a_load_acq(&sched.no_p_stats.ended), spawned;

	for (uint32_t i = 0; i < PROCS_MAX && p_at(i); i++)
		ended += a_load_acq(&p_at(i)->stats.ended);
	spawned = a_load_relaxed(&sched.no_p_stats.spawned);
	for (uint32_t i = 0; i < PROCS_MAX && p_at(i); i++)
		spawned += a_load_relaxed(&p_at(i)->stats.spawned);
	return (int64_t)(spawned - ended);
}

public int64_t
weft_goroutines(void)
{
	return spawn_count();
}
