/* SPDX-License-Identifier: MIT */
/*
 * Sleeping, and the clock. A goroutine that sleeps is put into the heap by the
 * context that follows, when it is parked: before that it could be woken too
 * early.
 */
#include "expire.h"
#include "os.h"
#include "preempt.h"
#include "sched.h"
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
		return ns > 0 ? WEFT_NEVER : INT64_MIN;
	return when;
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
