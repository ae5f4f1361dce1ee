/* SPDX-License-Identifier: MIT */
/* Options of TCP that a connection has, whichever end it was made from. */
#ifndef TCP_OPTIONS_H
#define TCP_OPTIONS_H

#include <stdbool.h>

/*
 * Keepalive in seconds; 0: the default, negative: none. Set on a socket that
 * listens they are those of what is accepted. 0 or -errno.
 */
int netopt_tcp(int fd, bool delay, int keepalive);

#endif
