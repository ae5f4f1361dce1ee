/* SPDX-License-Identifier: MIT */
/* See held.h. */
#define _GNU_SOURCE 1
#include "held.h"

#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "counts.h"
#include "goroutine.h"
#include "module.h"
#include "say.h"

enum { REPORTS = 16 };		/* then it says no more */

abool held_reports;
static a32 reported;

/* Allocates memory, which a malloc that takes a lock of its own must not. */
cold void
held_note_slow(const void *caller)
{
	struct goroutine *g = module_keeps_thread(caller) ? NULL :
	    goroutine_make();

	if (!g)
		return;
	g->locked_at = caller;
	g->locked_in = module_at(caller);
}

static void
report(const struct goroutine *g)
{
	const struct module *m = g->locked_in;
	uint32_t n = a_add_relaxed(&reported, 1);

	if (n < REPORTS)
		say("weft-hooks: goroutine %lld \"%s\" parked with a pthread "
		    "lock held; the last one was locked at %s+%p\n",
		    (long long)weft_self_id(), weft_self_name(),
		    m ? module_name(m) : "?",
		    (void *)((uintptr_t)g->locked_at - (m ? m->lo : 0)));
	if (n == REPORTS)
		say("weft-hooks: no more reports of parks with a lock held\n");
}

/*
 * Called by libweft, inside and with the lock of what it waits for, when a
 * goroutine parks that holds its thread: so the loader is not asked here.
 */
static void
parks(void)
{
	struct goroutine *g;

	count(held_parks);
	if (likely(!a_load_relaxed(&held_reports)))
		return;
	g = goroutine_get();
	if (g && g->locked_at)
		report(g);
}

__attribute__((__constructor__)) static void
watch(void)
{
	const char *debug = getenv("WEFT_HOOKS_DEBUG");

	if (!&weft_held_park_)
		return;
	weft_held_park_ = parks;
	a_store_relaxed(&held_reports, debug && strcmp(debug, "1") == 0);
}
