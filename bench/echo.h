/* SPDX-License-Identifier: MIT */
/*
 * What the workloads of network I/O share: a server on loopback that sends
 * back what it gets, and its client. What fails ends the program.
 */
#ifndef ECHO_H
#define ECHO_H

#include <stdbool.h>

enum { ECHO_BYTES = 64 };	/* of a message */

struct echo_server {
	int fd;
	int port;
	bool readable;		/* see echo_start */
	long accepted;		/* atomic */
};

/* Raises the soft limit of descriptors to that, if it is lower. */
void echo_descriptors(const char *name, unsigned long n);

/*
 * Accepts connections until it is stopped. Each has a goroutine, which reads
 * for ever; or, if readable, one for each message, begun when it is there.
 */
void echo_start(struct echo_server *s, bool readable);
/* The connections that are left go on. Then bench_settle, s is in use. */
void echo_stop(struct echo_server *s);

/* A connection to it, to be closed; a message there and back. */
int echo_dial(const struct echo_server *s);
void echo_trip(int fd);

#endif
