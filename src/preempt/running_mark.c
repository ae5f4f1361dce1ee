/* SPDX-License-Identifier: MIT */
#include "running_mark.h"

#include "events.h"
#include "os.h"
#include "preempt.h"

static const int64_t poll_ns = 20 * 1000;

bool
running_mark_serve(struct m *mp)
{
	if (!a_load_relaxed(&mp->mark_req))
		return false;
	events_running(mp);
	a_store_rel(&mp->mark_req, 0);	/* pairs with count_missing */
	return true;
}

/*
 * It has a P and a goroutine that is in no call. Not one that is blocked in the
 * kernel: the signal would end its system call, and the monitor will retake its
 * P, which is an event.
 */
static bool
computes(struct m *mp)
{
	return a_load_relaxed(&mp->alive) && a_load_relaxed(&mp->can_signal) &&
	    m_p(mp) && m_g(mp) && !a_load_relaxed(&mp->in_call) &&
	    os_thread_blocked_once(m_tid(mp)) != 1;
}

static void
ask(struct m *mp, void *arg)
{
	(void)arg;
	if (!computes(mp))
		return;
	a_store_relaxed(&mp->mark_req, 1);
	/* If it fails the thread has just ended. */
	if (os_signal_thread(m_tid(mp), preempt_signal()) != 0)
		a_store_relaxed(&mp->mark_req, 0);
}

static void
count_missing(struct m *mp, void *n)
{
	/* pairs with running_mark_serve */
	*(uint32_t *)n += a_load_acq(&mp->mark_req);
}

static void
give_up(struct m *mp, void *arg)
{
	(void)arg;
	a_store_relaxed(&mp->mark_req, 0);
}

void
running_mark_ask(void)
{
	if (preempt_signal())
		m_each(ask, NULL);
}

void
running_mark_wait(int64_t wait_ns)
{
	int64_t deadline = os_now_ns() + wait_ns;
	uint32_t missing;

	for (;;) {
		missing = 0;
		m_each(count_missing, &missing);
		if (!missing || os_left_ns(deadline) == 0)
			break;
		os_sleep_ns(poll_ns);
	}
	if (missing)
		m_each(give_up, NULL);
}
