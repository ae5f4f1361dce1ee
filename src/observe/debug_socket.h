/* SPDX-License-Identifier: MIT */
/* The debug socket. See debug_socket.c; debug_verb.h for what it answers. */
#ifndef DEBUG_SOCKET_H
#define DEBUG_SOCKET_H

#include "defs.h"

/*
 * Called by the helper that serves the socket between requests; returns when
 * to call it again at the latest, NEVER_NS: after the next request. Registered
 * by a constructor.
 */
extern int64_t (*debug_socket_tick)(int64_t now);

#endif
