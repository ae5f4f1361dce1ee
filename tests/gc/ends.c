/* SPDX-License-Identifier: MIT */
/*
 * The end of objects: weft_gc_free and weft_gc_realloc of some that have weak
 * links or finalizers, and finalizers that do not return.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "things.h"

enum { MANY = 4096, BYTES = 600 };

static char *kept[MANY];
static int ended, foreign;

static int
count(const int *n)
{
	return __atomic_load_n(n, __ATOMIC_ACQUIRE);
}

static uint64_t
finalizers(void)
{
	weft_gc_stats s;

	weft_gc_stats_read(&s, sizeof s);
	return s.finalizers;
}

static void
collect_some(void)
{
	for (int i = 0; i < 3; i++) {
		wipe_stack();
		EQ(weft_gc_collect(), 0);
	}
}

static void
collect_until(const int *n, int least)
{
	while (count(n) < least) {
		wipe_stack();
		EQ(weft_gc_collect(), 0);
		weft_sleep(WEFT_MS);
	}
}

/* ---- weft_gc_free ---- */

T_NOT_INLINED static void
free_links(void)
{
	for (int i = 0; i < 100; i++)
		weft_gc_free(weft_gc_weak_make(weft_gc_alloc(64)));
}

/* A collection clears links: not where they have been. */
GTEST(a_freed_link_is_not_written_to, 1)
{
	int wrong = 0;

	free_links();
	for (int i = 0; i < MANY; i++) {
		kept[i] = weft_gc_alloc_atomic(i % 2 ? 8 : 24);
		memset(kept[i], 'x', 8);
	}
	collect_some();
	for (int i = 0; i < MANY; i++)
		wrong += memcmp(kept[i], "xxxxxxxx", 8) != 0;
	EQ(wrong, 0);
}

GTEST(a_link_to_a_freed_object_gives_none, 1)
{
	void *o = weft_gc_alloc(BYTES);
	weft_gc_weak *w = weft_gc_weak_make(o);

	OK(w && weft_gc_weak_make(o) == w);
	OK(weft_gc_weak_get(w) == o);
	weft_gc_free(o);
	OK(weft_gc_weak_get(w) == NULL);
	for (int i = 0; i < 100; i++)
		OK(weft_gc_weak_make(kept[i] = weft_gc_alloc(BYTES)) != w);
	OK(weft_gc_weak_get(w) == NULL);
	weft_gc_free(w);
	OK(weft_gc_weak_get(w) == NULL);
}

/* So many that the table grows, and shrinks in collections. */
GTEST(many_links, 2)
{
	static weft_gc_weak *links[MANY];
	int wrong = 0, left = 0;

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < MANY; i++) {
			kept[i] = weft_gc_alloc(32);
			links[i] = weft_gc_weak_make(kept[i]);
		}
		for (int i = 0; i < MANY; i += 2)
			kept[i] = NULL;
		collect_some();
		for (int i = 1; i < MANY; i += 2)
			wrong += weft_gc_weak_get(links[i]) != kept[i] ||
			    weft_gc_weak_make(kept[i]) != links[i];
		for (int i = 0; i < MANY; i += 2)
			left += weft_gc_weak_get(links[i]) != NULL;
	}
	EQ(wrong, 0);
	OK(left < MANY / 10);
}

static void
count_end(void *object, void *arg)
{
	(void)arg;
	if (memcmp(object, "mine", 5) != 0)
		__atomic_add_fetch(&foreign, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&ended, 1, __ATOMIC_RELEASE);
}

static void *
make_mine(void)
{
	char *o = weft_gc_alloc(BYTES);

	strcpy(o, "mine");
	EQ(weft_gc_finalizer(o, count_end, NULL), 0);
	return o;
}

