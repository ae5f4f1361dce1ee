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

#endif
