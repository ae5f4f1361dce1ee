/* SPDX-License-Identifier: MIT */
/*
 * The marks that readers of an rwmutex leave in tables of their Ps, each in a
 * cache line of its own P. What they mean, and why a writer that gathers them
 * misses none, is told in rwmutex.c.
 *
 * A lock's address hashes to one place in each table. A place holds the marks
 * of one lock at a time: the lock's address / 8 in the upper 45 bits, the
 * number of marks below. A place without marks may be taken by any lock. The
 * address of a lock beyond 2^48 does not fit; such a lock leaves no marks here.
 *
 * Places are changed by compare-and-swap alone: by the owner of their P
 * (marks_put, marks_take), by gathering writers, by readers that end on another
 * P (marks_take_any). A P puts nothing there between two steps of a goroutine
 * that does not park. The table of a P that was retired is gathered and
 * searched like any other.
 */
#ifndef READER_MARKS_H
#define READER_MARKS_H

#include "m.h"
#include "os.h"
#include "p.h"
#include "sched.h"

enum { PLACE_BITS = 19, PLACES = PAGE / sizeof(a64) };
#define PLACE_MAX ((UINT64_C(1) << PLACE_BITS) - 1)

struct marks_table {
	a64 place[PLACES];
};

extern struct marks {
	/* written by the owner of the P; NULL: not needed yet */
	APTR(struct marks_table) tables[PROCS_MAX];
	/* any thread, atomic */
	a32 end;		/* there are none from this one on */
	/* constant: in place of a table for which there was no memory */
	struct marks_table refused;
} marks;

/* Makes the table of P id. The caller owns that P. */
struct marks_table *marks_table_make(uint32_t id);

/* Can that lock leave marks here? */
static inline bool
marks_fit(const void *lock)
{
	return (uintptr_t)lock >> 48 == 0;
}

static inline uint64_t
marks_tag(const void *lock)
{
	return (uint64_t)(uintptr_t)lock >> 3 << PLACE_BITS;
}

static inline size_t
marks_place(const void *lock)
{
	return (uintptr_t)lock * UINT64_C(0x9e3779b97f4a7c15) >>
	    (64 - __builtin_ctz(PLACES));
}

/* The number of the lock's marks at a place that reads so. */
static inline uint64_t
marks_at(uint64_t place, uint64_t tag)
{
	return (place & ~PLACE_MAX) == tag ? place & PLACE_MAX : 0;
}

/* The caller's place for this lock; NULL if it has none. Inside. */
static inline a64 *
marks_own_place(const void *lock, struct m *mp, bool make)
{
	struct p *pp = m_p(mp);
	struct marks_table *t;

	if (unlikely(!pp))
		return NULL;
	/* relaxed: it was made by an owner of this P */
	t = a_load_relaxed(&marks.tables[pp->id]);
	if (unlikely(!t)) {
		if (!make)
			return NULL;
		t = marks_table_make(pp->id);
	}
	if (unlikely(t == &marks.refused))
		return NULL;
	return &t->place[marks_place(lock)];
}

/*
 * Leaves a mark at the place of the caller's P. False if the place has marks
 * of another lock, or no room.
 */
static inline bool
marks_put(a64 *place, const void *lock)
{
	uint64_t tag = marks_tag(lock), old, n;

	do {
		old = a_load_relaxed(place);
		n = marks_at(old, tag);
		if (unlikely(n == PLACE_MAX || (!n && old & PLACE_MAX)))
			return false;
		/* sc: pairs with marks_gather; next is a look for WRITER */
	} while (unlikely(!a_cas_sc(place, old, tag | (n + 1))));
	return true;
}

/* Takes one away. False if there is none. */
static inline bool
marks_take(a64 *place, const void *lock)
{
	uint64_t tag = marks_tag(lock), old;

	do {
		/*
		 * pairs with the same in marks_take_any: if that took ours,
		 * and we take one from the count, its reading comes before
		 * that
		 */
		old = a_load_acq(place);
		if (!marks_at(old, tag))
			return false;
		/* pairs with marks_gather: the writer comes after the reader */
	} while (unlikely(!a_cas_rel(place, old, old - 1)));
	return true;
}

/* WRITER set: empties all places of this lock. How many marks there were. */
uint64_t marks_gather(const void *lock);

/* Takes a mark of this lock away from any table; false if it found none. */
bool marks_take_any(const void *lock);
/* Is there one in any table? */
bool marks_any(const void *lock);

#endif
