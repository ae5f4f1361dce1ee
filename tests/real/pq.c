/* SPDX-License-Identifier: MIT */
/*
 * libpq and PostgreSQL. Each goroutine has its own connection, or one that it
 * has taken out of a pool, and calls what waits: connecting, queries, poll and
 * select on the connection's socket, cancelling.
 */
#include "real_server.h"

#include <libpq-fe.h>
#include <sys/select.h>

#include <weft.h>

#include "counter.h"
#include "run_env.h"
#include "t.h"
#include "thread_count.h"

enum {
	CONNECTIONS = 100, QUERIES = 20,
	POOL = 30, GUESTS = 300,
	LISTENERS = 50, NOTIFICATIONS = 10,
	WIDE = 300000,		/* more than a socket takes at once */
};

/* ---- the server ---- */

static void
configure(struct server *s)
{
	const char *data = server_printf(s, "%s/data", s->folder);

	server_words(s->setup, server_printf(s, "%.*s/initdb",
	    (int)(strrchr(s->path, '/') - s->path), s->path), "-D", data, "-A",
	    "trust", "-U", "postgres", "--no-sync", "-E", "UTF8", "--locale",
	    "C", NULL);
	server_words(s->argv, s->path, "-D", data, "-p",
	    server_printf(s, "%d", s->port[0]), "-c",
	    "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
	    "-c", "max_connections=120", "-c", "fsync=off", "-c",
	    "autovacuum=off", "-c", "shared_buffers=16MB", NULL);
}
static struct server postgres = { .program = "postgres",
	.package = "postgresql", .user = "postgres", .stop_signal = SIGQUIT,
	.configure = configure };
REAL_SERVER(postgres)

/* ---- connections ---- */

static void
complain(PGconn *c, const char *what)
{
	fprintf(stderr, "# %s: %s\n", what, PQerrorMessage(c));
	t_fail(__FILE__, __LINE__, "libpq");
}

/* While the server is starting it refuses. */
static PGconn *
login(void)
{
	char info[128];
	PGconn *c;

	snprintf(info, sizeof info, "host=127.0.0.1 port=%d user=postgres "
	    "dbname=postgres sslmode=disable", postgres.port[0]);
	while (PQstatus(c = PQconnectdb(info)) != CONNECTION_OK) {
		if (!strstr(PQerrorMessage(c), "starting up")) {
			complain(c, "connect");
			abort();
		}
		PQfinish(c);
		weft_sleep(10 * WEFT_MS);
	}
	return c;
}

static PGresult *
expect(PGconn *c, PGresult *r, ExecStatusType status)
{
	if (PQresultStatus(r) != status)
		complain(c, PQresStatus(PQresultStatus(r)));
	return r;
}

/* The first value of the result, as a number. */
static long
number(PGconn *c, const char *query)
{
	PGresult *r = expect(c, PQexec(c, query), PGRES_TUPLES_OK);
	long n = atol(PQgetvalue(r, 0, 0));

	PQclear(r);
	return n;
}

static void
command(PGconn *c, const char *text)
{
	PQclear(expect(c, PQexec(c, text), PGRES_COMMAND_OK));
}

/* ---- every query has its own result ---- */

static int answers;

/* The rows id, id + 1, ... with the process that serves this connection. */
static void
ask(PGconn *c, int id, int rows)
{
	char first[16], last[16];
	const char *const values[] = { first, last };
	PGresult *r;

	snprintf(first, sizeof first, "%d", id);
	snprintf(last, sizeof last, "%d", id + rows - 1);
	r = expect(c, PQexecParams(c, "select i, 'value ' || i, "
	    "pg_backend_pid() from generate_series($1::int, $2::int) i", 2,
	    NULL, values, NULL, NULL, 0), PGRES_TUPLES_OK);
	EQ(PQntuples(r), rows);
	for (int i = 0; i < PQntuples(r); i++) {
		EQ(atoi(PQgetvalue(r, i, 0)), id + i);
		OK(strncmp(PQgetvalue(r, i, 1), "value ", 6) == 0);
		EQ(atoi(PQgetvalue(r, i, 1) + 6), id + i);
		EQ(atoi(PQgetvalue(r, i, 2)), PQbackendPID(c));
	}
	PQclear(r);
	counter_add(&answers, 1);
}

