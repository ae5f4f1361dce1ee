/* SPDX-License-Identifier: MIT */
/*
 * weft_rwmutex, between goroutines and plain threads alike. A lock that is
 * read often is kept in another way than one that is not, so most of this is
 * done with both: `warm` makes it one that is.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <weft.h>

#include "counter.h"
#include "plain_thread.h"
#include "stats_now.h"
#include "t.h"

enum { THREADS = 4, GOROUTINES = 10, OFTEN = 1000 };

#define BOTH(name)							\
	static void name##_cold(void) { name(false); }			\
	static void name##_warm(void) { name(true); }			\
	ON_ALL(name##_cold)						\
	ON_ALL(name##_warm)

static void
warm(weft_rwmutex *rw)
{
	for (int i = 0; i < OFTEN; i++) {
		weft_rwmutex_rlock(rw);
		weft_rwmutex_runlock(rw);
	}
}

static void
await(int *p, int n)
{
	while (counter_get(p) != n)
		weft_yield();
}

/* ---- readers share ---- */

struct room {
	weft_rwmutex rw;
	weft_waitgroup wg;
	int readers, writers;	/* atomic: how many are inside */
	int entered, leave;	/* atomic */
	long value[4];		/* plain: always all equal */
	long each;
	int from, to;
};

static void
read_until_told(struct room *r)
{
	weft_rwmutex_rlock(&r->rw);
	counter_add(&r->entered, 1);
	await(&r->leave, 1);
	weft_rwmutex_runlock(&r->rw);
	weft_waitgroup_done(&r->wg);
}

PLAIN_THREAD(read_plainly, read_until_told(arg))

/* All are inside at the same time, or this hangs. */
static void
readers_share(bool often)
{
	struct room r = {0};
	pthread_t t[THREADS];

	if (often)
		warm(&r.rw);
	weft_waitgroup_add(&r.wg, GOROUTINES + THREADS);
	for (int i = 0; i < GOROUTINES; i++)
		OK(weft_try_go(read_until_told, &r) > 0);
	threads_start(t, THREADS, read_plainly, &r);
	await(&r.entered, GOROUTINES + THREADS);
	OK(weft_rwmutex_try_rlock(&r.rw));
	OK(!weft_rwmutex_try_lock(&r.rw));
	weft_rwmutex_runlock(&r.rw);
	counter_add(&r.leave, 1);
	weft_waitgroup_wait(&r.wg);
	OK(weft_rwmutex_try_lock(&r.rw));
	weft_rwmutex_unlock(&r.rw);
	threads_join(t, THREADS);
}
BOTH(readers_share)

/* ---- writers do not ---- */

static void
look(struct room *r)
{
	counter_add(&r->readers, 1);
	EQ(counter_get(&r->writers), 0);
	for (int i = 1; i < 4; i++)
		EQ(r->value[i], r->value[0]);
	counter_add(&r->readers, -1);
}

static void
change(struct room *r, bool yield)
{
	EQ(counter_add(&r->writers, 1), 1);
	EQ(counter_get(&r->readers), 0);
	for (int i = 0; i < 4; i++) {
		r->value[i]++;
		if (yield)
			weft_yield();
	}
	counter_add(&r->writers, -1);
}

/* One in `share` writes; some move to another processor meanwhile. */
static void
mix(struct room *r, int share)
{
	for (long i = 0; i < r->each; i++) {
		if (i % share == 0) {
			if (i % 2 || !weft_rwmutex_try_lock(&r->rw))
				weft_rwmutex_lock(&r->rw);
			change(r, i % 5 == 0);
			weft_rwmutex_unlock(&r->rw);
			continue;
		}
		if (i % 2 || !weft_rwmutex_try_rlock(&r->rw))
			weft_rwmutex_rlock(&r->rw);
		look(r);
		if (i % 7 == 0)
			weft_yield();
		look(r);
		weft_rwmutex_runlock(&r->rw);
	}
	weft_waitgroup_done(&r->wg);
}

