/* SPDX-License-Identifier: MIT */
/*
 * pg-queries plain|announced|pthread CONNINFO
 *
 * 50 goroutines, or threads, each with a connection of its own, ask PostgreSQL
 * 20 times for something that takes 10 ms, and yield between: 0.2 s at best.
 * No timer is in the process. Prints the seconds from the first query to the
 * last answer; the connections are made before.
 */
#include <libpq-fe.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

enum { ASKERS = 50, TIMES = 20 };

static const char query[] = "select pg_sleep(0.01)";
static PGconn *conn[ASKERS];
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
	for (int i = 0; i < TIMES; i++) {
		ask(c);
		weft_yield();
	}
	weft_waitgroup_done(&all);
}

static void
announced(PGconn *c)
{
	for (int i = 0; i < TIMES; i++) {
		weft_blocking(ask, c);
		weft_yield();
	}
	weft_waitgroup_done(&all);
}

static void *
by_thread(void *arg)
{
	for (int i = 0; i < TIMES; i++) {
		ask(arg);
		sched_yield();
	}
	return NULL;
}

static void
connect_all(const char *info)
{
	for (int i = 0; i < ASKERS; i++) {
		conn[i] = PQconnectdb(info);
		if (PQstatus(conn[i]) != CONNECTION_OK)
			fail(conn[i]);
	}
}

static int
goroutines(int argc, char **argv)
{
	int64_t start = weft_now();

	(void)argc;
	weft_waitgroup_add(&all, ASKERS);
	for (int i = 0; i < ASKERS; i++)
		weft_go(strcmp(argv[1], "plain") ? announced : plain, conn[i]);
	weft_waitgroup_wait(&all);
	printf("%.3f\n", (double)(weft_now() - start) / 1e9);
	return 0;
}

static int
threads(void)
{
	int64_t start = weft_now();
	pthread_t t[ASKERS];

	for (int i = 0; i < ASKERS; i++)
		if (pthread_create(&t[i], NULL, by_thread, conn[i]))
			return 1;
	for (int i = 0; i < ASKERS; i++)
		pthread_join(t[i], NULL);
	printf("%.3f\n", (double)(weft_now() - start) / 1e9);
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr,
		    "usage: pg-queries plain|announced|pthread CONNINFO\n");
		return 2;
	}
	connect_all(argv[2]);
	if (!strcmp(argv[1], "pthread"))
		return threads();
	return weft_run(goroutines, argc, argv);
}
