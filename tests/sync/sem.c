/* SPDX-License-Identifier: MIT */
/* weft_sem, between goroutines and plain threads alike. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <weft.h>

#include "plain_thread.h"
#include "stats_now.h"
#include "t.h"

enum { GOROUTINES = 12, THREADS = 4, TOTAL = 10 };

/* ---- never more than there are ---- */

struct pool {
	weft_sem s;
	weft_waitgroup wg;
	weft_context *ctx;
	long each;
	int used;		/* atomic */
	long got, late;		/* atomic */
};

static void
use(struct pool *p, uint64_t n, bool yield)
{
	int used = __atomic_add_fetch(&p->used, (int)n, __ATOMIC_SEQ_CST);

	OK(used <= TOTAL);
	if (yield)
		weft_yield();
	__atomic_sub_fetch(&p->used, (int)n, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&p->got, 1, __ATOMIC_RELAXED);
	weft_sem_release(&p->s, n);
}

static void
hammer(struct pool *p, unsigned seed)
{
	for (long i = 0; i < p->each; i++) {
		uint64_t n = (seed = seed * 1103515245 + 12345) >> 16;
		int64_t soon = weft_deadline((int64_t)(n % 30) * WEFT_US);
		bool got = true;

		n = n % TOTAL + 1;
		switch ((seed >> 8) % 4) {
		case 0:
			weft_sem_acquire(&p->s, n);
			break;
		case 1:
			got = weft_sem_try_acquire(&p->s, n);
			break;
		case 2:
			got = weft_sem_acquire_until(&p->s, n, soon);
			break;
		case 3:
			got = weft_sem_acquire_context(&p->s, n, p->ctx);
		}
		if (got)
			use(p, n, i % 4 == 0);
		else
			__atomic_add_fetch(&p->late, 1, __ATOMIC_RELAXED);
	}
	weft_waitgroup_done(&p->wg);
}

PLAIN_THREAD(hammer_plainly, hammer(arg, 99))

/* All are there again in the end, whatever came to nothing. */
static void
conserved(void)
{
	struct pool p = { .s = WEFT_SEM(TOTAL), .each = t_scale(1500) };
	pthread_t t[THREADS];

	p.ctx = weft_context_make(NULL);
	weft_waitgroup_add(&p.wg, GOROUTINES + THREADS);
	for (int i = 0; i < GOROUTINES; i++)
		OK(weft_try_go(hammer, &p, (unsigned)i) > 0);
	threads_start(t, THREADS, hammer_plainly, &p);
	weft_waitgroup_wait(&p.wg);
	EQ(p.got + p.late, (GOROUTINES + THREADS) * p.each);
	OK(p.got > 0);
	OK(weft_sem_try_acquire(&p.s, TOTAL));
	OK(!weft_sem_try_acquire(&p.s, 1));
	threads_join(t, THREADS);
	weft_context_release(p.ctx);
}
ON_ALL(conserved)

TEST(without_a_runtime)
{
	struct pool p = { .s = WEFT_SEM(TOTAL), .each = t_scale(1500) };
	pthread_t t[THREADS];

	weft_waitgroup_add(&p.wg, THREADS);
	threads_start(t, THREADS, hammer_plainly, &p);
	threads_join(t, THREADS);
	OK(weft_sem_try_acquire(&p.s, TOTAL));
	OK(!weft_sem_acquire_until(&p.s, 1, weft_deadline(WEFT_MS)));
}

/* ---- counting ---- */

GTEST(numbers, 1)
{
	weft_sem s = WEFT_SEM(3), none = {0};
	weft_sem many = WEFT_SEM((UINT64_C(1) << 63) - 1);
	weft_stats before, after;

	weft_stats_read(&before, sizeof before);
	OK(!weft_sem_try_acquire(&s, 4));
	OK(weft_sem_try_acquire(&s, 2));
	OK(!weft_sem_try_acquire(&s, 2));
	weft_sem_acquire(&s, 1);
	weft_sem_acquire(&s, 0);
	OK(!weft_sem_try_acquire(&s, 1));
	weft_sem_release(&s, 100);
	weft_sem_acquire(&s, 50);
	OK(weft_sem_try_acquire(&s, 50));
	OK(!weft_sem_try_acquire(&s, 1));
	OK(!weft_sem_try_acquire(&none, 1));
	OK(weft_sem_try_acquire(&none, 0));
	OK(!weft_sem_try_acquire(&many, UINT64_MAX));
	OK(!weft_sem_try_acquire(&many, UINT64_C(1) << 63));
	weft_sem_acquire(&many, (UINT64_C(1) << 63) - 1);
	weft_sem_release(&many, (UINT64_C(1) << 63) - 1);
	OK(weft_sem_try_acquire(&many, (UINT64_C(1) << 63) - 1));
	OK(!weft_sem_try_acquire(&many, 1));
	weft_stats_read(&after, sizeof after);
	EQ(after.parks, before.parks);
	OK(!weft_sem_acquire_until(&s, UINT64_MAX, weft_now()));
	OK(!weft_sem_acquire_until(&s, 1, -1));
	weft_sem_release(&s, 1);
	OK(weft_sem_acquire_until(&s, 1, -1));
	weft_sem_release(&s, 1);
	OK(weft_sem_acquire_until(&s, 1, 0));
}

