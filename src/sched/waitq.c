/* SPDX-License-Identifier: MIT */
/* See waitq.h. */
#include "waitq.h"

#include "expire.h"
#include "fatal.h"
#include "hard.h"
#include "os.h"
#include "sched.h"
#include "tls_self.h"

void
sleeper_set_multi(struct sleeper *s)
{
	if (s->multi_wait)
		return;
	s->multi_wait = true;
	a_init(&s->race, RACE_EARLY);
}

/* ---- deadlines ---- */

static void
expire(struct timer *t, int64_t now, struct glist *woken)
{
	(void)now;
	sleeper_end(container_of(t, struct sleeper, timer), RACE_EXPIRED,
	    woken);
}

void
sleeper_arm(struct sleeper *s, int64_t when)
{
	sleeper_set_multi(s);
	if (when == NEVER_NS)
		return;
	if (!s->gp) {
		s->when = when;
		return;
	}
	s->armed = true;
	timer_init(&s->timer, expire);
	expire_arm(&s->timer, when);
}

void
sleeper_disarm(struct sleeper *s)
{
	if (s->armed)
		timer_stop(&s->timer);
}

/*
 * A plain thread needs no timer: its sleep has a timeout. (There may be no
 * runtime that would run a timer.) If it was claimed at the last moment a wake
 * is certain to come.
 */
static void
sleep_thread(struct sleeper *s)
{
	int64_t left = FOREVER;

	if (s->when != NEVER_NS)
		left = os_left_ns(s->when);
	if (note_sleep(&s->note, left))
		return;
	/* pairs with nothing: the loser of the race has written nothing */
	if (!a_cas_acqrel(&s->race, RACE_OPEN, RACE_EXPIRED))
		note_sleep(&s->note, FOREVER);
}

/* ---- sleeping ---- */

struct release {
	void (*fn)(void *arg);
	void *arg;
	struct sleeper *who;
};

/*
 * The sleeper is off its stack, or is a thread about to sleep. False: its
 * sleep was ended before. OPEN before the queues are released, so that a waker
 * that finds it there can claim it. After that the record is not touched: it
 * may be gone. (If it was ended early no other thread wakes it.)
 */
static bool
publish_sleep(struct release *r)
{
	void (*fn)(void *arg) = r->fn;
	void *arg = r->arg;
	bool sleeps = true;

	hard_pause();
	/* pairs with sleeper_end: a later one finds it parked */
	if (r->who->multi_wait)
		sleeps = a_cas_acqrel(&r->who->race, RACE_EARLY, RACE_OPEN);
	fn(arg);
	return sleeps;
}

static bool
park_commit(struct g *gp, void *r)
{
	(void)gp;
	return publish_sleep(r);
}

enum race
sleeper_sleep_with(struct sleeper *s, void (*release)(void *arg), void *arg,
    enum wait_reason reason)
{
	struct release r = { release, arg, s };

	if (s->gp)
		sched_park(park_commit, &r, reason);
	else if (publish_sleep(&r))
		sleep_thread(s);
	if (!s->multi_wait)
		return RACE_CLAIMED;
	/* pairs with nothing: being woken orders it */
	return (enum race)a_load_relaxed(&s->race);
}

static void
drop(void *lock)
{
	lock_drop(lock);
}

enum race
sleeper_sleep_slow(struct sleeper *s, struct lock *l, enum wait_reason reason)
{
	return sleeper_sleep_with(s, drop, l, reason);
}

/* ---- waking ---- */

void
sleeper_end(struct sleeper *s, enum race why, struct glist *woken)
{
	check(s->multi_wait && (why == RACE_EXPIRED || why == RACE_CANCELLED));
	/* both pair with publish_sleep */
	if (a_cas_acqrel(&s->race, RACE_EARLY, (uint32_t)why))
		return;
	if (!a_cas_acqrel(&s->race, RACE_OPEN, (uint32_t)why))
		return;
	if (s->gp)
		glist_push(woken, s->gp);
	else
		note_wake(&s->note);
}

void
waiter_wake_all(struct list *l)
{
	struct glist gs = {0};

	while (!list_empty(l)) {
		struct waiter *w = container_of(l->next, struct waiter, link);

		list_remove(&w->link);
		if (w->who->gp)
			glist_push(&gs, w->who->gp);
		else
			note_wake(&w->who->note);
	}
	sched_ready_list(&gs);
}
