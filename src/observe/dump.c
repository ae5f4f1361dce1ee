/* SPDX-License-Identifier: MIT */
/*
 * Every goroutine on standard error, on demand and when the process dies.
 * Takes no lock: the records are type-stable, so what is read is at worst
 * out of date.
 */
#include "fatal.h"
#include "g.h"
#include "weft.h"

enum { DUMP_MAX = 1000 };	/* a million lines help nobody */

struct totals {
	uint32_t shown, hidden;
};

static void
dump_one(struct g *gp, void *arg)
{
	struct totals *t = arg;
	enum gstate state = a_load_relaxed(&gp->state);
	bool waits = state == G_WAITING;
	bool paused = a_load_relaxed(&gp->hold) & HOLD_PAUSED;
	const struct weft_site *site = g_site(gp);
	char name[G_NAME_BYTES];

	if (state == G_DEAD || !site)
		return;
	if (t->shown == DUMP_MAX) {
		t->hidden++;
		return;
	}
	t->shown++;
	g_copy_name(gp, name);
	say("goroutine %ld \"%s\" [%s%s%s%s]: %s, spawned at %s:%d\n",
	    (long)g_id(gp), name, g_state_name(state), waits ? ": " : "",
	    waits ? g_reason_name(a_load_relaxed(&gp->reason)) : "",
	    paused ? ", paused" : g_stack(gp) ? "" : ", not started",
	    site->fn, site->file, site->line);
}

public void
weft_dump_goroutines(void)
{
	struct totals t = {0};

	g_each(dump_one, &t);
	if (t.hidden)
		say("... and %u more\n", t.hidden);
}

/* The room is above the one that dies, so it hooks itself in. */
__attribute__((constructor)) static void
hook(void)
{
	fatal_hook = weft_dump_goroutines;
}
