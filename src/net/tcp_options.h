/* SPDX-License-Identifier: MIT */
/* TCP options of connections, dialled or accepted. */
#ifndef TCP_OPTIONS_H
#define TCP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Keepalive in nanoseconds; 0: the default, negative: none. Set on a listener
 * they are inherited by what it accepts. 0 or -errno; -EINVAL: keepalive is
 * less than a millisecond (seconds, by mistake) or more than the kernel takes.
 */
int netopt_tcp(int fd, bool delay, int64_t keepalive);

#endif
