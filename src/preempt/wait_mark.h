/* SPDX-License-Identifier: MIT */
/*
 * Since when a goroutine waits, without a clock read at each park: the monitor
 * marks those that it sees waiting (HOLD_SEEN) and notes the time in the
 * header of their stacks. The M that resumes a goroutine clears the mark. So a
 * goroutine has waited at least since the time of its mark.
 *
 * A mark costs its goroutine a resume through g0, some 100 ns. In a program
 * with few stacks they are made once a second and before the monitor sleeps
 * for long; with many, in the sweeps of scavenge.c, every ten seconds.
 */
#ifndef WAIT_MARK_H
#define WAIT_MARK_H

#include "g.h"

/* The monitor: gp seems to wait, and has no mark. */
void wait_mark(struct g *gp, int64_t now);

/*
 * When it was marked, in os_now_ns, or 0 if it has no mark. Exact if it is
 * claimed, or for the monitor; else it may be out of date.
 */
int64_t wait_marked_at(const struct g *gp);

/* The monitor: marks all that wait, in several calls if there are many
 * records. True if that is done, or is left to scavenge.c. */
bool wait_mark_all(void);

#endif
