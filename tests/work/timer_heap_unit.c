/* SPDX-License-Identifier: MIT */
/*
 * The heap of timers against a plain array: what is set fires once, in order,
 * not early, or is stopped and then never.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "os.h"
#include "rand.h"
#include "t.h"
#include "timer_heap.h"

enum { MANY = 3000, BATCH = 128 };

static struct timer_heap heaps[3] = {
	TIMER_HEAP_INIT, TIMER_HEAP_INIT, TIMER_HEAP_INIT
};
static struct rand dice;

/* One timer and what is expected of it. */
static struct one {
	struct timer t;
	int64_t when, again;	/* when set; if not 0: then once more */
	bool set;
	int fired, heap;
} ones[MANY];
static int64_t clock_ns, last_fired;

static uint32_t
roll(uint32_t n)
{
	return rand_below(&dice, n);
}

static void
fire(struct timer *t, int64_t now, struct glist *woken)
{
	struct one *o = container_of(t, struct one, t);

	(void)woken;
	OK(o->set);
	EQ(now, clock_ns);
	OK(o->when <= now);
	OK(o->when >= last_fired);
	last_fired = o->when;
	o->fired++;
	if (!o->again) {
		o->set = false;
		return;
	}
	o->when = t->when = now + o->again;
	o->again = 0;
}

static void
setup(void)
{
	rand_seed(&dice, 4711);
	for (int i = 0; i < MANY; i++)
		timer_init(&ones[i].t, fire);
}

static int64_t
model_first(int heap)
{
	int64_t first = NEVER_NS;

	for (int i = 0; i < MANY; i++)
		if (ones[i].set && ones[i].heap == heap &&
		    ones[i].when < first)
			first = ones[i].when;
	return first;
}

static uint32_t
model_count(int heap)
{
	uint32_t n = 0;

	for (int i = 0; i < MANY; i++)
		n += ones[i].set && ones[i].heap == heap;
	return n;
}

static void
check_heap(int heap)
{
	struct timer_heap *h = &heaps[heap];

	lock_take(&h->lock);
	OK(timer_heap_valid(h));
	lock_drop(&h->lock);
	EQ(timer_heap_pending(h), model_first(heap) != NEVER_NS);
	EQ(h->n - h->n_empty, model_count(heap));
	OK(timer_heap_first(h) <= model_first(heap));
	if (!model_count(heap))
		EQ(timer_heap_first(h), NEVER_NS);
}

static void
set_one(struct one *o, int heap, int64_t when)
{
	bool early = when < timer_heap_first(&heaps[heap]);

	o->when = when;
	o->heap = heap;
	o->set = true;
	EQ(timer_heap_add(&heaps[heap], &o->t, when), early);
}

static void
stop_one(struct one *o)
{
	EQ(timer_stop(&o->t), o->set);
	o->set = false;
	EQ(timer_stop(&o->t), false);
}

/* All that is due, in as many turns as it takes. */
static void
run_heap(int heap)
{
	struct glist woken = {0};

	do {
		last_fired = INT64_MIN;
		timer_heap_run(&heaps[heap], clock_ns, &woken);
	} while (timer_heap_first(&heaps[heap]) <= clock_ns);
	EQ(woken.n, 0);
	OK(model_first(heap) > clock_ns);
}

static void
empty_all(void)
{
	for (int i = 0; i < MANY; i++)
		stop_one(&ones[i]);
	for (int i = 0; i < 3; i++) {
		check_heap(i);
		EQ(heaps[i].n, 0);
		OK(heaps[i].cap < 1000);
	}
}

/* ---- alone ---- */

TEST(all_orders)
{
	setup();
	for (int how = 0; how < 4; how++) {
		for (int i = 0; i < MANY; i++)
			set_one(&ones[i], 0, how == 0 ? i : how == 1 ?
			    MANY - i : how == 2 ? 5 : (int)roll(MANY));
		check_heap(0);
		for (clock_ns = -1; clock_ns <= MANY; clock_ns += 7)
			run_heap(0);
		clock_ns = MANY;
		run_heap(0);
		for (int i = 0; i < MANY; i++)
			EQ(ones[i].fired, how + 1);
		check_heap(0);
		EQ(heaps[0].n, 0);
	}
	empty_all();
}

TEST(every_size)
{
	setup();
	for (int n = 0; n < 300; n++) {
		for (int i = 0; i < n; i++)
			set_one(&ones[i], 0, i * 7919 % n);
		check_heap(0);
		for (int i = 0; i < n; i += 2)
			stop_one(&ones[i]);
		check_heap(0);
		clock_ns = n;
		run_heap(0);
		check_heap(0);
	}
	empty_all();
}

