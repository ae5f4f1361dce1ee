/* SPDX-License-Identifier: MIT */
/*
 * redis-asks plain|announced|pthread PORT CONNECTIONS SECONDS
 *
 * So many goroutines, or threads, each with a connection of its own, set and
 * get a key of their own by hiredis, whose calls block, and check the answers,
 * until the time is over. Prints the requests in a second, the microseconds of
 * CPU that this process used for each, and the most threads that it had; the
 * connections are made before. redis-asks-hooked is the same program linked
 * with hooks: its `plain` parks in hiredis.
 */
#include "usage.h"

#include <hiredis/hiredis.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

struct asker {
	redisContext *c;
	int number;
	int64_t value;
	int64_t requests;
};

static struct asker *askers;
static int connections;
static int64_t seconds, start;
static double cpu_before_us;
static weft_waitgroup all;

static void
fail(const struct asker *a, const char *what)
{
	fprintf(stderr, "redis-asks: %s: %s\n", what,
	    a->c && a->c->err ? a->c->errstr : "not what it should be");
	exit(1);
}

static void
check(const struct asker *a, redisReply *r, int type, const char *text)
{
	if (!r || r->type != type || strcmp(r->str, text) != 0)
		fail(a, r && r->str ? r->str : "answer");
	freeReplyObject(r);
}

/* A SET and a GET. */
static void *
ask(void *arg)
{
	struct asker *a = arg;
	char text[32];

	snprintf(text, sizeof text, "%lld", (long long)++a->value);
	check(a, redisCommand(a->c, "SET key:%d %s", a->number, text),
	    REDIS_REPLY_STATUS, "OK");
	check(a, redisCommand(a->c, "GET key:%d", a->number),
	    REDIS_REPLY_STRING, text);
	a->requests += 2;
	return NULL;
}

static bool
is_over(void)
{
	return weft_now() - start >= seconds * WEFT_SECOND;
}

static void
plain(struct asker *a)
{
	while (!is_over())
		ask(a);
	weft_waitgroup_done(&all);
}

static void
announced(struct asker *a)
{
	while (!is_over())
		weft_blocking(ask, a);
	weft_waitgroup_done(&all);
}

static void *
by_thread(void *arg)
{
	while (!is_over())
		ask(arg);
	return NULL;
}

static void
connect_all(int port)
{
	askers = calloc((size_t)connections, sizeof *askers);
	if (!askers)
		exit(1);
	for (int i = 0; i < connections; i++) {
		struct asker *a = &askers[i];

		a->number = i;
		a->c = redisConnect("127.0.0.1", port);
		if (!a->c || a->c->err)
			fail(a, "connect");
	}
}

static void
begin(void)
{
	start = weft_now();
	cpu_before_us = usage_cpu_us(0);
}

static void
print(void)
{
	double took = (double)(weft_now() - start) / 1e9;
	double cpu_us = usage_cpu_us(0) - cpu_before_us;
	double n = 0;

	for (int i = 0; i < connections; i++)
		n += (double)askers[i].requests;
	printf("%.0f %.2f %ld\n", n / took, cpu_us / n, usage_most_threads());
}

static int
goroutines(int argc, char **argv)
{
	(void)argc;
	begin();
	weft_waitgroup_add(&all, connections);
	for (int i = 0; i < connections; i++)
		weft_go(strcmp(argv[1], "plain") ? announced : plain,
		    &askers[i]);
	weft_waitgroup_wait(&all);
	print();
	return 0;
}

static int
threads(void)
{
	pthread_t *t = calloc((size_t)connections, sizeof *t);

	begin();
	for (int i = 0; i < connections; i++)
		if (!t || pthread_create(&t[i], NULL, by_thread, &askers[i]))
			return 1;
	for (int i = 0; i < connections; i++)
		pthread_join(t[i], NULL);
	print();
	free(t);
	return 0;
}

int
main(int argc, char **argv)
{
	connections = argc == 5 ? atoi(argv[3]) : 0;
	seconds = argc == 5 ? atoi(argv[4]) : 0;
	if (connections < 1 || seconds < 1) {
		fprintf(stderr, "usage: redis-asks plain|announced|pthread "
		    "PORT CONNECTIONS SECONDS\n");
		return 2;
	}
	connect_all(atoi(argv[2]));
	usage_watch_threads();
	if (!strcmp(argv[1], "pthread"))
		return threads();
	return weft_run(goroutines, argc, argv);
}
