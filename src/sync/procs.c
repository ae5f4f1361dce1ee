/* SPDX-License-Identifier: MIT */
/*
 * Changing the number of processors: waits for others who do so, then for the
 * world to stop.
 *
 * The turn is a semaphore and not a lock: a goroutine that waits for it must
 * give its P up, or the one whose turn it is would wait for that P for ever.
 *
 * When the main goroutine returns a turn may be with a goroutine that never
 * runs again. So then there are turns for everybody, and all find that the
 * runtime has ended.
 */
#include <errno.h>

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
	if (world_stop()) {
		world_resize(procs);
		world_start();
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
