/* SPDX-License-Identifier: MIT */
/* Goroutines that stay on one thread. See pin.c. */
#ifndef PIN_H
#define PIN_H

#include "sched.h"

/* On g0 of an M whose goroutine is pinned: returns it when its turn has come;
 * NULL if the M shall end. */
struct g *pin_wait(struct m *mp);
/*
 * On g0: may gp, which has a hold, run on this M now? If it is bound to another
 * M that M gets our P, and false is returned. If it is bound to this one, and
 * not pinned, it is bound no longer.
 */
bool pin_resolve_hold(struct m *mp, struct g *gp);
/* sched_yield_global, bound to its M meanwhile. Inside; returns inside. */
void pin_yield_global(struct m *mp);
/* The same only if the goroutine holds its thread. */
void pin_yield_asked(struct m *mp);
/* Inside: binds a goroutine to its M until it is resumed. If that is not by
 * g0, the M undoes it itself. */
void pin_bind(struct m *mp, struct g *gp);
/* The same for a goroutine that parks and holds its thread. */
void pin_bind_parked(struct m *mp, struct g *gp);
void pin_unbind(struct m *mp, struct g *gp);
/* sched.lock held: is a goroutine that is bound to an M first in the global
 * queue? */
bool pin_is_first(void);
/*
 * sched.lock held, and no M is idle for a P: is there such a goroutine anywhere
 * in the global queue? And takes it from there: the M that it is bound to.
 */
bool pin_is_any(void);
struct m *pin_take_any(void);
/* The goroutine ends. True if its M ends with it. */
bool pin_end(struct m *mp, struct g *gp);

#endif
