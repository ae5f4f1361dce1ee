/* SPDX-License-Identifier: MIT */
/*
 * Flights under load: never two executions of one key at a time (unless it is
 * forgotten), results are counted references, and each is given up by every
 * caller that got it; some executions end their goroutine.
 */
#include <pthread.h>
#include <stdlib.h>

#include <weft/extra.h>

#include "t.h"
#include "workers.h"

enum { GOROUTINES = 24, KEYS = 3 };

struct result {
	int refs;		/* atomic */
	unsigned key;
};

static void retain(void *r);

static struct load {
	weft_flight f;
	weft_context *ctx;	/* atomic: cancelled soon */
	bool forget;		/* constant */
	int running[KEYS];	/* atomic */
	long runs, calls, shared, refused, exits;	/* atomic */
	long live;		/* atomic */
} load = { .f = { .retain = retain } };

static void
add(long *n, long by)
{
	__atomic_add_fetch(n, by, __ATOMIC_RELAXED);
}

static void
retain(void *result)
{
	struct result *r = result;

	OK(__atomic_fetch_add(&r->refs, 1, __ATOMIC_RELAXED) > 0);
	add(&load.shared, 1);
}

static void
release(struct result *r)
{
	if (__atomic_fetch_add(&r->refs, -1, __ATOMIC_ACQ_REL) == 1) {
		add(&load.live, -1);
		free(r);
	}
}

struct job {
	unsigned key, seed;
};

static void
enter(unsigned key, int by, int expected)
{
	int was = __atomic_fetch_add(&load.running[key], by, __ATOMIC_SEQ_CST);

	OK(load.forget || was == expected);
}

/* Alone with its key. It may end its goroutine instead of returning. */
static void *
execute(void *arg)
{
	struct job *j = arg;
	struct result *r;

	enter(j->key, 1, 0);
	add(&load.runs, 1);
	if (j->seed % 3)
		weft_yield();
	if (j->seed % 50 == 0)
		weft_sleep(100 * WEFT_US);
	enter(j->key, -1, 1);
	if (j->seed % 7 == 0 && weft_self_id() > 0) {
		add(&load.exits, 1);
		weft_goexit();
	}
	r = malloc(sizeof *r);
	*r = (struct result){ 1, j->key };
	add(&load.live, 1);
	return r;
}

static bool
call(struct job *j, void **r)
{
	weft_key k = weft_key_number(j->key);
	bool got = true;

	switch (j->seed / 64 % 3) {
	case 0:
		*r = weft_flight_do(&load.f, k, execute, j);
		break;
	case 1:
		got = weft_flight_do_until(&load.f, k, execute, j, r,
		    weft_deadline(j->seed / 256 % 100 * WEFT_US));
		break;
	case 2:
		got = weft_flight_do_context(&load.f, k, execute, j, r,
		    __atomic_load_n(&load.ctx, __ATOMIC_ACQUIRE));
	}
	return got;
}

static void
once(unsigned seed)
{
	struct job j = { seed % KEYS, seed / KEYS };
	void *r = NULL;

	add(&load.calls, 1);
	if (load.forget && j.seed % 5 == 0)
		weft_flight_forget(&load.f, weft_key_number(j.key));
	if (call(&j, &r)) {
		EQ(((struct result *)r)->key, j.key);
		release(r);
	} else {
		add(&load.refused, 1);
	}
}

static void
done(void *wg)
{
	weft_waitgroup_done(wg);
}

/* One goroutine for a call: it may be ended in it. */
static void
once_and_done(unsigned seed, weft_waitgroup *wg)
{
	weft_defer(done, wg);
	once(seed);
}

static void
work(unsigned seed)
{
	weft_waitgroup wg = {0};

	while (workers_wanted()) {
		seed = seed * 1103515245 + 12345;
		weft_waitgroup_add(&wg, 1);
		weft_go(once_and_done, seed >> 8, &wg);
		weft_waitgroup_wait(&wg);
	}
	weft_waitgroup_done(&workers.wg);
}

static void *
work_plainly(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;

	while (workers_wanted())
		once((seed = seed * 1103515245 + 12345) >> 8);
	weft_waitgroup_done(&workers.wg);
	return NULL;
}

/* Contexts are cancelled, one after the other, and kept: callers have them. */
static void
cancel_now_and_then(void)
{
	weft_context *ctx[1000] = { NULL };
	int n = 0;

	while (t_more(3)) {
		weft_sleep(WEFT_MS);
		if (n == 1000)
			continue;
		ctx[n++] = load.ctx;
		__atomic_store_n(&load.ctx, weft_context_make(NULL),
		    __ATOMIC_RELEASE);
		weft_context_cancel(ctx[n - 1], 0);
	}
	workers_stop();
	weft_context_release(load.ctx);
	while (n > 0)
		weft_context_release(ctx[--n]);
}

static void
run(void)
{
	load.ctx = weft_context_make(NULL);
	workers_start(GOROUTINES, work, work_plainly);
	cancel_now_and_then();
	EQ(load.live, 0);
	OK(load.shared > 0 && load.refused > 0 && load.exits > 0);
	/* Each call ran it, shared, was refused, or ran it and ended. */
	EQ(load.runs + load.shared + load.refused, load.calls);
}

GTEST(alone_and_counted, 4)
{
	run();
}

GTEST(alone_and_counted_more_ps, 16)
{
	run();
}

GTEST(counted_when_forgotten, 4)
{
	load.forget = true;
	run();
}
