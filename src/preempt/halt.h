/* SPDX-License-Identifier: MIT */
/*
 * Halting threads that run a goroutine without a P, for a collector that has
 * stopped the world: they are in blocking calls, or lost their P. Each is sent
 * the preemption signal with a request in its M, and waits in the handler until
 * it is released. So its registers are on its signal stack, and its stack
 * pointer is in the M.
 *
 *	          the stopper          the handler           the stopper
 *	NONE ------------------> ASKED ------------> HALTED ------------> NONE
 *	  ^                        |
 *	  +------------------------+
 *	   the stopper, at the end: the M was paused meanwhile, or gave
 *	   no answer in time
 *
 * A thread that is paused (pause.c) blocks the signal, and needs a P to go on:
 * it counts as halted. It may become so after it was asked. Its signal is
 * delivered later, when the request is gone, and does nothing.
 *
 * A thread that holds a lock of the runtime, or takes one, is not halted: it is
 * asked again a little later, by another signal. Another thread may wait for
 * that lock in the handler, on its way to a pause, where it could not answer.
 * A thread that begins to run a goroutine after the stopper has looked at it
 * would need a P. (models/halt.pml)
 *
 * Some threads cannot answer: one that waits in vfork for its child (as
 * posix_spawn does), or for a file system that does not let signals through;
 * one that blocks the signal, or has a handler of its own for it; one in a
 * system call that copies a gigabyte. And what they wait for may depend on
 * goroutines that are stopped. So if no thread has answered for 50 ms, and one
 * that has not is asleep in the kernel, or has computed for 10 ms since it was
 * asked, the stopper gives up and releases all others. One that is neither has
 * no CPU, and answers when it has.
 *
 * System calls that the kernel does not restart fail with EINTR by it, as by
 * any signal.
 */
#ifndef HALT_H
#define HALT_H

#include <ucontext.h>

#include "m.h"

enum halt { HALT_NONE, HALT_ASKED, HALT_HALTED };

/*
 * Halts all that run a goroutine. `stopped`: the world is stopped, so those
 * that are paused stay so, unless the runtime ends meanwhile; else it has ended
 * (world_end was called), and all Ms are halted: those that were paused go on
 * without a P. 0; -ENOTSUP if one of them cannot be sent the signal, -EBUSY if
 * one does not answer it: then none is halted. Only one thread at a time, no
 * lock held.
 */
int halt_all(bool stopped);
void halt_release(void);

/* In the handler: true if there was a request. Returns when it is released. */
bool halt_serve(struct m *mp, const ucontext_t *uc);

/* Is its goroutine paused, so that its thread sleeps in the handler? */
static inline bool
halt_is_paused(struct m *mp)
{
	struct g *gp = m_g(mp);

	/* pairs with stack_request_pause */
	return a_load_acq(&mp->paused_gen) % 2 == 1 && gp &&
	    a_load_relaxed(&gp->paused);
}

#endif
