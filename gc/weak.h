/* SPDX-License-Identifier: MIT */
/* Weak links: weak.c. The lock of the heap is held in all of these. */
#ifndef WEFT_WEAK_H
#define WEFT_WEAK_H

#include <stdbool.h>

/* Once, at the start. */
void weak_init(void);
/* Is this object a weak link? */
bool weak_is_link(const void *object);
/* The object is about to be freed: a link to it is NULL from here on. */
void weak_cut(void *object);
/* The object is elsewhere now: a link to it follows. */
void weak_moved(void *from, void *to);
/* After each collection: links that it has cleared are forgotten. */
void weak_purge(void);

#endif
