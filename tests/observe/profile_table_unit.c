/* SPDX-License-Identifier: MIT */
/* The table of samples: equal stacks together, full, many threads. */
#include "profile_table.h"

#include <pthread.h>

#include "t.h"

static struct profile_table table;

static struct profile_key
key_of(const uintptr_t *pcs, unsigned depth, int64_t g)
{
	return (struct profile_key){ .pcs = pcs, .depth = (uint16_t)depth,
	    .goroutine = g };
}

static uint64_t
total(uint32_t *entries, uint64_t *sum)
{
	struct profile_entry *e;
	uint64_t count = 0;

	*entries = 0;
	*sum = 0;
	for (uint32_t at = 0; (e = profile_table_next(&table, &at)); ) {
		count += a_load_relaxed(&e->count);
		*sum += a_load_relaxed(&e->sum);
		++*entries;
	}
	return count;
}

TEST(equal_ones_together)
{
	uintptr_t a[] = { 1, 2, 3 }, b[] = { 1, 2, 4 };
	struct profile_key k[] = { key_of(a, 3, 1), key_of(b, 3, 1),
	    key_of(a, 3, 2), key_of(a, 2, 1), key_of(a, 0, 1) };
	uint32_t n;
	uint64_t sum;

	EQ(profile_table_make(&table), 0);
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < 5; i++)
			OK(profile_table_add(&table, &k[i], 2, 7));
	EQ(total(&n, &sum), 30);
	EQ(n, 5);
	EQ(sum, 105);
	EQ(profile_table_make(&table), 0);	/* empties it */
	EQ(total(&n, &sum), 0);
	profile_table_free(&table);
}

/* First ids go, then samples are lost, and all are accounted for. */
TEST(full)
{
	uintptr_t pcs[PROFILE_DEPTH] = {0};
	uint64_t added = 0, sum;
	uint32_t n;

	EQ(profile_table_make(&table), 0);
	for (int i = 0; i < 100000; i++) {
		struct profile_key k = key_of(pcs, PROFILE_DEPTH, i + 1);

		pcs[0] = (uintptr_t)i;
		added += profile_table_add(&table, &k, 1, 1);
	}
	OK(a_load_relaxed(&table.lost) > 0);
	EQ(a_load_relaxed(&table.lost) + added, 100000);
	EQ(total(&n, &sum), added);
	/* One that is there already finds its place. */
	pcs[0] = 0;
	struct profile_key k = key_of(pcs, PROFILE_DEPTH, 0);
	profile_table_add(&table, &k, 1, 1);
	profile_table_free(&table);
}

enum { THREADS = 4, TIMES = 200000, STACKS = 1000 };

static void *
add_many(void *arg)
{
	uintptr_t pcs[4] = {0};

	for (int i = 0; i < TIMES; i++) {
		struct profile_key k = key_of(pcs, 4, 0);

		pcs[3] = (uintptr_t)(i % STACKS);
		profile_table_add(&table, &k, 1, 3);
	}
	return arg;
}

TEST(many_threads)
{
	pthread_t t[THREADS];
	uint64_t sum;
	uint32_t n;

	EQ(profile_table_make(&table), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, add_many, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	EQ(total(&n, &sum), (uint64_t)THREADS * TIMES);
	EQ(n, STACKS);
	EQ(sum, (uint64_t)3 * THREADS * TIMES);
	EQ(a_load_relaxed(&table.lost), 0);
	profile_table_free(&table);
}
