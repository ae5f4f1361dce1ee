/* SPDX-License-Identifier: MIT */
/*
 * Where the only pointer to an object may be: each place keeps it. (That
 * objects without a pointer are freed is tested in heap.c.)
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <weft/extra.h>

#include "run_env.h"
#include "things.h"

enum { MANY = 100 };

static weft_waitgroup all;

/*
 * One that is watched: freed memory is not used again at once, and the object
 * may look as before.
 */
enum { WATCHED = 100 };
static weft_gc_weak *watched[WATCHED];

T_NOT_INLINED static struct thing *
thing_make_watched(uint64_t n)
{
	struct thing *t = thing_make(n);

	watched[n] = weft_gc_weak_make(t);
	return t;
}

T_NOT_INLINED static void
all_watched_live(int n)
{
	for (int i = 0; i < n; i++)
		OK(weft_gc_weak_get(watched[i]) != NULL);
}

/* Gives things to a place, in a frame that is gone when it returns. */
#define PUT(statement)							\
	T_NOT_INLINED static void put_##statement

/* ---- goroutines that wait ---- */

static weft_chan *go_on;

static void
hold(uint64_t n)
{
	struct thing *t = thing_make_watched(n);

	weft_waitgroup_done(&all);
	weft_recv(go_on, int);
	OK(thing_is(t, n) && weft_gc_weak_get(watched[n]) == t);
	weft_waitgroup_done(&all);
}

/* MANY goroutines run fn, which waits for go_on in between. */
static void
park_with_things(void (*fn)(uint64_t n))
{
	go_on = weft_chan_of(int, 0);
	weft_waitgroup_add(&all, MANY);
	for (uint64_t i = 0; i < MANY; i++)
		weft_go(fn, i);
	weft_waitgroup_wait(&all);
	churn();
	weft_waitgroup_add(&all, MANY);
	for (int i = 0; i < MANY; i++)
		weft_send(go_on, i);
	weft_waitgroup_wait(&all);
}

static void
on_stacks(void)
{
	park_with_things(hold);
}

GTEST(stacks_of_waiting_goroutines, 2) { on_stacks(); }
ETEST(stacks_of_goroutines_that_move, 2, "WEFT_MIGRATE=1") { on_stacks(); }

/* A child leaves its result in the frame of its parent, which waits. */
static void
leave_result(struct thing **to, uint64_t n)
{
	*to = thing_make(n);
	weft_waitgroup_done(&all);
}

static weft_chan *filled;

static void
parent(void)
{
	struct thing *result[MANY] = {0};

	weft_waitgroup_add(&all, MANY);
	for (uint64_t i = 0; i < MANY; i++)
		weft_go(leave_result, &result[i], i);
	weft_waitgroup_wait(&all);
	weft_send(filled, 1);
	weft_recv(filled, int);		/* parked, while others collect */
	for (uint64_t i = 0; i < MANY; i++)
		OK(thing_is(result[i], i));
	weft_send(filled, 2);
}

GTEST(results_in_a_parents_frame, 2)
{
	filled = weft_chan_of(int, 0);
	weft_go(parent);
	weft_recv(filled, int);
	churn();
	weft_send(filled, 0);
	weft_recv(filled, int);
}

/* ---- goroutines that have not begun ---- */

static void
check_begun(struct thing *t, uint64_t n)
{
	OK(thing_is(t, n));
	weft_waitgroup_done(&all);
}

PUT(arguments)(void)
{
	for (uint64_t i = 0; i < MANY; i++)
		weft_go_after(300 * WEFT_MS, check_begun, thing_make(i), i);
}

GTEST(arguments_of_goroutines_that_begin_later, 2)
{
	weft_waitgroup_add(&all, MANY);
	put_arguments();
	churn();
	weft_waitgroup_wait(&all);
}

static void
take_thing(struct thing **t, struct thing *also, uint64_t n)
{
	OK(thing_is(also, n));
	(void)t;
	weft_waitgroup_done(&all);
}

