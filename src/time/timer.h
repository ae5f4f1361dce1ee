/* SPDX-License-Identifier: MIT */
/* What a channel has to know of the timer that sends on it. */
#ifndef TIMER_H
#define TIMER_H

struct weft_timer;

/* The channel of weft_after is about to be freed, and its timer with it. */
void timer_chan_freed(struct weft_timer *t);

#endif
