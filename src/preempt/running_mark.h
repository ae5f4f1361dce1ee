/* SPDX-License-Identifier: MIT */
/*
 * A P whose goroutine computes for long writes no events, so that a trace would
 * not show it. When a trace begins and ends, the threads that compute are sent
 * the preemption signal with a request in their M, and the handler writes one:
 *
 *	m->mark_req:      the asker           the handler
 *	              0 -------------> 1 --------------------> 0
 *
 * A thread that is in the runtime writes nothing then: it will soon write an
 * event of its own. Without the signal (sanitizers, valgrind) none does.
 */
#ifndef RUNNING_MARK_H
#define RUNNING_MARK_H

#include "m.h"

/* Asks all. Any thread. */
void running_mark_ask(void);
/* Waits for the answers, but no longer than that: a thread may have no CPU. */
void running_mark_wait(int64_t wait_ns);

/* In the handler: answers a request, if there is one. */
bool running_mark_serve(struct m *mp);

#endif
