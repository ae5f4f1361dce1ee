/* SPDX-License-Identifier: MIT */
/*
 * Stack slabs, one pool a size class, one small cache a P.
 *
 * On a machine with several nodes of memory each node has its pools. The
 * kernel takes a page from the node of the CPU that first touches it: a free
 * stack goes to the pools of the node where it was used last, and is used there
 * again. Before a new one is carved those of other nodes are taken: otherwise
 * stacks that are freed on another node than they were made on would pile up
 * there. (A bare one of these has no pages yet, and is as good as a new one.)
 *
 * Guards: light ones where the kernel has them. Else mprotect, which splits
 * mappings, so only as many as leave half of the process's mappings to other
 * uses. Beyond that a canary: the bytes next to the guard's end have never
 * been touched and read as zeros (reading them costs no memory), and when the
 * goroutine leaves its stack it is checked that they still do.
 *
 * Memory goes back to the kernel by age. The states of a free stack:
 *
 *	      stack_put            stack_scavenge     stack_scavenge
 *	used ----------> fresh ------------------> idle ------------> bare
 *	 ^                 |                        |                  |
 *	 +-----------------+------------------------+------------------+
 *	                stack_get, those on the left first
 *
 * So a stack becomes bare, that is loses all its pages, if no stack_get needed
 * it between two calls. (A P's cache comes before all of this.) Most stacks
 * were never used beyond their first page, so that one has to go too, and with
 * it the header and its `next`. So bare stacks are not linked: one of them,
 * the ledger, keeps its first page and has the addresses of up to 256 others
 * in it, below its header. Ledgers are linked. Nothing is allocated in order
 * to free memory.
 *
 * Once there are many, stacks are carved several at a time, so that one system
 * call makes their guards: those that are not needed yet begin as bare ones.
 */
#include "stack.h"

#include <string.h>

#include "atomic.h"
#include "fatal.h"
#include "hard.h"
#include "lock.h"
#include "os.h"
#include "sanitize.h"
#include "topology.h"
#include "valgrind.h"

enum {
	SLAB_BYTES = 64 << 20,
	CACHE_MAX = 64,		/* a P's cache; half of it moves at a time */
	CACHE_KEEP = 8,		/* what stack_trim leaves */
	CANARY_BYTES = 64,
	COLOURS = 32,		/* staggered tops: COLOURS cache lines */
	BATCH = 32,		/* stacks made bare at a time, without lock */
	CARVE_SHARE = 16,	/* one in so many more is carved at a time */
	ENTRIES = 256,		/* of a ledger */
	ENTRY_GUARD = 3,	/* bits of an entry that are its enum guard */
	BELOW_SP = 256		/* more than code may use below its sp */
};
_Static_assert(COLOURS * CACHE_LINE + sizeof(struct stack) <= STACK_TOP_BYTES,
    "what a class promises");
_Static_assert(COLOURS * CACHE_LINE + ENTRIES * sizeof(uintptr_t) <= PAGE,
    "entries are in the page of the header, below it");
_Static_assert((int)GUARD_CANARY <= ENTRY_GUARD &&
    ENTRY_GUARD < (int)_Alignof(struct stack),
    "a header's address leaves these bits");

struct pool {
	struct lock lock;
	/* under lock */
	struct stack *fresh;	/* freed since the last stack_scavenge */
	struct stack *fresh_last;	/* its end, unless it is empty */
	struct stack *idle;	/* freed before that */
	struct stack *ledgers;	/* bare ones */
	char *carve, *carve_end;	/* the slab being carved */
	a32 carved;		/* any thread reads it */
} cache_aligned;

static struct pool pools[TOPOLOGY_NODES][STACK_CLASSES];
static a32 split_budget;		/* mprotect guards still allowed */
static bool light_guards;		/* constant after init */
static abool vector_guards;		/* many at a time, until refused */
int stack_default_class;		/* constant after init */

