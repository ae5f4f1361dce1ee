/* SPDX-License-Identifier: MIT */
/*
 * What the scheduler counted. Each P counts for itself, so counting costs
 * nothing; reading adds up, and is exact only while nothing runs.
 */
#include <errno.h>

#include "sched.h"
#include "sized.h"
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
weft_stats_read(weft_stats *out, size_t bytes)
{
	weft_stats s = { .procs = weft_procs() };

	add_all(&s);
	lock_take(&sched.lock);
	s.threads = (int)sched.n_m;
	s.threads_idle = (int)sched.n_idle_m;
	lock_drop(&sched.lock);
	sized_out(out, bytes, &s, sizeof s);
}

public int
weft_stats_read_proc(int proc, weft_stats *out, size_t bytes)
{
	weft_stats s = { .procs = 1 };
	struct p *pp = NULL;

	if (proc >= 0 && proc < weft_procs())
		pp = p_at((uint32_t)proc);
	if (!pp)
		return -EINVAL;
	add(&s, &pp->stats);
	sized_out(out, bytes, &s, sizeof s);
	return 0;
}
