/* SPDX-License-Identifier: MIT */
/* Ways for a goroutine to let others run, and perhaps change its thread. */
#ifndef LEAVE_THREAD_H
#define LEAVE_THREAD_H

#include <weft.h>

enum { LEAVE_WAYS = 3 };

/* One of LEAVE_WAYS: it yields, is parked and readied, or sleeps. */
static inline void
leave_thread(int way)
{
	weft_waitgroup wg = {0};

	switch (way) {
	case 0:
		weft_yield();
		break;
	case 1:
		weft_waitgroup_add(&wg, 1);
		weft_go(weft_waitgroup_done, &wg);
		weft_waitgroup_wait(&wg);
		break;
	default:
		weft_sleep(100 * WEFT_US);
	}
}

#endif
