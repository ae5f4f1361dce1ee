/* SPDX-License-Identifier: MIT */
/*
 * hiredis and Redis: blocking reads and writes on a connection of each
 * goroutine, and timeouts that hiredis asks the kernel for (SO_RCVTIMEO).
 */
#include "real_server.h"

#include <hiredis/hiredis.h>
#include <sys/time.h>

#include <weft.h>

#include "counter.h"
#include "run_env.h"
#include "t.h"
#include "thread_count.h"

enum {
	CLIENTS = 200, COMMANDS = 20,
	PIPELINED = 100,
	SUBSCRIBERS = 50, MESSAGES = 20,
	WIDE = 2000000,		/* more than a socket takes at once */
};

/* ---- the server ---- */

static void
configure(struct server *s)
{
	server_words(s->argv, s->path, "--bind", "127.0.0.1", "--port",
	    server_printf(s, "%d", s->port[0]), "--dir", s->folder, "--save",
	    "", "--appendonly", "no", "--maxclients", "1000", NULL);
}
static struct server redis = { .program = "redis-server",
	.package = "redis-server", .configure = configure };
REAL_SERVER(redis)

/* ---- connections ---- */

static redisContext *
login(void)
{
	redisContext *c = redisConnect("127.0.0.1", redis.port[0]);

	if (!c || c->err) {
		fprintf(stderr, "# connect: %s\n", c ? c->errstr : "?");
		abort();
	}
	return c;
}

/* The reply, of that type; an error of the connection has none. */
static redisReply *
expect(redisContext *c, void *reply, int type)
{
	redisReply *r = reply;

	if (!r) {
		fprintf(stderr, "# %s\n", c->errstr);
		abort();
	}
	if (r->type != type)
		fprintf(stderr, "# type %d: %s\n", r->type,
		    r->str ? r->str : "");
	EQ(r->type, type);
	return r;
}

static void
is_text(redisReply *r, const char *text)
{
	if (r->len != strlen(text) || strcmp(r->str, text) != 0) {
		fprintf(stderr, "# \"%s\", not \"%s\"\n", r->str, text);
		t_fail(__FILE__, __LINE__, "the reply");
	}
}

static void
expect_text(redisContext *c, void *reply, int type, const char *text)
{
	redisReply *r = expect(c, reply, type);

	is_text(r, text);
	freeReplyObject(r);
}

static long long
expect_number(redisContext *c, void *reply)
{
	redisReply *r = expect(c, reply, REDIS_REPLY_INTEGER);
	long long n = r->integer;

	freeReplyObject(r);
	return n;
}

/* ---- every reply is its command's ---- */

static int replies;

static void
client(int id)
{
	redisContext *c = login();
	char value[64];

	for (int i = 0; i < COMMANDS; i++) {
		snprintf(value, sizeof value, "%d of %d", i, id);
		expect_text(c, redisCommand(c, "SET own:%d %s", id, value),
		    REDIS_REPLY_STATUS, "OK");
		expect_text(c, redisCommand(c, "GET own:%d", id),
		    REDIS_REPLY_STRING, value);
		expect_text(c, redisCommand(c, "ECHO %s", value),
		    REDIS_REPLY_STRING, value);
		EQ(expect_number(c, redisCommand(c, "INCR count:%d", id)),
		    i + 1);
		expect_number(c, redisCommand(c, "INCR all"));
		expect_text(c, redisCommand(c, "NO_SUCH_COMMAND"),
		    REDIS_REPLY_ERROR, "ERR unknown command "
		    "'NO_SUCH_COMMAND', with args beginning with: ");
		counter_add(&replies, 6);
	}
	redisFree(c);
}

static void
own_replies(void)
{
	redisContext *c;
	weft_waitgroup wg = {0};

	server_needed(&redis);
	c = login();
	expect_text(c, redisCommand(c, "FLUSHALL"), REDIS_REPLY_STATUS, "OK");
	for (int i = 0; i < CLIENTS; i++)
		weft_waitgroup_go(&wg, client, i);
	weft_waitgroup_wait(&wg);
	EQ(counter_get(&replies), CLIENTS * COMMANDS * 6);
	EQ(expect_number(c, redisCommand(c, "INCRBY all 0")),
	    CLIENTS * COMMANDS);
	redisFree(c);
}
GTEST(own_replies_on_1, 1) { own_replies(); }
GTEST(own_replies_on_4, 4) { own_replies(); }
ETEST(own_replies_moving, 2, "WEFT_MIGRATE=1") { own_replies(); }
ETEST(own_replies_sliced, 2, "WEFT_SLICE_US=50") { own_replies(); }

/* ---- many commands before the first reply ---- */

static void
pipeline(int id)
{
	redisContext *c = login();
	char value[64];
	void *r;

	for (int i = 0; i < PIPELINED; i++)
		EQ(redisAppendCommand(c, "ECHO %d:%d", id, i), REDIS_OK);
	for (int i = 0; i < PIPELINED; i++) {
		snprintf(value, sizeof value, "%d:%d", id, i);
		EQ(redisGetReply(c, &r), REDIS_OK);
		expect_text(c, r, REDIS_REPLY_STRING, value);
	}
	redisFree(c);
}

GTEST(pipelines, 2)
{
	weft_waitgroup wg = {0};

	server_needed(&redis);
	for (int i = 0; i < CLIENTS; i++)
		weft_waitgroup_go(&wg, pipeline, i);
	weft_waitgroup_wait(&wg);
}

