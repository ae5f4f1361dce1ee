/* SPDX-License-Identifier: MIT */
/*
 * What the scheduler counted. Each P counts for itself, so counting costs
 * nothing; reading adds up, and is exact only while nothing runs.
 */
#include <errno.h>

#include "sched.h"
#include "weft.h"

static void
add(weft_stats *out, const struct pstats *s)
{
	out->spawned += a_load_relaxed(&s->spawned);
	out->ended += a_load_relaxed(&s->ended);
	out->switches += a_load_relaxed(&s->switches);
	out->parks += a_load_relaxed(&s->parks);
	out->yields += a_load_relaxed(&s->yields);
	out->steals += a_load_relaxed(&s->steals);
	out->stolen += a_load_relaxed(&s->stolen);
	out->overflows += a_load_relaxed(&s->overflows);
	out->wakes += a_load_relaxed(&s->wakes);
}

/* P records are never freed; those of Ps no longer in use count too. */
static void
add_all(weft_stats *out)
{
	add(out, &sched.no_p_stats);
	for (uint32_t i = 0; i < PROCS_MAX && p_at(i); i++)
		add(out, &p_at(i)->stats);
}

public void
weft_stats_read(weft_stats *out)
{
	*out = (weft_stats){ .procs = weft_procs() };
	add_all(out);
	lock_take(&sched.lock);
	out->threads = (int)sched.n_m;
	out->threads_idle = (int)sched.n_idle_m;
	lock_drop(&sched.lock);
}

public int
weft_stats_read_proc(int proc, weft_stats *out)
{
	struct p *pp = NULL;

	if (proc >= 0 && proc < weft_procs())
		pp = p_at((uint32_t)proc);
	if (!pp)
		return -EINVAL;
	*out = (weft_stats){ .procs = 1 };
	add(out, &pp->stats);
	return 0;
}
