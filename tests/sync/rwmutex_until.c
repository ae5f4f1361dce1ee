/* SPDX-License-Identifier: MIT */
/*
 * weft_rwmutex_{lock,rlock}_{until,context}, on goroutines and plain threads;
 * each with a lock that was not read before, and with one that was read so
 * often that its readers leave their marks elsewhere.
 */
#include <errno.h>
#include <pthread.h>

#include <weft.h>

#include "plain_thread.h"
#include "t.h"

static void
warm(weft_rwmutex *rw)
{
	for (int i = 0; i < 300; i++) {
		weft_rwmutex_rlock(rw);
		weft_rwmutex_runlock(rw);
	}
}

/* Nothing is left: the word says so once a writer was here. */
static void
is_free(weft_rwmutex *rw)
{
	OK(weft_rwmutex_try_rlock(rw));
	weft_rwmutex_runlock(rw);
	OK(weft_rwmutex_try_lock(rw));
	weft_rwmutex_unlock(rw);
	EQ(rw->word_, 0);
	EQ(rw->drained_, 0);
	EQ(rw->writers_.state_, 0);
}

/* ---- alone ---- */

static void
taken_at_once(weft_rwmutex *rw, int64_t when, weft_context *ctx)
{
	OK(weft_rwmutex_lock_until(rw, when));
	OK(!weft_rwmutex_try_rlock(rw));
	weft_rwmutex_unlock(rw);
	OK(weft_rwmutex_rlock_until(rw, when));
	OK(weft_rwmutex_rlock_until(rw, when));
	OK(weft_rwmutex_rlock_context(rw, ctx));
	OK(!weft_rwmutex_try_lock(rw));
	for (int i = 0; i < 3; i++)
		weft_rwmutex_runlock(rw);
	OK(weft_rwmutex_lock_context(rw, ctx));
	OK(!weft_rwmutex_try_rlock(rw));
	weft_rwmutex_unlock(rw);
}

/* In vain, again and again: with a writer, and with a reader inside. */
static void
in_vain(weft_rwmutex *rw, int64_t when, weft_context *ctx, bool reads)
{
	OK(!weft_rwmutex_lock_until(rw, when));
	OK(!weft_rwmutex_lock_context(rw, ctx));
	if (reads)
		return;
	OK(!weft_rwmutex_rlock_until(rw, when));
	OK(!weft_rwmutex_rlock_context(rw, ctx));
}

static void
never_early(weft_rwmutex *rw, bool reads)
{
	int64_t when = weft_deadline(WEFT_MS);
	weft_context *ctx = weft_context_make_until(NULL, when);

	in_vain(rw, when, ctx, reads);
	OK(weft_now() >= when);
	EQ(weft_context_error(ctx), -ETIMEDOUT);
	in_vain(rw, -1, ctx, reads);
	in_vain(rw, INT64_MIN, ctx, reads);
	in_vain(rw, weft_now(), ctx, reads);
	weft_context_release(ctx);
}

static void
alone_with(weft_rwmutex *rw)
{
	weft_context *ctx = weft_context_make(NULL);

	weft_context_cancel(ctx, 0);
	taken_at_once(rw, -1, ctx);
	taken_at_once(rw, 0, NULL);
	weft_context_release(ctx);
	weft_rwmutex_lock(rw);
	never_early(rw, false);
	weft_rwmutex_unlock(rw);
	is_free(rw);
	weft_rwmutex_rlock(rw);
	never_early(rw, true);
	OK(weft_rwmutex_try_rlock(rw));	/* no writer keeps it out */
	weft_rwmutex_runlock(rw);
	weft_rwmutex_runlock(rw);
	is_free(rw);
}

static void
alone(void)
{
	weft_rwmutex rw = {0};

	alone_with(&rw);
	warm(&rw);
	alone_with(&rw);
}
ON_ALL(alone)

TEST(without_a_runtime)
{
	alone();
	thread_call(alone);
}

GTEST(on_a_thread, 2) { thread_call_parked(alone); }

/* ---- step by step, on one processor ---- */

struct room {
	weft_rwmutex rw;
	weft_context *ctx;
	int written, read, gave_up;
};

