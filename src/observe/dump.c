/* SPDX-License-Identifier: MIT */
/*
 * Every goroutine on standard error, on demand and when the process dies.
 * Takes no lock: the records are type-stable, so what is read is at worst
 * out of date.
 */
#include "fatal.h"
#include "g.h"
#include "os.h"
#include "sched.h"
#include "weft.h"

enum { DUMP_MAX = 1000 };	/* lines; a million are of no use */

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
	char name[G_NAME_BYTES], site[G_DESCRIBE_BYTES];

	if (state == G_DEAD || !g_site(gp))
		return;
	if (t->shown == DUMP_MAX) {
		t->hidden++;
		return;
	}
	t->shown++;
	g_copy_name(gp, name);
	g_describe_site(gp, site, sizeof site);
	say("goroutine %ld \"%s\" [%s%s%s%s]: %s\n",
	    (long)g_id(gp), name, g_state_name(state), waits ? ": " : "",
	    waits ? g_reason_name(a_load_relaxed(&gp->reason)) : "",
	    paused ? ", paused" : g_stack(gp) ? "" : ", not started",
	    site);
}

public void
weft_dump_goroutines(void)
{
	struct totals t = {0};

	g_each(dump_one, &t);
	if (t.hidden)
		say("... and %u more\n", t.hidden);
}

/*
 * Which goroutine runs here, or which thread of the program. A thread of the
 * runtime that runs no goroutine is nothing that a user knows.
 */
static size_t
subject(char *buf, size_t cap)
{
	struct m *mp = m_self();
	struct g *gp = mp ? m_g(mp) : NULL;

	if (gp)
		return g_describe(gp, buf, cap);
	return mp ? 0 : format(buf, cap, "thread %d", os_thread_id());
}

/* This room is above fatal.c, so it registers itself. */
__attribute__((constructor)) static void
hook(void)
{
	fatal_hook = weft_dump_goroutines;
	fatal_subject = subject;
}
