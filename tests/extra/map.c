/* SPDX-License-Identifier: MIT */
/* weft_map: keys of both kinds, atomic calls, range. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <weft/extra.h>

#include "t.h"

static void *
number(intptr_t n)
{
	return (void *)n;
}

static void
basics(weft_map *m, weft_key k)
{
	void *v = number(99);

	OK(!weft_map_get(m, k, &v));
	EQ((intptr_t)v, 99);
	OK(!weft_map_delete(m, k, &v));
	EQ(weft_map_set(m, k, number(1)), 0);
	OK(weft_map_get(m, k, &v));
	EQ((intptr_t)v, 1);
	OK(weft_map_get(m, k, NULL));
	EQ(weft_map_set(m, k, number(2)), 0);
	EQ(weft_map_swap(m, k, number(3), &v), 1);
	EQ((intptr_t)v, 2);
	EQ(weft_map_get_or_set(m, k, number(4), &v), 1);
	EQ((intptr_t)v, 3);
	OK(weft_map_delete(m, k, &v));
	EQ((intptr_t)v, 3);
	OK(!weft_map_delete(m, k, NULL));
	EQ(weft_map_get_or_set(m, k, number(5), &v), 0);
	EQ((intptr_t)v, 5);
	EQ(weft_map_set(m, k, NULL), 0);
	v = number(1);
	OK(weft_map_get(m, k, &v) && !v);
	OK(weft_map_delete(m, k, NULL));
	v = number(1);
	EQ(weft_map_swap(m, k, number(6), &v), 0);
	EQ((intptr_t)v, 1);
	OK(weft_map_delete(m, k, NULL));
}

static void
all_basics(void)
{
	weft_map m = {0};
	int x;

	basics(&m, weft_key_number(0));
	basics(&m, weft_key_number(UINTPTR_MAX));
	basics(&m, weft_key_pointer(&x));
	basics(&m, weft_key_pointer(NULL));
	basics(&m, weft_key_string(""));
	basics(&m, weft_key_string("a"));
	basics(&m, weft_key_string("exactly8"));
	basics(&m, weft_key_string("rather longer than eight bytes"));
	basics(&m, weft_key_bytes("a\0b", 3));
	basics(&m, weft_key_bytes(NULL, 0));
	weft_map_free(&m);
	weft_map_free(&m);
}

TEST(without_runtime)
{
	all_basics();
}

GTEST(in_a_goroutine, 2)
{
	all_basics();
}

/* Keys that look alike are different ones. */
GTEST(distinct_keys, 1)
{
	static const char a[] = "key";
	weft_key keys[] = {
		weft_key_string(a), weft_key_pointer(a),
		weft_key_string("ke"), weft_key_bytes("key", 4),
		weft_key_bytes("key\0", 5), weft_key_bytes("", 0),
		weft_key_bytes("\0", 1), weft_key_bytes("\0\0", 2),
		weft_key_number(0), weft_key_bytes("\0\0\0\0\0\0\0\0", 8)
	};
	enum { N = sizeof keys / sizeof keys[0] };
	weft_map m = {0};
	char copy[] = "key";
	void *v;

	for (int i = 0; i < N; i++)
		EQ(weft_map_get_or_set(&m, keys[i], number(i), NULL), 0);
	for (int i = 0; i < N; i++) {
		OK(weft_map_get(&m, keys[i], &v));
		EQ((intptr_t)v, i);
	}
	/* Bytes are compared, and were copied. */
	OK(weft_map_get(&m, weft_key_string(copy), &v));
	EQ((intptr_t)v, 0);
	OK(!weft_map_get(&m, weft_key_pointer(copy), NULL));
	weft_map_free(&m);
}

GTEST(keys_are_copied, 1)
{
	char key[] = "before";
	weft_map m = {0};

	EQ(weft_map_set(&m, weft_key_string(key), NULL), 0);
	key[0] = 'x';
	OK(weft_map_get(&m, weft_key_string("before"), NULL));
	OK(!weft_map_get(&m, weft_key_string(key), NULL));
	weft_map_free(&m);
}

/* ---- many ---- */

static weft_key
key_of(long i, char *room, size_t bytes)
{
	if (i % 2)
		return weft_key_number((uintptr_t)i);
	snprintf(room, bytes, "key %ld", i);
	return weft_key_string(room);
}

static bool
sum_up(weft_key key, void *value, void *arg)
{
	(void)key;
	*(long *)arg += (long)(intptr_t)value;
	return true;
}

GTEST(many_keys, 1)
{
	long n = t_scale(100000), sum = 0;
	weft_map m = {0};
	char room[32];
	void *v;

	for (long i = 0; i < n; i++)
		EQ(weft_map_set(&m, key_of(i, room, sizeof room), number(i)),
		    0);
	for (long i = 0; i < n; i++) {
		OK(weft_map_get(&m, key_of(i, room, sizeof room), &v));
		EQ((intptr_t)v, i);
	}
	EQ(weft_map_range(&m, sum_up, &sum), n);
	EQ(sum, n * (n - 1) / 2);
	for (long i = 0; i < n; i += 3)
		OK(weft_map_delete(&m, key_of(i, room, sizeof room), NULL));
	for (long i = 0; i < n; i++)
		EQ(weft_map_get(&m, key_of(i, room, sizeof room), NULL),
		    i % 3 != 0);
	weft_map_free(&m);
	EQ(weft_map_range(&m, sum_up, &sum), 0);
}

