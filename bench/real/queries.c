/* SPDX-License-Identifier: MIT */
/*
 * pg-queries plain|announced|pthread CONNINFO [ASKERS TIMES]
 *
 * 50 goroutines, or threads, each with a connection of its own, ask PostgreSQL
 * 20 times for something that takes 10 ms, and yield between: 0.2 s at best.
 * No timer is in the process. Prints the seconds from the first query to the
 * last answer, and the most threads that the process had in between; the
 * connections are made before. pg-queries-hooked is the same program linked
 * with hooks: its `plain` parks in libpq.
 */
#include "usage.h"

#include <libpq-fe.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

static const char query[] = "select pg_sleep(0.01)";
static int askers = 50, times = 20;
static PGconn **conn;
static weft_waitgroup all;

static void
fail(PGconn *c)
{
	fprintf(stderr, "pg-queries: %s", PQerrorMessage(c));
	exit(1);
}

static void *
ask(void *arg)
{
	PGresult *r = PQexec(arg, query);

	if (PQresultStatus(r) != PGRES_TUPLES_OK)
		fail(arg);
	PQclear(r);
	return NULL;
}

static void
plain(PGconn *c)
{
	for (int i = 0; i < times; i++) {
		ask(c);
		weft_yield();
	}
	weft_waitgroup_done(&all);
}

static void
announced(PGconn *c)
{
	for (int i = 0; i < times; i++) {
		weft_blocking(ask, c);
		weft_yield();
	}
	weft_waitgroup_done(&all);
}

static void *
by_thread(void *arg)
{
	for (int i = 0; i < times; i++) {
		ask(arg);
		sched_yield();
	}
	return NULL;
}

static void
connect_all(const char *info)
{
	conn = calloc((size_t)askers, sizeof *conn);
	if (!conn)
		exit(1);
	for (int i = 0; i < askers; i++) {
		conn[i] = PQconnectdb(info);
		if (PQstatus(conn[i]) != CONNECTION_OK)
			fail(conn[i]);
	}
}

static void
print(int64_t start)
{
	double seconds = (double)(weft_now() - start) / 1e9;

	printf("%.3f %ld\n", seconds, usage_most_threads());
}

static int
goroutines(int argc, char **argv)
{
	int64_t start = weft_now();

	(void)argc;
	weft_waitgroup_add(&all, askers);
	for (int i = 0; i < askers; i++)
		weft_go(strcmp(argv[1], "plain") ? announced : plain, conn[i]);
	weft_waitgroup_wait(&all);
	print(start);
	return 0;
}

static int
threads(void)
{
	int64_t start = weft_now();
	pthread_t *t = calloc((size_t)askers, sizeof *t);

	for (int i = 0; i < askers; i++)
		if (!t || pthread_create(&t[i], NULL, by_thread, conn[i]))
			return 1;
	for (int i = 0; i < askers; i++)
		pthread_join(t[i], NULL);
	print(start);
	free(t);
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc == 5) {
		askers = atoi(argv[3]);
		times = atoi(argv[4]);
	}
	if ((argc != 3 && argc != 5) || askers < 1 || times < 1) {
		fprintf(stderr, "usage: pg-queries plain|announced|pthread "
		    "CONNINFO [ASKERS TIMES]\n");
		return 2;
	}
	connect_all(argv[2]);
	usage_watch_threads();
	if (!strcmp(argv[1], "pthread"))
		return threads();
	return weft_run(goroutines, argc, argv);
}
