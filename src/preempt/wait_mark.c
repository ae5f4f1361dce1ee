/* SPDX-License-Identifier: MIT */
#include "wait_mark.h"

#include "os.h"
#include "scavenge.h"
#include "slab.h"

enum { MARK_MAX = 32768 };	/* records a call */

static struct slab_place place;

/*
 * The header belongs to the owner of the stack; this word of it is the
 * monitor's. A stack that its goroutine has just left stays mapped, so a late
 * write does no harm. ThreadSanitizer would not know.
 */
__attribute__((no_sanitize("thread"))) static void
set_time(struct stack *s, int64_t now)
{
	*(volatile int64_t *)&s->seen_ns = now;
}

__attribute__((no_sanitize("thread"))) static int64_t
time_of(const struct stack *s)
{
	return *(const volatile int64_t *)&s->seen_ns;
}

int64_t
wait_marked_at(const struct g *gp)
{
	struct stack *s = g_stack(gp);

	return s && a_load_relaxed(&gp->hold) & HOLD_SEEN ? time_of(s) : 0;
}

/*
 * A goroutine that is resumed between the caller's look at its state and the
 * mark would keep the mark while it runs, and seem to have waited too long the
 * next time: so if it does not wait any more the mark is taken back. If it
 * waits again by then the error is no more than this function takes.
 */
void
wait_mark(struct g *gp, int64_t now)
{
	struct stack *s = g_stack(gp);

	if (!s)
		return;
	set_time(s, now);
	/* both sc: the state is read after the mark was made */
	a_or_sc(&gp->hold, HOLD_SEEN);
	if (a_load_sc(&gp->state) != G_WAITING)
		a_and_relaxed(&gp->hold, (uint8_t)~HOLD_SEEN);
}

bool
wait_mark_all(void)
{
	int64_t now = os_now_ns();
	struct g *gp = NULL;

	if (scavenge_sweeps())
		return true;
	for (int i = 0; i < MARK_MAX && (gp = g_next(&place)); i++)
		if (a_load_relaxed(&gp->state) == G_WAITING &&
		    !(a_load_relaxed(&gp->hold) & HOLD_SEEN))
			wait_mark(gp, now);
	return gp == NULL;
}