/*
 * 16 and 32 KiB for programs with many small stacks, then powers of two, plus
 * a page: at a power of two the first pages of all stacks would share a few
 * sets of the TLB. (A chain of 1500 goroutines: 49 ns a hop became 35.)
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
	for (int n = 0; n < TOPOLOGY_NODES; n++)
		for (int i = 0; i < STACK_CLASSES; i++)
			pools[n][i].lock.rank = RANK_STACK;
	light_guards = os_guard_light_works();
	a_init(&vector_guards, light_guards);
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
 * Pool locked. How many stacks are carved at a time: few while there are few.
 * Each costs half a KiB of page table, which its guard needs.
 */
static uint32_t
carve_many(struct pool *p, size_t each)
{
	size_t left = (size_t)(p->carve_end - p->carve) / each;
	uint32_t n = a_load_relaxed(&p->carved) / CARVE_SHARE;

	if (!a_load_relaxed(&vector_guards) || n < 2 || left < 2)
		return 1;
	if (n > OS_GUARDS_MAX)
		n = OS_GUARDS_MAX;
	return n < left ? n : (uint32_t)left;
}

/*
 * Pool locked. False if there is no memory: if there is none for many stacks a
 * mapping for a single one is tried.
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

/* Pool locked. The next n pieces of the slab, or NULL. */
static char *
pool_carve(struct pool *p, size_t each, uint32_t *nth, uint32_t *n)
{
	char *base;

	if (p->carve == p->carve_end && !pool_grow(p, each))
		return NULL;
	*n = carve_many(p, each);
	base = p->carve;
	p->carve += *n * each;
	*nth = a_load_relaxed(&p->carved);
	a_bump(&p->carved, *n);
	return base;
}

/* Of a class, on all nodes. */
static uint32_t
class_carved(int class)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < topology_nodes(); i++)
		n += a_load_relaxed(&pools[i][class].carved);
	return n;
}

uint32_t
stack_carved(void)
{
	uint32_t n = 0;

	for (int i = 0; i < STACK_CLASSES; i++)
		n += class_carved(i);
	return n;
}

uint64_t
stack_reserved_bytes(void)
{
	uint64_t n = 0;

	for (int i = 0; i < STACK_CLASSES; i++)
		n += class_carved(i) * (uint64_t)reservation(i);
	return n;
}

/* Where the reservation of this stack ends. */
static char *
stack_end(struct stack *s)
{
	return (char *)round_up((uintptr_t)s + 1, PAGE);
}

/* Writes the header, which makes the stack's first page resident. */
static struct stack *
stack_head(struct stack *s, int class, enum guard guard)
{
	s->lo = stack_end(s) - reservation(class) + STACK_GUARD_BYTES;
	s->class = (uint8_t)class;
	s->guard = (uint8_t)guard;
	return s;
}

/* Where the header is of the stack that begins at base. */
static struct stack *
header_at(char *base, int class, uint32_t nth)
{
	size_t off = reservation(class) - sizeof(struct stack) -
	    nth % COLOURS * CACHE_LINE;

	return (struct stack *)(void *)(base + off);
}

static struct stack *
stack_make(char *base, int class, uint32_t nth)
{
	struct stack *s = stack_head(header_at(base, class, nth), class,
	    guard_make(base));

	vg_stack(s->lo, s);
	return s;
}

static struct stack *
pop(struct stack **list)
{
	struct stack *s = *list;

	if (s)
		*list = s->next;
	return s;
}

static void
push(struct stack **list, struct stack *s)
{
	s->next = *list;
	*list = s;
}

/* ---- bare stacks; an entry: a header's address and the kind of guard ---- */

static uintptr_t
entry_of(struct stack *s)
{
	return (uintptr_t)s | s->guard;
}

static uintptr_t *
ledger_entries(struct stack *ledger)
{
	return (uintptr_t *)((uintptr_t)ledger & ~(uintptr_t)(PAGE - 1));
}

/* Pool locked. A bare stack as an entry, or 0; an empty ledger is one too. */
static uintptr_t
ledger_take(struct pool *p)
{
	struct stack *ledger = p->ledgers;

	if (!ledger)
		return 0;
	if (ledger->entries)
		return ledger_entries(ledger)[--ledger->entries];
	return entry_of(pop(&p->ledgers));
}