/* An error is its connection's, too. */
static void
fail(PGconn *c, int id)
{
	char query[64], text[64];
	PGresult *r;

	snprintf(query, sizeof query, "select 1 from nothing_%d", id);
	snprintf(text, sizeof text, "\"nothing_%d\" does not exist", id);
	r = PQexec(c, query);
	EQ(PQresultStatus(r), PGRES_FATAL_ERROR);
	OK(strcmp(PQresultErrorField(r, PG_DIAG_SQLSTATE), "42P01") == 0);
	OK(strstr(PQerrorMessage(c), text) != NULL);
	PQclear(r);
}

static void
client(int id)
{
	PGconn *c = login();

	for (int i = 0; i < QUERIES; i++) {
		ask(c, id * 1000 + i, 1 + i);
		if (i % 5 == 0)
			fail(c, id * 1000 + i);
	}
	PQfinish(c);
}

static void
own_results(void)
{
	weft_waitgroup wg = {0};

	server_needed(&postgres);
	for (int i = 0; i < CONNECTIONS; i++)
		weft_waitgroup_go(&wg, client, i);
	weft_waitgroup_wait(&wg);
	EQ(counter_get(&answers), CONNECTIONS * QUERIES);
}
GTEST(own_results_on_1, 1) { own_results(); }
GTEST(own_results_on_4, 4) { own_results(); }
ETEST(own_results_moving, 2, "WEFT_MIGRATE=1") { own_results(); }

/* ---- a pool ---- */

static void
guest(weft_chan *pool, int id)
{
	for (int i = 0; i < 5; i++) {
		PGconn *c = weft_recv(pool, PGconn *);

		ask(c, id * 100 + i, 2);
		weft_send(pool, c);
	}
}

GTEST(a_pool, 2)
{
	weft_chan *pool = weft_chan_of(PGconn *, POOL);
	weft_waitgroup wg = {0};

	server_needed(&postgres);
	for (int i = 0; i < POOL; i++)
		weft_send(pool, login());
	for (int i = 0; i < GUESTS; i++)
		weft_waitgroup_go(&wg, guest, pool, i);
	weft_waitgroup_wait(&wg);
	EQ(counter_get(&answers), GUESTS * 5);
	for (int i = 0; i < POOL; i++)
		PQfinish(weft_recv(pool, PGconn *));
	weft_chan_release(pool);
}

/* ---- many wait, few threads ---- */

static void
wait_for_lock(int id)
{
	char query[80];
	PGconn *c = login();

	snprintf(query, sizeof query,
	    "select %d from pg_advisory_lock_shared(7)", id);
	EQ(number(c, query), id);
	PQfinish(c);
	counter_add(&answers, 1);
}

GTEST(waiting_takes_few_threads, 2)
{
	PGconn *c;
	weft_waitgroup wg = {0};

	server_needed(&postgres);
	c = login();
	number(c, "select 1 from pg_advisory_lock(7)");
	for (int i = 0; i < CONNECTIONS; i++)
		weft_waitgroup_go(&wg, wait_for_lock, i);
	while (number(c, "select count(*) from pg_locks where locktype = "
	    "'advisory' and not granted") < CONNECTIONS)
		weft_sleep(5 * WEFT_MS);
	OK(threads_are_few());
	EQ(counter_get(&answers), 0);
	number(c, "select 1 from pg_advisory_unlock(7)");
	weft_waitgroup_wait(&wg);
	EQ(counter_get(&answers), CONNECTIONS);
	PQfinish(c);
}

/* ---- poll and select on the connection's socket ---- */

static void
wait_by_select(int fd)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	EQ(select(fd + 1, &set, NULL, NULL, NULL), 1);
	OK(FD_ISSET(fd, &set));
}

static void
wait_by_poll(int fd)
{
	struct pollfd p = { fd, POLLIN, 0 };

	EQ(poll(&p, 1, -1), 1);
	EQ(p.revents, POLLIN);
}

