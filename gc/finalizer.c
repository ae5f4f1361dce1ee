/* SPDX-License-Identifier: MIT */
/*
 * Finalizers and weak links.
 *
 * libgc finds out which are due, and calls `queue` for each when the collector
 * asks it to. They wait in a list, which is static data and so keeps their
 * objects, and a goroutine calls them one after another. There is at most one
 * such goroutine: it ends when the list is empty. Without a runtime the
 * collector's thread calls them.
 */
#include "finalizer.h"

#include <errno.h>
#include <string.h>

#include "heap.h"

/* Collected memory: libgc keeps it while the object lives, then the list. */
struct call {
	struct call *next;
	void (*fn)(void *object, void *arg);
	void *object, *arg;
};

static struct {
	struct call *first, **last;	/* under the lock of the heap */
	bool running;		/* the same: there is a goroutine for them */
	uint64_t called;	/* atomic */
} due;

/* ---- calling them ---- */

static void
queue(void *object, void *data)
{
	struct call *c = data;

	c->object = object;
	c->next = NULL;
	if (!due.first)
		due.last = &due.first;
	*due.last = c;
	due.last = &c->next;
}

static struct call *
take(void)
{
	struct call *c;

	heap_lock();
	c = due.first;
	if (c)
		due.first = c->next;
	else
		due.running = false;
	heap_unlock();
	return c;
}

static void
run_all(void)
{
	struct call *c;

	while ((c = take())) {
		__atomic_add_fetch(&due.called, 1, __ATOMIC_RELAXED);
		c->fn(c->object, c->arg);
	}
}

static void
queue_due(void *arg)
{
	(void)arg;
	GC_invoke_finalizers();
}

void
finalizer_run_due(void)
{
	bool start;

	heap_lock();
	heap_call(queue_due, NULL);
	start = due.first && !due.running;
	due.running |= start;
	heap_unlock();
	if (start && (weft_procs() == 0 ||
	    weft_try_go(run_all) < 0))
		run_all();
}

uint64_t
finalizer_count(void)
{
	return __atomic_load_n(&due.called, __ATOMIC_RELAXED);
}

void
finalizer_forked(void)
{
	due.running = false;
}

/* ---- registering one ---- */

struct registering {
	void *object;
	struct call *call;
	int error;
};

static void
register_locked(void *arg)
{
	struct registering *r = arg;

	if (!r->object || GC_base(r->object) != r->object)
		r->error = -EINVAL;
	else
		GC_register_finalizer(r->object, r->call ? queue : NULL,
		    r->call, NULL, NULL);
}

public int
weft_gc_finalizer(void *object, void (*fn)(void *object, void *arg), void *arg)
{
	struct registering r = { .object = object };

	if (fn) {
		r.call = weft_gc_alloc(sizeof *r.call);
		if (!r.call)
			return -ENOMEM;
		r.call->fn = fn;
		r.call->arg = arg;
	}
	heap_lock();
	heap_call(register_locked, &r);
	heap_unlock();
	return r.error;
}

/* ---- weak links ---- */

struct weft_gc_weak {
	GC_hidden_pointer object;	/* under the lock of the heap */
};

struct linking {
	weft_gc_weak *weak;
	void *object;
	int error;
};

static void
link_locked(void *arg)
{
	struct linking *l = arg;

	if (!l->object || GC_base(l->object) != l->object) {
		l->error = -EINVAL;
		return;
	}
	l->weak->object = GC_HIDE_POINTER(l->object);
	if (GC_general_register_disappearing_link((void **)&l->weak->object,
	    l->object) == GC_NO_MEMORY)
		l->error = -ENOMEM;
}

/* Atomic, so that libgc does not take the hidden pointer for another one. */
public weft_gc_weak *
weft_gc_weak_make(void *object)
{
	struct linking l = { weft_gc_alloc_atomic(sizeof *l.weak), object, 0 };

	if (!l.weak)
		return NULL;
	l.weak->object = 0;
	heap_lock();
	heap_call(link_locked, &l);
	heap_unlock();
	return l.error ? NULL : l.weak;
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
