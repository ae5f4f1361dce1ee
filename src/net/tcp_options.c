/* SPDX-License-Identifier: MIT */
/* See tcp_options.h. */
#include "tcp_options.h"

#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "netcall.h"

#define KEEPALIVE (15 * WEFT_SECOND)

/* Rounded up; more than any kernel takes stays so. */
static int
seconds_of(int64_t ns)
{
	int64_t s = ns / WEFT_SECOND + (ns % WEFT_SECOND != 0);

	return s < INT_MAX ? (int)s : INT_MAX;
}

/*
 * The first probe and the interval between two are the same: a dead connection
 * is detected after ten of these (the kernel sends nine probes).
 */
static int
set_keepalive(int fd, int64_t ns)
{
	int seconds = seconds_of(ns);
	int err = ns < WEFT_MS ? -EINVAL :
	    net_set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);

	if (err == 0)
		err = net_set(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds);
	if (err == 0)
		err = net_set(fd, IPPROTO_TCP, TCP_KEEPINTVL, seconds);
	return err;
}

int
netopt_tcp(int fd, bool delay, int64_t keepalive)
{
	int err = 0;

	if (!delay)
		err = net_set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	if (err == 0 && keepalive >= 0)
		err = set_keepalive(fd, keepalive ? keepalive : KEEPALIVE);
	return err;
}
