/* SPDX-License-Identifier: MIT */
/*
 * A heap of timers: four children a node, ordered by time. A slot has the time
 * beside the pointer, so that sifting reads no timer; it writes the slot
 * number to each timer that it moves.
 *
 * A stopped timer leaves its slot empty, with its time, so nothing else moves.
 * Empty slots are removed when they come to the top or to the end, or all at
 * once when they are more than a quarter, which costs each stop an amortised
 * constant.
 *
 * Rejected: removing a stopped timer's slot at once (a sift for each stop); a
 * flag in the timer and leaving it in the heap (then its memory could not be
 * reused until its time had come); a wheel (cheaper to set, but needs ticks or
 * a search to know when the next one is due).
 */
#include "timer_heap.h"

#include <errno.h>
#include <string.h>

#include "fatal.h"
#include "os.h"

enum {
	CHILDREN = 4,
	SKIP = CHILDREN - 1,	/* unused, to align: see struct timer_heap */
	SLOTS_MIN = PAGE / sizeof(struct timer_slot) - SKIP,
	EMPTY_MIN = 32,
	RUN_BATCH = 128
};

/* ---- the heap: lock held ---- */

/* The timer of a slot; NULL if it is a goroutine's, or empty. */
static struct timer *
timer_of(struct timer_slot p)
{
	return p.who & SLOT_G ? NULL : (struct timer *)p.who;
}

static void
put(struct timer_heap *h, uint32_t i, struct timer_slot p)
{
	struct timer *t = timer_of(p);

	h->slots[i] = p;
	if (t)
		t->slot = i;
}

static void
sift_up(struct timer_heap *h, uint32_t i, struct timer_slot p)
{
	while (i > 0) {
		uint32_t up = (i - 1) / CHILDREN;

		if (h->slots[up].when <= p.when)
			break;
		put(h, i, h->slots[up]);
		i = up;
	}
	put(h, i, p);
}

static uint32_t
earliest_child(const struct timer_heap *h, uint32_t i)
{
	uint32_t first = i * CHILDREN + 1, best = first;
	uint32_t end = first + CHILDREN < h->n ? first + CHILDREN : h->n;

	for (uint32_t c = first + 1; c < end; c++)
		if (h->slots[c].when < h->slots[best].when)
			best = c;
	return best;
}

static void
sift_down(struct timer_heap *h, uint32_t i, struct timer_slot p)
{
	while (i * CHILDREN + 1 < h->n) {
		uint32_t c = earliest_child(h, i);

		if (p.when <= h->slots[c].when)
			break;
		put(h, i, h->slots[c]);
		i = c;
	}
	put(h, i, p);
}

/* What must hold whenever the lock is free. */
bool
timer_heap_valid(struct timer_heap *h)
{
	uint32_t empty = 0;

	for (uint32_t i = 0; i < h->n; i++) {
		struct timer_slot p = h->slots[i];
		struct timer *t = timer_of(p);

		if (i && h->slots[(i - 1) / CHILDREN].when > p.when)
			return false;
		empty += !p.who;
		if (t && (t->slot != i || a_load_relaxed(&t->heap) != h))
			return false;
	}
	return empty == h->n_empty && (h->n == 0 || h->slots[h->n - 1].who);
}

/* Moves the slots to memory for cap of them. False if there is none. */
static bool
resize(struct timer_heap *h, uint32_t cap)
{
	struct timer_slot *slots = os_map((cap + SKIP) * sizeof *slots);

	if (!slots)
		return false;
	slots += SKIP;
	if (h->slots) {
		memcpy(slots, h->slots, h->n * sizeof *slots);
		os_unmap(h->slots - SKIP, (h->cap + SKIP) * sizeof *slots);
	}
	h->slots = slots;
	h->cap = cap;
	return true;
}

/* Removes empty slots at the end. */
static void
trim(struct timer_heap *h)
{
	while (h->n && !h->slots[h->n - 1].who) {
		h->n--;
		h->n_empty--;
	}
}

/* The same after slots became free; and gives memory back, if most of it is
 * unused. */
