/* SPDX-License-Identifier: MIT */
/*
 * Finalizers.
 *
 * libgc finds out which are due, and calls `queue` for each when the collector
 * asks it to. They wait in a list, which is static data and so keeps their
 * objects, and a runner calls them one after another: a goroutine, or without a
 * runtime a thread of its own, which libgc knows. Not the collector's: a
 * finalizer may wait for a lock whose owner waits for a collection.
 *
 *	           the collector, after a cycle
 *	no runner -----------------------------> runner n
 *	    ^                                      |  |
 *	    +--------------------------------------+  | the collector: n is a
 *	     n itself: the list is empty, or n        | goroutine of a runtime
 *	     ends in a finalizer (a deferred call)    v that has ended
 *	                                         runner n + 1
 *
 * A runner that is not the current one takes nothing from the list: one that
 * was replaced may still be computing, or in a call, when the runtime ends.
 *
 * libgc knows a finalizer by the address of its object, and GC_free does not
 * remove it: so that is done before an object is freed, and when it is moved.
 */
#include "finalizer.h"

#include <errno.h>
#include <pthread.h>

#include "heap.h"

/* Collected memory: libgc keeps it while the object lives, then the list. */
struct call {
	struct call *next;
	void (*fn)(void *object, void *arg);
	void *object, *arg;
};

/* Under the lock of the heap. */
static struct {
	struct call *first, **last;
	uintptr_t runner;	/* its number, or 0 */
	uintptr_t runners;	/* numbers that were given */
	bool on_goroutine;	/* the runner is one */
	bool any;		/* one was ever registered */
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
take(uintptr_t me)
{
	struct call *c = NULL;

	heap_lock();
	if (due.runner == me) {
		c = due.first;
		if (!c)
			due.runner = 0;
		else if (!(due.first = c->next))
			due.last = &due.first;	/* else it would keep c */
	}
	heap_unlock();
	return c;
}

static void
run_all(uintptr_t me)
{
	struct call *c;

	while ((c = take(me))) {
		__atomic_add_fetch(&due.called, 1, __ATOMIC_RELAXED);
		c->fn(c->object, c->arg);
		c->object = c->arg = NULL;	/* a stale c keeps nothing */
	}
}

/* If a finalizer has ended its runner, another one calls the rest. */
static void
runner_ended(void *me)
{
	heap_lock();
	if (due.runner == (uintptr_t)me)
		due.runner = 0;
	heap_unlock();
	finalizer_run_due();
}

static void
goroutine_main(uintptr_t me)
{
	if (weft_defer(runner_ended, (void *)me) == 0) {
		run_all(me);
		return;
	}
	/* No memory: the next cycle tries again. */
	heap_lock();
	if (due.runner == me)
		due.runner = 0;
	heap_unlock();
}

static void *
thread_main(void *me)
{
	weft_gc_thread_begin();
	pthread_cleanup_push(runner_ended, me);
	run_all((uintptr_t)me);
	pthread_cleanup_pop(1);
	return NULL;
}

static int
start_thread(uintptr_t me)
{
	pthread_attr_t attr;
	pthread_t thread;
	int err = pthread_attr_init(&attr);

	if (err)
		return -err;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	err = pthread_create(&thread, &attr, thread_main, (void *)me);
	pthread_attr_destroy(&attr);
	return -err;
}

/* The lock held: a number for a new runner, or 0 if none is needed. */
static uintptr_t
next_runner(bool on_goroutine)
{
	bool lost = due.on_goroutine && !on_goroutine;

	if (!due.first || (due.runner && !lost))
		return 0;
	due.on_goroutine = on_goroutine;
	return due.runner = ++due.runners;
}

static void
start_runner(bool on_goroutine)
{
	uintptr_t me;
	int64_t err;

	heap_lock();
	me = next_runner(on_goroutine);
	heap_unlock();
	if (!me)
		return;
	err = on_goroutine ? weft_try_go(goroutine_main, me) : start_thread(me);
	if (err >= 0)
		return;
	heap_lock();
	if (due.runner == me)
		due.runner = 0;
	heap_unlock();
}

static void
queue_due(void *arg)
{
	(void)arg;
	GC_invoke_finalizers();
}

/* The runtime may end in between: the next cycle has a thread for them. */
void
finalizer_run_due(void)
{
	heap_lock();
	heap_call(queue_due, NULL);
	heap_unlock();
	start_runner(weft_procs() > 0);
}

uint64_t
finalizer_count(void)
{
	return __atomic_load_n(&due.called, __ATOMIC_RELAXED);
}

void
finalizer_forked(void)
{
	due.runner = 0;
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
	GC_register_finalizer_ignore_self(object, queue, call, &old, NULL);
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
