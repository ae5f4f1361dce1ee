/* SPDX-License-Identifier: MIT */
#include "claim.h"

#include "fatal.h"
#include "hard.h"
#include "os.h"
#include "sched.h"

static a32 busy;		/* a thread has the right to claim */
static const int64_t retry_ns = 50 * 1000;

bool
claim_begin(int64_t patience_ns)
{
	int64_t until = patience_ns ? os_now_ns() + patience_ns : 0;

	/* pairs with claim_end */
	while (!a_cas_acq(&busy, 0, 1)) {
		if (!patience_ns || os_left_ns(until) == 0)
			return false;
		os_sleep_ns(retry_ns);
	}
	return true;
}

void
claim_end(void)
{
	a_store_rel(&busy, 0);		/* pairs with claim_begin */
}

static void
unclaim(struct g *gp)
{
	/* pairs with wait_scavenged */
	a_and_acqrel(&gp->hold, (uint8_t)~HOLD_CLAIM);
}

struct taking {
	struct claim *c;
	void (*lost)(struct g *gp, void *arg);
	void *arg;
};

static void
lose(struct taking *t, uint32_t i)
{
	struct g *gp = t->c->g[i];

	unclaim(gp);
	t->c->g[i] = t->c->g[--t->c->n];
	if (t->lost)
		t->lost(gp, t->arg);
}

static void
lose_running(struct taking *t, struct g *gp)
{
	for (uint32_t i = 0; gp && i < t->c->n; i++)
		if (t->c->g[i] == gp) {
			lose(t, i);
			return;
		}
}

/*
 * This M's goroutine is not off its stack. The M writes `prev_g` before it
 * changes `curg`, so they are read the other way round.
 */
static void
on_stack(struct m *mp, void *arg)
{
	/* pairs with make_current and switch_from */
	struct g *runs = a_load_acq(&mp->curg);
	/* pairs with finish_switch */
	struct g *prev = a_load_acq(&mp->prev_g);

	lose_running(arg, runs);
	lose_running(arg, prev);
}

void
claim_take(struct claim *c, void (*lost)(struct g *gp, void *arg), void *arg)
{
	struct taking t = { c, lost, arg };

	for (uint32_t i = 0; i < c->n; i++)
		/* sc: pairs with wait_scavenged, and, by the barrier, with the
		 * reads of hold in switch_from and sched_loop */
		a_or_sc(&c->g[i]->hold, HOLD_CLAIM);
	hard_pause();
	os_barrier_all();
	for (uint32_t i = c->n; i-- > 0; )
		if (a_load_relaxed(&c->g[i]->state) != G_WAITING)
			lose(&t, i);
	hard_pause();
	os_barrier_all();
	m_each(on_stack, &t);
	hard_pause();
}

void
claim_drop(struct claim *c)
{
	while (c->n)
		unclaim(c->g[--c->n]);
}
