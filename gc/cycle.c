/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE		/* dl_iterate_phdr */
/*
 * When there is a collection, and the thread that makes it.
 *
 * The thread is the library's own, no M, and starts with the first allocation.
 * It sleeps until it is wanted, and for two minutes if anything was allocated.
 * A cycle:
 *
 *	1. It takes the requests that were made until now.
 *	2. It takes the lock of the heap: from here on no thread is in libgc.
 *	3. It takes the lock under which the loader changes its list, by
 *	   calling the rest within dl_iterate_phdr. libgc reads that list, so
 *	   no thread that is stopped may have the lock; and no library is added
 *	   or unmapped between that and the stop.
 *	4. Goroutines and their threads are stopped. If that is refused all of
 *	   it is given up here, before libgc has begun.
 *	5. It calls libgc, which notes the data of libraries; plain threads are
 *	   stopped; everything is marked; and they go on (POST_START_WORLD).
 *	6. libgc finds out which finalizers are due, and which blocks are empty.
 *	   Others are swept when memory is needed.
 *	7. It wakes those that wait for this cycle, and releases the lock.
 *	   Finalizers that are due get a goroutine, or a thread (finalizer.c).
 *
 * The stop is refused if a thread does not answer the signal for 50 ms. Then
 * the heap grows, and it is tried again after a tenth of a second, and after
 * twice as long each time, up to five seconds. Allocations do not wait for it:
 * what keeps the thread from answering may need them. weft_gc_collect tries it
 * several times by itself, since on a busy machine an answer may be late.
 *
 * A thread that waits for the lock of the loader does so in code of the
 * program, or in calls of weft where it is not inside: it loses its P, and is
 * halted. A runtime that begins is waited for before the lock is taken.
 *
 * Goroutines allocate from their caches all the time but in the stop, and wait
 * for the lock if these are empty.
 *
 * asking.lock is taken with the lock of the heap held, or without it.
 */
#include "cycle.h"

#include <errno.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "finalizer.h"
#include "heap.h"
#include "lock.h"
#include "mark.h"
#include "weak.h"

#define GOAL_MIN ((size_t)4 << 20)
#define FORCE_MS INT64_C(120000)
#define RETRY_MIN (100 * WEFT_MS)
#define RETRY_MAX (5000 * WEFT_MS)

/* What weft_gc_collect does if a thread does not stop: about a second. */
enum { TRIES = 7, REST_NS = 10 * 1000 * 1000 };

/* More than what libgc uses of a stack; that of the thread has four times as
 * much (helper_start). */
enum { CLEAR_BYTES = 64 * 1024 };

bool cycle_stress;

/* On the stack of one that waits for a collection. */
struct waiter {
	struct waiter *next;
	uint32_t sema;
};

static struct {
	struct lock lock;
	struct waiter *waiters;	/* under the lock, as all of this */
	bool pending, by_call;
	uint64_t asked;		/* cycles that have begun */
	uint32_t kick;		/* futex: changes when the thread is wanted */
} asking;

/* Under the lock of the heap, but what is read without it is atomic. */
static struct {
	bool started, forked;
	bool begun;		/* atomic; then thread is valid, ... */
	pthread_t thread;	/* ... constant */
	int percent;
	bool hard;
	size_t limit, goal, since, live;
	int64_t stress, stress_left, force_ms;
	int64_t stop_at, start_ns, rest_until;
	int64_t force_at;	/* atomic; valid while since is not 0 */
	bool stopped;		/* from weft_world_stop_ on */
	int64_t retry_ns;	/* the collector's thread: 0, or one is to be
				 * tried again, ... */
	int64_t retry_at;	/* ... then: atomic */
	uint64_t done;		/* cycles that are over */
	int result;		/* of the last: 0 or -errno */
	bool requested;		/* one was, since the last */
	weft_gc_stats stats;
} gc = { .percent = 100, .limit = SIZE_MAX, .goal = GOAL_MIN,
    .force_ms = FORCE_MS };

/* ---- requests ---- */

