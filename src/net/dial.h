/* SPDX-License-Identifier: MIT */
/* Connecting to the first of several addresses that answers. */
#ifndef DIAL_H
#define DIAL_H

#include "resolve.h"

/*
 * Connects to one of them, tried in that order; from one of `from` (of the same
 * family), if that is not NULL. A descriptor or -errno. May wait.
 */
int dial_any(const struct found *to, const struct found *from,
    const weft_dial_options *opt, const struct dial_deadline *limit);

/*
 * Is a TCP socket connected to itself? A connect to a port without a listener
 * succeeds if the kernel chooses that port for the local end.
 */
bool dial_self_connected(int fd, const weft_address *to);

#endif
