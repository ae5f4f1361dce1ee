/* SPDX-License-Identifier: MIT */
/*
 * SQLite in serialized mode. One connection is shared by many goroutines:
 * SQLite holds its mutex, a recursive one, over the callbacks of a statement,
 * and these call weft. And many connections to one file, which wait for each
 * other's locks with sleeps.
 */
#define _GNU_SOURCE 1
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weft.h>
#include <weft/hooks.h>

#include "counter.h"
#include "run_env.h"
#include "t.h"
#include "thread_count.h"

enum {
	SHARERS = 200, STATEMENTS = 5, ROWS = 10,
	WRITERS = 20, INCREMENTS = 10,
	PATIENCE_MS = 50000,
};

static int calls, rows_seen;
static weft_chan *echo_in, *echo_out;

/* ---- functions of SQL that wait ---- */

/* pause(x): x, after other goroutines have run. */
static void
sql_pause(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	int x = sqlite3_value_int(argv[0]);

	(void)argc;
	if (x % 3 == 0)
		weft_sleep(20 * WEFT_US);
	else
		weft_yield();
	sqlite3_result_int(ctx, x);
	counter_add(&calls, 1);
}

/* echo(x): x, by way of another goroutine. */
static void
sql_echo(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	(void)argc;
	weft_send(echo_in, sqlite3_value_int(argv[0]));
	sqlite3_result_int(ctx, weft_recv(echo_out, int));
	counter_add(&calls, 1);
}

static void
echo_server(void)
{
	for (;;)
		weft_send(echo_out, weft_recv(echo_in, int));
}

/* ---- connections ---- */

static void
must(sqlite3 *db, int r)
{
	if (r == SQLITE_OK)
		return;
	fprintf(stderr, "# %d: %s\n", r, sqlite3_errmsg(db));
	abort();
}

static void
run_sql(sqlite3 *db, const char *sql)
{
	must(db, sqlite3_exec(db, sql, NULL, NULL, NULL));
}

static sqlite3 *
open_db(const char *path)
{
	sqlite3 *db;

	must(NULL, sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE |
	    SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, NULL));
	must(db, sqlite3_create_function(db, "pause", 1, SQLITE_UTF8, NULL,
	    sql_pause, NULL, NULL));
	must(db, sqlite3_create_function(db, "echo", 1, SQLITE_UTF8, NULL,
	    sql_echo, NULL, NULL));
	must(db, sqlite3_busy_timeout(db, PATIENCE_MS));
	return db;
}

/* ---- one connection of all goroutines ---- */

/* The statement's rows are id * 1000, + 1, ... */
struct rows {
	int id, n;
};

static int
take_row(void *arg, int columns, char **value, char **name)
{
	struct rows *r = arg;

	(void)name;
	EQ(columns, 2);
	EQ(atoi(value[0]), r->id * 1000 + r->n);
	EQ(atoi(value[1]), r->id);
	r->n++;
	weft_yield();
	counter_add(&rows_seen, 1);
	return 0;
}

static void
sharer(sqlite3 *db, int id)
{
	char sql[256];
	struct rows r = { .id = id };

	for (int i = 0; i < STATEMENTS; i++) {
		snprintf(sql, sizeof sql, "with recursive c(x) as (select %d "
		    "union all select x + 1 from c where x < %d) "
		    "select %s(x), %d from c", id * 1000,
		    id * 1000 + ROWS - 1, i % 2 ? "pause" : "echo", id);
		r.n = 0;
		must(db, sqlite3_exec(db, sql, take_row, &r, NULL));
		EQ(r.n, ROWS);
	}
}

static void
share(int sharers)
{
	sqlite3 *db = open_db(":memory:");
	weft_waitgroup wg = {0};

	OK(sqlite3_threadsafe() == 1);
	echo_in = weft_chan_of(int, 0);
	echo_out = weft_chan_of(int, 0);
	weft_go(echo_server);
	for (int i = 0; i < sharers; i++)
		weft_waitgroup_go(&wg, sharer, db, i);
	weft_waitgroup_wait(&wg);
	EQ(counter_get(&calls), sharers * STATEMENTS * ROWS);
	EQ(counter_get(&rows_seen), sharers * STATEMENTS * ROWS);
	EQ(sqlite3_close(db), SQLITE_OK);
}
GTEST(callbacks_wait_on_1, 1) { share(SHARERS); }
GTEST(callbacks_wait_on_2, 2) { share(SHARERS); }
GTEST(callbacks_wait_on_4, 4) { share(SHARERS); }
ETEST(callbacks_wait_moving, 2, "WEFT_MIGRATE=1") { share(SHARERS / 4); }
ETEST(callbacks_wait_sliced, 2, "WEFT_SLICE_US=50") { share(SHARERS); }

