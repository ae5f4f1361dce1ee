/* SPDX-License-Identifier: MIT */
/*
 * A pool under load: an object has one owner at a time, what one owner wrote
 * is seen by the next, and each that was made is destroyed once.
 */
#include <pthread.h>
#include <stdlib.h>

#include <weft/extra.h>

#include "t.h"
#include "workers.h"

enum { GOROUTINES = 16, HELD = 90 };

struct object {
	int owned;		/* atomic */
	long uses;		/* plain: its owner's */
};

static long made, destroyed, uses;	/* atomic */

static void *
make(void *arg)
{
	(void)arg;
	__atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
	return calloc(1, sizeof(struct object));
}

static void
destroy(void *x)
{
	struct object *o = x;

	EQ(__atomic_fetch_add(&o->owned, 1, __ATOMIC_RELAXED), 0);
	__atomic_add_fetch(&uses, o->uses, __ATOMIC_RELAXED);
	__atomic_add_fetch(&destroyed, 1, __ATOMIC_RELAXED);
	free(o);
}

static struct load {
	weft_pool p;
	long gets;		/* atomic */
} load;

static struct object *
get(void)
{
	struct object *o = weft_pool_get(&load.p);

	EQ(__atomic_fetch_add(&o->owned, 1, __ATOMIC_RELAXED), 0);
	o->uses++;
	return o;
}

static void
put(struct object *o)
{
	EQ(__atomic_fetch_add(&o->owned, -1, __ATOMIC_RELAXED), 1);
	weft_pool_put(&load.p, o);
}

/* Now one at a time, now so many that the depot is needed. */
static void
use(unsigned seed)
{
	struct object *held[HELD];
	long gets = 0;

	while (workers_wanted()) {
		unsigned n = (seed = seed * 1103515245 + 12345) >> 16;

		n = n % 8 ? n % 3 + 1 : n % HELD + 1;
		for (unsigned i = 0; i < n; i++)
			held[i] = get();
		if (seed >> 8 & 1)
			weft_yield();
		for (unsigned i = 0; i < n; i++)
			put(held[i]);
		gets += n;
		if (seed % 1000 == 0)
			weft_sleep(WEFT_MS);
	}
	__atomic_add_fetch(&load.gets, gets, __ATOMIC_RELAXED);
	weft_waitgroup_done(&workers.wg);
}

PLAIN_THREAD(use_plainly, use((unsigned)(uintptr_t)arg))

static void
run(int64_t idle, bool resize)
{
	load.p = (weft_pool){ make, destroy, NULL, .idle = idle };
	workers_start(GOROUTINES, use, use_plainly);
	for (int i = 0; t_more(3); i++) {
		weft_sleep(3 * WEFT_MS);
		if (resize)
			weft_set_procs(i % 6 + 1);
	}
	workers_stop();
	weft_pool_free(&load.p);
	EQ(made, destroyed);
	EQ(uses, load.gets);
	OK(made < load.gets);
}

GTEST(many_users, 4)
{
	run(0, false);
}

GTEST(many_users_more_ps, 16)
{
	run(5 * WEFT_MS, false);
}

GTEST(rounds_and_procs, 4)
{
	run(WEFT_MS, true);
}

/*
 * The last put races with the round that finds the pool empty: whichever way,
 * the object is given back without another call.
 */
GTEST(last_put_is_given_back, 4)
{
	static weft_pool p = { make, destroy, NULL, .idle = 200 * WEFT_US };

	while (t_more(2)) {
		int64_t end = weft_deadline(20 * WEFT_SECOND);

		for (int i = 0; i < 3; i++) {
			weft_pool_put(&p, weft_pool_get(&p));
			weft_sleep(i * 130 * WEFT_US);
		}
		while (__atomic_load_n(&destroyed, __ATOMIC_ACQUIRE) !=
		    __atomic_load_n(&made, __ATOMIC_RELAXED)) {
			if (weft_now() > end) {
				OK(!"an object was left");
				return;
			}
			weft_sleep(50 * WEFT_US);
		}
	}
	weft_pool_free(&p);
	EQ(made, destroyed);
}
