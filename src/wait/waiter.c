/* SPDX-License-Identifier: MIT */
/* See waiter.h. */
#include "waiter.h"

#include "os.h"
#include "sched.h"
#include "self.h"

void
waiter_init(struct waiter *w, const void *key)
{
	struct m *mp = m_self();

	*w = (struct waiter){ .key = key, .gp = mp ? mp->curg : NULL };
}

static bool
unlock(struct g *gp, void *lock)
{
	(void)gp;
	lock_drop(lock);
	return true;
}

void
waiter_sleep(struct waiter *w, struct lock *l, enum wait_reason reason)
{
	if (w->gp) {
		sched_park(unlock, l, reason);
		return;
	}
	lock_drop(l);
	note_sleep(&w->note, FOREVER);
}

void
waiter_wake(struct waiter *w)
{
	if (w->gp)
		sched_ready(w->gp);
	else
		note_wake(&w->note);
}

void
waiter_wake_all(struct list *l)
{
	struct glist gs = {0};

	while (!list_empty(l)) {
		struct waiter *w = container_of(l->next, struct waiter, link);

		list_remove(&w->link);
		if (w->gp)
			glist_push(&gs, w->gp);
		else
			note_wake(&w->note);
	}
	sched_ready_list(&gs);
}
