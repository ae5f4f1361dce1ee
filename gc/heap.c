/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE		/* environ */
#include "heap.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cycle.h"
#include "finalizer.h"
#include "lock.h"
#include "mark.h"
#include "weak.h"

enum {
	STACK_BYTES = 256 * 1024,
	GUARD_BYTES = 64 * 1024
};

static struct {
	int error;		/* why there is no heap */
	struct lock lock;
	char *stack_top;	/* of the lock's owner */
	pthread_key_t thread_key;	/* set in plain threads that began */
} heap;

/* ---- the lock ---- */

void
heap_lock(void)
{
	heap_check();
	lock_take(&heap.lock);
}

void
heap_unlock(void)
{
	lock_drop(&heap.lock);
}

void
heap_wake_owed(void)
{
	lock_wake_owed(&heap.lock);
}

void
heap_call(void (*fn)(void *arg), void *arg)
{
	gc_on_stack(fn, arg, heap.stack_top);
}

/* ---- the start ---- */

static int
make_stack(void)
{
	char *lo = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (lo == MAP_FAILED)
		return -ENOMEM;
	mprotect(lo, GUARD_BYTES, PROT_NONE);
	heap.stack_top = lo + STACK_BYTES;
	return 0;
}

static void
ignore_warning(char *text, GC_word value)
{
	(void)text;
	(void)value;
}

/*
 * Variables by which libgc would not collect, report what is reachable from
 * goroutines as lost, or protect pages and take SIGSEGV for itself. It does not
 * see them; the program, and those that it starts, do.
 */
