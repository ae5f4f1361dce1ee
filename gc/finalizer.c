/* SPDX-License-Identifier: MIT */
/*
 * Finalizers.
 *
 * libgc finds out which are due, and calls `queue` for each when the collector
 * asks it to. They wait in a list, which is static data and so keeps their
 * objects, and a goroutine calls them one after another. There is at most one
 * such goroutine: it ends when the list is empty. Without a runtime the
 * collector's thread calls them.
 *
 * libgc knows a finalizer by the address of its object, and GC_free does not
 * remove it: so that is done before an object is freed, and when it is moved.
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
	bool any;		/* under the lock: one was ever registered */
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
not_called(void *object, void *data)
{
	(void)object;
	(void)data;
}

/* False if there is no memory: then libgc does not say what was there. */
static bool
set(void *object, struct call *call)
{
	GC_finalization_proc old = not_called;

	due.any = true;
	GC_register_finalizer(object, queue, call, &old, NULL);
	return old != not_called;
}

static struct call *
unset(void *object)
{
	void *call = NULL;

	if (due.any)
		GC_register_finalizer(object, NULL, NULL, NULL, &call);
	return call;
}

void
finalizer_drop(void *object)
{
	unset(object);
}

/* It is lost if there is no memory for what libgc notes of it. */
void
finalizer_moved(void *from, void *to)
{
	struct call *call = unset(from);

	if (call)
		set(to, call);
}

static void
register_locked(void *arg)
{
	struct registering *r = arg;

	if (!r->object || GC_base(r->object) != r->object)
		r->error = -EINVAL;
	else if (!r->call)
		unset(r->object);
	else if (!set(r->object, r->call))
		r->error = -ENOMEM;
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
