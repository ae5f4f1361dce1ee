/* SPDX-License-Identifier: MIT */
/*
 * Memory that the program has named as roots: weft_gc_roots_add.
 *
 * In a table of our own, not in libgc's: that one joins ranges that touch, and
 * removes all that are within the one that is given. So a range that is removed
 * here takes nothing of another one that overlaps it, and one that was added
 * twice is removed twice.
 */
#include "ranges.h"

#include <errno.h>

#include "heap.h"

enum { RANGES_MAX = 1000 };

/* Under the lock of the heap. */
static struct {
	struct range {
		char *from;
		size_t bytes;
		size_t count;	/* of equal ones */
	} at[RANGES_MAX];
	size_t n;
} ranges;

static struct range *
find(const char *from, size_t bytes)
{
	for (size_t i = 0; i < ranges.n; i++)
		if (ranges.at[i].from == from && ranges.at[i].bytes == bytes)
			return &ranges.at[i];
	return NULL;
}

public int
weft_gc_roots_add(void *from, size_t bytes)
{
	struct range *r;
	int err = 0;

	if (!from || bytes == 0 || bytes > UINTPTR_MAX - (uintptr_t)from)
		return -EINVAL;
	heap_lock();
	r = find(from, bytes);
	if (r)
		r->count++;
	else if (ranges.n < RANGES_MAX)
		ranges.at[ranges.n++] = (struct range){ from, bytes, 1 };
	else
		err = -ENOMEM;
	heap_unlock();
	return err;
}

public void
weft_gc_roots_remove(void *from, size_t bytes)
{
	struct range *r;

	heap_lock();
	r = find(from, bytes);
	if (r && --r->count == 0) {
		*r = ranges.at[--ranges.n];
		/* Static data: it would keep what it names. */
		ranges.at[ranges.n] = (struct range){0};
	}
	heap_unlock();
}

/*
 * Eagerly: GC_push_all is for a mark stack that is empty, and dies if it is
 * full. The table itself is static data, and may point into objects: a range
 * of collected memory is kept while it is named.
 */
void
ranges_push(void)
{
	for (size_t i = 0; i < ranges.n; i++)
		GC_push_all_eager(ranges.at[i].from,
		    ranges.at[i].from + ranges.at[i].bytes);
}
