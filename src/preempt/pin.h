/* SPDX-License-Identifier: MIT */
/* Goroutines that stay on one thread. See pin.c. */
#ifndef PIN_H
#define PIN_H

#include "sched.h"

/* On g0 of an M whose goroutine is pinned: that, when its turn has come. */
struct g *pin_wait(struct m *mp);
/*
 * Is there anything against running gp on this M now? If it belongs to another
 * M that gets our P.
 */
bool pin_resolve_hold(struct m *mp, struct g *gp);
/* The goroutine waits for its turn on its own M. Inside; returns inside. */
void pin_yield_global(struct m *mp);
/* Inside: binds it to its M for as long as it waits; and no longer. */
void pin_bind(struct m *mp, struct g *gp);
void pin_unbind(struct m *mp, struct g *gp);
/* sched.lock held: is a goroutine that is bound to an M first in the global
 * queue? */
bool pin_is_first(void);
/*
 * sched.lock held, and no M is idle for a P: is there such a goroutine anywhere
 * in the global queue? And takes it from there: the M that it waits on.
 */
bool pin_is_any(void);
struct m *pin_take_any(void);
/* It ends. True if its M ends with it. */
bool pin_end(struct m *mp, struct g *gp);

#endif
