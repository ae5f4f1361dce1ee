/* SPDX-License-Identifier: MIT */
/*
 * Groups of goroutines that are waited for together.
 *
 * One word has the state: how many members run, how many calls of go wait for
 * room, and whether a wait sleeps.
 *
 *	go		running + 1, or waiting for room + 1 if `limit` run
 *	a member ends	waiting for room - 1, if there are some: its place goes
 *			to the first of them, and running stays; or running - 1
 *	a wait		sets WAITED if members run, and sleeps on `ended`
 *	... gives up	clears WAITED if members still run
 *
 * The member that makes running 0 while WAITED is set releases `ended`, once,
 * and owns the word from then on: no call of go may be under way (that is the
 * race the header forbids), and the wait that finds running 0 with WAITED set
 * does not give up but takes the unit, which is there or on its way.
 *
 * The word is the last thing of the group that a member touches, except for
 * the semaphore on which the wait sleeps until it is touched: the caller of
 * wait may free the group when that returns. (So there is no mutex, which its
 * last owner still looks at when the next one has it already.) For the same
 * reason a member leaves as the last act of its goroutine, after deferred
 * calls and local values, by whichever way it ends: these may use what belongs
 * to the caller of wait.
 *
 * The context is made when it is first asked for. The member that sets the
 * error looks for a context then, and the call that makes the context looks
 * for an error then: one sees the other.
 */
#include <errno.h>

#include "context.h"
#include "exit_hook.h"
#include "fatal.h"
#include "hard.h"
#include "parking_lot.h"
#include "parksema.h"
#include "preempt.h"
#include "sched.h"
#include "spawn.h"
#include "start.h"
#include "weft.h"

/*
 *	bits 0 to 31	running, or about to be
 *	bits 32 to 62	calls of go that wait for room
 *	bit 63		a wait sleeps, or is about to
 */
#define ONE	((uint64_t)1)
#define QUEUED	((uint64_t)1 << 32)
#define WAITED	((uint64_t)1 << 63)

struct group {
	int limit;
	weft_context *parent;
	APTR(weft_context) context;
	a64 state;
	a32 room, ended;	/* semaphores of go and of wait */
	a32 error;
};
_Static_assert(sizeof(struct group) == sizeof(weft_group), "weft.h");
_Static_assert(_Alignof(struct group) == _Alignof(weft_group), "weft.h");
_Static_assert(offsetof(struct group, context) ==
    offsetof(weft_group, context_), "weft.h");

/* On the stack of the member's goroutine. */
struct member {
	struct exit_hook exit_hook;
	struct group *group;
};

static struct group *
inner(weft_group *g)
{
	return (struct group *)(void *)g;
}

static uint32_t
running(uint64_t state)
{
	return (uint32_t)state;
}

static bool
queued(uint64_t state)
{
	return (state & ~WAITED) >= QUEUED;
}

/* ---- in and out ---- */

/* One more that runs. False if that would have to wait. */
static bool
enter(struct group *g, bool wait)
{
	uint64_t s;

	if (g->limit < 0)
		fatal("group: limit of %d", g->limit);
	for (;;) {
		s = a_load_relaxed(&g->state);
		if (!g->limit || running(s) < (uint32_t)g->limit) {
			/* pairs with leave, which made the room */
			if (a_cas_acqrel(&g->state, s, s + ONE))
				return true;
		} else if (!wait) {
			return false;
		} else if (a_cas_acqrel(&g->state, s, s + QUEUED)) {
			/* pairs with leave, which hands a place to us */
			parksema_acquire(&g->room, WAIT_GROUP);
			return true;
		}
	}
}

/* One less: what the member did is visible to its successor and to wait. */
static void
leave(struct group *g)
{
	uint64_t s;

	for (;;) {
		s = a_load_relaxed(&g->state);
		check(running(s) > 0);
		if (queued(s)) {
			/* pairs with enter */
			if (!a_cas_acqrel(&g->state, s, s - QUEUED))
				continue;
			parksema_release(&g->room, 1);
			return;
		}
		/* pairs with enter, await and give_up */
		if (!a_cas_acqrel(&g->state, s, s - ONE))
			continue;
		if (s - ONE == WAITED)
			parksema_release(&g->ended, 1);
		return;
	}
}

