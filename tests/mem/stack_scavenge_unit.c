/* SPDX-License-Identifier: MIT */
/* Stacks whose memory goes back to the kernel: free ones, and parked ones. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <weft.h>

#include "g.h"
#include "guard_fault.h"
#include "m.h"
#include "os.h"
#include "rand.h"
#include "stack.h"
#include "t.h"

enum { MAX = 4000, ALL = 1 << 20, DEEP = 64 * 1024, MIB = 1 << 20 };
#ifndef MADV_GUARD_REMOVE
#define MADV_GUARD_REMOVE 103
#endif

static struct stack_cache cache;
static struct stack *all[MAX];

/* Gets n of a class and writes to the upper `deep` bytes of each. */
static void
get(int n, int class, size_t deep)
{
	for (int i = 0; i < n; i++) {
		all[i] = stack_get(&cache, class);
		memset((char *)stack_top(all[i]) - deep, i | 1, deep);
	}
}

/* Every step-th of the first n goes to the common pool. */
static void
put(int n, int step)
{
	for (int i = 0; i < n; i += step)
		stack_put(&cache, all[i]);
	stack_drain(&cache);
}

static bool
holds(const char *p, size_t n, int byte)
{
	while (n > 0 && *p == (char)byte)
		p++, n--;
	return n == 0;
}

static int64_t
resident(void)
{
	if (t_emulated())
		t_skip("an emulator's own memory is counted too");
	return t_resident();
}

TEST(two_calls_and_not_one_give_it_back)
{
	enum { N = 400 };
	int64_t full, bytes = (int64_t)N * DEEP;

	stack_init();
	get(N, stack_default_class, DEEP);
	put(N, 1);
	full = resident();
	EQ(stack_scavenge(ALL), 0);
	OK(resident() > full - MIB);
	EQ(stack_scavenge(ALL), N);
	OK(resident() < full - bytes + MIB);
	EQ(stack_scavenge(ALL), 0);
	EQ(stack_scavenge(ALL), 0);
}

/*
 * A goroutine that did little has used one page, and that one goes too, even
 * if there are only a few at a time.
 */
TEST(the_first_page_goes_too)
{
	uint32_t n = 0, some;
	int64_t full;

	stack_init();
	get(MAX, 0, 1024);
	put(MAX, 1);
	full = resident();
	EQ(stack_scavenge(ALL), 0);
	while ((some = stack_scavenge(10)))
		n += some;
	EQ(n, MAX);
	OK(resident() < full - (int64_t)MAX * PAGE + MIB);
}

TEST(large_ones_too)
{
	int class;
	int64_t full;

	stack_init();
	class = stack_class(7 * MIB);
	get(4, class, stack_class_bytes(class));
	put(4, 1);
	full = resident();
	EQ(stack_scavenge(ALL), 0);
	EQ(stack_scavenge(ALL), 4);
	OK(resident() < full - 27 * MIB);
}

TEST(neighbours_in_use_keep_every_byte)
{
	enum { N = 100 };
	size_t deep;

	stack_init();
	deep = stack_class_bytes(1);
	get(N, 1, deep);
	put(N, 2);
	stack_scavenge(ALL);
	EQ(stack_scavenge(ALL), N / 2);
	for (int i = 1; i < N; i += 2) {
		OK(holds((char *)stack_top(all[i]) - deep, deep, i | 1));
		OK(all[i]->lo && all[i]->class == 1);
		if (all[i]->guard != GUARD_CANARY) {
			OK(faults(all[i]->lo - 1));
			OK(faults(all[i]->lo - STACK_GUARD_BYTES));
		}
	}
}

TEST(at_most_as_many_as_asked_for)
{
	stack_init();
	get(60, 0, 100);
	put(60, 1);
	get(40, 2, 100);
	put(40, 1);
	EQ(stack_scavenge(0), 0);
	EQ(stack_scavenge(0), 0);
	EQ(stack_scavenge(10), 10);
	EQ(stack_scavenge(1), 1);
	EQ(stack_scavenge(33), 33);
	EQ(stack_scavenge(1000), 56);
	EQ(stack_scavenge(1000), 0);
}

