/* SPDX-License-Identifier: MIT */
/* What a channel has to know of the timer that it belongs to. */
#ifndef TIMER_H
#define TIMER_H

struct weft_timer;

/* The channel of weft_after is about to be freed: so is its timer. */
void timer_chan_freed(struct weft_timer *t);

#endif
