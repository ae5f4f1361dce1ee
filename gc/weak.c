/* SPDX-License-Identifier: MIT */
/*
 * Weak links.
 *
 * An object has at most one, which all callers share that ask for one. It is an
 * object of a kind of its own, with a hidden pointer that libgc clears when the
 * other object is not reachable any more (a disappearing link, as libgc calls
 * it). GC_free knows nothing of these: libgc would clear a word in the memory
 * of a freed link, whatever is there by then, and a link to a freed object
 * would give the next one at that place. So there is a table of all links, by
 * the addresses of their objects:
 *
 *	           weak_make              a collection, weak_cut
 *	(nothing) ----------> in the table ----------------------> not in it,
 *	                      object set                           object 0
 *
 * The table keeps its links, so the word that libgc clears is always that of a
 * link. One that is cleared leaves the table before the lock of the heap is
 * released (weak_purge), and is collected when the program has no pointer to it
 * any more. weft_gc_free does nothing with a link: others may have it.
 */
#include "weak.h"

#include <errno.h>

#include "cycle.h"
#include "heap.h"

enum { BITS_MIN = 6, BITS_MAX = 40 };

struct weft_gc_weak {
	GC_hidden_pointer object;	/* under the lock of the heap */
	weft_gc_weak *next;		/* in its chain */
};

/* Under the lock of the heap. */
static struct {
	weft_gc_weak **chain;	/* 1 << bits, not collectable; or NULL */
	unsigned bits;
	size_t n;
	int kind;		/* libgc's number */
} links;

void
weak_init(void)
{
	links.kind = (int)GC_new_kind(GC_new_free_list(), GC_DS_LENGTH, 1, 1);
}

bool
weak_is_link(const void *object)
{
	return GC_get_kind_and_size(object, NULL) == links.kind;
}

/* ---- the table ---- */

static weft_gc_weak **
chain_of(const void *object)
{
	uint64_t h = (uintptr_t)object / 16 * UINT64_C(0x9e3779b97f4a7c15);

	return &links.chain[h >> (64 - links.bits)];
}

/* The pointer to the link of this object, or NULL. */
static weft_gc_weak **
find(const void *object)
{
	weft_gc_weak **at;

	if (links.n == 0)
		return NULL;
	for (at = chain_of(object); *at; at = &(*at)->next)
		if ((*at)->object == GC_HIDE_POINTER(object))
			return at;
	return NULL;
}

static void
put(weft_gc_weak *w)
{
	weft_gc_weak **at = chain_of(GC_REVEAL_POINTER(w->object));

	w->next = *at;
	*at = w;
}

/* A link that is not in the table keeps no other one. */
static weft_gc_weak *
take(weft_gc_weak **at)
{
	weft_gc_weak *w = *at;

	*at = w->next;
	w->next = NULL;
	return w;
}

static bool
set_bits(unsigned bits)
{
	size_t n = links.chain ? (size_t)1 << links.bits : 0;
	weft_gc_weak **old = links.chain;
	weft_gc_weak **chain = GC_malloc_uncollectable(sizeof *chain << bits);

	if (!chain)
		return false;
	links.chain = chain;
	links.bits = bits;
	for (size_t i = 0; i < n; i++)
		while (old[i])
			put(take(&old[i]));
	GC_free(old);
	return true;
}

/* If it cannot grow, chains are longer. */
static bool
has_room(void)
{
	if (!links.chain)
		return set_bits(BITS_MIN);
	if (links.n >> links.bits && links.bits < BITS_MAX)
		set_bits(links.bits + 1);
	return true;
}

void
weak_cut(void *object)
{
	weft_gc_weak **at = find(object), *w;

	if (!at)
		return;
	w = take(at);
	links.n--;
	GC_unregister_disappearing_link((void **)&w->object);
	w->object = 0;
}

/* libgc has the link already, so it changes its object and needs no memory. */
void
weak_moved(void *from, void *to)
{
	weft_gc_weak **at = find(from), *w;

	if (!at)
		return;
	w = take(at);
	w->object = GC_HIDE_POINTER(to);
	GC_general_register_disappearing_link((void **)&w->object, to);
	put(w);
}

void
weak_purge(void)
{
	weft_gc_weak **at;

	if (links.n == 0)
		return;
	for (size_t i = 0; i < (size_t)1 << links.bits; i++)
		for (at = &links.chain[i]; *at;) {
			if ((*at)->object) {
				at = &(*at)->next;
				continue;
			}
			take(at);
			links.n--;
		}
}

/* ---- calls ---- */

struct linking {
	void *object;
	weft_gc_weak *weak;
	int error;
};

static weft_gc_weak *
make(void *object)
{
	weft_gc_weak *w = has_room() ?
	    GC_generic_malloc(sizeof *w, links.kind) : NULL;

	if (!w)
		return NULL;
	w->object = GC_HIDE_POINTER(object);
	if (GC_general_register_disappearing_link((void **)&w->object,
	    object) != GC_SUCCESS)
		return NULL;
	put(w);
	links.n++;
	return w;
}

static void
link_locked(void *arg)
{
	struct linking *l = arg;
	weft_gc_weak **at;

	if (!l->object || GC_base(l->object) != l->object) {
		l->error = -EINVAL;
		return;
	}
	at = find(l->object);
	l->weak = at ? *at : make(l->object);
}

public weft_gc_weak *
weft_gc_weak_make(void *object)
{
	struct linking l = { .object = object };

	for (int tries = 0; !l.weak && !l.error && tries < 2; tries++) {
		if (!cycle_allows(sizeof *l.weak, tries > 0))
			continue;
		heap_lock();
		heap_call(link_locked, &l);
		if (l.weak)
			heap_count(sizeof *l.weak);
		heap_unlock();
	}
	return l.weak;
}

public void *
weft_gc_weak_get(weft_gc_weak *weak)
{
	void *object = NULL;

	if (!weak)
		return NULL;
	/* No collection between reading it and having it on the stack. */
	heap_lock();
	if (weak->object)
		object = GC_REVEAL_POINTER(weak->object);
	heap_unlock();
	return object;
}
