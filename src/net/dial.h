/* SPDX-License-Identifier: MIT */
/* Connecting to the first of several addresses that answers. */
#ifndef DIAL_H
#define DIAL_H

#include "resolve.h"

/*
 * To one of them, in that order; from one of `from` (of the same family), if
 * that is not NULL. A descriptor or -errno. May wait.
 */
int dial_any(const struct found *to, const struct found *from,
    const weft_dial_opt *opt, const struct dial_deadline *limit);

/*
 * Is a TCP socket connected to itself? To a port that nobody listens on, but
 * which the kernel chose for our own end, that succeeds.
 */
bool dial_met_itself(int fd, const weft_address *to);

#endif
