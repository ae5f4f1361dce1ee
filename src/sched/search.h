/* SPDX-License-Identifier: MIT */
#ifndef SEARCH_H
#define SEARCH_H

#include "sched.h"

/*
 * The next goroutine for this M, which sleeps until there is one. P held on
 * entry and exit; it may be another one. NULL: the M shall end.
 */
struct g *search_find(struct m *mp);

#endif
