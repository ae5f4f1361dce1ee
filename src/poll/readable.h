/* SPDX-License-Identifier: MIT */
/* Goroutines that begin when a descriptor is readable. See readable.c. */
#ifndef READABLE_H
#define READABLE_H

#include "desc.h"

/*
 * claim reserves the descriptor: 0 or -errno; then, maybe on another thread,
 * either attach gives it a WAITING goroutine, or drop undoes the claim. No lock
 * held.
 */
int readable_claim(int fd);
void readable_attach(int fd, struct g *gp);
void readable_drop(int fd);

/* ---- the descriptor's lock held ---- */

/* Takes the goroutine that waits to begin, if there is one. */
void readable_start(struct desc *d, bool closed, struct glist *woken);
/* The deadline has changed: sets the timer to it. */
void readable_deadline(struct desc *d, struct glist *woken);

/* The function of the timer in a record; the lock of its heap held. */
void readable_expire(struct timer *t, int64_t now, struct glist *woken);

#endif
