/* SPDX-License-Identifier: MIT */
/* Contexts, groups and local values that are misused. */
#include <errno.h>

#include <weft.h>

#include "t.h"

static int nothing(void *arg) { (void)arg; return 0; }

/* To report a deadlock. */
static void
need_kernel(void)
{
	if (t_emulated())
		t_skip("an emulator does not count threads");
}

DIES(cancel_the_root, 1, "context: cancel of NULL")
{
	weft_context_cancel(NULL, 0);
}

DIES(value_without_a_key, 1, "context: null key")
{
	weft_context_make_value(NULL, NULL, NULL);
}

/* The count that is taken is the child's. */
DIES(released_too_often, 1, "context: released more often than retained")
{
	weft_context *ctx = weft_context_make(NULL);
	weft_context *child = weft_context_make(ctx);

	weft_context_release(ctx);
	weft_context_release(ctx);
	weft_context_release(child);
}

/* Their timers are stopped: nothing is left to wait for. */
DIES(no_timer_after_a_cancel, 1, "all goroutines are asleep")
{
	int64_t when = weft_deadline(3600 * WEFT_SECOND);
	weft_context *ctx = weft_context_make_until(NULL, when);
	weft_context *parent = weft_context_make(NULL);
	weft_context *child = weft_context_make_until(parent, when);

	need_kernel();
	weft_context_release(weft_context_make_until(parent, when));
	weft_context_cancel(ctx, 0);
	weft_context_cancel(parent, 0);
	weft_context_make_until(parent, when);
	weft_chan_recv(NULL, NULL);
	weft_context_release(child);
}

static void
wait_done(weft_context *ctx)
{
	weft_chan_recv(weft_context_done(ctx), NULL);
}

DIES(released_while_waited_for, 1, "channel: released for the last time")
{
	weft_context *ctx = weft_context_make(NULL);

	weft_go(wait_done, ctx);
	weft_yield();
	weft_context_release(ctx);
}

DIES(group_without_a_function, 1,
    "weft_group_go(fn): null function (at " __FILE__ ":")
{
	int (*fn)(void *) = NULL;
	weft_group g = {0};

	weft_group_go(&g, fn, NULL);
}

DIES(group_with_a_strange_limit, 1, "group: limit of -1")
{
	weft_group g = { .limit = -1 };

	weft_group_go(&g, nothing, NULL);
}

static weft_group g;

static int
forever(void *arg)
{
	for (;;)
		weft_yield();
	return arg != NULL;
}

static void wait_too(void) { weft_group_wait(&g); }

DIES(two_wait_for_a_group, 2, "group: two waits at the same time")
{
	weft_group_go(&g, forever, NULL);
	weft_go(wait_too);
	weft_group_wait(&g);
}

static int
wait_for_itself(void *arg)
{
	return weft_group_wait(arg);
}

/* A dump says what they wait for. */
DIES(waits_for_itself, 2, "[waiting: group]")
{
	need_kernel();
	weft_group_go(&g, wait_for_itself, &g);
	weft_chan_recv(NULL, NULL);
}

DIES(local_without_a_key, 1, "local: null key")
{
	weft_gls_set(NULL, &g);
}