/* ---- many wait for the mutex, few threads ---- */

static weft_event held, let_go;

/* hold(): waits while SQLite holds the mutex. */
static void
sql_hold(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	(void)argc, (void)argv;
	weft_event_set(&held);
	weft_event_wait(&let_go);
	sqlite3_result_int(ctx, 1);
}

static void
count(sqlite3 *db)
{
	run_sql(db, "select 1");
	counter_add(&calls, 1);
}

static uint64_t
lock_parks(void)
{
	weft_hooks_stats s;

	weft_hooks_stats_read(&s, sizeof s);
	return s.lock_parks;
}

GTEST(waiting_takes_few_threads, 2)
{
	sqlite3 *db = open_db(":memory:");
	weft_waitgroup wg = {0};
	uint64_t before;

	must(db, sqlite3_create_function(db, "hold", 0, SQLITE_UTF8, NULL,
	    sql_hold, NULL, NULL));
	weft_waitgroup_go(&wg, run_sql, db, "select hold()");
	weft_event_wait(&held);
	before = lock_parks();
	for (int i = 0; i < SHARERS; i++)
		weft_waitgroup_go(&wg, count, db);
	while (lock_parks() < before + SHARERS)
		weft_sleep(WEFT_MS);
	OK(threads_are_few());
	EQ(counter_get(&calls), 0);
	weft_event_set(&let_go);
	weft_waitgroup_wait(&wg);
	EQ(counter_get(&calls), SHARERS);
	EQ(sqlite3_close(db), SQLITE_OK);
}

/* ---- a callback calls SQLite: the mutex is taken again ---- */

static int
count_again(void *arg, int columns, char **value, char **name)
{
	sqlite3 *db = arg;
	sqlite3_stmt *st;

	(void)columns, (void)name;
	weft_sleep(10 * WEFT_US);
	must(db, sqlite3_prepare_v2(db, "select pause(?)", -1, &st, NULL));
	must(db, sqlite3_bind_int(st, 1, atoi(value[0])));
	EQ(sqlite3_step(st), SQLITE_ROW);
	EQ(sqlite3_column_int(st, 0), atoi(value[0]));
	EQ(sqlite3_step(st), SQLITE_DONE);
	must(db, sqlite3_finalize(st));
	counter_add(&rows_seen, 1);
	return 0;
}

static void
nester(sqlite3 *db)
{
	must(db, sqlite3_exec(db, "select 1 union select 2 union select 3",
	    count_again, db, NULL));
}

GTEST(nested_statements, 2)
{
	sqlite3 *db = open_db(":memory:");
	weft_waitgroup wg = {0};

	for (int i = 0; i < SHARERS; i++)
		weft_waitgroup_go(&wg, nester, db);
	weft_waitgroup_wait(&wg);
	EQ(counter_get(&rows_seen), SHARERS * 3);
	EQ(sqlite3_close(db), SQLITE_OK);
}

/* ---- many connections to one file ---- */

static char path[64];

static void
writer(void)
{
	sqlite3 *db = open_db(path);

	for (int i = 0; i < INCREMENTS; i++) {
		run_sql(db, "begin immediate; update t set n = pause(n) + 1; "
		    "commit");
		weft_yield();
	}
	EQ(sqlite3_close(db), SQLITE_OK);
}

static int
take_number(void *arg, int columns, char **value, char **name)
{
	(void)columns, (void)name;
	*(int *)arg = atoi(value[0]);
	return 0;
}

static void
write_together(void)
{
	char folder[] = "/tmp/weft-test-XXXXXX";
	weft_waitgroup wg = {0};
	sqlite3 *db;
	int n = -1;

	OK(mkdtemp(folder) != NULL);
	snprintf(path, sizeof path, "%s/db", folder);
	db = open_db(path);
	run_sql(db, "pragma synchronous = off; create table t(n); "
	    "insert into t values(0)");
	for (int i = 0; i < WRITERS; i++)
		weft_waitgroup_go(&wg, writer);
	weft_waitgroup_wait(&wg);
	must(db, sqlite3_exec(db, "select n from t", take_number, &n, NULL));
	EQ(n, WRITERS * INCREMENTS);
	EQ(sqlite3_close(db), SQLITE_OK);
	unlink(path);
	rmdir(folder);
}
GTEST(writers_take_turns, 2) { write_together(); }
ETEST(writers_take_turns_moving, 2, "WEFT_MIGRATE=1") { write_together(); }