TEST(at_most_a_batch)
{
	struct glist woken = {0};
	int fired = 0;

	setup();
	clock_ns = 10;
	for (int i = 0; i < 3 * BATCH; i++)
		set_one(&ones[i], 0, i % 10);
	last_fired = INT64_MIN;
	timer_heap_run(&heaps[0], clock_ns, &woken);
	for (int i = 0; i < 3 * BATCH; i++)
		fired += ones[i].fired;
	OK(fired > 0 && fired <= BATCH);
	OK(timer_heap_first(&heaps[0]) <= clock_ns);
	run_heap(0);
	for (int i = 0; i < 3 * BATCH; i++)
		EQ(ones[i].fired, 1);
}

/* The first and the last there are, and those that never come. */
TEST(ends_of_time)
{
	setup();
	set_one(&ones[0], 0, NEVER_NS);
	set_one(&ones[1], 0, 0);
	set_one(&ones[2], 0, NEVER_NS - 1);
	set_one(&ones[3], 0, 1);
	check_heap(0);
	clock_ns = 0;
	run_heap(0);
	EQ(ones[1].fired, 1);
	EQ(ones[3].fired, 0);
	clock_ns = NEVER_NS - 1;
	run_heap(0);
	EQ(ones[2].fired, 1);
	EQ(ones[3].fired, 1);
	EQ(ones[0].fired, 0);
	OK(!timer_heap_pending(&heaps[0]));		/* it never will */
	EQ(heaps[0].n - heaps[0].n_empty, 1);
	OK(timer_stop(&ones[0].t));
	EQ(heaps[0].n, 0);
}

/* The clock begins at 0: all times before it are over at once. */
TEST(before_all_time)
{
	static const int64_t some[] = { INT64_MIN, INT64_MIN + 1, -2, -1 };
	struct glist woken = {0};

	setup();
	for (int i = 0; i < 4; i++) {
		ones[i].set = true;
		EQ(timer_heap_add(&heaps[0], &ones[i].t, some[i]), i == 0);
		OK(timer_heap_first(&heaps[0]) <= 0);
		OK(timer_heap_pending(&heaps[0]));
	}
	clock_ns = 0;
	timer_heap_run(&heaps[0], 0, &woken);
	for (int i = 0; i < 4; i++)
		EQ(ones[i].fired, 1);
	EQ(timer_heap_first(&heaps[0]), NEVER_NS);
}

/* ---- at random ---- */

static void
play(void)
{
	struct one *o = &ones[roll(MANY)];
	int heap = (int)roll(3);

	switch (roll(16)) {
	case 0: case 1: case 2: case 3: case 4: case 5:
		if (!o->set) {
			o->again = roll(8) ? 0 : 1 + roll(5000);
			set_one(o, heap, clock_ns + roll(10000));
		}
		break;
	case 6: case 7: case 8:
		stop_one(o);
		break;
	case 9:
		clock_ns += roll(20);
		run_heap(heap);
		break;
	case 10:
		if (roll(100))
			break;
		timer_heap_move(&heaps[heap], &heaps[(heap + 1) % 3]);
		for (int i = 0; i < MANY; i++)
			if (ones[i].set && ones[i].heap == heap)
				ones[i].heap = (heap + 1) % 3;
		check_heap(heap);
		check_heap((heap + 1) % 3);
		break;
	case 11:
		if (roll(500) == 0)
			empty_all();
		break;
	}
}

TEST(at_random)
{
	long fired = 0;

	setup();
	for (long i = 0; i < t_scale(1000000); i++) {
		play();
		if (i % 1000 == 0)
			check_heap((int)(i / 1000 % 3));
	}
	empty_all();
	for (int i = 0; i < MANY; i++)
		fired += ones[i].fired;
	OK(fired > t_scale(1000000) / 100);
}

/* Moved to a heap that has some, from either side. */
TEST(moved)
{
	setup();
	for (int round = 0; round < 10; round++) {
		int from = round % 3, to = (round + 1 + round % 2) % 3;

		for (int i = 0; i < MANY; i++)
			set_one(&ones[i], i % 2 ? from : to, clock_ns + i + 1);
		for (int i = 0; i < MANY; i += 3)
			stop_one(&ones[i]);
		timer_heap_move(&heaps[from], &heaps[to]);
		EQ(timer_heap_pending(&heaps[from]), 0);
		EQ(timer_heap_first(&heaps[from]), NEVER_NS);
		for (int i = 0; i < MANY; i++)
			ones[i].heap = to;
		check_heap(to);
		for (int i = 1; i < MANY; i += 3)
			stop_one(&ones[i]);
		clock_ns += MANY + 1;
		run_heap(to);
		for (int i = 0; i < MANY; i++)
			EQ(ones[i].fired, i % 3 == 2 ? round + 1 : 0);
	}
	empty_all();
}

/* ---- no memory ---- */