PUT(receivers)(weft_chan *c)
{
	for (uint64_t i = 0; i < MANY; i++)
		weft_go_recv(c, NULL, NULL, take_thing, (struct thing **)NULL,
		    thing_make(i), i);
}

GTEST(arguments_of_goroutines_that_begin_with_a_message, 2)
{
	weft_chan *c = weft_chan_of(int, 0);

	weft_waitgroup_add(&all, MANY);
	put_receivers(c);
	churn();
	for (int i = 0; i < MANY; i++)
		weft_send(c, i);
	weft_waitgroup_wait(&all);
}

/* ---- what the library keeps ---- */

PUT(buffer)(weft_chan *c)
{
	for (uint64_t i = 0; i < MANY; i++)
		weft_send(c, thing_make(i));
}

GTEST(buffers_of_channels, 2)
{
	weft_chan *c = weft_chan_of(struct thing *, MANY);

	put_buffer(c);
	churn();
	for (uint64_t i = 0; i < MANY; i++)
		OK(thing_is(weft_recv(c, struct thing *), i));
	weft_chan_release(c);
}

static void
send_one(weft_chan *c, uint64_t n)
{
	weft_send(c, thing_make(n));
}

/* Senders that wait have what they send on their stacks. */
GTEST(senders_that_wait, 2)
{
	weft_chan *c = weft_chan_of(struct thing *, 0);
	uint64_t seen = 0;

	for (uint64_t i = 0; i < MANY; i++)
		weft_go(send_one, c, i);
	weft_sleep(20 * WEFT_MS);
	churn();
	for (uint64_t i = 0; i < MANY; i++) {
		struct thing *t = weft_recv(c, struct thing *);

		OK(t->n < MANY && thing_is(t, t->n));
		seen += t->n;
	}
	EQ(seen, MANY * (MANY - 1) / 2);
}

static const char key;

PUT(values)(weft_context **to)
{
	for (uint64_t i = 0; i < MANY; i++)
		to[i] = weft_context_make_value(NULL, &key, thing_make(i));
}

GTEST(values_of_contexts, 2)
{
	weft_context *c[MANY];

	put_values(c);
	churn();
	for (uint64_t i = 0; i < MANY; i++) {
		OK(thing_is(weft_context_value(c[i], &key), i));
		weft_context_release(c[i]);
	}
}

static weft_gls slot;

static void
keep_local(uint64_t n)
{
	OK(weft_gls_set(&slot, thing_make(n)) == 0);
	wipe_stack();
	weft_waitgroup_done(&all);
	weft_recv(go_on, int);
	OK(thing_is(weft_gls_get(&slot), n));
	weft_waitgroup_done(&all);
}

GTEST(values_of_goroutines, 2)
{
	park_with_things(keep_local);
}

static void
check_deferred(void *arg)
{
	struct thing *t = arg;

	OK(t->n < MANY && thing_is(t, t->n));
	weft_waitgroup_done(&all);
}

static void
defer_one(uint64_t n)
{
	OK(weft_defer(check_deferred, thing_make(n)) == 0);
	wipe_stack();
	weft_waitgroup_done(&all);
	weft_recv(go_on, int);
}

GTEST(arguments_of_deferred_calls, 2)
{
	park_with_things(defer_one);
}

PUT(timers)(weft_timer **to)
{
	for (uint64_t i = 0; i < MANY; i++)
		to[i] = weft_after_func(300 * WEFT_MS, check_deferred,
		    thing_make(i));
}

GTEST(arguments_of_timers, 2)
{
	weft_timer *t[MANY];

	weft_waitgroup_add(&all, MANY);
	put_timers(t);
	churn();
	weft_waitgroup_wait(&all);
	for (int i = 0; i < MANY; i++)
		weft_timer_free(t[i]);
}

