/* SPDX-License-Identifier: MIT */
/*
 * Goroutines that a waitgroup waits for. Each is counted before it is spawned,
 * and done as the last act of its goroutine, after deferred calls and local
 * values, by whichever way it ends: these may use what belongs to the caller
 * of wait. weft_waitgroup_done touches nothing of the waitgroup once the
 * waiters can go on.
 */
#include "exit_hook.h"
#include "sched.h"
#include "spawn.h"
#include "weft.h"

/* On the stack of the goroutine. */
struct counted {
	struct exit_hook exit_hook;
	weft_waitgroup *wg;
};

static bool
counted_end(struct exit_hook *e)
{
	weft_waitgroup_done(container_of(e, struct counted, exit_hook)->wg);
	return true;
}

/* As member_main in group.c. */
calls_out static void
counted_main(void *args)
{
	struct g *gp = m_g(m_self());
	struct counted c = { .exit_hook.step = counted_end,
	    .wg = g_owner(gp) };

	(void)args;			/* g_call_owned has them */
	exit_hook_push(gp, &c.exit_hook);
	g_call_owned(gp);
	exit_hook_run(gp);
}

public void
weft_waitgroup_go_begin_(weft_waitgroup *wg, const weft_site *site,
    void (*fn)(void), int kind)
{
	static const char verb[] = "weft_waitgroup_go";
	int err;

	spawn_owned_check(verb, site, fn);
	weft_waitgroup_add(wg, 1);
	err = spawn_owned_begin(site, fn, kind, counted_main, wg);
	if (err)
		spawn_owned_refused(verb, site, err);
}