/* Its notifications, and no others, in their order. */
static void
listener(int id, weft_waitgroup *ready)
{
	char text[64];
	PGconn *c = login();
	PGnotify *n;

	snprintf(text, sizeof text, "listen channel_%d", id);
	command(c, text);
	weft_waitgroup_done(ready);
	for (int i = 0; i < NOTIFICATIONS; ) {
		(id % 2 ? wait_by_select : wait_by_poll)(PQsocket(c));
		EQ(PQconsumeInput(c), 1);
		while ((n = PQnotifies(c))) {
			snprintf(text, sizeof text, "%d of %d", i++, id);
			OK(strcmp(n->extra, text) == 0);
			PQfreemem(n);
		}
	}
	PQfinish(c);
}

GTEST(notifications, 2)
{
	PGconn *c;
	char text[80];
	weft_waitgroup wg = {0}, ready = {0};

	server_needed(&postgres);
	weft_waitgroup_add(&ready, LISTENERS);
	for (int i = 0; i < LISTENERS; i++)
		weft_waitgroup_go(&wg, listener, i, &ready);
	weft_waitgroup_wait(&ready);
	c = login();
	for (int i = 0; i < NOTIFICATIONS; i++)
		for (int id = 0; id < LISTENERS; id++) {
			snprintf(text, sizeof text,
			    "notify channel_%d, '%d of %d'", id, i, id);
			command(c, text);
		}
	weft_waitgroup_wait(&wg);
	PQfinish(c);
}

/* ---- results that do not fit into a socket, in both directions ---- */

static void
wide(int id)
{
	PGconn *c = login();
	char *out = malloc(WIDE + 1);
	const char *const values[] = { out };
	PGresult *r;

	memset(out, 'a' + id % 26, WIDE);
	out[WIDE] = 0;
	for (int i = 0; i < 3; i++) {
		r = expect(c, PQexecParams(c, "select $1::text || $1::text", 1,
		    NULL, values, NULL, NULL, 0), PGRES_TUPLES_OK);
		EQ(PQgetlength(r, 0, 0), 2 * WIDE);
		OK(memcmp(PQgetvalue(r, 0, 0), out, WIDE) == 0);
		OK(memcmp(PQgetvalue(r, 0, 0) + WIDE, out, WIDE) == 0);
		PQclear(r);
	}
	free(out);
	PQfinish(c);
}

GTEST(wide_results, 2)
{
	weft_waitgroup wg = {0};

	server_needed(&postgres);
	for (int i = 0; i < 30; i++)
		weft_waitgroup_go(&wg, wide, i);
	weft_waitgroup_wait(&wg);
}

/* ---- a query is cancelled by another goroutine ---- */

static weft_event all_cancelled;

static void
be_cancelled(weft_chan *started)
{
	PGconn *c = login();
	PGresult *r;

	weft_send(started, PQgetCancel(c));
	r = PQexec(c, "select pg_sleep(600)");
	EQ(PQresultStatus(r), PGRES_FATAL_ERROR);
	OK(strcmp(PQresultErrorField(r, PG_DIAG_SQLSTATE), "57014") == 0);
	PQclear(r);
	/* PostgreSQL sends each signal twice: the second may come late. */
	weft_event_wait(&all_cancelled);
	EQ(number(c, "select 17"), 17);
	PQfinish(c);
}

GTEST(cancelled, 2)
{
	weft_chan *started = weft_chan_of(PGcancel *, 0);
	weft_waitgroup wg = {0};
	PGconn *c;
	PGcancel *cancel[20];
	char why[256];

	server_needed(&postgres);
	c = login();
	for (int i = 0; i < 20; i++)
		weft_waitgroup_go(&wg, be_cancelled, started);
	for (int i = 0; i < 20; i++)
		cancel[i] = weft_recv(started, PGcancel *);
	/* A request that comes before the query does nothing. */
	while (number(c, "select count(*) from pg_stat_activity where "
	    "wait_event = 'PgSleep'") < 20)
		weft_sleep(5 * WEFT_MS);
	for (int i = 0; i < 20; i++) {
		EQ(PQcancel(cancel[i], why, sizeof why), 1);
		PQfreeCancel(cancel[i]);
	}
	weft_event_set(&all_cancelled);
	weft_waitgroup_wait(&wg);
	PQfinish(c);
	weft_chan_release(started);
}