TEST(what_was_wanted_meanwhile_is_kept)
{
	stack_init();
	get(10, 0, 100);
	put(10, 1);
	EQ(stack_scavenge(ALL), 0);
	get(4, 0, 100);
	put(4, 1);
	EQ(stack_scavenge(ALL), 6);
	get(4, 0, 100);
	put(4, 1);
	EQ(stack_scavenge(ALL), 0);
	EQ(stack_scavenge(ALL), 4);
	EQ(stack_scavenge(ALL), 0);
}

/* The ones with memory first, and of these the one that was put last. */
TEST(bare_ones_are_taken_last)
{
	struct stack *s[5];

	stack_init();
	for (int i = 0; i < 5; i++)
		s[i] = stack_get(&cache, 0);
	stack_put(&cache, s[0]);
	stack_put(&cache, s[1]);
	stack_scavenge(ALL);
	stack_put(&cache, s[2]);
	stack_put(&cache, s[3]);
	EQ(stack_scavenge(ALL), 2);
	stack_put(&cache, s[4]);
	OK(stack_get(&cache, 0) == s[4]);
	OK(stack_get(&cache, 0) == s[3]);
	OK(stack_get(&cache, 0) == s[2]);
	for (int i = 0; i < 2; i++) {
		struct stack *bare = stack_get(&cache, 0);

		OK(bare == s[0] || bare == s[1]);
	}
}