/* ---- members ---- */

static void
fail(struct group *g, int error)
{
	weft_context *ctx;

	/* sc: both pair with weft_group_context, which stores and loads the
	 * same two words in the other order */
	if (!a_cas_sc(&g->error, 0, (uint32_t)error))
		return;
	ctx = a_load_sc(&g->context);
	if (ctx)
		weft_context_cancel(ctx, error);
}

static bool
member_end(struct exit_hook *e)
{
	leave(container_of(e, struct member, exit_hook)->group);
	return true;
}

/*
 * What a member's goroutine runs. The record of its exit is on this stack: the
 * goroutine cannot leave this function but by its end, and runs its exit hooks
 * here if that is by return.
 */
calls_out static void
member_main(void *args)
{
	struct g *gp = m_g(m_self());
	struct member m = { .exit_hook.step = member_end,
	    .group = g_owner(gp) };
	int error;

	(void)args;			/* g_call_owned has them */
	exit_hook_push(gp, &m.exit_hook);
	error = g_call_owned(gp);
	if (error)
		fail(m.group, error);
	exit_hook_run(gp);
}

/* The group has room for it already. 0 or -ENOMEM; inside if 0. */
static int
member_begin(struct group *g, const weft_site *site, void (*fn)(void),
    int kind)
{
	int err = spawn_owned_begin(site, fn, kind, member_main, g);

	if (err)
		leave(g);
	return err;
}

public void
weft_group_go_begin_(weft_group *g, const weft_site *site, void (*fn)(void),
    int kind)
{
	static const char verb[] = "weft_group_go";
	int err;

	spawn_owned_check(verb, site, fn);
	enter(inner(g), true);
	err = member_begin(inner(g), site, fn, kind);
	if (err)
		spawn_owned_refused(verb, site, err);
}

public bool
weft_group_try_go_begin_(weft_group *g, const weft_site *site,
    void (*fn)(void), int kind)
{
	spawn_owned_check("weft_group_try_go", site, fn);
	checkpoint();
	return enter(inner(g), false) &&
	    member_begin(inner(g), site, fn, kind) == 0;
}

public int64_t
weft_group_spawn(weft_group *g, int (*fn)(void *arg), void *arg)
{
	static const weft_site site = { "weft_group_spawn", "", 0 };
	int err;

	if (!fn)
		fatal("weft_group_spawn: null function");
	if (!sched_is_up())
		return -EPERM;
	enter(inner(g), true);
	err = member_begin(inner(g), &site, (void (*)(void))fn, CAPTURE_TWO);
	return err ? err : spawn_owned_end(arg);
}

/* ---- waiting ---- */

/*
 * Takes a unit of `ended`, or none if something else ends the sleep: false.
 * As parksema_acquire, with a sleeper of the caller's.
 */
static bool
sleep_until_ended(struct group *g, struct sleeper *who)
{
	struct bucket *b = parking_lot_lock(&g->ended);
	struct waiter w;

	/* pairs with parksema_release; under its lock, so that no unit is
	 * given while we queue */
	if (a_cas_acq(&g->ended, 1, 0)) {
		parking_lot_unlock(b);
		return true;
	}
	waiter_init(&w, who, &g->ended);
	parking_lot_push(b, &w);
	if (sleeper_sleep(who, &b->lock, WAIT_GROUP) == RACE_CLAIMED)
		return true;
	b = parking_lot_lock(&g->ended);
	parking_lot_remove(b, &w);
	parking_lot_unlock(b);
	return false;
}

/*
 * The sleep ended with members running. True: they still do, and WAITED is
 * cleared. False: they have ended meanwhile, and the unit was taken.
 */
