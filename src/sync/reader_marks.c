/* SPDX-License-Identifier: MIT */
/* See reader_marks.h: the tables of all Ps. */
#include "reader_marks.h"

#include "hard.h"

struct marks marks;

cold struct marks_table *
marks_table_make(uint32_t id)
{
	struct marks_table *t = os_map(sizeof *t);
	uint32_t end;

	if (!t)
		t = &marks.refused;
	/* sc: pairs with marks_gather, as the mark that comes next does */
	a_store_sc(&marks.tables[id], t);
	/* sc: the same, also of an end that another P has just set */
	do
		end = a_load_sc(&marks.end);
	while (end <= id && !a_cas_sc(&marks.end, end, id + 1));
	return t;
}

/* The place of a lock in table i; NULL if there is no such table. */
static a64 *
place_at(const void *lock, uint32_t i)
{
	/* sc: pairs with marks_table_make, as the mark does */
	struct marks_table *t = a_load_sc(&marks.tables[i]);

	return t ? &t->place[marks_place(lock)] : NULL;
}

/* How many tables there are; a_load_sc pairs with marks_table_make. */
static uint32_t
n_tables(void)
{
	return a_load_sc(&marks.end);
}

uint64_t
marks_gather(const void *lock)
{
	uint64_t tag = marks_tag(lock), sum = 0, old, n;

	for (uint32_t i = 0, end = n_tables(); i < end; i++) {
		a64 *place = place_at(lock, i);

		hard_pause();
		do {
			/* sc: pairs with marks_put, and with marks_take */
			old = place ? a_load_sc(place) : 0;
			n = marks_at(old, tag);
			/* pairs with marks_take, as above */
		} while (n && !a_cas_acqrel(place, old, tag));
		sum += n;
	}
	return sum;
}

bool
marks_take_any(const void *lock)
{
	for (uint32_t i = 0, end = n_tables(); i < end; i++) {
		a64 *place = place_at(lock, i);

		if (place && marks_take(place, lock))
			return true;
	}
	return false;
}

bool
marks_any(const void *lock)
{
	uint64_t tag = marks_tag(lock);

	for (uint32_t i = 0, end = n_tables(); i < end; i++) {
		a64 *place = place_at(lock, i);

		if (place && marks_at(a_load_relaxed(place), tag))
			return true;
	}
	return false;
}