T_NOT_INLINED static void
make_and(void *(*fn)(void *o, size_t bytes), int n)
{
	for (int i = 0; i < n; i++)
		fn(make_mine(), BYTES * 8);
	for (int i = 0; i < 2 * n; i++)
		strcpy(weft_gc_alloc(BYTES), "other");
}

static void *
free_it(void *o, size_t bytes)
{
	(void)bytes;
	weft_gc_free(o);
	return NULL;
}

/* Neither for it, nor for what is there by then. */
GTEST(a_freed_object_has_no_finalizer, 1)
{
	make_and(free_it, 200);
	make_and(weft_gc_realloc, 20);
	collect_until(&ended, 10);
	collect_some();
	OK(count(&ended) <= 20);
	EQ(count(&foreign), 0);
}

/* ---- weft_gc_realloc ---- */

enum { MOVED = 20 };

static void
move_all(weft_gc_weak **links, size_t bytes)
{
	for (int i = 0; i < MOVED; i++) {
		kept[i] = weft_gc_realloc(kept[i], bytes);
		OK(weft_gc_weak_get(links[i]) == kept[i]);
		OK(weft_gc_weak_make(kept[i]) == links[i]);
	}
	collect_some();
	for (int i = 0; i < MOVED; i++)
		OK(weft_gc_weak_get(links[i]) == kept[i]);
}

/* Several, since a stale word on some stack may keep one for long. */
GTEST(what_belongs_to_an_object_moves_with_it, 1)
{
	weft_gc_weak *links[MOVED];
	int cut = 0;

	for (int i = 0; i < MOVED; i++)
		links[i] = weft_gc_weak_make(kept[i] = make_mine());
	for (size_t n = BYTES; n < 400 * BYTES; n *= 3)
		move_all(links, n);
	move_all(links, 10);
	EQ(finalizers(), 0);
	memset(kept, 0, sizeof kept);
	collect_until(&ended, MOVED / 2);
	collect_some();
	for (int i = 0; i < MOVED; i++)
		cut += weft_gc_weak_get(links[i]) == NULL;
	OK(cut >= MOVED / 2);
	OK(count(&ended) <= MOVED);
	EQ(count(&foreign), 0);
}

DIES(free_of_the_middle, 1, "weft_gc_free: 0x")
{
	weft_gc_free((char *)weft_gc_alloc(BYTES) + 16);
}

DIES(free_of_another_heaps, 1, "not the beginning of an object")
{
	weft_gc_free(malloc(BYTES));
}

DIES(realloc_of_the_middle, 1, "weft_gc_realloc: 0x")
{
	kept[0] = weft_gc_realloc((char *)weft_gc_alloc(100) + 1, 200);
}

DIES(realloc_of_a_link, 1, "weft_gc_realloc: 0x")
{
	kept[0] = weft_gc_realloc(weft_gc_weak_make(weft_gc_alloc(9)), 200);
}

/* ---- finalizers that do not return ---- */

static int begun;

T_NOT_INLINED static void
make_mortals(void (*fn)(void *object, void *arg), int n)
{
	for (int i = 0; i < n; i++)
		EQ(weft_gc_finalizer(weft_gc_alloc(64), fn, NULL), 0);
}

static void
end_goroutine(void *object, void *arg)
{
	(void)object, (void)arg;
	if (__atomic_add_fetch(&ended, 1, __ATOMIC_RELEASE) % 3 == 1)
		weft_goexit();
}

GTEST(a_finalizer_that_ends_its_goroutine, 2)
{
	make_mortals(end_goroutine, 100);
	collect_until(&ended, 90);
}

/* Without a runtime a finalizer runs on a thread. */
static void
end_thread(void *object, void *arg)
{
	(void)object, (void)arg;
	if (__atomic_add_fetch(&ended, 1, __ATOMIC_RELEASE) % 3 == 1)
		pthread_exit(NULL);
}

TEST(a_finalizer_that_ends_its_thread)
{
	make_mortals(end_thread, 100);
	collect_until(&ended, 90);
}