static int
by_address(const void *a, const void *b)
{
	const struct stack *const *x = a, *const *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* As many as fill several ledgers, a few at a time, with some taken between. */
TEST(none_is_lost_and_none_is_there_twice)
{
	static struct stack *before[MAX];
	uint32_t n = 0, some;

	stack_init();
	get(MAX, stack_default_class, 100);
	memcpy(before, all, sizeof all);
	put(MAX, 1);
	stack_scavenge(0);
	for (uint32_t i = 0; (some = stack_scavenge(1 + i % 300)); i++) {
		n += some;
		get(2, stack_default_class, 100);
		put(2, 1);
	}
	n += stack_scavenge(ALL);
	OK(n >= MAX);
	get(MAX, stack_default_class, 100);
	qsort(before, MAX, sizeof before[0], by_address);
	qsort(all, MAX, sizeof all[0], by_address);
	OK(memcmp(before, all, sizeof all) == 0);
}

/* Puts it, has it laid bare, gets it again. The pool has no other. */
static void
there_and_back(struct stack *s)
{
	int class = s->class;

	stack_put(&cache, s);
	stack_drain(&cache);
	EQ(stack_scavenge(ALL), 0);
	EQ(stack_scavenge(ALL), 1);
	OK(stack_get(&cache, class) == s);
}

/* Two of a class: one becomes the ledger, the other is entered there. */
TEST(a_stack_is_the_same_after_it_was_bare)
{
	stack_init();
	for (int c = 0; c < 8; c++) {
		struct stack *pair[2], *s;
		struct stack old[2];

		for (int i = 0; i < 2; i++)
			pair[i] = stack_get(&cache, c);
		for (int i = 0; i < 2; i++) {
			old[i] = *pair[i];
			stack_put(&cache, pair[i]);
		}
		stack_drain(&cache);
		stack_scavenge(ALL);
		EQ(stack_scavenge(ALL), 2);
		for (int i = 0; i < 2; i++) {
			s = stack_get(&cache, c);
			OK(s == pair[0] || s == pair[1]);
			OK(s->lo == old[s == pair[1]].lo);
			EQ(s->class, c);
			EQ(s->guard, old[0].guard);
			OK(!faults(s->lo));
			OK(!faults((char *)stack_top(s) - 1));
			if (s->guard == GUARD_CANARY)
				continue;
			OK(faults(s->lo - 1));
			OK(faults(s->lo - STACK_GUARD_BYTES));
		}
	}
}

TEST(the_kind_of_guard_is_remembered)
{
	struct stack *s, *ledger;

	stack_init();
	s = stack_get(&cache, 0);
	ledger = stack_get(&cache, 0);
	if (s->guard != GUARD_LIGHT)
		t_skip("needs light guards, to take one off again");
	EQ(madvise(s->lo - STACK_GUARD_BYTES, STACK_GUARD_BYTES,
	    MADV_GUARD_REMOVE), 0);
	s->guard = GUARD_CANARY;
	there_and_back(s);
	EQ(s->guard, GUARD_CANARY);
	OK(stack_intact(s));
	s->lo[-1] = 1;
	OK(!stack_intact(s));
	s->lo[-1] = 0;
	s->guard = GUARD_SPLIT;
	stack_put(&cache, ledger);
	stack_put(&cache, s);
	stack_drain(&cache);
	stack_scavenge(ALL);
	EQ(stack_scavenge(ALL), 2);
	for (int i = 0; i < 2; i++)
		if (stack_get(&cache, 0) == s)
			EQ(s->guard, GUARD_SPLIT);
		else
			EQ(ledger->guard, GUARD_LIGHT);
}

TEST(a_cache_keeps_its_hottest_few)
{
	stack_init();
	get(40, stack_default_class, 100);
	for (int i = 0; i < 40; i++)
		stack_put(&cache, all[i]);
	stack_trim(&cache);
	OK(cache.n > 0 && cache.n < 20);
	stack_scavenge(ALL);
	EQ(stack_scavenge(ALL), 40 - cache.n);
	OK(stack_get(&cache, stack_default_class) == all[39]);
	OK(holds((char *)stack_top(all[39]) - 100, 100, 39));
	stack_trim(&cache);
	stack_trim(&(struct stack_cache){0});
}

/* ---- refusals ---- */

/* Memory that the program locked stays, and the stack is as good as ever. */
TEST(locked_memory_stays)
{
	struct stack *old[3];
	char *page, *lo[3];

	stack_init();
	get(3, 0, 100);
	for (int i = 0; i < 3; i++) {
		old[i] = all[i];
		lo[i] = all[i]->lo;
	}
	page = (char *)((uintptr_t)old[1] & ~(uintptr_t)(PAGE - 1));
	if (mlock(page, PAGE) != 0)
		t_skip("may not lock memory");
	put(3, 1);
	stack_scavenge(ALL);
	EQ(stack_scavenge(ALL), 3);
	get(3, 0, 100);
	for (int i = 0; i < 3; i++) {
		int k = 0;

		while (k < 2 && old[k] != all[i])
			k++;
		OK(all[i] == old[k] && all[i]->lo == lo[k]);
		EQ(all[i]->class, 0);
		OK(!faults(all[i]->lo));
	}
	put(3, 1);
	EQ(stack_scavenge(ALL), 0);
	EQ(stack_scavenge(ALL), 3);
	EQ(stack_scavenge(ALL), 0);
}

#ifdef WEFT_DEBUG
/*
 * Each has a mapping of its own. (No larger ones than need be for that: of all
 * of it AddressSanitizer has a shadow, which it clears.)
 */
TEST(a_kernel_that_refuses_memory_does_not_matter_to_bare_ones)
{
	const int large = STACK_CLASSES - 5;

	stack_init();
	get(300, large, 100);
	put(300, 1);
	stack_scavenge(ALL);
	a_store_relaxed(&os_map_fail_after, 1);
	EQ(stack_scavenge(ALL), 300);
	get(300, large, 100);
	OK(!stack_get(&cache, large));
	put(300, 1);
	EQ(stack_scavenge(ALL), 0);
	EQ(stack_scavenge(ALL), 300);
}
#endif

/* ---- parked ones ---- */

static void
cool_at(struct stack *s, char *sp)
{
	char *bottom = s->lo, *keep = sp - 256;

	memset(bottom, 7, stack_bytes(s));
	stack_scavenge_below(s, sp);
	keep -= (uintptr_t)keep % PAGE;
	if (keep < bottom)
		keep = bottom;
	OK(holds(keep, (size_t)((char *)s - keep), 7));
	/* An emulator may not do what it says it did. */
	OK(holds(bottom, (size_t)(keep - bottom), 0) || t_emulated());
}

TEST(a_cooled_stack_keeps_what_is_live)
{
	struct stack *s, *below;

	stack_init();
	for (int c = 0; c < 4; c++) {
		below = stack_get(&cache, c);
		s = stack_get(&cache, c);
		memset(below->lo, 9, stack_bytes(below));
		cool_at(s, (char *)s);
		cool_at(s, (char *)s - 300);
		for (int d = -1; d <= 1; d++) {
			cool_at(s, s->lo + 2 * PAGE + d);
			cool_at(s, s->lo + 2 * PAGE + 256 + d);
			cool_at(s, s->lo + PAGE + 256 + d);
			cool_at(s, s->lo + 256 + d);
		}
		cool_at(s, s->lo);
		OK(holds(below->lo, stack_bytes(below), 9));
		EQ(s->class, c);
		if (s->guard == GUARD_CANARY)
			continue;
		OK(faults(s->lo - 1));
		OK(faults(s->lo - STACK_GUARD_BYTES));
	}
}

TEST(cooling_gives_memory_back)
{
	enum { N = 200 };
	int64_t full;

	stack_init();
	get(N, stack_default_class, DEEP);
	full = resident();
	for (int i = 0; i < N; i++)
		stack_scavenge_below(all[i], (char *)all[i] - PAGE);
	OK(resident() < full - (int64_t)N * (DEEP - 3 * PAGE) + MIB);
}

/* Two stacks that lie side by side; all of the upper one is the program's. */
TEST(a_stack_pointer_in_another_stack_cools_nothing)
{
	struct stack *s, *above;

	stack_init();
	s = stack_get(&cache, stack_default_class);
	above = stack_get(&cache, stack_default_class);
	OK((char *)above->lo > (char *)s);
	memset(s->lo, 7, stack_bytes(s));
	memset(above->lo, 9, stack_bytes(above));
	stack_scavenge_below(s, (char *)above - 300);
	OK(holds(s->lo, stack_bytes(s), 7));
	OK(holds(above->lo, stack_bytes(above), 9));
	stack_scavenge_below(above, (char *)s - 300);
	OK(holds(s->lo, stack_bytes(s), 7));
	OK(holds(above->lo, stack_bytes(above), 9));
	EQ(s->class, stack_default_class);
}

enum { OWN_BYTES = 256 * 1024 };
static char *own_stack;

/*
 * No goroutine digs on without a processor. Mappings are made from the top
 * down: the stack is above those of goroutines.
 */
__attribute__((constructor)) static void
setup(void)
{
	setenv("WEFT_MAX_DETACHED", "-1", 0);
	own_stack = mmap(NULL, OWN_BYTES, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* ---- a goroutine that waits on a stack of the program's own ---- */

#ifdef __x86_64__
enum { ENTRY_SP = 8 };		/* as if there were a return address */
#else
enum { ENTRY_SP = 0 };
#endif

static struct frame at_home, away;
static struct g *traveller;
static weft_chan *call_home;

noreturn static void
abroad(void)
{
	int got = 0;

	weft_chan_recv(call_home, &got);
	EQ(got, 4711);
	frame_switch(&away, &at_home);
	abort();
}

static void
travel(weft_chan *back)
{
	int mine[100];

	for (int k = 0; k < 100; k++)
		mine[k] = k;
	traveller = m_g(m_self());
	away.sp = own_stack + OWN_BYTES - 64 - ENTRY_SP;
	away.pc = (void *)abroad;
	__asm__ volatile("" : : "r"(mine) : "memory");
	frame_switch(&at_home, &away);
	for (int k = 0; k < 100; k++)
		EQ(mine[k], k);
	weft_chan_close(back);
}

GTEST(a_goroutine_may_wait_on_a_stack_of_its_own, 1)
{
	weft_chan *back = weft_chan_make(0, 0);
	int v = 4711;

	call_home = weft_chan_make(sizeof(int), 0);
	memset(own_stack, 5, OWN_BYTES);
	weft_go(travel, back);
	for (int i = 0; i < 20; i++)
		weft_yield();
	OK((char *)traveller->frame.sp > own_stack &&
	    (char *)traveller->frame.sp < own_stack + OWN_BYTES);
	stack_scavenge_below(g_stack(traveller), traveller->frame.sp);
	OK(holds(own_stack, OWN_BYTES / 2, 5));
	weft_chan_send(call_home, &v);
	OK(!weft_chan_recv(back, NULL));
	weft_chan_release(call_home);
	weft_chan_release(back);
}

static struct g *sleepers[8];
static int holes;

static noinline bool
dig(int frames)
{
	char room[1000];

	memset(room, frames, sizeof room);
	/* not to be moved elsewhere, nor made a loop */
	__asm__ volatile("" : : "r"(room) : "memory");
	if (frames > 1 && !dig(frames - 1))
		return false;
	__asm__ volatile("" : : "r"(room) : "memory");
	return holds(room, sizeof room, frames);
}

static void
deep_then_parked(int i, weft_chan *in, weft_chan *out)
{
	int mine[100], got = 0;

	for (int k = 0; k < 100; k++)
		mine[k] = i * k;
	sleepers[i] = m_g(m_self());
	for (int round = 0; round < 3; round++) {
		OK(dig(60));
		holes++;
		weft_chan_recv(in, &got);
		for (int k = 0; k < 100; k++)
			EQ(mine[k], i * k);
		OK(dig(10));
	}
	weft_chan_send(out, &i);
}

/* One P: whoever waits is off its stack while we run. They dig 60 KB deep. */
GTEST(a_parked_goroutine_notices_nothing, 1)
{
	weft_chan *in = weft_chan_make(sizeof(int), 0);
	weft_chan *out = weft_chan_make(sizeof(int), 0);
	int v = 0, sum = 0;

	for (int i = 0; i < 8; i++)
		weft_go(deep_then_parked, i, in, out);
	for (int round = 0; round < 3; round++) {
		while (holes < 8 * (round + 1))
			weft_yield();
		for (int i = 0; i < 20; i++)
			weft_yield();
		for (int i = 0; i < 8; i++) {
			struct stack *s = g_stack(sleepers[i]);
			char *dug = (char *)s - 50 * 1000;

			OK(!holds(dug, 30 * 1000, 0));
			stack_scavenge_below(s, sleepers[i]->frame.sp);
			OK(holds(dug, 30 * 1000, 0) || t_emulated());
		}
		for (int i = 0; i < 8; i++)
			weft_chan_send(in, &v);
	}
	for (int i = 0; i < 8; i++) {
		weft_chan_recv(out, &v);
		sum += v;
	}
	EQ(sum, 28);
	weft_chan_release(in);
	weft_chan_release(out);
}

/* ---- all at once ---- */

enum { THREADS = 3, HELD = 150 };
static a32 running;

static uintptr_t *
mark(struct stack *s, int k)
{
	char *at[3] = { s->lo, (char *)s - 8 * PAGE + 64, (char *)s - 8 };

	return (uintptr_t *)(void *)(at[k] - (uintptr_t)at[k] % 8);
}

static struct stack *
take(struct stack_cache *c, int class)
{
	struct stack *s = stack_get(c, class);

	for (int k = 0; k < 3; k++)
		*mark(s, k) = (uintptr_t)s + (uintptr_t)c;
	return s;
}

static void
give(struct stack_cache *c, struct stack *s)
{
	for (int k = 0; k < 3; k++)
		OK(*mark(s, k) == (uintptr_t)s + (uintptr_t)c);
	stack_put(c, s);
}

static void *
user(void *arg)
{
	struct stack_cache mine = {0};
	struct stack *held[HELD];
	struct rand r;
	long rounds = t_scale(400);

	rand_seed(&r, (uint64_t)(uintptr_t)arg);
	while (rounds-- > 0) {
		uint32_t n = rand_below(&r, HELD);

		for (uint32_t i = 0; i < n; i++)
			held[i] = take(&mine, i % 5 ? stack_default_class : 2);
		for (uint32_t i = 0; i < n; i++)
			give(&mine, held[i]);
		if (rand_below(&r, 4) == 0)
			stack_trim(&mine);
	}
	stack_drain(&mine);
	a_add_acqrel(&running, -1);	/* pairs with the load below */
	return NULL;
}

TEST(while_others_take_and_give)
{
	pthread_t t[THREADS];
	uint64_t n = 0;
	uint32_t i = 0;

	stack_init();
	a_init(&running, THREADS);
	for (uintptr_t k = 0; k < THREADS; k++)
		EQ(pthread_create(&t[k], NULL, user, (void *)(k + 1)), 0);
	/* pairs with the end of user */
	while (a_load_acq(&running) > 0)
		n += stack_scavenge(i++ % 100);
	for (int k = 0; k < THREADS; k++)
		pthread_join(t[k], NULL);
	n += stack_scavenge(ALL);
	n += stack_scavenge(ALL);
	OK(n > 0);
	EQ(stack_scavenge(ALL), 0);
}