PUT(pool)(weft_pool *p)
{
	struct thing *t[MANY];

	for (uint64_t i = 0; i < MANY; i++)
		t[i] = thing_make(i);
	for (int i = 0; i < MANY; i++)
		weft_pool_put(p, t[i]);
}

GTEST(objects_in_a_pool, 2)
{
	weft_pool p = { .idle = 60 * 1000 * WEFT_MS };
	struct thing *t;
	int n = 0;

	put_pool(&p);
	churn();
	for (; (t = weft_pool_get(&p)); n++)
		OK(t->n < MANY && thing_is(t, t->n));
	EQ(n, MANY);
	weft_pool_free(&p);
}

/* ---- futures ---- */

static struct thing *
compute_thing(uint64_t n)
{
	struct thing *t = thing_make(n);

	weft_gc_alloc(100);
	if (n % 10 == 0)
		EQ(weft_gc_collect(), 0);
	return t;
}

GTEST(results_of_futures, 2)
{
	for (int round = 0; round < 3; round++) {
		weft_future(struct thing *) f[MANY];

		for (uint64_t i = 0; i < MANY; i++)
			weft_future_go(&f[i], compute_thing, i);
		for (uint64_t i = 0; i < MANY; i++)
			OK(thing_is(weft_future_join(&f[i]), i));
	}
}

/* ---- threads without a processor ---- */

static long in_call, leave;

/* n goroutines run fn until they may leave, each with a watched thing. */
static void
hold_things(void (*fn)(uint64_t n), int n)
{
	weft_waitgroup_add(&all, n);
	for (uint64_t i = 0; i < (uint64_t)n; i++)
		weft_go(fn, i);
	while (get(&in_call) < n)
		weft_sleep(WEFT_MS);
	churn();
	all_watched_live(n);
	bump(&leave);
	weft_waitgroup_wait(&all);
}

static void *
wait_in_call(void *arg)
{
	struct thing *t = arg;

	bump(&in_call);
	while (!get(&leave))
		usleep(100);
	return t;
}

static void
call(uint64_t n)
{
	struct thing *t = weft_blocking(wait_in_call,
	    thing_make_watched(n));

	OK(thing_is(t, n));
	weft_waitgroup_done(&all);
}

GTEST(goroutines_in_announced_calls, 2) { hold_things(call, 20); }

/* Only in a register, in a loop that does not end by itself. */
static void
compute_with(uint64_t n)
{
	struct thing *t = thing_make_watched(n);
	uint64_t wrong = 0;

	bump(&in_call);
	while (!get(&leave))
		wrong += t->n != n;
	EQ(wrong, 0);
	weft_waitgroup_done(&all);
}

GTEST(goroutines_that_compute, 2) { hold_things(compute_with, 8); }
ETEST(goroutines_that_compute_in_short_slices, 2, "WEFT_SLICE_US=50")
{
	hold_things(compute_with, 8);
}
/* None can be paused: they lose their processor, and go on. */
ETEST(goroutines_that_compute_without_a_processor, 2, "WEFT_PAUSE=-1")
{
	hold_things(compute_with, 8);
}

static void
sleep_unannounced(uint64_t n)
{
	struct thing *t = thing_make_watched(n);

	bump(&in_call);
	while (!get(&leave))
		usleep(1000);
	OK(thing_is(t, n));
	weft_waitgroup_done(&all);
}

GTEST(goroutines_in_calls_that_block, 2)
{
	hold_things(sleep_unannounced, 20);
}

/* ---- plain threads, and memory of the program's ---- */

static void *
on_thread(void *arg)
{
	struct thing *t;

	(void)arg;
	OK(weft_gc_thread_begin() == 0);
	t = thing_make(77);
	bump(&in_call);
	while (!get(&leave))
		usleep(100);
	OK(thing_is(t, 77));
	weft_gc_thread_end();
	return NULL;
}

