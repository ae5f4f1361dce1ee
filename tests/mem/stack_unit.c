/* SPDX-License-Identifier: MIT */
/* Stacks: classes, reuse, guards of all kinds; and record slabs. */
#include <string.h>

#include "guard_fault.h"
#include "os.h"
#include "slab.h"
#include "stack.h"
#include "t.h"

static struct stack_cache cache;

TEST(classes)
{
	stack_init();
	EQ(stack_class(0), -1);
	EQ(stack_class(STACK_MIN_BYTES - 1), -1);
	EQ(stack_class(STACK_MIN_BYTES), 0);
	EQ(stack_class(STACK_MAX_BYTES), STACK_CLASSES - 1);
	EQ(stack_class(STACK_MAX_BYTES + 1), -1);
	EQ(stack_class_bytes(stack_class(STACK_DEFAULT_BYTES)),
	    STACK_DEFAULT_BYTES);
	for (size_t n = STACK_MIN_BYTES; n < 1 << 20; n += 4096) {
		int c = stack_class(n);

		OK(stack_class_bytes(c) >= n);
		OK(c == 0 || stack_class_bytes(c - 1) < n);
	}
}

TEST(last_in_first_out)
{
	struct stack *a, *b;

	stack_init();
	a = stack_get(&cache, stack_default_class);
	b = stack_get(&cache, stack_default_class);
	OK(a && b && a != b);
	stack_put(&cache, a);
	stack_put(&cache, b);
	OK(stack_get(&cache, stack_default_class) == b);
	OK(stack_get(&cache, stack_default_class) == a);
}

TEST(spill_and_drain_lose_nothing)
{
	enum { N = 500 };
	static struct stack *all[N];
	int found = 0;

	stack_init();
	for (int i = 0; i < N; i++)
		all[i] = stack_get(&cache, stack_default_class);
	for (int i = 0; i < N; i++)
		stack_put(&cache, all[i]);
	stack_drain(&cache);
	EQ(cache.n, 0);
	for (int i = 0; i < N; i++) {
		struct stack *s = stack_get(&cache, stack_default_class);

		for (int k = 0; k < N; k++)
			if (all[k] == s) {
				all[k] = NULL;
				found++;
			}
	}
	EQ(found, N);
}

TEST(all_usable_bytes_are_usable_and_the_guard_is_not)
{
	stack_init();
	for (int c = 0; c < 6; c++) {
		struct stack *s = stack_get(&cache, c);

		OK(!faults(s->lo));
		OK(!faults((char *)stack_top(s) - 1));
		EQ((uintptr_t)stack_top(s) % 16, 0);
		OK(stack_bytes(s) >= stack_class_bytes(c));
		if (s->guard == GUARD_CANARY)
			continue;
		OK(faults(s->lo - 1));
		OK(faults(s->lo - STACK_GUARD_BYTES));
		OK(stack_guard_hit(s, s->lo - 1));
		OK(!stack_guard_hit(s, s->lo));
	}
}

TEST(split_guard_faults)
{
	char *p = os_map(2 * PAGE);

	EQ(os_guard_split(p, PAGE), 0);
	OK(faults(p));
	OK(!faults(p + PAGE));
}

TEST(canary_notices)
{
	struct stack *s;

	stack_init();
	s = stack_get(&cache, 1);
	OK(stack_intact(s));
	if (s->guard != GUARD_CANARY && os_map_limit() > 0) {
		/* as if there had been no guard: a page of zeros below */
		static struct stack fake;
		static char below[8192];

		fake.guard = GUARD_CANARY;
		fake.lo = below + 4096;
		OK(stack_intact(&fake));
		below[4095] = 1;
		OK(!stack_intact(&fake));
	}
}

/* ---- slabs ---- */

struct rec { int64_t v; } cache_aligned;
static struct slab slab = SLAB_INIT(struct rec);

static void
add(void *rec, void *sum)
{
	*(int64_t *)sum += ((struct rec *)rec)->v;
}

TEST(slab_records_are_distinct_and_found)
{
	int64_t sum = 0, expect = 0;
	uint32_t made = 0;

	while (made < 10000) {
		uint32_t n = 1 + made % 64;
		struct rec *r = slab_carve(&slab, &n);

		OK(r && n > 0);
		for (uint32_t i = 0; i < n; i++) {
			EQ(r[i].v, 0);
			r[i].v = made + i;
			expect += made + i;
		}
		made += n;
	}
	slab_each(&slab, add, &sum);
	EQ(sum, expect);
}

/* Many are carved at a time: each has its guard, and its own memory. */
TEST(many_at_a_time)
{
	enum { MANY = 2000 };
	static struct stack *all[MANY];
	static struct stack_cache none;

	stack_init();
	for (int i = 0; i < MANY; i++) {
		struct stack *s = all[i] = stack_get(&none, 0);

		EQ(s->class, 0);
		OK((size_t)((char *)s - s->lo) >= stack_class_bytes(0));
		memset(s->lo, i, 8);
		if (s->guard != GUARD_CANARY) {
			OK(!os_readable(s->lo - sizeof(long)));
			OK(!os_readable(s->lo - STACK_GUARD_BYTES));
		}
	}
	for (int i = 0; i < MANY; i++) {
		EQ(all[i]->lo[7], (char)i);
		OK(os_readable(all[i]->lo));
		stack_put_any(all[i]);
	}
	OK(stack_carved() >= MANY && stack_carved() < MANY + OS_GUARDS_MAX);
}
