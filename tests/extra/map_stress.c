/* SPDX-License-Identifier: MIT */
/*
 * A map under load. Each value is allocated and has one owner: the map, or the
 * caller that swapped or deleted it out. So no value is lost or seen twice.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <weft/extra.h>

#include "t.h"
#include "workers.h"

enum { GOROUTINES = 12, KEYS = 300, STABLE = 50 };

static struct load {
	weft_map m;
	long added, removed;	/* atomic */
} load;

static weft_key
key_of(unsigned i, char *room, size_t bytes)
{
	if (i % 3)
		return weft_key_number(i);
	snprintf(room, bytes, "a key with number %u", i);
	return weft_key_string(room);
}

/* The number of its key, so that a value in a wrong place is seen. */
static unsigned *
value_of(unsigned i)
{
	unsigned *v = malloc(sizeof *v);

	*v = i;
	return v;
}

static void
take(unsigned i, void *v)
{
	EQ(*(unsigned *)v, i);
	*(unsigned *)v = UINT32_MAX;
	free(v);
	__atomic_add_fetch(&load.removed, 1, __ATOMIC_RELAXED);
}

static void
change(unsigned i, unsigned how)
{
	char room[40];
	weft_key k = key_of(i, room, sizeof room);
	unsigned *mine;
	void *v = NULL;
	int r;

	if (how % 3 == 0) {
		if (weft_map_delete(&load.m, k, &v))
			take(i, v);
		return;
	}
	mine = value_of(i);
	if (how % 3 == 1) {
		r = weft_map_swap(&load.m, k, mine, &v);
		if (r == 1)
			take(i, v);
	} else {
		r = weft_map_get_or_set(&load.m, k, mine, NULL);
		if (r == 1)
			free(mine);
	}
	if (r == 0 || how % 3 == 1)
		__atomic_add_fetch(&load.added, 1, __ATOMIC_RELAXED);
}

/* Keys that are never changed are always there, with their value. */
static void
look(unsigned i)
{
	void *v = NULL;

	OK(weft_map_get(&load.m, weft_key_pointer(&load.m + i % STABLE), &v));
	EQ((uintptr_t)v, i % STABLE);
}

static bool
count_stable(weft_key key, void *value, void *arg)
{
	uintptr_t i = (uintptr_t)value;

	if (key.bytes == WEFT_KEY_NUMBER && i < STABLE &&
	    key.at == (const void *)(&load.m + i))
		(*(int *)arg)++;
	return true;
}

static void
work(unsigned seed)
{
	int n;

	for (int i = 0; workers_wanted(); i++) {
		unsigned r = (seed = seed * 1103515245 + 12345) >> 8;

		look(r);
		if (r % 4 == 0)
			change(r / 4 % KEYS, r / 4 / KEYS);
		if (i % 500 == 0) {
			n = 0;
			OK(weft_map_range(&load.m, count_stable, &n) >= STABLE);
			EQ(n, STABLE);
		}
	}
	weft_waitgroup_done(&workers.wg);
}

PLAIN_THREAD(work_plainly, work((unsigned)(uintptr_t)arg))

static void
drain(void)
{
	char room[40];
	void *v;

	for (unsigned i = 0; i < KEYS; i++)
		if (weft_map_delete(&load.m, key_of(i, room, sizeof room), &v))
			take(i, v);
}

static void
run(void)
{
	for (uintptr_t i = 0; i < STABLE; i++)
		weft_map_set(&load.m, weft_key_pointer(&load.m + i),
		    (void *)i);
	workers_start(GOROUTINES, work, work_plainly);
	while (t_more(3))
		weft_sleep(5 * WEFT_MS);
	workers_stop();
	drain();
	OK(load.added > 0);
	EQ(load.added, load.removed);
	weft_map_free(&load.m);
}

GTEST(values_have_one_owner, 4)
{
	run();
}

GTEST(values_have_one_owner_more_ps, 16)
{
	run();
}
