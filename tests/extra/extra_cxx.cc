/* SPDX-License-Identifier: MIT */
/* extra.h in C++; exceptions that leave the user's functions. */
#include <weft/extra.h>

#include <stdexcept>

#include "t.h"

struct work {
	weft_flight f = {};
	weft_event began = {}, go = {};
	weft_waitgroup wg = {};
	int throws = 0, results = 0;	/* atomic */
};

static void *
run(void *arg)
{
	work *w = static_cast<work *>(arg);

	weft_event_set(&w->began);
	weft_event_wait(&w->go);
	if (__atomic_fetch_add(&w->throws, 1, __ATOMIC_SEQ_CST) < 2)
		throw std::runtime_error("not yet");
	return w;
}

static void
call(work *w)
{
	try {
		OK(weft_flight_do(&w->f, weft_key_string("k"), run, w) == w);
		__atomic_add_fetch(&w->results, 1, __ATOMIC_SEQ_CST);
	} catch (std::runtime_error &) {
	}
	weft_waitgroup_done(&w->wg);
}

/* Each that throws does so in its own goroutine; the next one leads then. */
GTEST(flight_throws, 1)
{
	work w;

	weft_waitgroup_add(&w.wg, 10);
	weft_go(call, &w);
	weft_event_wait(&w.began);
	for (int i = 1; i < 10; i++)
		weft_go(call, &w);
	for (int i = 0; i < 30; i++)
		weft_yield();
	weft_event_set(&w.go);
	weft_waitgroup_wait(&w.wg);
	OK(w.throws >= 3);
	EQ(w.results, 8);
}

static void *
fail(void *)
{
	throw std::runtime_error("no");
}

GTEST(make_and_value_throw, 2)
{
	weft_pool p = { .make = fail };
	weft_once_value v = {};
	int caught = 0;

	try {
		weft_pool_get(&p);
	} catch (std::runtime_error &) {
		caught++;
	}
	try {
		weft_once_value_get(&v, fail, nullptr);
	} catch (std::runtime_error &) {
		caught++;
	}
	EQ(caught, 2);
	OK(!weft_once_value_get(&v, fail, nullptr));
	weft_pool_put(&p, &caught);
	OK(weft_pool_get(&p) == &caught);
	weft_pool_free(&p);
}

GTEST(initialisers, 1)
{
	weft_limiter l = { .rate = 1e-3, .burst = 2 };
	weft_map m = {};
	void *x = nullptr;

	OK(weft_limiter_try_wait(&l, 2));
	OK(!weft_limiter_try_wait(&l, 1));
	EQ(weft_map_set(&m, weft_key_string("a"), &m), 0);
	OK(weft_map_get(&m, weft_key_string("a"), &x) && x == &m);
	weft_map_free(&m);
}