static void
wait_in_first(void *object, void *arg)
{
	(void)object, (void)arg;
	if (__atomic_add_fetch(&ended, 1, __ATOMIC_RELEASE) == 1)
		weft_chan_recv_(weft_chan_make(0, 0), NULL, 0);
}

static int
run_until_one_waits(int argc, char **argv)
{
	(void)argc, (void)argv;
	make_mortals(wait_in_first, 100);
	collect_until(&ended, 1);
	return 0;
}

TEST(a_finalizer_that_waits_when_the_runtime_ends)
{
	EQ(weft_run(run_until_one_waits, 0, NULL), 0);
	EQ(count(&ended), 1);
	collect_until(&ended, 50);
	make_mortals(wait_in_first, 100);
	collect_until(&ended, 150);
}

static pthread_mutex_t taken = PTHREAD_MUTEX_INITIALIZER;

static void
wait_for_mutex(void *object, void *arg)
{
	(void)object, (void)arg;
	__atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
	pthread_mutex_lock(&taken);
	__atomic_add_fetch(&ended, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&taken);
}

/* The owner of the mutex waits for collections meanwhile. */
TEST(a_finalizer_that_waits_for_one_that_allocates)
{
	pthread_mutex_lock(&taken);
	make_mortals(wait_for_mutex, 100);
	collect_until(&begun, 1);
	for (int i = 0; i < 100000; i++)
		weft_gc_alloc(1000);
	EQ(weft_gc_collect(), 0);
	EQ(count(&ended), 0);
	pthread_mutex_unlock(&taken);
	collect_until(&ended, 90);
}

/* ---- what keeps an object that is gone ---- */

/*
 * Each has pointers to many others, of which a stale word somewhere keeps few.
 * Made on a goroutine that has ended: no stack has words of it by then. libgc
 * itself keeps what is at the lowest address of its heap, so others come first.
 */
enum { HELD = 100, FIRST = 8 };

static void **
make_holder(void)
{
	void **holder = NULL;

	for (int i = 0; i <= FIRST; i++)
		kept[i] = (char *)(holder = weft_gc_alloc(HELD *
		    sizeof *holder));
	kept[FIRST] = NULL;
	for (int i = 0; i < HELD; i++)
		holder[i] = make_mine();
	return holder;
}

static void
collect_after(void (*fn)(void))
{
	weft_waitgroup wg = {0};

	weft_waitgroup_go(&wg, fn);
	weft_waitgroup_wait(&wg);
	collect_until(&ended, HELD * 9 / 10);
	OK(count(&ended) <= HELD);
	EQ(count(&foreign), 0);
}

static void
end_holder(void *object, void *arg)
{
	(void)arg;
	if (memcmp(((void **)object)[HELD - 1], "mine", 5) != 0)
		__atomic_add_fetch(&foreign, 1, __ATOMIC_RELAXED);
}

static void
make_mortal_holder(void)
{
	EQ(weft_gc_finalizer(make_holder(), end_holder, NULL), 0);
}

/* The last one in the list of those that are due, and so what it points to. */
GTEST(a_finalized_object_is_collected, 1) { collect_after(make_mortal_holder); }

static void
add_and_remove(void)
{
	void **holder = make_holder();

	EQ(weft_gc_roots_add(holder, HELD * sizeof *holder), 0);
	weft_gc_roots_remove(holder, HELD * sizeof *holder);
}

GTEST(a_range_that_was_removed_keeps_nothing, 1)
{
	collect_after(add_and_remove);
}

T_NOT_INLINED static void
make_rings(int n)
{
	for (int i = 0; i < n; i++) {
		char *o = make_mine();

		memcpy(o + 16, &o, sizeof o);
	}
}

GTEST(objects_that_point_to_themselves_end, 1)
{
	make_rings(100);
	collect_until(&ended, 90);
	EQ(count(&foreign), 0);
}
