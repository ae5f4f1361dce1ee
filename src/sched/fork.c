/* SPDX-License-Identifier: MIT */
/*
 * fork() on a goroutine. The child has one thread, which ran the goroutine
 * that forked, and none of the others: no scheduler can go on with that. So
 * the child's goroutine becomes plain code on a plain thread, and the runtime
 * is over there. Its descriptors work as on any thread without a runtime; their
 * deadlines are not inherited.
 *
 * Around the fork itself the goroutine is inside: neither preempted nor taken
 * its P.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "netpoll.h"
#include "sched.h"

static void
before(void)
{
	struct m *mp = m_self();

	if (mp)
		rt_enter(mp);
}

static void
in_parent(void)
{
	struct m *mp = m_self();

	if (mp)
		rt_leave_out(mp);
}

static struct g *forked;	/* the goroutine that the child was */

static void
in_child(void)
{
	struct m *mp = m_self();

	forked = mp ? m_g(mp) : NULL;
	self()->mp = NULL;
	defer_forked();
	netpoll_forked();
	sched_forked();
}

struct g *
fork_child_g(void)
{
	return forked;
}

int
fork_init(void)
{
	static bool done;

	if (!done && pthread_atfork(before, in_parent, in_child) != 0)
		return -ENOMEM;
	done = true;
	return 0;
}

void
fork_child_exit(int result)
{
	exit(result);
}