static bool
is_hidden(const char *entry)
{
	static const char *const names[] = {
		"GC_DONT_GC=", "GC_FIND_LEAK=", "GC_ENABLE_INCREMENTAL="
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strncmp(entry, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* GC_init, before main: no other thread looks at the environment. */
static void
init_without_hidden(void)
{
	char **all = environ, **shown;
	size_t n = 0, k = 0;

	while (all && all[n])
		n++;
	shown = calloc(n + 1, sizeof *shown);
	for (size_t i = 0; shown && i < n; i++)
		if (!is_hidden(all[i]))
			shown[k++] = all[i];
	if (shown)
		environ = shown;
	GC_init();
	environ = all;
	free(shown);
}

static void
init_libgc(void)
{
	GC_set_dont_precollect(1);
	GC_set_finalize_on_demand(1);
	GC_set_java_finalization(0);
	GC_set_all_interior_pointers(1);
	GC_set_handle_fork(1);
	GC_set_warn_proc(ignore_warning);
	init_without_hidden();
	GC_disable();
	mark_init();
	weak_init();
}

/* fork has locks of libc here: others may need them to make the caller run. */
static void
before_fork(void)
{
	lock_take_polling(&heap.lock);
	weft_collector_forks_(true);
}

static void
in_parent(void)
{
	weft_collector_forks_(false);
	heap_unlock();
}

static void
in_child(void)
{
	heap.lock = (struct lock){0};
	cycle_forked();
}

/*
 * A destructor of another key may still use objects, so the thread is known
 * until the last of the rounds in which libc calls them. The value of the key
 * is the number of the next.
 */
static void
end_thread(void *round)
{
	uintptr_t n = (uintptr_t)round;

	if (n >= PTHREAD_DESTRUCTOR_ITERATIONS ||
	    pthread_setspecific(heap.thread_key, (void *)(n + 1)) != 0)
		weft_gc_thread_end();
}

/*
 * By these libgc stops threads that it knows, and lets them go on: it waits for
 * ever for one that blocks them.
 */
static uint64_t
libgc_signals(void)
{
	return UINT64_C(1) << (GC_get_suspend_signal() - 1) |
	    UINT64_C(1) << (GC_get_thr_restart_signal() - 1);
}

static void
unblock_libgc_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, GC_get_suspend_signal());
	sigaddset(&set, GC_get_thr_restart_signal());
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/*
 * Before main, and before constructors without a priority: the thread that runs
 * them is known to libgc from here on. Handlers of fork that were registered
 * last are called first: ours takes the lock before libgc's does.
 */
__attribute__((constructor(1000))) static void
heap_init(void)
{
	heap.error = weft_collector_set_(libgc_signals());
	if (!heap.error)
		heap.error = make_stack();
	if (heap.error)
		return;
	init_libgc();
	weft_collector_thread_(true);
	if (pthread_key_create(&heap.thread_key, end_thread) != 0 ||
	    pthread_setspecific(heap.thread_key, (void *)1) != 0 ||
	    pthread_atfork(before_fork, in_parent, in_child) != 0)
		heap.error = -ENOMEM;
}

void
heap_check(void)
{
	if (!unlikely(heap.error))
		return;
	fprintf(stderr, "weft-gc: %s\n", heap.error == -EBUSY ?
	    "loaded after weft was used; link the program with it" :
	    "no memory to begin with");
	abort();
}

/* ---- objects that are not cached ---- */

struct request {
	size_t bytes;
	int kind;
	void *object, *old;
	bool bad;		/* old is not the beginning of an object */
};

static void
alloc_locked(void *arg)
{
	struct request *r = arg;

	if (r->kind == KIND_UNCOLLECTABLE)
		r->object = GC_malloc_uncollectable(r->bytes);
	else if (r->kind == KIND_ATOMIC)
		r->object = GC_malloc_atomic(r->bytes);
	else
		r->object = GC_malloc(r->bytes);
}

/* What is known of the old object goes with it: its memory may be another's
 * when the lock is released, and is not used before that. */
static void
realloc_locked(void *arg)
{
	struct request *r = arg;

	r->bad = GC_base(r->old) != r->old || weak_is_link(r->old);
	if (r->bad)
		return;
	r->object = GC_realloc(r->old, r->bytes);
	if (r->object && r->object != r->old) {
		finalizer_moved(r->old, r->object);
		weak_moved(r->old, r->object);
	}
}

static void
free_locked(void *arg)
{
	struct request *r = arg;

	r->bad = GC_base(r->old) != r->old;
	if (r->bad || weak_is_link(r->old))
		return;
	finalizer_drop(r->old);
	weak_cut(r->old);
	GC_free(r->old);
}

/* Not through stdio: its lock may be held by a goroutine that waits. */
static void
die_if_bad(const struct request *r, const char *function)
{
	char line[128];
	int n;

	if (!unlikely(r->bad))
		return;
	n = snprintf(line, sizeof line, "weft-gc: %s: %p is not the beginning "
	    "of an object\n", function, r->old);
	if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0)
		abort();	/* nowhere to say so */
	abort();
}

/* Makes a request that allocates; collects and tries again if it must. */
static void *
allocate(void (*fn)(void *arg), struct request *r)
{
	if (r->bytes > SIZE_MAX / 2)
		return NULL;
	for (int tries = 0; !r->object && !r->bad && tries < 2; tries++) {
		if (!cycle_allows(r->bytes, tries > 0))
			continue;
		heap_lock();
		heap_call(fn, r);
		if (r->object)
			heap_count(r->bytes);
		heap_unlock();
	}
	return r->object;
}

void *
heap_alloc(size_t bytes, int kind)
{
	struct request r = { .bytes = bytes, .kind = kind };

	return allocate(alloc_locked, &r);
}

public void *
weft_gc_alloc_uncollectable(size_t bytes)
{
	return heap_alloc(bytes, KIND_UNCOLLECTABLE);
}

public void *
weft_gc_realloc(void *p, size_t bytes)
{
	/* Of 0 bytes it would free it and give none. */
	struct request r = { .bytes = bytes ? bytes : 1, .old = p };

	if (!p)
		return weft_gc_alloc(bytes);
	allocate(realloc_locked, &r);
	die_if_bad(&r, "weft_gc_realloc");
	return r.object;
}

public void
weft_gc_free(void *p)
{
	struct request r = { .old = p };

	if (!p)
		return;
	heap_lock();
	heap_call(free_locked, &r);
	heap_unlock();
	die_if_bad(&r, "weft_gc_free");
}

/* ---- plain threads ---- */

/* libgc starts its own threads when it is told that there may be others. */
void
heap_register_thread(void)
{
	struct GC_stack_base base;

	GC_allow_register_threads();
	GC_start_mark_threads();
	GC_get_stack_base(&base);
	unblock_libgc_signals();
	GC_register_my_thread(&base);
}

public int
weft_gc_thread_begin(void)
{
	int changed;

	heap_lock();
	changed = weft_collector_thread_(true);
	if (changed > 0) {
		/* A thread that ends without a word would be waited for for
		 * ever. */
		pthread_setspecific(heap.thread_key, (void *)1);
		heap_register_thread();
	}
	heap_unlock();
	return changed < 0 ? changed : 0;
}

public void
weft_gc_thread_end(void)
{
	heap_lock();
	if (weft_collector_thread_(false) > 0) {
		pthread_setspecific(heap.thread_key, NULL);
		GC_unregister_my_thread();
	}
	heap_unlock();
}
