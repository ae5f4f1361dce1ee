/* SPDX-License-Identifier: MIT */
/* Goroutines of futures that have not begun. See newborn.h. */
#include "newborn.h"

#include "latency.h"
#include "sched.h"

/* The record of one that has been counted as ended. */
static void
free_record(struct p *pp, struct g *gp)
{
	if (unlikely(a_load_relaxed(&gp->hold) & HOLD_TIMED))
		latency_sample(pp, gp);
	a_and_relaxed(&gp->hold, (uint8_t)~HOLD_FUTURE);
	if (unlikely(g_stack(gp))) {		/* it has labels */
		san_end(&gp->san);
		stack_put(&pp->stacks, g_stack(gp));
		a_store_relaxed(&gp->stack, NULL);
	}
	g_set(gp, G_RUNNABLE, G_DEAD);
	g_free(&pp->gs, gp);
}

void
newborn_free(struct p *pp, struct g *gp)
{
	/* One that is joined twice, which no program may do, does not run
	 * twice. */
	a_store_relaxed(&gp->name[2], 0);
	free_record(pp, gp);
	a_bump_rel(&pp->stats.ended, 1);	/* pairs with spawn_count */
}

bool
newborn_begin(struct p *pp, struct g *gp)
{
	if (unlikely(!g_claim(gp, g_id(gp)))) {
		free_record(pp, gp);
		return false;
	}
	a_and_relaxed(&gp->hold, (uint8_t)~HOLD_FUTURE);
	return true;
}
