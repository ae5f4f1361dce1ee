/* SPDX-License-Identifier: MIT */
/*
 * Goroutine stacks.
 *
 * A stack is a reservation of address space of which only touched pages are
 * resident. It is carved from large slabs, so that a million of them are few
 * mappings. Its lowest 64 KiB are a guard: a function with a large frame would
 * skip a single page.
 *
 * The header is at the top of the stack itself, in the page that is touched
 * first anyway, so the stack of a parked goroutine costs one page in all.
 * Headers are staggered over half a page: at one distance from the page's end
 * the hot lines of all stacks would share a few sets of the L1 cache.
 *
 * A free stack that was not used for a while is scavenged: all its pages go
 * back to the kernel, the header's too. So only the owner of a stack may read
 * its header.
 */
#ifndef STACK_H
#define STACK_H

#include "atomic.h"
#include "defs.h"

enum {
	STACK_GUARD_BYTES = 64 * 1024,
	STACK_TOP_BYTES = 4096,	/* header and staggering, at most */
	STACK_EXTRA_BYTES = STACK_GUARD_BYTES + STACK_TOP_BYTES,
	STACK_CLASSES = 16,	/* reservations of 84 KiB ... 1 GiB + 4 KiB */
	STACK_MIN_BYTES = 4096,
	STACK_DEFAULT_BYTES = (256 - 64) * 1024
};
#define STACK_MAX_BYTES (((size_t)1 << 30) - STACK_GUARD_BYTES)

/* How the guard of a stack works. */
enum guard {
	GUARD_LIGHT,		/* faults, costs no mapping */
	GUARD_SPLIT,		/* faults, costs two mappings */
	GUARD_CANARY		/* does not fault; checked at a switch */
};

struct stack {
	struct stack *next;	/* owner of the list it is on */
	void *pin;		/* the goroutine on it: see preempt/pin.c */
	/* constant */
	char *lo;		/* lowest usable byte; the guard is below */
	uint8_t class;
	uint8_t guard;
	/* under the pool's lock, if the stack is a ledger: see stack.c */
	uint16_t entries;
	/* the goroutine on it, if it is labelled: observe/labels.c */
	a32 labels;
	/* the monitor: see preempt/wait_mark.h */
	int64_t seen_ns;
} cache_aligned;

/* Free stacks of the default class, cached by one P. */
struct stack_cache {
	struct stack *free;
	uint32_t n;
	uint32_t node;		/* of memory: changed while it is empty */
};

/* Once at boot. */
void stack_init(void);

/* The class for at least that many usable bytes, or -1 if out of range. */
int stack_class(size_t bytes);
/* Usable bytes of a class, at least. */
size_t stack_class_bytes(int class);

/* The hottest free stack of the class; NULL if there is no memory. */
struct stack *stack_get(struct stack_cache *cache, int class);
/* Frees a stack on which no context runs any more. */
void stack_put(struct stack_cache *cache, struct stack *s);
/* The same for a caller without a cache. */
void stack_put_any(struct stack *s);
/* Moves all of a cache to the common pool. */
void stack_drain(struct stack_cache *cache);
/* The owner of the cache runs on that node now. */
void stack_move(struct stack_cache *cache, uint32_t node);
/* The same for all but a few of the hottest. Both: owner of the cache only. */
void stack_trim(struct stack_cache *cache);

/* How many stacks there are, in use or not; and their address space. */
uint32_t stack_carved(void);
uint64_t stack_reserved_bytes(void);

/*
 * Gives memory of free stacks back to the kernel: of at most `max` that were
 * in the common pools already when it was called last, so a stack is kept for
 * reuse for at least the time between two calls. One thread at a time calls
 * it, holding no lock. Returns how many it scavenged. If that is 0 twice in a
 * row, and no stack was freed meanwhile, nothing is left to do.
 */
uint32_t stack_scavenge(uint32_t max);

/*
 * Gives memory below a parked goroutine's stack pointer back to the kernel.
 * The caller ensures that the goroutine does not run meanwhile. A system call
 * each time: only the kernel knows whether there is any such memory. Nothing is
 * given back if sp is not in this stack: the goroutine may have changed to one
 * of the program's own, by swapcontext or in a signal handler.
 */
void stack_scavenge_below(struct stack *s, const void *sp);

/* The class that caches hold and that goroutines get by default. */
extern int stack_default_class;

/* Where a goroutine's first frame begins. */
static inline void *
stack_top(struct stack *s)
{
	return s;
}

static inline size_t
stack_bytes(const struct stack *s)
{
	return (size_t)((const char *)s - s->lo);
}

/* On that stack: is half as much of it free as a stack has by default? Not if
 * the program has switched to one of its own. */
static always_inline bool
stack_has_room(const struct stack *s)
{
	size_t left = (size_t)((char *)__builtin_frame_address(0) - s->lo);

	return left < stack_bytes(s) &&
	    left > stack_class_bytes(stack_default_class) / 2;
}

/* False if a canary guard was written to. Cheap for the other kinds. */
bool stack_intact(const struct stack *s);

/* True if an access to that address is an overflow of this stack. */
static inline bool
stack_guard_hit(const struct stack *s, const void *addr)
{
	const char *a = addr;

	return a < s->lo && a >= s->lo - STACK_GUARD_BYTES;
}

#endif