/* ---- in order of arrival ---- */

struct line {
	weft_sem s;
	weft_waitgroup wg;
	weft_mutex m;
	int n, order[8];	/* under m */
};

static void
want(struct line *l, uint64_t n, int me)
{
	weft_sem_acquire(&l->s, n);
	weft_mutex_lock(&l->m);
	l->order[l->n++] = me;
	weft_mutex_unlock(&l->m);
	weft_waitgroup_done(&l->wg);
}

/* In vain. */
static void
want_until(struct line *l, uint64_t n, int64_t when)
{
	OK(!weft_sem_acquire_until(&l->s, n, when));
	weft_waitgroup_done(&l->wg);
}

static void
want_context(struct line *l, uint64_t n, weft_context *ctx)
{
	OK(!weft_sem_acquire_context(&l->s, n, ctx));
	weft_waitgroup_done(&l->wg);
}

static int
served(struct line *l)
{
	int n;

	weft_mutex_lock(&l->m);
	n = l->n;
	weft_mutex_unlock(&l->m);
	return n;
}

static void
await_served(struct line *l, int n)
{
	for (int i = 0; i < 50; i++) {
		OK(served(l) <= n);
		weft_yield();
	}
	while (served(l) < n)
		weft_yield();
	EQ(served(l), n);
}

static void
await_parks(uint64_t n)
{
	while (stats_now().parks < n)
		weft_yield();
}

/* One that wants many is not overtaken by those that want few. */
static void
few_do_not_overtake_many(void)
{
	static const uint64_t wants[] = { 5, 1, 2, 1 };
	struct line l = { .s = WEFT_SEM(1) };
	uint64_t before = stats_now().parks;

	weft_waitgroup_add(&l.wg, 4);
	for (int i = 0; i < 4; i++) {
		OK(weft_try_go(want, &l, wants[i], i) > 0);
		await_parks(before + (uint64_t)i + 1);
	}
	OK(!weft_sem_try_acquire(&l.s, 1));
	OK(!weft_sem_acquire_until(&l.s, 1, weft_now()));
	await_served(&l, 0);
	weft_sem_release(&l.s, 3);	/* 4 of 5 */
	await_served(&l, 0);
	weft_sem_release(&l.s, 2);	/* 5 and 1 */
	await_served(&l, 2);
	OK(!weft_sem_try_acquire(&l.s, 1));
	weft_sem_release(&l.s, 100);	/* the others, and some left */
	weft_waitgroup_wait(&l.wg);
	EQ(l.order[0] + l.order[1], 1);
	OK(weft_sem_try_acquire(&l.s, 97));
	OK(!weft_sem_try_acquire(&l.s, 1));
}
ON_ALL(few_do_not_overtake_many)

/* The order itself is to be seen only if one after the other is let in. */
static void
one_after_the_other(void)
{
	struct line l = {0};
	uint64_t before = stats_now().parks;

	weft_waitgroup_add(&l.wg, 8);
	for (int i = 0; i < 8; i++) {
		OK(weft_try_go(want, &l, 2, i) > 0);
		await_parks(before + (uint64_t)i + 1);
	}
	for (int i = 0; i < 8; i++) {
		weft_sem_release(&l.s, 2);
		await_served(&l, i + 1);
		EQ(l.order[i], i);
	}
	weft_waitgroup_wait(&l.wg);
}
ON_ALL(one_after_the_other)

