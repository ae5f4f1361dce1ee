/* SPDX-License-Identifier: MIT */
/*
 * Groups of goroutines that are waited for together.
 *
 * One word has it all: how many run, how many calls of go wait for room, and
 * whether somebody waits for the end. With go waiting, who leaves hands its
 * place on, and the number that run stays. Who leaves last while somebody
 * waits owns the word: nobody else is left who could change it.
 *
 * That word is the last thing of the group that a member touches, but for the
 * semaphore on which the waiter sleeps until it is touched: who has waited may
 * free the group. So no mutex, which is still looked at when its next holder
 * has it already. For the same reason a member leaves as its goroutine's last
 * act, after deferred calls and local values, by whichever way it ends: it
 * may use in these what belongs to who waits.
 *
 * The context is made when somebody asks for it. Who sets the error looks for
 * a context then, and who makes the context looks for an error then: one sees
 * the other.
 */
#include <errno.h>

#include "exit_hook.h"
#include "fatal.h"
#include "parksema.h"
#include "sched.h"
#include "weft.h"

/*
 *	bits 0 to 31	running, or about to be
 *	bits 32 to 62	calls of go that wait for room
 *	bit 63		somebody waits for the end
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

/* In the goroutine's record, for as long as it lives. */
struct member {
	struct exit_hook exit_hook;
	struct group *group;
	int (*fn)(void *arg);
	void *arg;
};
_Static_assert(sizeof(struct member) <= WEFT_ARG_BYTES, "weft_spawn");

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

/* One more that runs. 0, or -EAGAIN if that would have to wait. */
static int
enter(struct group *g, bool wait)
{
	uint64_t s;

	for (;;) {
		s = a_load_relaxed(&g->state);
		if (!g->limit || running(s) < (uint32_t)g->limit) {
			/* pairs with leave: after who made the room */
			if (a_cas_acqrel(&g->state, s, s + ONE))
				return 0;
		} else if (!wait) {
			return -EAGAIN;
		} else if (a_cas_acqrel(&g->state, s, s + QUEUED)) {
			/* pairs with leave, which hands a place to us */
			parksema_acquire(&g->room, WAIT_GROUP);
			return 0;
		}
	}
}

/* One less, which is seen by who comes in and by who waits for the end. */
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
		/* pairs with enter and weft_group_wait */
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

	/* sc: both pair with weft_group_context, which does it crosswise */
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

calls_out static void
member_main(void *arg)
{
	struct member *m = arg;
	int error;

	exit_hook_push(m_g(m_self()), &m->exit_hook);
	error = m->fn(m->arg);
	if (error)
		fail(m->group, error);
}

static int
go(struct group *g, int (*fn)(void *arg), void *arg, bool wait)
{
	struct member m = { .exit_hook.step = member_end, .group = g, .fn = fn,
	    .arg = arg };
	int64_t id;
	int err;

	if (!fn)
		fatal("group: null function");
	if (g->limit < 0)
		fatal("group: limit of %d", g->limit);
	err = enter(g, wait);
	if (err)
		return err;
	id = weft_spawn(NULL, member_main, &m, sizeof m);
	if (id > 0)
		return 0;
	leave(g);
	return (int)id;
}

public int
weft_group_go(weft_group *g, int (*fn)(void *arg), void *arg)
{
	return go(inner(g), fn, arg, true);
}

public int
weft_group_try_go(weft_group *g, int (*fn)(void *arg), void *arg)
{
	return go(inner(g), fn, arg, false);
}

/* ---- who waits ---- */

static void
await(struct group *g)
{
	uint64_t s;

	do {
		/* pairs with leave: what the members did is visible */
		s = a_load_acq(&g->state);
		if (s & WAITED)
			fatal("group: two wait for it at the same time");
		if (s == 0)
			return;
		/* pairs with leave */
	} while (!a_cas_acqrel(&g->state, s, s | WAITED));
	parksema_acquire(&g->ended, WAIT_GROUP);
	/* pairs with nothing: it is ours alone, unless somebody errs */
	if (!a_cas_acqrel(&g->state, WAITED, 0))
		fatal("group: go races with the end of wait");
}

public int
weft_group_wait(weft_group *g_)
{
	struct group *g = inner(g_);
	weft_context *ctx;
	int error;

	await(g);
	error = (int)a_load_relaxed(&g->error);
	ctx = a_load_relaxed(&g->context);
	a_store_relaxed(&g->error, 0);
	a_store_relaxed(&g->context, NULL);
	if (ctx) {
		weft_context_cancel(ctx, 0);
		weft_context_release(ctx);
	}
	return error;
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
	/* pairs with ourselves, on another thread */
	weft_context *ctx = a_load_acq(&g->context);
	int error;

	if (ctx)
		return ctx;
	ctx = weft_context_make(g->parent);
	if (!ctx)
		return NULL;
	/* sc: pairs with fail; also with ourselves, on another thread */
	if (!a_cas_sc(&g->context, NULL, ctx)) {
		weft_context_release(ctx);
		return a_load_acq(&g->context);
	}
	error = (int)a_load_sc(&g->error);	/* sc: the same */
	if (error)
		weft_context_cancel(ctx, error);
	return ctx;
}