/* ---- many wait, few threads ---- */

static void
pop(int id)
{
	redisContext *c = login();
	char text[32];
	redisReply *r = expect(c, redisCommand(c, "BLPOP wait:%d 0", id),
	    REDIS_REPLY_ARRAY);

	snprintf(text, sizeof text, "for %d", id);
	EQ(r->elements, 2);
	is_text(r->element[1], text);
	freeReplyObject(r);
	redisFree(c);
	counter_add(&replies, 1);
}

static int
blocked_clients(redisContext *c)
{
	redisReply *r = expect(c, redisCommand(c, "INFO clients"),
	    REDIS_REPLY_STRING);
	const char *s = strstr(r->str, "blocked_clients:");
	int n = s ? atoi(strchr(s, ':') + 1) : -1;

	freeReplyObject(r);
	return n;
}

GTEST(waiting_takes_few_threads, 2)
{
	redisContext *c;
	weft_waitgroup wg = {0};
	char text[32];

	server_needed(&redis);
	c = login();
	for (int i = 0; i < CLIENTS; i++)
		weft_waitgroup_go(&wg, pop, i);
	while (blocked_clients(c) < CLIENTS)
		weft_sleep(5 * WEFT_MS);
	OK(threads_are_few());
	EQ(counter_get(&replies), 0);
	for (int i = 0; i < CLIENTS; i++) {
		snprintf(text, sizeof text, "for %d", i);
		expect_number(c, redisCommand(c, "RPUSH wait:%d %s", i, text));
	}
	weft_waitgroup_wait(&wg);
	EQ(counter_get(&replies), CLIENTS);
	redisFree(c);
}

/* ---- timeouts ---- */

/* hiredis has the error of the read that ended. */
static void
time_out(int ms)
{
	redisContext *c = login();
	struct timeval tv = { 0, ms * 1000 };
	double start = t_now();

	EQ(redisSetTimeout(c, tv), REDIS_OK);
	OK(redisCommand(c, "BLPOP never:%d 0", ms) == NULL);
	OK(t_now() - start >= ms / 1e3 - 0.002);
	EQ(c->err, REDIS_ERR_IO);
	if (strcmp(c->errstr, "Resource temporarily unavailable") != 0) {
		fprintf(stderr, "# %s\n", c->errstr);
		t_fail(__FILE__, __LINE__, "errstr");
	}
	redisFree(c);
}

GTEST(timeouts, 2)
{
	weft_waitgroup wg = {0};

	server_needed(&redis);
	for (int i = 0; i < 100; i++)
		weft_waitgroup_go(&wg, time_out, 100 + i);
	weft_waitgroup_wait(&wg);
}

/* ---- all messages, in their order ---- */

static void
is_message(redisReply *r, int id, int i)
{
	char text[32];

	EQ(r->elements, 3);
	is_text(r->element[0], "message");
	snprintf(text, sizeof text, "news:%d", id % 2);
	is_text(r->element[1], text);
	snprintf(text, sizeof text, "%d", i);
	is_text(r->element[2], text);
}

static void
subscriber(int id, weft_waitgroup *ready)
{
	redisContext *c = login();
	void *r;

	freeReplyObject(expect(c, redisCommand(c, "SUBSCRIBE news:%d", id % 2),
	    REDIS_REPLY_ARRAY));
	weft_waitgroup_done(ready);
	for (int i = 0; i < MESSAGES; i++) {
		EQ(redisGetReply(c, &r), REDIS_OK);
		is_message(expect(c, r, REDIS_REPLY_ARRAY), id, i);
		freeReplyObject(r);
	}
	redisFree(c);
}

GTEST(messages, 2)
{
	redisContext *c;
	weft_waitgroup wg = {0}, ready = {0};

	server_needed(&redis);
	weft_waitgroup_add(&ready, SUBSCRIBERS);
	for (int i = 0; i < SUBSCRIBERS; i++)
		weft_waitgroup_go(&wg, subscriber, i, &ready);
	weft_waitgroup_wait(&ready);
	c = login();
	for (int i = 0; i < 2 * MESSAGES; i++)
		EQ(expect_number(c, redisCommand(c, "PUBLISH news:%d %d",
		    i % 2, i / 2)), SUBSCRIBERS / 2);
	weft_waitgroup_wait(&wg);
	redisFree(c);
}

/* ---- values that do not fit into a socket, in both directions ---- */

static void
wide(int id)
{
	redisContext *c = login();
	char *out = malloc(WIDE);
	redisReply *r;

	memset(out, 'a' + id % 26, WIDE);
	expect_text(c, redisCommand(c, "SET wide:%d %b", id, out,
	    (size_t)WIDE), REDIS_REPLY_STATUS, "OK");
	r = expect(c, redisCommand(c, "GET wide:%d", id), REDIS_REPLY_STRING);
	EQ(r->len, WIDE);
	OK(r->len == WIDE && memcmp(r->str, out, WIDE) == 0);
	freeReplyObject(r);
	expect_number(c, redisCommand(c, "DEL wide:%d", id));
	free(out);
	redisFree(c);
}

GTEST(wide_values, 2)
{
	weft_waitgroup wg = {0};

	server_needed(&redis);
	for (int i = 0; i < 20; i++)
		weft_waitgroup_go(&wg, wide, i);
	weft_waitgroup_wait(&wg);
}