struct job {
	struct room *r;
	int share;
};

THREAD_JOB(mix_plainly, struct job, j, mix(j->r, j->share))

static void
mixed(int share)
{
	struct room r = { .each = t_scale(3000) };
	struct job j = { &r, share };
	pthread_t t[THREADS];
	long each = (r.each + share - 1) / share;

	weft_waitgroup_add(&r.wg, GOROUTINES + THREADS);
	for (int i = 0; i < GOROUTINES; i++)
		OK(weft_try_go(mix, &r, share) > 0);
	threads_start(t, THREADS, mix_plainly, &j);
	weft_waitgroup_wait(&r.wg);
	for (int i = 0; i < 4; i++)
		EQ(r.value[i], (GOROUTINES + THREADS) * each);
	threads_join(t, THREADS);
}

static void writes_and_reads(void) { mixed(2); }
static void mostly_reads(void) { mixed(500); }
static void only_writes(void) { mixed(1); }
ON_ALL(writes_and_reads)
ON_ALL(mostly_reads)
ON_ALL(only_writes)

/* Threads alone: there is no processor to keep anything on. */
TEST(without_a_runtime)
{
	struct room r = { .each = t_scale(3000) };
	struct job j = { &r, 100 };
	pthread_t t[THREADS];

	weft_waitgroup_add(&r.wg, THREADS);
	threads_start(t, THREADS, mix_plainly, &j);
	threads_join(t, THREADS);
	EQ(r.value[3], THREADS * ((r.each + 99) / 100));
}

/* ---- a writer that waits goes first ---- */

static void
write_once(struct room *r)
{
	weft_rwmutex_lock(&r->rw);
	EQ(counter_get(&r->entered), 0);
	change(r, true);
	weft_rwmutex_unlock(&r->rw);
	weft_waitgroup_done(&r->wg);
}

static void
enter_late(struct room *r)
{
	weft_rwmutex_rlock(&r->rw);
	counter_add(&r->entered, 1);
	EQ(r->value[0], 1);
	weft_rwmutex_runlock(&r->rw);
	weft_waitgroup_done(&r->wg);
}

PLAIN_THREAD(enter_plainly, enter_late(arg))

static void
new_readers_wait_for_a_writer(bool often)
{
	struct room r = {0};
	pthread_t t;

	if (often)
		warm(&r.rw);
	weft_rwmutex_rlock(&r.rw);
	weft_waitgroup_add(&r.wg, 1 + GOROUTINES + 1);
	OK(weft_try_go(write_once, &r) > 0);
	while (weft_rwmutex_try_rlock(&r.rw)) {
		weft_rwmutex_runlock(&r.rw);
		weft_yield();
	}
	for (int i = 0; i < GOROUTINES; i++)
		OK(weft_try_go(enter_late, &r) > 0);
	EQ(pthread_create(&t, NULL, enter_plainly, &r), 0);
	for (int i = 0; i < 100; i++)
		weft_yield();
	EQ(counter_get(&r.entered), 0);
	weft_rwmutex_runlock(&r.rw);
	weft_waitgroup_wait(&r.wg);
	EQ(r.entered, GOROUTINES + 1);
	pthread_join(t, NULL);
}
BOTH(new_readers_wait_for_a_writer)

static void
write_after(struct room *r)
{
	weft_rwmutex_lock(&r->rw);
	EQ(counter_get(&r->entered), GOROUTINES);
	weft_rwmutex_unlock(&r->rw);
	weft_waitgroup_done(&r->wg);
}

static void
count_in(struct room *r)
{
	weft_rwmutex_rlock(&r->rw);
	counter_add(&r->entered, 1);
	await(&r->leave, 1);
	weft_rwmutex_runlock(&r->rw);
	weft_waitgroup_done(&r->wg);
}