static bool
give_up(struct group *g)
{
	uint64_t s;

	hard_pause();
	do {
		s = a_load_relaxed(&g->state);
		if (s == WAITED) {
			parksema_acquire(&g->ended, WAIT_GROUP);
			return false;
		}
		/* pairs with leave: it finds WAITED set, or need not release */
	} while (!a_cas_acqrel(&g->state, s, s & ~WAITED));
	return true;
}

/*
 * Sets WAITED. False if no member runs: what they did is visible. The members
 * that end later release `ended`.
 */
static bool
await(struct group *g)
{
	uint64_t s;

	do {
		/* pairs with leave */
		s = a_load_acq(&g->state);
		if (s & WAITED)
			fatal("group: two waits at the same time");
		if (s == 0)
			return false;
		/* pairs with leave */
	} while (!a_cas_acqrel(&g->state, s, s | WAITED));
	return true;
}

/* The unit of `ended` was taken. */
static void
end_await(struct group *g)
{
	/* pairs with nothing: the word is ours, unless go is misused */
	if (!a_cas_acqrel(&g->state, WAITED, 0))
		fatal("group: go races with the end of wait");
}

/* All have ended: the result, and the group as new. */
static int
collect(struct group *g)
{
	int error = (int)a_load_relaxed(&g->error);
	weft_context *ctx = a_load_relaxed(&g->context);

	a_store_relaxed(&g->error, 0);
	a_store_relaxed(&g->context, NULL);
	if (ctx) {
		weft_context_cancel(ctx, 0);
		weft_context_release(ctx);
	}
	return error;
}

public int
weft_group_wait(weft_group *g_)
{
	struct group *g = inner(g_);

	if (await(g)) {
		parksema_acquire(&g->ended, WAIT_GROUP);
		end_await(g);
	}
	return collect(g);
}

/* A wait with a limit, which slept: whether all have ended. */
static bool
awaited(struct group *g, bool taken)
{
	if (!taken && give_up(g))
		return false;
	end_await(g);
	return true;
}

static bool
collected(struct group *g, int *result)
{
	int error = collect(g);

	if (result)
		*result = error;
	return true;
}

public bool
weft_group_wait_until(weft_group *g_, int *result, int64_t when)
{
	struct group *g = inner(g_);
	struct sleeper who;
	bool taken;

	checkpoint();
	if (!await(g))
		return collected(g, result);
	sleeper_init(&who);
	sleeper_arm(&who, when ? when : NEVER_NS);
	taken = sleep_until_ended(g, &who);
	sleeper_disarm(&who);
	return awaited(g, taken) && collected(g, result);
}

public bool
weft_group_wait_context(weft_group *g_, int *result, weft_context *ctx)
{
	struct group *g = inner(g_);
	struct sleeper who;
	struct watch watch;
	bool taken = false;

	checkpoint();
	if (!await(g))
		return collected(g, result);
	sleeper_init(&who);
	if (context_watch(ctx, &watch, &who) == 0) {
		taken = sleep_until_ended(g, &who);
		context_unwatch(ctx, &watch);
	}
	return awaited(g, taken) && collected(g, result);
}

public void
weft_group_leave_(weft_group *g)
{
	weft_group_wait(g);
}

public weft_context *
weft_group_context(weft_group *g_)
{
	struct group *g = inner(g_);
	/* pairs with this function, on another thread */
	weft_context *ctx = a_load_acq(&g->context);
	int error;

	if (ctx)
		return ctx;
	ctx = weft_context_make(g->parent);
	if (!ctx)
		return NULL;
	/* sc: pairs with fail; also with this function on another thread */
	if (!a_cas_sc(&g->context, NULL, ctx)) {
		weft_context_release(ctx);
		return a_load_acq(&g->context);
	}
	error = (int)a_load_sc(&g->error);	/* sc: the same */
	if (error)
		weft_context_cancel(ctx, error);
	return ctx;
}