#ifdef WEFT_DEBUG
/* Refused it is as it was; a caller that stops one can set one again. */
TEST(refused)
{
	int n = 0;

	setup();
	a_store_relaxed(&os_map_fail_after, 1);
	EQ(timer_heap_add(&heaps[0], &ones[0].t, 5), -ENOMEM);
	EQ(timer_heap_first(&heaps[0]), NEVER_NS);
	a_store_relaxed(&os_map_fail_after, 0);
	set_one(&ones[n++], 0, MANY);
	a_store_relaxed(&os_map_fail_after, 1);
	while (timer_heap_add(&heaps[0], &ones[n].t, MANY - n) >= 0) {
		ones[n].when = MANY - n;
		ones[n++].set = true;
	}
	check_heap(0);
	for (int i = 0; i < 10 * MANY; i++) {
		struct one *o = &ones[roll((uint32_t)n)];

		stop_one(o);
		set_one(o, 0, roll(MANY));
	}
	check_heap(0);
	clock_ns = MANY;
	run_heap(0);
	for (int i = 0; i < n; i++)
		EQ(ones[i].fired, 1);
	a_store_relaxed(&os_map_fail_after, 0);
	empty_all();
}
#else
TEST(refused) { t_skip("needs DEBUG=1"); }
#endif

/* ---- goroutines that only sleep ---- */

TEST(sleepers_wake_in_order)
{
	enum { N = 1000 };
	struct g *gs = aligned_alloc(CACHE_LINE, N * sizeof *gs), *gp;
	struct glist woken = {0};
	int n = 0;

	memset(gs, 0, N * sizeof *gs);
	setup();
	for (int i = 0; i < N; i++)
		timer_heap_add_g(&heaps[i % 2], &gs[i * 7 % N], i * 7 % N);
	for (int i = 0; i < 50; i++)
		set_one(&ones[i], 0, 2 * N);
	timer_heap_move(&heaps[0], &heaps[1]);
	for (int i = 0; i < 50; i++)
		OK(timer_stop(&ones[i].t));
	EQ(heaps[1].n - heaps[1].n_empty, N);
	for (int64_t now = 0; now < N; now++) {
		timer_heap_run(&heaps[1], now, &woken);
		while ((gp = glist_pop(&woken)))
			OK(gp == &gs[n++]);
		EQ(n, now + 1);
	}
	EQ(timer_heap_pending(&heaps[1]), 0);
	free(gs);
}

/* ---- several threads ---- */

static long armed, stopped, ran;
static int go_on = 1;

static void
count_up(struct timer *t, int64_t now, struct glist *woken)
{
	(void)t, (void)now, (void)woken;
	__atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
}

static void *
setter(void *seed)
{
	enum { N = 200 };
	struct timer *t = calloc(N, sizeof *t);
	long set = 0, prevented = 0;
	struct rand r;

	rand_seed(&r, (uint64_t)(uintptr_t)seed);
	for (int i = 0; i < N; i++)
		timer_init(&t[i], count_up);
	for (long k = 0; k < t_scale(200000) ||
	    !__atomic_load_n(&ran, __ATOMIC_RELAXED); k++) {
		int i = (int)rand_below(&r, N);

		prevented += timer_stop(&t[i]);
		timer_heap_add(&heaps[rand_below(&r, 3)], &t[i],
		    rand_below(&r, 1000));
		set++;
	}
	for (int i = 0; i < N; i++)
		prevented += timer_stop(&t[i]);
	__atomic_add_fetch(&armed, set, __ATOMIC_RELAXED);
	__atomic_add_fetch(&stopped, prevented, __ATOMIC_RELAXED);
	free(t);		/* no heap has them any more */
	return NULL;
}

static void *
runner(void *seed)
{
	struct glist woken = {0};
	struct rand r;

	rand_seed(&r, (uint64_t)(uintptr_t)seed);
	while (__atomic_load_n(&go_on, __ATOMIC_RELAXED)) {
		uint32_t i = rand_below(&r, 3), k = rand_below(&r, 3);

		timer_heap_run(&heaps[i], rand_below(&r, 500), &woken);
		if (i != k && rand_below(&r, 50) == 0)
			timer_heap_move(&heaps[i], &heaps[k]);
	}
	return NULL;
}

TEST(run_or_stopped)
{
	pthread_t t[5];

	for (uintptr_t i = 0; i < 5; i++)
		EQ(pthread_create(&t[i], NULL, i < 3 ? setter : runner,
		    (void *)(i + 1)), 0);
	for (int i = 0; i < 5; i++) {
		if (i == 3)
			__atomic_store_n(&go_on, 0, __ATOMIC_RELAXED);
		pthread_join(t[i], NULL);
	}
	EQ(ran + stopped, armed);
	OK(ran > 0 && stopped > 0);
	for (int i = 0; i < 3; i++)
		EQ(timer_heap_pending(&heaps[i]), 0);
}