void
cycle_kick(void)
{
	__atomic_add_fetch(&asking.kick, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &asking.kick, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* The number of the cycle that will serve it. w: NULL, or is woken then. */
static uint64_t
request(struct waiter *w, bool by_call)
{
	uint64_t number;

	/* Not parked: the caller may have the lock of the heap, and never run
	 * again if the runtime ends. */
	lock_take_polling(&asking.lock);
	if (w) {
		w->next = asking.waiters;
		asking.waiters = w;
	}
	asking.by_call |= by_call;
	if (!asking.pending) {
		asking.pending = true;
		weft_collecting_(true);
		cycle_kick();
	}
	number = asking.asked + 1;
	lock_drop(&asking.lock);
	return number;
}

/* One that cannot park looks now and then. */
static void
poll_for(uint64_t number)
{
	while (__atomic_load_n(&gc.done, __ATOMIC_ACQUIRE) < number)
		lock_nap(200 * 1000);
}

static void collector_main(void *arg);

/* Starts the thread, once. */
static int
start(void)
{
	int err = 0;

	heap_lock();
	if (gc.forked)
		err = -EPERM;
	else if (!gc.started) {
		if (!weft_debug_number_("gcstress", &gc.stress))
			gc.stress = 0;
		if (!weft_debug_number_("gcforce", &gc.force_ms) ||
		    gc.force_ms <= 0)
			gc.force_ms = FORCE_MS;
		cycle_stress = gc.stress > 0;
		gc.stress_left = gc.stress;
		gc.start_ns = weft_now();
		/* It has the lock for a moment: ended by collector_main. */
		weft_collecting_(true);
		err = weft_collector_start_(collector_main, NULL);
		if (err)
			weft_collecting_(false);
		__atomic_store_n(&gc.started, !err, __ATOMIC_RELEASE);
	}
	heap_unlock();
	return err;
}

static bool
must_poll(void)
{
	return weft_self_id() != 0 && !weft_can_park();
}

static int
wait_for_cycle(bool by_call)
{
	struct waiter w = {0};

	if (must_poll()) {
		poll_for(request(NULL, by_call));
	} else {
		request(&w, by_call);
		weft_collect_wait_(&w.sema);
	}
	return __atomic_load_n(&gc.result, __ATOMIC_RELAXED);
}

static int
collect_and_wait(bool by_call)
{
	int tries = by_call ? TRIES : 1, err = start();
	long rest = REST_NS;

	if (err)
		return err;
	while ((err = wait_for_cycle(by_call)) == -EBUSY && --tries > 0) {
		if (must_poll())
			lock_nap(rest);
		else
			weft_sleep(rest);
		rest *= 2;
	}
	return err;
}

/* ---- allocations ---- */

/* Both may change meanwhile, unless the lock is held. */
static size_t
bytes_in_use(void)
{
	size_t heap = GC_get_heap_size(), free = GC_get_free_bytes();

	return heap > free ? heap - free : 0;
}

static bool
over_limit(size_t bytes)
{
	size_t limit = __atomic_load_n(&gc.limit, __ATOMIC_RELAXED);

	return limit != SIZE_MAX && (bytes > limit ||
	    bytes_in_use() > limit - bytes);
}

/*
 * At its limit a program would do little but collect. So it does that when a
 * 32nd part of the limit was allocated since, or ten times as long has passed
 * as the last one took.
 */
static bool
worth_collecting(void)
{
	size_t limit = __atomic_load_n(&gc.limit, __ATOMIC_RELAXED);
	int64_t now = weft_now();

	if (now < __atomic_load_n(&gc.retry_at, __ATOMIC_RELAXED))
		return false;
	return __atomic_load_n(&gc.since, __ATOMIC_RELAXED) > limit / 32 ||
	    now >= __atomic_load_n(&gc.rest_until, __ATOMIC_RELAXED);
}

static bool
stress_due(void)
{
	return cycle_stress && __atomic_sub_fetch(&gc.stress_left, 1,
	    __ATOMIC_RELAXED) % gc.stress == 0;
}

/* Allocations are far ahead of the collector, as they can be if all
 * processors allocate. */
static bool
far_ahead(void)
{
	return __atomic_load_n(&gc.since, __ATOMIC_RELAXED) / 2 >
	    __atomic_load_n(&gc.goal, __ATOMIC_RELAXED) &&
	    __atomic_load_n(&gc.percent, __ATOMIC_RELAXED) >= 0 &&
	    !__atomic_load_n(&gc.result, __ATOMIC_RELAXED);
}

bool
cycle_allows(size_t bytes, bool again)
{
	heap_check();
	if (!__atomic_load_n(&gc.started, __ATOMIC_ACQUIRE))
		start();
	if (over_limit(bytes) ? worth_collecting() :
	    again || stress_due() || far_ahead())
		collect_and_wait(false);
	return !(__atomic_load_n(&gc.hard, __ATOMIC_RELAXED) &&
	    over_limit(bytes));
}

void
heap_count(size_t bytes)
{
	size_t was = gc.since, now = was + bytes;

	if (was == 0)
		__atomic_store_n(&gc.force_at, weft_now() +
		    gc.force_ms * WEFT_MS, __ATOMIC_RELAXED);
	/* pairs with sleep_ns */
	__atomic_store_n(&gc.since, now, __ATOMIC_RELEASE);
	gc.stats.allocated_bytes += bytes;
	if (now >= gc.goal && gc.percent >= 0 && !gc.requested) {
		gc.requested = true;
		request(NULL, false);
	} else if (was == 0)
		cycle_kick();		/* the two minutes begin */
}

/* ---- a cycle ---- */

static void
count_pause(void)
{
	uint64_t ns = (uint64_t)(weft_now() - gc.stop_at);

	gc.stats.pause_ns += ns;
	gc.stats.pause_last_ns = ns;
	if (ns > gc.stats.pause_max_ns)
		gc.stats.pause_max_ns = ns;
	weft_trace_log("gc: go on", 0);
}

static int
stop_all(void)
{
	int err;

	weft_trace_log("gc: stop", 0);
	gc.stop_at = weft_now();
	err = weft_world_stop_();
	gc.stopped = !err;
	mark_stopped(!err);
	if (err)
		count_pause();
	return err;
}

static void
start_all(void)
{
	gc.stopped = false;
	mark_stopped(false);
	weft_world_start_();
	count_pause();
}

/* libgc has let plain threads go on. */
static void
on_event(GC_EventType e)
{
	if (e == GC_EVENT_POST_START_WORLD)
		start_all();
}

/* Not libgc's own, so that it sweeps everything before it marks. */
static int
never(void)
{
	return 0;
}

/* After a collection, and when what it depends on was set. */
static void
set_goal(void)
{
	size_t more;

	if (gc.forked)
		return;		/* never: see cycle_forked */
	if (gc.percent < 0 || __builtin_mul_overflow(gc.live / 100,
	    (size_t)gc.percent, &more))
		more = SIZE_MAX;
	if (gc.limit != SIZE_MAX) {
		size_t left = gc.limit > gc.live ? gc.limit - gc.live : 0;

		more = more < left ? more : left;
	}
	__atomic_store_n(&gc.goal, more > GOAL_MIN ? more : GOAL_MIN,
	    __ATOMIC_RELAXED);
}

static void
begin_next(void)
{
	gc.live = bytes_in_use();
	set_goal();
	__atomic_store_n(&gc.since, 0, __ATOMIC_RELAXED);
	gc.requested = false;
}

static void
trace(size_t before, int64_t began)
{
	char line[256];
	int64_t value = 0;
	int n;

	if (!weft_debug_number_("gctrace", &value) || value <= 0)
		return;
	/* Not through stdio: another goroutine may have its lock, and wait. */
	n = snprintf(line, sizeof line, "weft-gc: gc %llu @%.3fs: "
	    "pause %.3f of %.3f ms, %zu->%zu KB in use, heap %zu KB, "
	    "next after %zu KB\n",
	    (unsigned long long)gc.stats.collections,
	    (double)(began - gc.start_ns) / 1e9,
	    (double)gc.stats.pause_last_ns / 1e6,
	    (double)(weft_now() - began) / 1e6, before / 1024,
	    gc.live / 1024, GC_get_heap_size() / 1024, gc.goal / 1024);
	if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0)
		return;		/* nowhere to say so */
}

struct collection {
	bool unmap;
	int error;
};

static void
call_libgc(bool unmap)
{
	GC_enable();
	if (cycle_stress)
		GC_try_to_collect(never);
	else if (unmap)
		GC_gcollect_and_unmap();
	else
		GC_gcollect();
	GC_disable();
}

/* For the first library that is loaded, so that the list does not change. */
static int
stop_and_collect(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct collection *c = arg;

	(void)info;
	(void)size;
	c->error = stop_all();
	if (c->error)
		return 1;
	call_libgc(c->unmap);
	if (gc.stopped) {
		start_all();	/* it was disabled by the program */
		c->error = -ENOTSUP;
	}
	return 1;
}

/* Threads cannot be stopped just now. The lock held. */
static void
retry_later(void)
{
	int64_t ns = 2 * gc.retry_ns;

	gc.retry_ns = ns < RETRY_MIN ? RETRY_MIN :
	    ns > RETRY_MAX ? RETRY_MAX : ns;
	__atomic_store_n(&gc.retry_at, weft_now() + gc.retry_ns,
	    __ATOMIC_RELAXED);
}

/*
 * Marking leaves pointers on this stack, and libgc reads it in the next cycle,
 * when its frames have gaps where these are: an object would be found for ever,
 * since it was found before. So what is below the caller is cleared.
 */
__attribute__((noinline)) static void
clear_stack(void)
{
	volatile char room[CLEAR_BYTES];

	memset((char *)(uintptr_t)room, 0, sizeof room);
	__asm__ volatile("" :: "r"(room) : "memory");
}

/* The lock held. */
static int
collect(bool forced, bool unmap)
{
	size_t before = bytes_in_use();
	int64_t began = weft_now();
	struct collection c = { .unmap = unmap };

	mark_prepare();
	clear_stack();
	dl_iterate_phdr(stop_and_collect, &c);
	if (c.error)
		return c.error;
	gc.retry_ns = 0;
	weak_purge();
	gc.stats.collections++;
	gc.stats.forced += forced;
	begin_next();
	__atomic_store_n(&gc.rest_until, weft_now() + 10 *
	    (weft_now() - began), __ATOMIC_RELAXED);
	trace(before, began);
	return 0;
}

static void
cycle(struct waiter *waiters, bool forced, bool unmap)
{
	struct waiter *next;
	int err;

	heap_lock();
	err = weft_world_can_stop_() ? collect(forced, unmap) : -ENOTSUP;
	if (err) {
		gc.stats.refused++;
		retry_later();
	}
	__atomic_store_n(&gc.result, err, __ATOMIC_RELAXED);
	__atomic_store_n(&gc.done, gc.done + 1, __ATOMIC_RELEASE);
	for (; waiters; waiters = next) {
		next = waiters->next;
		weft_collect_wake_(&waiters->sema, 1);
	}
	heap_unlock();
	finalizer_run_due();
}

bool
cycle_has_collector(void)
{
	/* pairs with collector_main */
	return __atomic_load_n(&gc.begun, __ATOMIC_ACQUIRE);
}

bool
cycle_is_collector(void)
{
	return cycle_has_collector() &&
	    pthread_equal(gc.thread, pthread_self());
}

void
cycle_wake_owed(void)
{
	heap_wake_owed();
	lock_wake_owed(&asking.lock);
}

/* How long to sleep until there is to be one by itself; -1: for ever. */
static int64_t
sleep_ns(void)
{
	int64_t ns = gc.retry_at - weft_now();

	if (__atomic_load_n(&gc.percent, __ATOMIC_RELAXED) < 0)
		return -1;
	if (gc.retry_ns)
		return ns > 0 ? ns : 0;
	/* pairs with heap_count */
	if (!__atomic_load_n(&gc.since, __ATOMIC_ACQUIRE))
		return -1;
	ns = __atomic_load_n(&gc.force_at, __ATOMIC_RELAXED) - weft_now();
	return ns > 0 ? ns : 0;
}

/* Until it is wanted, or until two minutes are over. False: the latter. */
static bool
sleep_until_wanted(uint32_t seen)
{
	int64_t ns = sleep_ns();
	struct timespec after = { ns / WEFT_SECOND, ns % WEFT_SECOND };

	if (syscall(SYS_futex, &asking.kick, FUTEX_WAIT_PRIVATE, seen,
	    ns >= 0 ? &after : NULL, NULL, 0) == 0 || errno != ETIMEDOUT)
		return true;
	if (gc.retry_ns == 0)
		return false;
	request(NULL, false);
	return true;
}

static void
serve(bool forced)
{
	struct waiter *waiters;
	bool pending, wanted, by_call;

	weft_collecting_(true);
	cycle_wake_owed();
	lock_take(&asking.lock);
	pending = asking.pending;
	wanted = pending || forced;
	waiters = asking.waiters;
	by_call = asking.by_call;
	if (wanted) {
		asking.waiters = NULL;
		asking.pending = asking.by_call = false;
		asking.asked++;
	}
	lock_drop(&asking.lock);
	if (wanted)
		cycle(waiters, forced || by_call, forced);
	if (pending)
		weft_collecting_(false);	/* of the request */
	weft_collecting_(false);
}

static void
collector_main(void *arg)
{
	uint32_t seen;
	bool wanted = true;

	(void)arg;
	gc.thread = pthread_self();
	__atomic_store_n(&gc.begun, true, __ATOMIC_RELEASE);
	heap_lock();
	heap_register_thread();
	GC_set_on_collection_event(on_event);
	weft_collector_threads_(GC_get_parallel());
	heap_unlock();
	weft_collecting_(false);
	for (;;) {
		seen = __atomic_load_n(&asking.kick, __ATOMIC_SEQ_CST);
		serve(!wanted);
		wanted = sleep_until_wanted(seen);
	}
}

void
cycle_forked(void)
{
	/* Goroutines are gone, and the stack of the one that has forked is that
	 * of a plain thread that libgc does not know. */
	gc.forked = !weft_collector_forked_();
	__atomic_store_n(&gc.result, gc.forked ? -EPERM : 0, __ATOMIC_RELAXED);
	gc.retry_ns = gc.retry_at = 0;
	__atomic_store_n(&gc.started, false, __ATOMIC_RELAXED);
	__atomic_store_n(&gc.begun, false, __ATOMIC_RELAXED);
	asking.lock = (struct lock){0};
	asking.waiters = NULL;
	asking.pending = asking.by_call = false;
	asking.asked = gc.done;
	gc.requested = false;
	if (gc.forked)
		gc.goal = SIZE_MAX;
	finalizer_forked();
}

/* ---- calls ---- */

public int
weft_gc_collect(void)
{
	heap_check();
	return collect_and_wait(true);
}

public int
weft_gc_set_percent(int percent)
{
	int old;

	heap_lock();
	old = gc.percent;
	__atomic_store_n(&gc.percent, percent, __ATOMIC_RELAXED);
	set_goal();
	heap_unlock();
	cycle_kick();		/* the two minutes begin, or do not end */
	return old;
}

public size_t
weft_gc_set_limit(size_t bytes, bool hard)
{
	size_t old;

	heap_lock();
	old = gc.limit;
	__atomic_store_n(&gc.limit, bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&gc.hard, hard, __ATOMIC_RELAXED);
	set_goal();
	heap_unlock();
	return old;
}

public void
weft_gc_stats_read(weft_gc_stats *out, size_t bytes)
{
	weft_gc_stats s;

	heap_lock();
	s = gc.stats;
	s.heap_bytes = GC_get_heap_size();
	s.live_bytes = gc.live;
	s.finalizers = finalizer_count();
	heap_unlock();
	if (bytes > sizeof s)
		memset((char *)out + sizeof s, 0, bytes - sizeof s);
	memcpy(out, &s, bytes < sizeof s ? bytes : sizeof s);
}
