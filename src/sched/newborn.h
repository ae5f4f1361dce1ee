/* SPDX-License-Identifier: MIT */
/*
 * The goroutine of a future (sync/future.c) that has not begun, HOLD_FUTURE,
 * and was taken from a queue by the owner of P pp. Inside.
 */
#ifndef NEWBORN_H
#define NEWBORN_H

#include "p.h"

/* True if it is to run. False: its joiner had claimed it (see g_claim), and the
 * record is free now. */
bool newborn_begin(struct p *pp, struct g *gp);
/* Its joiner popped it, and runs its function in place: the record is free. */
void newborn_free(struct p *pp, struct g *gp);

#endif