/* Writers do not keep readers out for ever: those that wait come in next. */
static void
readers_come_between_writers(void)
{
	struct room r = {0};
	uint64_t before = stats_now().parks;

	weft_rwmutex_lock(&r.rw);
	weft_waitgroup_add(&r.wg, 1 + GOROUTINES);
	OK(weft_try_go(write_after, &r) > 0);
	for (int i = 0; i < GOROUTINES; i++)
		OK(weft_try_go(count_in, &r) > 0);
	while (stats_now().parks < before + 1 + GOROUTINES)
		weft_yield();
	weft_rwmutex_unlock(&r.rw);
	await(&r.entered, GOROUTINES);
	counter_add(&r.leave, 1);
	weft_waitgroup_wait(&r.wg);
}
ON_ALL(readers_come_between_writers)

/* ---- tries ---- */

static void
tries(bool often)
{
	weft_rwmutex rw = {0};

	if (often)
		warm(&rw);
	for (int i = 0; i < 3; i++) {
		OK(weft_rwmutex_try_rlock(&rw));
		OK(weft_rwmutex_try_rlock(&rw));
		OK(!weft_rwmutex_try_lock(&rw));
		weft_rwmutex_runlock(&rw);
		OK(!weft_rwmutex_try_lock(&rw));
		weft_rwmutex_runlock(&rw);
	}
	OK(weft_rwmutex_try_lock(&rw));
	OK(!weft_rwmutex_try_lock(&rw));
	OK(!weft_rwmutex_try_rlock(&rw));
	weft_rwmutex_unlock(&rw);
	weft_rwmutex_lock(&rw);
	OK(!weft_rwmutex_try_rlock(&rw));
	weft_rwmutex_unlock(&rw);
	OK(weft_rwmutex_try_rlock(&rw));
	weft_rwmutex_runlock(&rw);
}
BOTH(tries)

/* ---- the goroutine that ends need not be the one that began ---- */

struct relay {
	weft_rwmutex *rw;
	weft_chan *begun;
	weft_waitgroup *wg;
};

static void
begin_reading(struct relay *y, int n)
{
	for (int i = 0; i < n; i++) {
		weft_rwmutex_rlock(y->rw);
		weft_send(y->begun, i);
	}
	weft_waitgroup_done(y->wg);
}

static void
end_reading(struct relay *y, int n)
{
	for (int i = 0; i < n; i++) {
		weft_recv(y->begun, int);
		weft_rwmutex_runlock(y->rw);
	}
	weft_waitgroup_done(y->wg);
}

struct ends {
	struct relay *y;
	int n;
};

THREAD_JOB(end_plainly, struct ends, e, end_reading(e->y, e->n))

/*
 * Nothing of it is left behind: all of that again and again with new locks at
 * the same address; there is no call that ends the life of one.
 */
static void
others_end(bool often)
{
	weft_rwmutex rw;
	weft_waitgroup wg = {0};
	struct relay y = { &rw, weft_chan_make(sizeof(int), 1000), &wg };
	struct ends e = { &y, 100 };

	for (long r = t_scale(200); r > 0; r--) {
		bool thread = r % 8 == 0;
		pthread_t t;

		memset(&rw, 0, sizeof rw);
		if (often)
			warm(&rw);
		weft_waitgroup_add(&wg, 8);
		for (int i = 0; i < 4; i++) {
			OK(weft_try_go(begin_reading, &y, 100) > 0);
			if (thread && i == 0)
				EQ(pthread_create(&t, NULL, end_plainly, &e),
				    0);
			else
				OK(weft_try_go(end_reading, &y, 100) > 0);
		}
		weft_waitgroup_wait(&wg);
		OK(weft_rwmutex_try_lock(&rw));
		weft_rwmutex_unlock(&rw);
		weft_rwmutex_lock(&rw);
		if (thread)
			pthread_join(t, NULL);
	}
	weft_chan_release(y.begun);
}
BOTH(others_end)