static struct stack *
entry_stack(uintptr_t entry, int class)
{
	return stack_head((struct stack *)(entry & ~(uintptr_t)ENTRY_GUARD),
	    class, entry & ENTRY_GUARD);
}

/*
 * The caller alone has the stack and the ledger; if there is no ledger the
 * stack becomes one. Returns the ledger.
 */
static struct stack *
release_pages(struct stack *s, struct stack *ledger)
{
	char *lo = s->lo, *end = stack_end(s);

	if (!ledger) {
		ledger = s;
		ledger->entries = 0;
		end -= PAGE;
		vg_reuse(ledger_entries(s), ENTRIES * sizeof(uintptr_t));
	} else {
		ledger_entries(ledger)[ledger->entries++] = entry_of(s);
	}
	os_release(lo, (size_t)(end - lo));
	return ledger;
}

/*
 * Makes n stacks, with one system call for their guards: 0.8 us a guard, with
 * n calls 1.1 us. Returns the first; the others are bare from the start, the
 * second being their ledger. No lock held.
 */
static struct stack *
stack_make_many(struct pool *p, char *base, int class, uint32_t nth,
    uint32_t n)
{
	size_t each = reservation(class);
	uint32_t done = os_guard_light_many(base, each, STACK_GUARD_BYTES, n);
	struct stack *s, *ledger = NULL;
	enum guard guard;

	if (!done)
		a_store_relaxed(&vector_guards, false);
	for (uint32_t i = n; i-- > 1; ) {
		s = header_at(base + i * each, class, nth + i);
		guard = i < done ? GUARD_LIGHT : guard_make(base + i * each);
		if (ledger) {
			ledger_entries(ledger)[ledger->entries++] =
			    (uintptr_t)s | guard;
			continue;
		}
		ledger = stack_head(s, class, guard);
		ledger->entries = 0;
	}
	lock_take(&p->lock);
	push(&p->ledgers, ledger);
	lock_drop(&p->lock);
	guard = done ? GUARD_LIGHT : guard_make(base);
	return stack_head(header_at(base, class, nth), class, guard);
}

/* ---- the pools ---- */

/* A free one, if there is one; if not, and `carve`, a new one. */
static struct stack *
pool_get_one(struct pool *p, int class, bool carve)
{
	uintptr_t entry = 0;
	char *base = NULL;
	uint32_t nth = 0, n = 0;
	struct stack *s;

	lock_take(&p->lock);
	s = pop(p->fresh ? &p->fresh : &p->idle);
	if (!s && !(entry = ledger_take(p)) && carve)
		base = pool_carve(p, reservation(class), &nth, &n);
	lock_drop(&p->lock);
	if (entry)
		return entry_stack(entry, class);
	if (n > 1)
		return stack_make_many(p, base, class, nth, n);
	return base ? stack_make(base, class, nth) : s;
}

/* There are several nodes. */
static cold struct stack *
pool_get_any(int class, uint32_t node)
{
	uint32_t nodes = topology_nodes();
	struct stack *s = NULL;

	for (uint32_t i = 0; i < nodes && !s; i++)
		s = pool_get_one(&pools[(node + i) % nodes][class], class,
		    false);
	return s;
}

static struct stack *
pool_get(int class, uint32_t node)
{
	struct stack *s = NULL;

	if (unlikely(topology_nodes() > 1))
		s = pool_get_any(class, node);
	return s ? s : pool_get_one(&pools[node][class], class, true);
}

/* Adds the list first..last to its pool. */
static void
pool_put(struct stack *first, struct stack *last, uint32_t node)
{
	struct pool *p = &pools[node][first->class];

	lock_take(&p->lock);
	if (!p->fresh)
		p->fresh_last = last;
	last->next = p->fresh;
	p->fresh = first;
	lock_drop(&p->lock);
}

/*
 * Makes at most max idle stacks bare and returns how many. They are on no list
 * during the system calls, nor are those in the ledger they are entered in: a
 * stack_get just then may carve a new one instead, and never waits for them.
 */