/* A big one at the front gives up: those behind it get what is there. */
static void
the_first_gives_up(void)
{
	struct line l = { .s = WEFT_SEM(3) };
	weft_context *ctx = weft_context_make(NULL);
	uint64_t before = stats_now().parks;

	weft_waitgroup_add(&l.wg, 2);
	OK(weft_try_go(want_until, &l, 5, weft_deadline(20 * WEFT_MS)) > 0);
	await_parks(before + 1);
	OK(weft_try_go(want, &l, 3, 0) > 0);
	weft_waitgroup_wait(&l.wg);
	EQ(served(&l), 1);
	weft_sem_release(&l.s, 3);

	before = stats_now().parks;
	weft_waitgroup_add(&l.wg, 3);
	OK(weft_try_go(want_context, &l, 5, ctx) > 0);
	await_parks(before + 1);
	OK(weft_try_go(want, &l, 1, 0) > 0);
	OK(weft_try_go(want, &l, 2, 0) > 0);
	await_parks(before + 3);
	await_served(&l, 1);
	weft_context_cancel(ctx, 0);
	weft_waitgroup_wait(&l.wg);
	EQ(served(&l), 3);
	OK(!weft_sem_try_acquire(&l.s, 1));
	weft_sem_release(&l.s, 1);
	OK(weft_sem_try_acquire(&l.s, 1));
	weft_context_release(ctx);
}
ON_ALL(the_first_gives_up)

/* One in the middle that gives up does not matter to the others. */
static void
one_in_the_middle_gives_up(void)
{
	struct line l = {0};
	weft_context *ctx = weft_context_make(NULL);
	uint64_t before = stats_now().parks;

	weft_waitgroup_add(&l.wg, 3);
	OK(weft_try_go(want, &l, 4, 0) > 0);
	await_parks(before + 1);
	OK(weft_try_go(want_context, &l, 1, ctx) > 0);
	await_parks(before + 2);
	OK(weft_try_go(want, &l, 2, 1) > 0);
	await_parks(before + 3);
	weft_sem_release(&l.s, 3);
	weft_context_cancel(ctx, 0);
	await_served(&l, 0);
	weft_sem_release(&l.s, 3);
	weft_waitgroup_wait(&l.wg);
	EQ(served(&l), 2);
	OK(!weft_sem_try_acquire(&l.s, 1));
	weft_context_release(ctx);
}
ON_ALL(one_in_the_middle_gives_up)

/* ---- times and contexts ---- */

static void
until_is_never_early(void)
{
	weft_sem s = WEFT_SEM(1);
	int64_t when = weft_deadline(2 * WEFT_MS);
	weft_context *ctx;

	OK(!weft_sem_acquire_until(&s, 2, when));
	OK(weft_now() >= when);
	when = weft_deadline(2 * WEFT_MS);
	ctx = weft_context_make_until(NULL, when);
	OK(!weft_sem_acquire_context(&s, 2, ctx));
	OK(weft_now() >= when);
	weft_context_release(ctx);
}
ON_ALL(until_is_never_early)

static void
release_late(weft_sem *s)
{
	weft_sleep(2 * WEFT_MS);
	weft_sem_release(s, 2);
}

static void
zero_is_no_limit(void)
{
	weft_sem s = {0};

	OK(weft_try_go(release_late, &s) > 0);
	OK(weft_sem_acquire_until(&s, 2, 0));
	OK(weft_try_go(release_late, &s) > 0);
	OK(weft_sem_acquire_context(&s, 2, NULL));
}
ON_ALL(zero_is_no_limit)

/* Work that is cancelled gets no units, even if they are there. */
GTEST(cancelled_before, 1)
{
	weft_context *ctx = weft_context_make(NULL);
	weft_sem s = WEFT_SEM(1);

	weft_context_cancel(ctx, -EPIPE);
	OK(!weft_sem_acquire_context(&s, 1, ctx));
	OK(!weft_sem_acquire_context(&s, 2, ctx));
	OK(weft_sem_acquire_context(&s, 1, NULL));
	weft_context_release(ctx);
}

/* ---- lifetime ---- */

static void
give(weft_sem *s)
{
	weft_sem_release(s, 1);
}

/* A goroutine with the last unit may free it, though release is not back. */
static void
freed_when_got(void)
{
	for (long r = t_scale(5000); r > 0; r--) {
		weft_sem *s = calloc(1, sizeof *s);

		OK(weft_try_go(give, s) > 0);
		if (r % 3 == 0)
			while (!weft_sem_try_acquire(s, 1))
				weft_yield();
		else if (r % 3 == 1)
			weft_sem_acquire(s, 1);
		else
			while (!weft_sem_acquire_until(s, 1,
			    weft_deadline(WEFT_US)))
				weft_yield();
		free(s);
	}
}
ON_ALL(freed_when_got)
