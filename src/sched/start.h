/* SPDX-License-Identifier: MIT */
/* Boot and end of the runtime. See start.c. */
#ifndef START_H
#define START_H

#include "sched.h"

/* In the child of a fork: there is no runtime any more. */
void sched_forked(void);

/* True between the start of weft_run and the return of the main goroutine. */
bool sched_is_up(void);
/* True from then on, but not in the child of a fork. */
bool sched_has_ended(void);

/*
 * For a collector. If weft_run was not called yet it waits until the release,
 * and there are no Ms; else false.
 */
bool sched_is_down(void);
bool sched_hold_down(void);
void sched_release_down(void);
/* Signals that the thread in weft_run shall not block, or 0. */
extern uint64_t run_open_signals;

/* Is this a program with WEFT_MAIN? Written before it starts. */
bool run_by_macro(void);

/*
 * What rooms above do when the runtime starts and ends; they register
 * themselves by a constructor. Each function may be NULL; in no given order.
 */
struct run_hook {
	/* the thread in weft_run, before the first goroutine runs; again if a
	 * thread was refused and weft_run is called again */
	void (*boot)(void);
	/* the same thread, when the main goroutine has returned */
	void (*end)(void);
	/* in the child of a fork, which has one thread and no runtime */
	void (*forked)(void);
	struct run_hook *next;
};
void run_hook_add(struct run_hook *h);

#endif
