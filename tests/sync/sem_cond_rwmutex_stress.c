/* SPDX-License-Identifier: MIT */
/*
 * Grants against deadlines and cancellation, for seconds: whatever is granted
 * at the last moment is granted or not, but never lost and never twice.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <weft.h>

#include "plain_thread.h"
#include "t.h"
#include "wait_limits.h"

enum { TOTAL = 6, GOROUTINES = 12, THREADS = 2 };

#define EACH_ON_ALL(name)						\
	GTEST(name##_on_1, 1) { name(); }				\
	GTEST(name##_on_2, 2) { name(); }				\
	GTEST(name##_on_4, 4) { name(); }				\
	GTEST(name##_on_8, 8) { name(); }

static double share = 0.25;	/* seconds for each test */

static bool
over(bool *stop)
{
	return __atomic_load_n(stop, __ATOMIC_RELAXED);
}

/* ---- units ---- */

struct pool {
	weft_sem s;
	weft_waitgroup wg;
	bool stop;		/* atomic */
	int used;		/* atomic */
	long got, late, cancelled;	/* atomic */
	weft_mutex m;
	weft_context *ctx;	/* under m */
};

static bool
acquire(struct pool *p, uint64_t n, uint32_t how)
{
	weft_context *ctx;
	bool got;

	if (how % 4 == 0) {
		weft_sem_acquire(&p->s, n);
		return true;
	}
	if (how % 4 == 1) {
		got = weft_sem_acquire_until(&p->s, n,
		    weft_deadline((int64_t)(how >> 4) % 60 * WEFT_US));
		if (!got)
			add_one(&p->late);
		return got;
	}
	ctx = context_get(&p->m, &p->ctx);
	got = weft_sem_acquire_context(&p->s, n, ctx);
	if (!got) {
		EQ(weft_context_error(ctx), -ECANCELED);
		add_one(&p->cancelled);
	}
	weft_context_release(ctx);
	return got;
}

static void
take_and_give(struct pool *p, uint32_t seed)
{
	while (!over(&p->stop)) {
		uint64_t n = rnd(&seed) % TOTAL + 1;

		if (!acquire(p, n, rnd(&seed)))
			continue;
		OK(__atomic_add_fetch(&p->used, (int)n, __ATOMIC_SEQ_CST) <=
		    TOTAL);
		if (rnd(&seed) % 3 == 0)
			weft_sleep(rnd(&seed) % 50 * WEFT_US);
		__atomic_sub_fetch(&p->used, (int)n, __ATOMIC_SEQ_CST);
		add_one(&p->got);
		weft_sem_release(&p->s, n);
	}
	weft_waitgroup_done(&p->wg);
}

PLAIN_THREAD(take_plainly, take_and_give(arg, 77))

/* Has all happened that can? */
static bool
all_kinds(struct pool *p)
{
	return some(&p->got) && some(&p->late) && some(&p->cancelled);
}

/* Hangs if none gets any, or none is late, or cancelled. */
static void
units_against_time(void)
{
	struct pool p = { .s = WEFT_SEM(TOTAL) };
	pthread_t t[THREADS];

	context_replace(&p.m, &p.ctx);
	weft_waitgroup_add(&p.wg, GOROUTINES + THREADS);
	for (uint32_t i = 0; i < GOROUTINES; i++)
		OK(weft_try_go(take_and_give, &p, i) > 0);
	threads_start(t, THREADS, take_plainly, &p);
	while (t_more(share) || !all_kinds(&p)) {
		weft_sleep(30 * WEFT_US);
		context_replace(&p.m, &p.ctx);
	}
	__atomic_store_n(&p.stop, true, __ATOMIC_RELAXED);
	weft_waitgroup_wait(&p.wg);
	OK(weft_sem_try_acquire(&p.s, TOTAL));
	OK(!weft_sem_try_acquire(&p.s, 1));
	threads_join(t, THREADS);
	weft_context_release(p.ctx);
}
EACH_ON_ALL(units_against_time)

/* ---- signals ---- */

struct post {
	weft_mutex m;
	weft_cond c;
	weft_waitgroup wg;
	/* under m */
	bool stop;
	int letters;		/* sent, and not fetched */
	int patient;		/* waiters without a deadline */
	long fetched, late;
};

static void
fetch(struct post *p)
{
	EQ(p->letters, 1);
	p->letters--;
	p->fetched++;
}

/* Takes a letter only if it was signalled; leaves if it is late. */
static void
impatient(struct post *p, uint32_t seed)
{
	weft_mutex_lock(&p->m);
	while (!p->stop) {
		bool signalled = weft_cond_wait_until(&p->c, &p->m,
		    weft_deadline(rnd(&seed) % 40 * WEFT_US));

		if (p->stop)
			break;
		if (signalled)
			fetch(p);
		else
			p->late++;
	}
	weft_mutex_unlock(&p->m);
	weft_waitgroup_done(&p->wg);
}

