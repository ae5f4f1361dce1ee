/* SPDX-License-Identifier: MIT */
/*
 * pg-server ADDRESS CONNINFO
 *
 * A web server that asks a database, as people write one: the HTTP server of
 * examples/ and a pool of 50 connections of libpq. Each request to /plain or
 * /announced waits 10 ms for PostgreSQL, inside libpq, which sleeps in poll();
 * the latter tells the runtime by weft_blocking. /hello needs no query.
 * pg-server-hooked is the same program linked with hooks: there /plain parks in
 * libpq.
 */
#include "http.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>
#include <weft.h>

enum { POOL = 50 };

static const char query[] = "select pg_sleep(0.01)";
static weft_chan *pool;

static void *
ask(void *arg)
{
	PGresult *r = PQexec(arg, query);
	bool good = PQresultStatus(r) == PGRES_TUPLES_OK;

	PQclear(r);
	return good ? arg : NULL;
}

static void *
dial(void *arg)
{
	PGconn *c = PQconnectdb(arg);

	if (PQstatus(c) == CONNECTION_OK)
		return c;
	fprintf(stderr, "pg-server: %s", PQerrorMessage(c));
	return NULL;
}

static bool
is_path(const struct http_request *r, const char *path)
{
	return r->path.len == strlen(path) &&
	    memcmp(r->path.at, path, r->path.len) == 0;
}

static void
reply(struct http *h, bool good)
{
	if (good)
		http_reply(h, 200, "text/plain", "Hello, world!\n", 14);
	else
		http_error(h, 500);
}

static void
handle(struct http *h, const struct http_request *r, void *arg)
{
	bool announced = is_path(r, "/announced");
	PGconn *c;
	bool good;

	(void)arg;
	if (!announced && !is_path(r, "/plain")) {
		reply(h, is_path(r, "/hello"));
		return;
	}
	c = weft_recv(pool, PGconn *);
	good = announced ? weft_blocking(ask, c) != NULL : ask(c) != NULL;
	weft_send(pool, c);
	reply(h, good);
}

int
weft_main(int argc, char **argv)
{
	struct http_options o = { .handler = handle };
	int fd = argc == 3 ? weft_listen("tcp", argv[1]) : -1;

	if (fd < 0) {
		fprintf(stderr, "usage: pg-server ADDRESS CONNINFO (%d)\n",
		    fd);
		return 2;
	}
	pool = weft_chan_make(sizeof(PGconn *), POOL);
	for (int i = 0; i < POOL; i++) {
		PGconn *c = weft_blocking(dial, argv[2]);

		if (!c)
			return 1;
		weft_send(pool, c);
	}
	if (!http_server_start(fd, &o))
		return 1;
	weft_chan_recv(NULL, NULL);
	return 0;
}
WEFT_MAIN
