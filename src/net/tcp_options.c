/* SPDX-License-Identifier: MIT */
/* See tcp_options.h. */
#include "tcp_options.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include "netcall.h"

enum { KEEPALIVE_SECONDS = 15 };

/*
 * The first probe and the time between two are the same: it is known dead
 * after ten such times (the kernel sends nine).
 */
static int
set_keepalive(int fd, int seconds)
{
	int err = net_set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);

	if (err == 0)
		err = net_set(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds);
	if (err == 0)
		err = net_set(fd, IPPROTO_TCP, TCP_KEEPINTVL, seconds);
	return err;
}

int
netopt_tcp(int fd, bool delay, int keepalive)
{
	int err = 0;

	if (!delay)
		err = net_set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	if (err == 0 && keepalive >= 0)
		err = set_keepalive(fd, keepalive ? keepalive :
		    KEEPALIVE_SECONDS);
	return err;
}