static void
shrink(struct timer_heap *h)
{
	trim(h);
	if (unlikely(h->cap > SLOTS_MIN && h->n < h->cap / 8))
		resize(h, h->cap / 4 < SLOTS_MIN ? SLOTS_MIN : h->cap / 4);
}

/* Removes the top slot. */
static void
drop_top(struct timer_heap *h)
{
	struct timer_slot last = h->slots[--h->n];

	if (!h->slots[0].who)
		h->n_empty--;
	if (h->n)
		sift_down(h, 0, last);
	shrink(h);
}

/* Removes all empty slots. */
static cold void
compact(struct timer_heap *h)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < h->n; i++)
		if (h->slots[i].who)
			put(h, n++, h->slots[i]);
	h->n = n;
	h->n_empty = 0;
	for (uint32_t i = n / CHILDREN + 1; i-- > 0; )
		if (i < n)
			sift_down(h, i, h->slots[i]);
	trim(h);
}

/*
 * Publishes when to run the heap next. True if that became earlier. A later
 * time needs no order: a thread that comes too early only has to come again.
 */
static bool
publish(struct timer_heap *h)
{
	int64_t first = h->n ? h->slots[0].when : NEVER_NS;
	int64_t old = (int64_t)a_load_relaxed(&h->first);

	/*
	 * sc: pairs with expire_watch: a thread that arms a timer then looks
	 * whether there is a watcher, while one that becomes the watcher then
	 * looks for timers
	 */
	if (first < old)
		a_store_sc(&h->first, (uint64_t)first);
	else if (first > old)
		a_store_relaxed(&h->first, (uint64_t)first);
	return first < old;
}

/* Makes room for n more. False if there is no memory. */
static bool
reserve(struct timer_heap *h, uint32_t n)
{
	uint32_t cap = h->cap ? h->cap : SLOTS_MIN;

	if (likely(n <= h->cap - h->n))
		return true;
	if (n <= h->cap - h->n + h->n_empty) {
		compact(h);
		return true;
	}
	while (n > cap - h->n)
		cap *= 2;
	return resize(h, cap);
}

/* There is room. */
static void
insert(struct timer_heap *h, int64_t when, uintptr_t who)
{
	sift_up(h, h->n++, (struct timer_slot){ when, who });
	trim(h);		/* an empty slot may have moved to the end */
}

static void
vacate(struct timer_heap *h, struct timer *t)
{
	h->slots[t->slot].who = 0;
	h->n_empty++;
	shrink(h);
	if (unlikely(h->n_empty > EMPTY_MIN && h->n_empty > h->n / 4))
		compact(h);
}

/* ---- any thread: takes the lock ---- */

int
timer_heap_add(struct timer_heap *h, struct timer *t, int64_t when)
{
	int earlier = -ENOMEM;

	check(!a_load_relaxed(&t->heap));
	lock_take(&h->lock);
	if (likely(reserve(h, 1))) {
		insert(h, when, (uintptr_t)t);
		a_store_rel(&t->heap, h);	/* pairs with timer_stop */
		earlier = publish(h);
	}
	check_slow(h->n > 64 || timer_heap_valid(h));
	lock_drop(&h->lock);
	return earlier;
}

int
timer_heap_add_g(struct timer_heap *h, struct g *gp, int64_t when)
{
	int earlier = -ENOMEM;

	lock_take(&h->lock);
	if (likely(reserve(h, 1))) {
		insert(h, when, (uintptr_t)gp | SLOT_G);
		earlier = publish(h);
	}
	check_slow(h->n > 64 || timer_heap_valid(h));
	lock_drop(&h->lock);
	return earlier;
}

bool
timer_stop(struct timer *t)
{
	struct timer_heap *h;

	/* pairs with timer_heap_add, timer_heap_run and timer_heap_move */
	while ((h = a_load_acq(&t->heap))) {
		lock_take(&h->lock);
		if (a_load_relaxed(&t->heap) == h) {
			vacate(h, t);
			/* pairs with itself: if it is IDLE it may be armed */
			a_store_rel(&t->heap, NULL);
			publish(h);
			check_slow(h->n > 64 || timer_heap_valid(h));
			lock_drop(&h->lock);
			return true;
		}
		lock_drop(&h->lock);
	}
	return false;
}

