/* SPDX-License-Identifier: MIT */
/*
 * Changing the number of processors: waits for others who do so, then for the
 * world to stop. A collector that stops the world waits for its turn here, too.
 *
 * The turn is a semaphore and not a lock: a goroutine that waits for it must
 * give its P up, or the one whose turn it is would wait for that P for ever.
 *
 * When the main goroutine returns a turn may be with a goroutine that never
 * runs again. So then there are turns for everybody, and all find that the
 * runtime has ended.
 *
 * A helper changes the number, too, if it follows that of the CPUs
 * (sched/follow.c). A call of weft_set_procs ends that before it waits for its
 * turn: a change by the helper is either over then or sees, with the turn, that
 * it may not be made.
 *
 * Helpers are threads that wake no goroutine, in the eyes of the deadlock
 * check. This one does, if it has the turn and a goroutine waits for it: so
 * it sets sched.resizing and takes the turn under sched.lock. A goroutine that
 * has seen the turn taken parks later, and its M checks for a deadlock under
 * that lock after that.
 */
#include "procs.h"

#include <errno.h>

#include "deadlock.h"
#include "events.h"
#include "follow.h"
#include "os.h"
#include "parksema.h"
#include "sched.h"
#include "start.h"
#include "weft.h"
#include "world.h"

static a32 turn = { 1 };

static void
turns_for_all(void)
{
	parksema_release(&turn, 1u << 30);
}

/* With the turn: no goroutine but the caller runs in between. */
static int
resize(uint32_t procs)
{
	int old = (int)a_load_relaxed(&sched.procs), err;
	struct m *mp = m_self();

	err = world_make_ps(procs);
	if (err || (int)procs == old)
		return err ? err : old;
	if (mp)
		rt_enter(mp);
	events_count(TR_WORLD_STOP, 0);
	if (world_stop()) {
		world_resize(procs);
		events_count(TR_PROCS, procs);
		world_start();
		events_count(TR_WORLD_START, 0);
	} else {
		old = -EPERM;
	}
	if (mp)
		rt_leave_out(mp);
	return old;
}

public int
weft_set_procs(int n)
{
	int old;

	if (n < 1 || n > PROCS_MAX)
		return -EINVAL;
	/* sc: pairs with main_goroutine: it sees this or we see the end */
	a_store_sc(&sched.on_end, turns_for_all);
	if (!sched_is_up())
		return -EPERM;
	follow_end();
	parksema_acquire(&turn, WAIT_SEMA);
	old = sched_is_up() ? resize((uint32_t)n) : -EPERM;
	parksema_release(&turn, 1);
	return old;
}

public int
weft_procs(void)
{
	return sched_is_up() ? (int)a_load_relaxed(&sched.procs) : 0;
}

/* ---- stopping the world for a collector ---- */

bool
procs_stop_world(void)
{
	/* sc: as in weft_set_procs */
	a_store_sc(&sched.on_end, turns_for_all);
	if (!sched_is_up())
		return false;
	parksema_acquire(&turn, WAIT_SEMA);
	if (sched_is_up()) {
		events_count(TR_WORLD_STOP, 0);
		if (world_stop())
			return true;
	}
	parksema_release(&turn, 1);
	return false;
}

void
procs_start_world(void)
{
	world_start();
	events_count(TR_WORLD_START, 0);
	parksema_release(&turn, 1);
}

/* ---- following the number of CPUs ---- */

static void
set_resizing(bool with_turn)
{
	lock_take(&sched.lock);
	sched.resizing = with_turn && parksema_try(&turn);
	lock_drop(&sched.lock);
}

/* On the helper. What is missed while it was marked is checked after it. */
static void
follow_resize(uint32_t procs)
{
	set_resizing(true);
	if (!sched.resizing)	/* the helper alone writes it */
		return;
	if (follow_on() && sched_is_up())
		resize(procs);
	parksema_release(&turn, 1);
	set_resizing(false);
	if (sched_is_up())
		deadlock_check();
}

__attribute__((constructor)) static void
set_follow(void)
{
	follow_change = follow_resize;
}