static void
patient(struct post *p)
{
	weft_mutex_lock(&p->m);
	while (!p->stop) {
		p->patient++;
		weft_cond_wait(&p->c, &p->m);
		p->patient--;
		if (!p->stop)
			fetch(p);
	}
	weft_mutex_unlock(&p->m);
	weft_waitgroup_done(&p->wg);
}

PLAIN_THREAD(impatient_plainly, impatient(arg, 5))

/* With the mutex locked: until one waits and nothing is to be fetched. */
static void
await_reader(struct post *p)
{
	while (p->letters || !p->patient) {
		weft_mutex_unlock(&p->m);
		weft_yield();
		weft_mutex_lock(&p->m);
	}
}

/*
 * Each signal is sent while one waits without a deadline: so a goroutine
 * gets it, and exactly one. Hangs if one is lost, or none is late.
 */
static void
signals_against_time(void)
{
	struct post p = {0};
	pthread_t t;
	long sent = 0;

	weft_waitgroup_add(&p.wg, 9);
	for (uint32_t i = 0; i < 6; i++)
		OK(weft_try_go(impatient, &p, i) > 0);
	for (int i = 0; i < 2; i++)
		OK(weft_try_go(patient, &p) > 0);
	EQ(pthread_create(&t, NULL, impatient_plainly, &p), 0);
	weft_mutex_lock(&p.m);
	while (t_more(share) || !p.late) {
		await_reader(&p);
		p.letters++;
		sent++;
		weft_cond_signal(&p.c);
	}
	await_reader(&p);
	EQ(p.fetched, sent);
	p.stop = true;
	weft_cond_broadcast(&p.c);
	weft_mutex_unlock(&p.m);
	weft_waitgroup_wait(&p.wg);
	pthread_join(t, NULL);
}
EACH_ON_ALL(signals_against_time)

/* ---- readers and writers, while processors come and go ---- */

struct ledger {
	weft_rwmutex rw;
	weft_waitgroup wg;
	bool stop;		/* atomic */
	int writers;		/* atomic */
	long a, b;		/* plain: equal */
	long written;		/* atomic */
};

static void
keep_books(struct ledger *l, uint32_t seed, uint32_t every)
{
	while (!over(&l->stop)) {
		uint32_t r = rnd(&seed);

		if (rnd(&seed) % every == 0) {
			weft_rwmutex_lock(&l->rw);
			EQ(__atomic_add_fetch(&l->writers, 1,
			    __ATOMIC_SEQ_CST), 1);
			l->a++;
			if (r % 4 == 0)
				weft_yield();
			l->b++;
			__atomic_sub_fetch(&l->writers, 1, __ATOMIC_SEQ_CST);
			__atomic_add_fetch(&l->written, 1, __ATOMIC_RELAXED);
			weft_rwmutex_unlock(&l->rw);
			continue;
		}
		if (r % 2 || !weft_rwmutex_try_rlock(&l->rw))
			weft_rwmutex_rlock(&l->rw);
		EQ(l->a, l->b);
		if (r % 16 == 0)
			weft_sleep(r % 100 * WEFT_US);
		else if (r % 4 == 0)
			weft_yield();
		EQ(l->a, l->b);
		EQ(__atomic_load_n(&l->writers, __ATOMIC_SEQ_CST), 0);
		weft_rwmutex_runlock(&l->rw);
	}
	weft_waitgroup_done(&l->wg);
}

struct clerk {
	struct ledger *l;
	uint32_t every;
};

THREAD_JOB(keep_plainly, struct clerk, k, keep_books(k->l, 3, k->every))

static void
books(uint32_t every, bool resize)
{
	struct ledger l = {0};
	struct clerk k = { &l, every };
	pthread_t t;
	int procs = 1;

	weft_waitgroup_add(&l.wg, GOROUTINES + 1);
	for (uint32_t i = 0; i < GOROUTINES; i++)
		OK(weft_try_go(keep_books, &l, i, every) > 0);
	EQ(pthread_create(&t, NULL, keep_plainly, &k), 0);
	while (t_more(share)) {
		weft_sleep(300 * WEFT_US);
		procs = procs % 8 + 1;
		if (resize)
			OK(weft_set_procs(procs) > 0);
	}
	__atomic_store_n(&l.stop, true, __ATOMIC_RELAXED);
	weft_waitgroup_wait(&l.wg);
	EQ(l.a, l.written);
	EQ(l.b, l.written);
	OK(weft_rwmutex_try_lock(&l.rw));
	pthread_join(t, NULL);
}

static void books_often_written(void) { books(10, false); }
static void books_seldom_written(void) { books(1000, false); }
EACH_ON_ALL(books_often_written)
EACH_ON_ALL(books_seldom_written)

GTEST(books_moved_about, 4)
{
	share = 1;
	books(500, true);
}