GTEST(plain_threads, 2)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		EQ(pthread_create(&t[i], NULL, on_thread, NULL), 0);
	while (get(&in_call) < 4)
		weft_sleep(WEFT_MS);
	churn();
	bump(&leave);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

static struct thing *statically[MANY];

PUT(memory)(struct thing **mallocs, struct thing **kept)
{
	for (uint64_t i = 0; i < MANY; i++) {
		statically[i] = thing_make(i);
		mallocs[i] = thing_make(i);
		kept[i] = thing_make(i);
	}
}

GTEST(static_data_roots_and_uncollectable_memory, 2)
{
	struct thing **mallocs = malloc(MANY * sizeof *mallocs);
	struct thing **kept = weft_gc_alloc_uncollectable(MANY *
	    sizeof *kept);

	EQ(weft_gc_roots_add(mallocs, MANY * sizeof *mallocs), 0);
	put_memory(mallocs, kept);
	churn();
	for (uint64_t i = 0; i < MANY; i++) {
		OK(thing_is(statically[i], i));
		OK(thing_is(mallocs[i], i));
		OK(thing_is(kept[i], i));
	}
	weft_gc_roots_remove(mallocs, MANY * sizeof *mallocs);
	free(mallocs);
	weft_gc_free(kept);
}

static char **middles;

PUT(middle)(void)
{
	middles = weft_gc_alloc_uncollectable(2 * sizeof *middles);
	middles[0] = (char *)thing_make(1) + 9;
	middles[1] = (char *)thing_make(2) + sizeof(struct thing);
}

GTEST(pointers_to_the_middle_and_the_end, 1)
{
	put_middle();
	churn();
	OK(thing_is((void *)(middles[0] - 9), 1));
	OK(thing_is((void *)(middles[1] - sizeof(struct thing)), 2));
}

/* ---- a handler of the program's, on the signal stack ---- */

enum { HIDDEN = 20 };
static uintptr_t hidden[HIDDEN];
static long in_handler, leave_handler, wrong_in_handler;

PUT(hidden)(void)
{
	for (uint64_t i = 0; i < HIDDEN; i++)
		hidden[i] = ~(uintptr_t)thing_make_watched(i);
}

static void
on_signal(int sig)
{
	struct thing *volatile t[HIDDEN];

	(void)sig;
	for (int i = 0; i < HIDDEN; i++)
		t[i] = (struct thing *)~hidden[i];
	bump(&in_handler);
	while (!get(&leave_handler))
		;
	for (uint64_t i = 0; i < HIDDEN; i++)
		if (!thing_is(t[i], i))
			bump(&wrong_in_handler);
}

static void
interrupt(void)
{
	put_hidden();
	wipe_stack();
	raise(SIGUSR1);
}

static void
interrupted(void)
{
	interrupt();
	weft_waitgroup_done(&all);
}

/* As a library may do it, for its own threads. */
static void
interrupted_elsewhere(void)
{
	stack_t s = { .ss_size = 64 * 1024, .ss_sp = malloc(64 * 1024) }, old;

	weft_pin();
	EQ(sigaltstack(&s, &old), 0);
	interrupt();
	EQ(sigaltstack(&old, NULL), 0);
	weft_unpin();
	free(s.ss_sp);
	weft_waitgroup_done(&all);
}

static void
collect_beside(void (*fn)(void))
{
	struct sigaction sa = { .sa_handler = on_signal,
	    .sa_flags = SA_ONSTACK | SA_RESTART };

	EQ(sigaction(SIGUSR1, &sa, NULL), 0);
	weft_waitgroup_add(&all, 1);
	weft_go(fn);
	while (!get(&in_handler))
		weft_yield();
	churn();
	all_watched_live(HIDDEN);
	bump(&leave_handler);
	weft_waitgroup_wait(&all);
	EQ(get(&wrong_in_handler), 0);
}

GTEST(a_handler_on_the_signal_stack, 2) { collect_beside(interrupted); }

