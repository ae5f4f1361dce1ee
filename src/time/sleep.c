/* SPDX-License-Identifier: MIT */
/*
 * Sleeping, and the clock. A goroutine that sleeps is put into the timer heap
 * by the context that follows, when it is parked: before that it could be
 * woken too early. One that sleeps with a context has a timer of its own and
 * is multi-wait (waitq.h), since the context may end the sleep.
 */
#include "context.h"
#include "expire.h"
#include "os.h"
#include "preempt.h"
#include "sched.h"
#include "waitq.h"
#include "weft.h"

static bool
set(struct g *gp, void *when)
{
	expire_arm_g(gp, *(int64_t *)when);
	return true;
}

static void
sleep_thread(int64_t when)
{
	int64_t left;

	while ((left = when - os_now_ns()) > 0)
		os_sleep_ns(left);
}

public int64_t
weft_now(void)
{
	checkpoint();
	return os_now_ns();
}

public int64_t
weft_deadline(int64_t ns)
{
	int64_t when;

	if (__builtin_add_overflow(os_now_ns(), ns, &when))
		return ns > 0 ? WEFT_NEVER : 1;
	return when > 0 ? when : 1;	/* 0 would be no limit */
}

public void
weft_sleep_until(int64_t when)
{
	struct m *mp = m_self();

	if (when <= os_now_ns())
		return;
	if (!mp || !m_g(mp)) {
		sleep_thread(when);
		return;
	}
	sched_park(set, &when, WAIT_SLEEP);
}

public void
weft_sleep(int64_t ns)
{
	if (ns > 0)
		weft_sleep_until(weft_deadline(ns));
}

/* There is no queue, and so no lock to release. */
static void
no_lock(void *unused)
{
	(void)unused;
}

/* True if the time was over first. */
static bool
sleep_watched(int64_t when, weft_context *ctx)
{
	struct sleeper who;
	struct watch watch;
	enum race how = RACE_CANCELLED;

	sleeper_init(&who);
	sleeper_arm(&who, when);
	if (context_watch(ctx, &watch, &who) == 0)
		how = sleeper_sleep_with(&who, no_lock, NULL, WAIT_SLEEP);
	context_unwatch(ctx, &watch);
	sleeper_disarm(&who);
	/* A plain thread slept until the context's deadline if that is
	 * earlier. */
	return how == RACE_EXPIRED && when <= weft_context_deadline(ctx);
}

public bool
weft_sleep_context(int64_t ns, weft_context *ctx)
{
	if (ns <= 0)
		return true;
	if (ctx && weft_context_error(ctx))
		return false;
	if (ctx)
		return sleep_watched(weft_deadline(ns), ctx);
	weft_sleep(ns);
	return true;
}
