/* SPDX-License-Identifier: MIT */
/*
 * What rooms above are told by the scheduler, for profiles: waits that are
 * over, threads that begin and end. The pointers are set by constructors.
 */
#ifndef WATCH_H
#define WATCH_H

#include "g.h"

struct m;

/*
 * While OBSERVED_WAITS is set (observed.h); on the goroutine, inside: it was
 * parked for that reason since then, in
 * cycles.
 */
extern void (*watch_waited)(struct g *gp, enum wait_reason reason,
    uint64_t since);

/*
 * The thread of an M, on its own stack, with no P and no lock. Begins: signals
 * can be sent to it. Ends: none shall be from now on.
 */
extern void (*watch_thread)(struct m *mp, bool begins);

#endif
