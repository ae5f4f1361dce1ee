/* SPDX-License-Identifier: MIT */
/* How long a race of senders, receivers and their limits goes on. */
#ifndef BOTH_OUTCOMES_H
#define BOTH_OUTCOMES_H

#include <weft.h>

#include "t.h"

/*
 * As a goroutine: so many seconds (t_share), and until values were sent and
 * limits ran out, for which that may be too short on a busy machine; then the
 * senders are told to stop, and have, and the channels are closed.
 */
static inline void
race_and_close(double seconds, const int64_t *sent, const int64_t *given_up,
    bool *stop, weft_waitgroup *senders, weft_chan **c, int chans)
{
	double end = t_now() + t_share(seconds);

	while (t_more(0) || t_now() < end ||
	    !__atomic_load_n(sent, __ATOMIC_RELAXED) ||
	    !__atomic_load_n(given_up, __ATOMIC_RELAXED))
		weft_sleep(WEFT_MS);
	__atomic_store_n(stop, true, __ATOMIC_RELAXED);
	weft_waitgroup_wait(senders);
	for (int i = 0; i < chans; i++)
		weft_chan_close(c[i]);
}

#endif
