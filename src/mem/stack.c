/* SPDX-License-Identifier: MIT */
/*
 * Stack slabs, one pool a size class, one small cache a P.
 *
 * Guards: light ones where the kernel has them. Else mprotect, which splits
 * mappings, so only as many as leave half of the process's mappings to
 * others. Past that a canary: the bytes next to the guard's end have never
 * been touched and read as zeros (reading them costs no memory), and whoever
 * leaves the stack looks whether that is still so.
 */
#include "stack.h"

#include <string.h>

#include "atomic.h"
#include "fatal.h"
#include "lock.h"
#include "os.h"
#include "sanitize.h"

enum {
	SLAB_BYTES = 64 << 20,
	CACHE_MAX = 64,		/* a P's cache; half of it moves at a time */
	CANARY_BYTES = 64,
	COLOURS = 32		/* staggered tops: COLOURS cache lines */
};
_Static_assert(COLOURS * CACHE_LINE + sizeof(struct stack) <= STACK_TOP_BYTES,
    "what a class promises");

struct pool {
	struct lock lock;
	/* under lock */
	struct stack *free;
	char *carve, *carve_end;	/* the slab being carved */
	uint32_t carved;
} cache_aligned;

static struct pool pools[STACK_CLASSES];
static a32 split_budget;		/* mprotect guards still allowed */
static bool light_guards;		/* constant after init */
int stack_default_class;		/* constant after init */

/*
 * 16 and 32 KiB for those who want many small ones, then powers of two, and a
 * page: at a power of two the first pages of all stacks would share a few sets
 * of the TLB. (A chain of 1500 goroutines: 49 ns a hop became 35.)
 */
static size_t
reservation(int class)
{
	if (class < 2)
		return STACK_EXTRA_BYTES + ((size_t)16 * 1024 << class);
	return ((size_t)128 * 1024 << (class - 2)) + PAGE;
}

size_t
stack_class_bytes(int class)
{
	return reservation(class) - STACK_EXTRA_BYTES;
}

int
stack_class(size_t bytes)
{
	int class = 0;

	if (bytes < STACK_MIN_BYTES || bytes > STACK_MAX_BYTES)
		return -1;
	while (stack_class_bytes(class) < bytes)
		class++;
	return class;
}

void
stack_init(void)
{
	for (int i = 0; i < STACK_CLASSES; i++)
		pools[i].lock.rank = RANK_STACK;
	light_guards = os_guard_light_works();
	a_init(&split_budget, (uint32_t)(os_map_limit() / 4));
	stack_default_class = stack_class(STACK_DEFAULT_BYTES);
}

static bool
take_split_budget(void)
{
	uint32_t n = a_load_relaxed(&split_budget);

	while (n > 0 && !a_cas_relaxed(&split_budget, n, n - 1))
		n = a_load_relaxed(&split_budget);
	return n > 0;
}

static enum guard
guard_make(char *base)
{
	if (light_guards && os_guard_light(base, STACK_GUARD_BYTES) == 0)
		return GUARD_LIGHT;
	if (take_split_budget() && os_guard_split(base, STACK_GUARD_BYTES) == 0)
		return GUARD_SPLIT;
	return GUARD_CANARY;
}

/*
 * Pool locked. False if the kernel refuses memory, even for a single stack
 * where it did not want to give many.
 */
static bool
pool_grow(struct pool *p, size_t each)
{
	size_t bytes = each > SLAB_BYTES ? each : SLAB_BYTES / each * each;

	p->carve = os_map_stacks(bytes);
	if (!p->carve && bytes > each) {
		bytes = each;
		p->carve = os_map_stacks(bytes);
	}
	p->carve_end = p->carve ? p->carve + bytes : NULL;
	return p->carve != NULL;
}

/* Pool locked. The next piece of the slab, or NULL. */
static char *
pool_carve(struct pool *p, size_t each, uint32_t *nth)
{
	char *base;

	if (p->carve == p->carve_end && !pool_grow(p, each))
		return NULL;
	base = p->carve;
	p->carve += each;
	*nth = p->carved++;
	return base;
}

/* Writes the header, which makes the stack's first page resident. */
static struct stack *
stack_make(char *base, int class, uint32_t nth)
{
	size_t off = reservation(class) - sizeof(struct stack) -
	    nth % COLOURS * CACHE_LINE;
	struct stack *s = (struct stack *)(void *)(base + off);

	s->lo = base + STACK_GUARD_BYTES;
	s->class = (uint8_t)class;
	s->guard = (uint8_t)guard_make(base);
	return s;
}

static struct stack *
pool_get(int class)
{
	struct pool *p = &pools[class];
	char *base = NULL;
	uint32_t nth = 0;
	struct stack *s;

	lock_take(&p->lock);
	s = p->free;
	if (s)
		p->free = s->next;
	else
		base = pool_carve(p, reservation(class), &nth);
	lock_drop(&p->lock);
	return base ? stack_make(base, class, nth) : s;
}

/* Gives the chain first..last to its pool. */
static void
pool_put(struct stack *first, struct stack *last)
{
	struct pool *p = &pools[first->class];

	lock_take(&p->lock);
	last->next = p->free;
	p->free = first;
	lock_drop(&p->lock);
}

struct stack *
stack_get(struct stack_cache *cache, int class)
{
	struct stack *s = cache->free;

	if (unlikely(class != stack_default_class || !s))
		return pool_get(class);
	cache->free = s->next;
	cache->n--;
	return s;
}

/* Moves the n coldest, the ones at the end of the chain, to the pool. */
static cold void
cache_spill(struct stack_cache *cache, uint32_t n)
{
	struct stack **cut = &cache->free, *first, *last;

	for (uint32_t i = cache->n - n; i > 0; i--)
		cut = &(*cut)->next;
	first = last = *cut;
	*cut = NULL;
	while (last->next)
		last = last->next;
	cache->n -= n;
	pool_put(first, last);
}

void
stack_put(struct stack_cache *cache, struct stack *s)
{
	check(stack_intact(s));
	san_stack_reset(s->lo, stack_bytes(s));
	if (unlikely(s->class != stack_default_class)) {
		pool_put(s, s);
		return;
	}
	s->next = cache->free;
	cache->free = s;
	if (unlikely(++cache->n > CACHE_MAX))
		cache_spill(cache, CACHE_MAX / 2);
}

void
stack_drain(struct stack_cache *cache)
{
	if (cache->n)
		cache_spill(cache, cache->n);
}

bool
stack_intact(const struct stack *s)
{
	static const char zeros[CANARY_BYTES];

	return s->guard != GUARD_CANARY ||
	    memcmp(s->lo - CANARY_BYTES, zeros, CANARY_BYTES) == 0;
}