static uint32_t
pool_scavenge(struct pool *p, uint32_t max)
{
	struct stack *s, *mine = NULL, *ledger = NULL;
	uint32_t n;

	lock_take(&p->lock);
	for (n = 0; n < max && n < BATCH && (s = pop(&p->idle)); n++)
		push(&mine, s);
	if (n && p->ledgers && p->ledgers->entries + n <= ENTRIES)
		ledger = pop(&p->ledgers);
	lock_drop(&p->lock);
	if (!n)
		return 0;
	hard_pause();
	while ((s = pop(&mine)))
		ledger = release_pages(s, ledger);
	lock_take(&p->lock);
	push(&p->ledgers, ledger);
	lock_drop(&p->lock);
	return n;
}

/* A period ends: what was freed in it stays idle for all of the next one. */
static void
pool_age(struct pool *p)
{
	lock_take(&p->lock);
	if (p->fresh) {
		p->fresh_last->next = p->idle;
		p->idle = p->fresh;
		p->fresh = NULL;
	}
	lock_drop(&p->lock);
}

/* Of one node. Large stacks first: they may have more resident pages. */
static uint32_t
node_scavenge(struct pool *first, uint32_t max)
{
	uint32_t n = 0, some;

	for (struct pool *p = first + STACK_CLASSES; p-- > first;) {
		while ((some = pool_scavenge(p, max - n)))
			n += some;
		pool_age(p);
	}
	return n;
}

uint32_t
stack_scavenge(uint32_t max)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < topology_nodes(); i++)
		n += node_scavenge(pools[i], max - n);
	return n;
}

/*
 * A stack pointer that is not in this stack says nothing about it: the frames
 * that the goroutine will return to may be anywhere in it. What sanitizers
 * have recorded about the bytes given back holds for zeros as well.
 */
void
stack_scavenge_below(struct stack *s, const void *sp)
{
	uintptr_t lo = (uintptr_t)s->lo, end = (uintptr_t)sp;

	if (end < lo || end > (uintptr_t)s)
		return;
	end = (end - BELOW_SP) & ~(uintptr_t)(PAGE - 1);
	if (end > lo)
		os_release(s->lo, end - lo);
}

/* ---- the caches ---- */

struct stack *
stack_get(struct stack_cache *cache, int class)
{
	struct stack *s = cache->free;

	if (unlikely(class != stack_default_class || !s))
		return pool_get(class, cache->node);
	cache->free = s->next;
	cache->n--;
	return s;
}

/* Moves the n coldest, those at the end of the list, to the pool. */
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
	pool_put(first, last, cache->node);
}

void
stack_put(struct stack_cache *cache, struct stack *s)
{
	check(stack_intact(s));
	san_stack_reset(s->lo, stack_bytes(s));
	if (unlikely(s->class != stack_default_class)) {
		pool_put(s, s, cache->node);
		return;
	}
	s->next = cache->free;
	cache->free = s;
	if (unlikely(++cache->n > CACHE_MAX))
		cache_spill(cache, CACHE_MAX / 2);
}

void
stack_put_any(struct stack *s)
{
	check(stack_intact(s));
	san_stack_reset(s->lo, stack_bytes(s));
	pool_put(s, s, topology_node(topology_here()));
}

void
stack_drain(struct stack_cache *cache)
{
	if (cache->n)
		cache_spill(cache, cache->n);
}

void
stack_move(struct stack_cache *cache, uint32_t node)
{
	if (cache->node == node)
		return;
	stack_drain(cache);
	cache->node = node;
}

void
stack_trim(struct stack_cache *cache)
{
	if (cache->n > CACHE_KEEP)
		cache_spill(cache, cache->n - CACHE_KEEP);
}

bool
stack_intact(const struct stack *s)
{
	static const char zeros[CANARY_BYTES];

	return s->guard != GUARD_CANARY ||
	    memcmp(s->lo - CANARY_BYTES, zeros, CANARY_BYTES) == 0;
}
