/* SPDX-License-Identifier: MIT */
/*
 * fork() on a goroutine. The child has one thread, which ran the goroutine
 * that forked, and none of the others: no scheduler can go on with that. So
 * the child's goroutine becomes plain code on a non-runtime thread, and the
 * child has no runtime. Its descriptors work as on any thread without a
 * runtime; their deadlines are not inherited.
 *
 * Around the fork itself the goroutine is in a region without preemption, so
 * that what a program does there for libc (pthread_atfork) stays on one thread.
 * It is not inside: fork waits for locks of libc, a stream's among them, whose
 * owner may be a goroutine that waits for our P. So the P may be retaken.
 *
 * A signal handler may fork, wherever it interrupted its thread: the regions
 * are counted, and nothing else of the goroutine or the M is touched. On g0
 * there is no goroutine, nothing to preempt, and nothing to do.
 */
#include "fork.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "defer.h"
#include "events.h"
#include "netpoll.h"
#include "sched.h"
#include "start.h"
#include "user_block.h"

static struct g *
current(void)
{
	struct m *mp = m_self();

	return mp ? m_g(mp) : NULL;
}

static void
before(void)
{
	struct g *gp = current();

	if (gp)
		gp->forks++;
}

static void
in_parent(void)
{
	struct g *gp = current();

	if (gp)
		gp->forks--;
}

static struct g *forked;	/* in the child: the goroutine that forked */

static void
in_child(void)
{
	forked = current();
	self()->mp = NULL;
	user_blocks_forked();
	defer_forked();
	netpoll_forked();
	events_forked();
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