/* ---- range ---- */

enum { KEYS = 500 };

struct visit {
	weft_map *m;
	int seen[2 * KEYS];
	int calls, limit;
};

/* Deletes what it visits, and the next one, and adds one. */
static bool
delete_visited(weft_key key, void *value, void *arg)
{
	struct visit *v = arg;
	uintptr_t k = (uintptr_t)key.at;

	EQ((intptr_t)value, (intptr_t)k);
	v->seen[k]++;
	OK(weft_map_delete(v->m, key, NULL));
	weft_map_delete(v->m, weft_key_number((k + 1) % KEYS), NULL);
	EQ(weft_map_set(v->m, weft_key_number(KEYS + k), NULL), 0);
	weft_yield();
	return ++v->calls < v->limit;
}

/* Keys from KEYS on are those that it added. */
static bool
delete_old(weft_key key, void *value, void *arg)
{
	if ((uintptr_t)key.at < KEYS)
		return delete_visited(key, value, arg);
	((struct visit *)arg)->seen[(uintptr_t)key.at]++;
	return true;
}

GTEST(range_may_change_the_map, 2)
{
	static struct visit v;
	weft_map m = {0};

	v.m = &m;
	v.limit = INT32_MAX;
	for (int i = 0; i < KEYS; i++)
		weft_map_set(&m, weft_key_number((uintptr_t)i), number(i));
	OK(weft_map_range(&m, delete_old, &v) >= KEYS / 2);
	for (int i = 0; i < 2 * KEYS; i++)
		OK(v.seen[i] <= 1);
	for (uintptr_t i = 0; i < KEYS; i++) {
		OK(!weft_map_get(&m, weft_key_number(i), NULL));
		EQ(weft_map_get(&m, weft_key_number(KEYS + i), NULL),
		    v.seen[i]);
	}
	weft_map_free(&m);
}

GTEST(range_ends_when_told, 1)
{
	static struct visit v;
	weft_map m = {0};

	v.m = &m;
	v.limit = 10;
	for (int i = 0; i < KEYS; i++)
		weft_map_set(&m, weft_key_number((uintptr_t)i), number(i));
	OK(weft_map_range(&m, delete_old, &v) >= 10);
	EQ(v.calls, 10);
	weft_map_free(&m);
}

/* What is deleted during the range is not visited after that. */
static bool
delete_all(weft_key key, void *value, void *arg)
{
	struct visit *v = arg;

	(void)key, (void)value;
	for (uintptr_t i = 0; i < KEYS; i++)
		weft_map_delete(v->m, weft_key_number(i), NULL);
	v->calls++;
	return true;
}

GTEST(range_skips_what_is_deleted, 1)
{
	static struct visit v;
	weft_map m = {0};

	v.m = &m;
	for (uintptr_t i = 0; i < KEYS; i++)
		weft_map_set(&m, weft_key_number(i), NULL);
	EQ(weft_map_range(&m, delete_all, &v), 1);
	EQ(v.calls, 1);
	weft_map_free(&m);
}

static bool
mark(weft_key key, void *value, void *arg)
{
	struct visit *v = arg;

	(void)value;
	v->seen[(uintptr_t)key.at]++;
	/* Deleted and set again: not visited twice. */
	weft_map_delete(v->m, key, NULL);
	weft_map_set(v->m, key, NULL);
	return true;
}

GTEST(range_visits_once, 1)
{
	static struct visit v;
	weft_map m = {0};

	v.m = &m;
	for (int i = 0; i < KEYS; i++)
		weft_map_set(&m, weft_key_number((uintptr_t)i), NULL);
	EQ(weft_map_range(&m, mark, &v), KEYS);
	for (int i = 0; i < KEYS; i++)
		EQ(v.seen[i], 1);
	weft_map_free(&m);
}

/* ---- get_or_set is atomic ---- */

struct race {
	weft_map m;
	weft_waitgroup wg;
	int won;		/* atomic */
};

static void
try_to_be_first(struct race *r, int me, int keys)
{
	void *v;

	for (int i = 0; i < keys; i++) {
		int was = weft_map_get_or_set(&r->m,
		    weft_key_number((uintptr_t)i), number(me), &v);

		if (was == 0)
			__atomic_add_fetch(&r->won, 1, __ATOMIC_RELAXED);
		OK(was == 1 || (was == 0 && (intptr_t)v == me));
	}
	weft_waitgroup_done(&r->wg);
}

static void
one_is_first(void)
{
	int keys = (int)t_scale(2000);
	struct race r = {0};

	weft_waitgroup_add(&r.wg, 8);
	for (int i = 1; i <= 8; i++)
		weft_go(try_to_be_first, &r, i, keys);
	weft_waitgroup_wait(&r.wg);
	EQ(r.won, keys);
	weft_map_free(&r.m);
}
ON_ALL(one_is_first)