int
timer_heap_set(struct timer_heap *mine, struct timer *t, int64_t when,
    int64_t period, bool *was)
{
	struct timer_heap *h, *to;
	int earlier = -ENOMEM;

	for (;;) {
		/* pairs with the add, stop, run or move that wrote it last */
		h = a_load_acq(&t->heap);
		to = h ? h : mine;
		lock_take(&to->lock);
		/* pairs with the same of another thread: one of us gets it */
		if (h ? a_load_relaxed(&t->heap) == h :
		    a_cas_acqrel(&t->heap, NULL, mine))
			break;
		lock_drop(&to->lock);
	}
	*was = h != NULL;
	if (h)
		vacate(h, t);
	if (likely(reserve(to, 1))) {
		t->period = period;
		insert(to, when, (uintptr_t)t);
		earlier = publish(to);
	} else {
		a_store_rel(&t->heap, NULL);	/* pairs with timer_stop */
	}
	check_slow(to->n > 64 || timer_heap_valid(to));
	lock_drop(&to->lock);
	return earlier;
}

/* A ticker that is late skips the ticks it missed and keeps its phase. */
static int64_t
next_tick(int64_t due, int64_t period, int64_t now)
{
	int64_t step, next;

	if (__builtin_mul_overflow((now - due) / period + 1, period, &step) ||
	    __builtin_add_overflow(due, step, &next))
		return NEVER_NS;
	return next;
}

/*
 * t->heap of the timer, which was due, stays this heap until its fn has
 * returned, so that a timer_stop meanwhile waits for the lock.
 */
static void
fire(struct timer_heap *h, struct timer_slot p, int64_t now,
    struct glist *woken)
{
	struct timer *t = timer_of(p);

	t->when = t->period ? next_tick(p.when, t->period, now) : NEVER_NS;
	t->fn(t, now, woken);
	if (t->when != NEVER_NS)
		insert(h, t->when, (uintptr_t)t);
	else
		a_store_rel(&t->heap, NULL);	/* pairs with timer_stop */
}

void
timer_heap_run(struct timer_heap *h, int64_t now, struct glist *woken)
{
	int n = 0;

	lock_take(&h->lock);
	while (h->n && h->slots[0].when <= now && n < RUN_BATCH) {
		struct timer_slot p = h->slots[0];

		drop_top(h);
		if (p.who & SLOT_G)
			glist_push(woken, (struct g *)(p.who - SLOT_G));
		else if (p.who)
			fire(h, p, now, woken);
		n += p.who != 0;
	}
	publish(h);
	check_slow(h->n > 64 || timer_heap_valid(h));
	lock_drop(&h->lock);
}

bool
timer_heap_pending(struct timer_heap *h)
{
	bool some = false;

	lock_take(&h->lock);
	for (uint32_t i = 0; i < h->n && !some; i++)
		some = h->slots[i].who && h->slots[i].when != NEVER_NS;
	lock_drop(&h->lock);
	return some;
}

void
timer_heap_move(struct timer_heap *from, struct timer_heap *to)
{
	struct timer_heap *low = from < to ? from : to;
	struct timer_heap *high = from < to ? to : from;

	lock_take(&low->lock);
	lock_take_peer(&high->lock);
	if (!reserve(to, from->n))
		fatal("out of memory: no room for %u timers of a removed P",
		    from->n);
	for (uint32_t i = 0; i < from->n; i++) {
		struct timer_slot p = from->slots[i];
		struct timer *t = timer_of(p);

		if (p.who)
			insert(to, p.when, p.who);
		if (t)
			a_store_rel(&t->heap, to); /* pairs with timer_stop */
	}
	from->n = from->n_empty = 0;
	shrink(from);
	publish(from);
	publish(to);
	lock_drop_peer(&high->lock);
	lock_drop(&low->lock);
}
