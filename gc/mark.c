/* SPDX-License-Identifier: MIT */
/*
 * Marking from what libgc does not know: goroutines, threads that run them,
 * and the caches.
 *
 * Goroutines are many, and are marked in parallel by libgc's own threads. For
 * that there are small objects in the heap, one for each 32 goroutine records
 * (a part), of a kind with a mark procedure of ours: whichever thread comes to
 * such an object reads the stacks of its goroutines. An object that is not
 * collectable points to all of them, so libgc finds them in each collection and
 * deals them out as other work.
 *
 * Not done: reading the stacks of parked goroutines before the stop, and only
 * those of others in it. Any goroutine that has a pointer to a local variable
 * of a parked one may write to it meanwhile, as a child does that leaves its
 * result in its parent's frame. So each stack must be compared with what was
 * read, which takes as long as to read it: the time goes into fetching it. The
 * kernel's own marks of written pages (PAGEMAP_SCAN) take longer still: it
 * reads 4 KiB of page tables for each 2 MiB of address space, that is for 8
 * stacks. docs/gc.md has the figures.
 */
#include "mark.h"

#include "cache.h"
#include "heap.h"
#include "ranges.h"

enum { LINE = 64, AHEAD = 12, FIRST_LINES = 10 };

struct part {
	void *link;		/* libgc's, while it is free */
	void *records;		/* constant */
	size_t n;		/* 0 in one that is free */
};

static struct {
	unsigned kind;
	struct part **list;	/* not collectable */
	size_t n, room;
	bool stopped;		/* atomic */
	void (*others)(void);	/* libgc's own: stacks of plain threads */
} parts;

/* ---- goroutines, on libgc's threads ---- */

static void
prefetch(const weft_range_ *r)
{
	char *end = (char *)r->lo + FIRST_LINES * LINE;

	for (char *p = r->lo; p < (char *)r->hi && p < end; p += LINE)
		__builtin_prefetch(p);
}

static struct GC_ms_entry *
mark_range(const weft_range_ *r, struct GC_ms_entry *top,
    struct GC_ms_entry *limit)
{
	for (void **p = r->lo; p < (void **)r->hi; p++)
		top = GC_MARK_AND_PUSH(*p, top, limit, p);
	return top;
}

static struct GC_ms_entry *
mark_part(GC_word *object, struct GC_ms_entry *top, struct GC_ms_entry *limit,
    GC_word env)
{
	const struct part *part = (const struct part *)object;
	weft_range_ r[WEFT_PART_RANGES_];
	/* libgc may look at all objects again when all go on: then what is here
	 * is marked already, and changes. */
	size_t n = __atomic_load_n(&parts.stopped, __ATOMIC_ACQUIRE) ?
	    weft_root_ranges_(part->records, part->n, r) : 0;

	(void)env;
	for (size_t i = 0; i < n && i < AHEAD; i++)
		prefetch(&r[i]);
	for (size_t i = 0; i < n; i++) {
		if (i + AHEAD < n)
			prefetch(&r[i + AHEAD]);
		top = mark_range(&r[i], top, limit);
	}
	return top;
}

/* ---- the rest, on the collector's thread ---- */

static void
push(void *lo, void *hi, void *arg)
{
	(void)arg;
	GC_push_all_eager(lo, hi);
}

static void
mark_cache(void *cache, void *arg)
{
	const struct cache *c = cache;

	(void)arg;
	for (int kind = 0; kind < CACHE_KINDS; kind++)
		for (int i = 0; i < CACHE_CLASSES; i++)
			for (void **p = c->list[kind][i]; p; p = *p)
				GC_set_mark_bit(p);
}

/* Records that were made since mark_prepare: their parts have no object. */
static void
push_late_parts(void)
{
	weft_range_ r[WEFT_PART_RANGES_];
	size_t n = 0, ranges;
	void *records;

	for (size_t i = parts.n; (records = weft_root_records_(i, &n)); i++) {
		ranges = weft_root_ranges_(records, n, r);
		while (ranges-- > 0)
			GC_push_all_eager(r[ranges].lo, r[ranges].hi);
	}
}

static void
push_others(void)
{
	if (parts.others)
		parts.others();
	ranges_push();
	push_late_parts();
	weft_roots_(push, NULL);
	weft_caches_(mark_cache, NULL);
}

/* ---- making them ---- */

static bool
make_part(size_t number)
{
	struct part *p = GC_generic_malloc(sizeof *p, (int)parts.kind);

	if (!p)
		return false;
	p->records = weft_root_records_(number, &p->n);
	parts.list[number] = p;
	return true;
}

static void
grow_list(size_t n)
{
	size_t room = n + n / 4;
	struct part **list = GC_malloc_uncollectable(room * sizeof *list);

	if (!list)
		return;
	for (size_t i = 0; i < parts.n; i++)
		list[i] = parts.list[i];
	GC_free(parts.list);
	parts.list = list;
	parts.room = room;
}

void
mark_stopped(bool yes)
{
	__atomic_store_n(&parts.stopped, yes, __ATOMIC_RELEASE);
}

void
mark_prepare(void)
{
	size_t n = weft_root_parts_();

	if (n > parts.room)
		grow_list(n);
	while (parts.n < n && parts.n < parts.room && make_part(parts.n))
		parts.n++;
}

void
mark_init(void)
{
	unsigned proc = GC_new_proc(mark_part);

	parts.kind = GC_new_kind(GC_new_free_list(), GC_MAKE_PROC(proc, 0),
	    0, 1);
	parts.others = GC_get_push_other_roots();
	GC_set_push_other_roots(push_others);
}