GTEST(a_handler_on_a_stack_of_the_program, 2)
{
	collect_beside(interrupted_elsewhere);
}

/* ---- ranges that overlap ---- */

PUT(watched_at)(struct thing **at, int n)
{
	for (int i = 0; i < n; i++)
		at[i] = thing_make_watched((uint64_t)i);
}

static int
watched_left(int n)
{
	int left = 0;

	for (int i = 0; i < n; i++)
		left += weft_gc_weak_get(watched[i]) != NULL;
	return left;
}

GTEST(a_range_is_removed_and_not_those_that_overlap, 2)
{
	size_t half = WATCHED / 2 * sizeof(struct thing *), whole = 2 * half;
	struct thing **at = calloc(1, whole);

	EQ(weft_gc_roots_add(at, half), 0);
	EQ(weft_gc_roots_add(at, whole), 0);
	EQ(weft_gc_roots_add(at, whole), 0);
	EQ(weft_gc_roots_add(at + WATCHED / 2, half), 0);
	put_watched_at(at, WATCHED);
	weft_gc_roots_remove(at, whole);
	weft_gc_roots_remove(at + 1, half);	/* never added */
	churn();
	EQ(watched_left(WATCHED), WATCHED);
	weft_gc_roots_remove(at + WATCHED / 2, half);
	churn();
	EQ(watched_left(WATCHED), WATCHED);
	weft_gc_roots_remove(at, whole);
	churn();
	all_watched_live(WATCHED / 2);
	OK(watched_left(WATCHED) < WATCHED * 3 / 4);
	weft_gc_roots_remove(at, half);
	churn();
	OK(watched_left(WATCHED) < WATCHED / 4);
	free(at);
}

GTEST(bad_ranges_are_refused, 1)
{
	static void *here[1001];

	EQ(weft_gc_roots_add(NULL, 4096), -EINVAL);
	EQ(weft_gc_roots_add(here, 0), -EINVAL);
	EQ(weft_gc_roots_add(here, SIZE_MAX), -EINVAL);
	weft_gc_roots_remove(NULL, 4096);
	weft_gc_roots_remove(here, sizeof here);
	for (int i = 0; i < 1000; i++)
		EQ(weft_gc_roots_add(&here[i], sizeof here[i]), 0);
	EQ(weft_gc_roots_add(&here[1000], sizeof here[0]), -ENOMEM);
	EQ(weft_gc_roots_add(&here[999], sizeof here[0]), 0);
	EQ(weft_gc_collect(), 0);
	for (int i = 0; i < 1000; i++)
		weft_gc_roots_remove(&here[i], sizeof here[i]);
	EQ(weft_gc_roots_add(&here[1000], sizeof here[0]), 0);
	EQ(weft_gc_collect(), 0);
}

/* ---- a thread that ends ---- */

static pthread_key_t thread_key;
static long in_destructor, out_of_it;

static void
hold_in_destructor(void *value)
{
	struct thing *t = thing_make_watched(0);

	(void)value;
	bump(&in_destructor);
	while (!get(&out_of_it))
		usleep(100);
	OK(thing_is(t, 0) && weft_gc_weak_get(watched[0]) == t);
}

static void *
end_with_destructor(void *arg)
{
	(void)arg;
	EQ(weft_gc_thread_begin(), 0);
	EQ(pthread_setspecific(thread_key, &thread_key), 0);
	return NULL;
}

/* The library's key is older, so its destructor is called before. */
TEST(a_destructor_of_a_thread)
{
	pthread_t t;

	EQ(pthread_key_create(&thread_key, hold_in_destructor), 0);
	EQ(pthread_create(&t, NULL, end_with_destructor, NULL), 0);
	while (!get(&in_destructor))
		usleep(100);
	churn();
	bump(&out_of_it);
	EQ(pthread_join(t, NULL), 0);
	churn();
}
