/* SPDX-License-Identifier: MIT */
/* A server, its connections and what they ask for; see server.c. */
#ifndef REDIS_SERVER_H
#define REDIS_SERVER_H

#include "reply.h"
#include "store.h"

/* Zeros are the defaults. */
struct redis_options {
	size_t max_memory;	/* of keys and values (1 GiB) */
	size_t max_request;	/* of one request (64 MiB) */
	size_t max_input;	/* of all requests that are not complete, beyond
				 * 16 KiB of each connection (256 MiB) */
	int max_clients;	/* (10000) */
	int64_t idle_timeout;	/* a client that asks nothing, ns (none) */
	int64_t write_timeout;	/* one that takes nothing, ns (20 s) */
};

struct server;

struct client {
	/* constant */
	struct server *server;
	struct store *store;
	/* its goroutine only */
	struct request request;
	bool quit;		/* the connection ends after the replies */
	struct out out;
	/* written by its goroutine, atomic */
	uint64_t commands;
	/* under the server's lock */
	struct client *next, **prev;
};

/*
 * Serves connections to the listening socket fd, which is the server's from
 * now on. NULL: no memory.
 */
struct server *server_start(int fd, const struct redis_options *o);
/*
 * No more connections and no more requests; those that have come are answered,
 * until `when`. Then it ends, and the store with it. 0; -ETIMEDOUT: clients
 * had to be cut off; -EBUSY: not even that helped, and it is not freed.
 */
int server_stop(struct server *s, int64_t when);

struct server_counts {
	struct redis_options options;	/* in force */
	uint64_t connections;	/* since the start */
	uint64_t refused;	/* ... because there were too many */
	uint64_t commands;
	int clients;		/* now */
	int64_t since;		/* weft_now() at the start */
	size_t input;		/* see max_input */
};
struct server_counts server_count(struct server *s);

/* command.c: runs the client's request, which is complete, and replies. */
void command_run(struct client *c);

/* selftest.c: 0 if all is well. */
int selftest(void);

#endif