static void
write_limited(struct room *r)
{
	if (weft_rwmutex_lock_context(&r->rw, r->ctx)) {
		r->written++;
		weft_rwmutex_unlock(&r->rw);
	} else {
		r->gave_up++;
	}
}

static void
read_limited(struct room *r)
{
	if (weft_rwmutex_rlock_context(&r->rw, r->ctx)) {
		r->read++;
		weft_rwmutex_runlock(&r->rw);
	} else {
		r->gave_up++;
	}
}

static void
read_plain(struct room *r)
{
	OK(weft_rwmutex_rlock_until(&r->rw, 0));
	r->read++;
	weft_rwmutex_runlock(&r->rw);
}

static void
yields(int n)
{
	while (n-- > 0)
		weft_yield();
}

/* Both for a lock that is new and for one that was read often. */
static void
each_way(void (*fn)(struct room *r))
{
	for (int often = 0; often < 2; often++) {
		struct room r = { .ctx = weft_context_make(NULL) };

		if (often)
			warm(&r.rw);
		fn(&r);
		is_free(&r.rw);
		weft_context_release(r.ctx);
	}
}

/* A writer that waits for a reader gives up: readers come in again. */
static void
writer_leaves(struct room *r)
{
	weft_rwmutex_rlock(&r->rw);
	weft_go(write_limited, r);
	while (weft_rwmutex_try_rlock(&r->rw)) {
		weft_rwmutex_runlock(&r->rw);
		weft_yield();
	}
	weft_go(read_plain, r);
	weft_go(read_limited, r);
	yields(10);
	EQ(r->read, 0);
	weft_context_cancel(r->ctx, 0);
	yields(10);
	EQ(r->written, 0);
	EQ(r->gave_up, 2);
	EQ(r->read, 1);
	OK(weft_rwmutex_try_rlock(&r->rw));
	weft_rwmutex_runlock(&r->rw);
	weft_rwmutex_runlock(&r->rw);
}

GTEST(a_writer_that_gives_up_lets_readers_in, 1) { each_way(writer_leaves); }

/* The last reader leaves before the writer can say that it gives up. */
static void
reader_was_first(struct room *r)
{
	weft_rwmutex_rlock(&r->rw);
	weft_go(write_limited, r);
	while (weft_rwmutex_try_rlock(&r->rw)) {
		weft_rwmutex_runlock(&r->rw);
		weft_yield();
	}
	yields(10);
	weft_context_cancel(r->ctx, 0);
	weft_rwmutex_runlock(&r->rw);
	yields(10);
	EQ(r->written, 1);
	EQ(r->gave_up, 0);
}

GTEST(the_last_reader_is_first, 1) { each_way(reader_was_first); }

/* Readers give up; then the writer goes, or goes before they say so. */
static void
readers_leave(struct room *r)
{
	weft_rwmutex_lock(&r->rw);
	weft_go(read_limited, r);
	weft_go(read_limited, r);
	yields(10);
	weft_context_cancel(r->ctx, 0);
	yields(10);
	EQ(r->gave_up, 2);
	weft_rwmutex_unlock(&r->rw);
	EQ(r->rw.word_, 0);
}

static void
writer_was_first(struct room *r)
{
	weft_rwmutex_lock(&r->rw);
	weft_go(read_limited, r);
	weft_go(read_plain, r);
	yields(10);
	weft_context_cancel(r->ctx, 0);
	weft_rwmutex_unlock(&r->rw);
	yields(10);
	EQ(r->gave_up, 1);
	EQ(r->read, 1);
}

GTEST(readers_give_up, 1) { each_way(readers_leave); }
GTEST(readers_give_up_too_late, 1) { each_way(writer_was_first); }

/* A writer gives up that waits for another writer. */
static void
second_writer_leaves(struct room *r)
{
	weft_rwmutex_lock(&r->rw);
	weft_go(write_limited, r);
	weft_go(read_plain, r);
	yields(10);
	weft_context_cancel(r->ctx, 0);
	yields(10);
	EQ(r->gave_up, 1);
	EQ(r->read, 0);
	weft_rwmutex_unlock(&r->rw);
	yields(10);
	EQ(r->read, 1);
	EQ(r->written, 0);
}

GTEST(the_second_writer_gives_up, 1) { each_way(second_writer_leaves); }