/* More locks than there are places to keep them apart. */
static void
many_locks(void)
{
	enum { LOCKS = 5000 };
	weft_rwmutex *rw = calloc(LOCKS, sizeof *rw);

	for (int i = 0; i < LOCKS; i++)
		for (int j = 0; j < 300; j++) {
			weft_rwmutex_rlock(&rw[i]);
			if (j < 299)
				weft_rwmutex_runlock(&rw[i]);
		}
	for (int i = 0; i < LOCKS; i++) {
		OK(!weft_rwmutex_try_lock(&rw[i]));
		weft_rwmutex_rlock(&rw[i]);
		weft_rwmutex_runlock(&rw[i]);
		weft_rwmutex_runlock(&rw[i]);
		OK(weft_rwmutex_try_lock(&rw[i]));
	}
	free(rw);
}
ON_ALL(many_locks)

/* ---- processors come and go ---- */

GTEST(readers_of_a_processor_that_is_gone, 8)
{
	struct room r = {0};

	warm(&r.rw);
	weft_waitgroup_add(&r.wg, 64);
	for (int i = 0; i < 64; i++)
		OK(weft_try_go(read_until_told, &r) > 0);
	await(&r.entered, 64);
	EQ(weft_set_procs(1), 8);
	OK(!weft_rwmutex_try_lock(&r.rw));
	counter_add(&r.leave, 1);
	weft_rwmutex_lock(&r.rw);
	EQ(weft_set_procs(8), 1);
	weft_rwmutex_unlock(&r.rw);
	weft_waitgroup_wait(&r.wg);
}

struct resizing {
	weft_waitgroup wg;
	int stop;		/* atomic */
};

static void
resize(struct resizing *z)
{
	for (int n = 1; !counter_get(&z->stop); n = n % 8 + 1) {
		OK(weft_set_procs(n) > 0);
		weft_yield();
	}
	weft_waitgroup_done(&z->wg);
}

GTEST(processors_change_all_the_time, 4)
{
	struct room r = { .each = t_scale(2000) };
	struct resizing z = {0};

	weft_waitgroup_add(&z.wg, 1);
	OK(weft_try_go(resize, &z) > 0);
	weft_waitgroup_add(&r.wg, GOROUTINES);
	for (int i = 0; i < GOROUTINES; i++)
		OK(weft_try_go(mix, &r, 300) > 0);
	weft_waitgroup_wait(&r.wg);
	EQ(r.value[0], GOROUTINES * ((r.each + 299) / 300));
	counter_add(&z.stop, 1);
	weft_waitgroup_wait(&z.wg);
}

/* ---- lifetime ---- */

struct shared {
	weft_rwmutex rw;
	int refs;		/* under the lock */
	weft_waitgroup *wg;
};

static void
drop_ref(struct shared *s)
{
	weft_waitgroup *wg = s->wg;
	int left;

	for (int i = 0; i < 3; i++) {
		weft_rwmutex_rlock(&s->rw);
		OK(s->refs > 0);
		weft_rwmutex_runlock(&s->rw);
	}
	weft_rwmutex_lock(&s->rw);
	left = --s->refs;
	weft_rwmutex_unlock(&s->rw);
	if (left == 0)
		free(s);
	weft_waitgroup_done(wg);
}

/* As for a mutex: AddressSanitizer sees accesses that come too late. */
static void
freed_by_the_last(bool often)
{
	weft_waitgroup wg = {0};

	for (long r = t_scale(2000); r > 0; r--) {
		struct shared *s = calloc(1, sizeof *s);

		s->refs = 4;
		s->wg = &wg;
		if (often)
			warm(&s->rw);
		weft_waitgroup_add(&wg, 4);
		for (int i = 0; i < 4; i++)
			OK(weft_try_go(drop_ref, s) > 0);
		weft_waitgroup_wait(&wg);
	}
}
BOTH(freed_by_the_last)
