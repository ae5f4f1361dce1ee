/* SPDX-License-Identifier: MIT */
/*
 * What the sanitizers are told: every stack, and every switch just before and
 * just after it. In a plain build all of it is empty.
 *
 * AddressSanitizer keeps a shadow of the current stack's bounds and a "fake
 * stack" per context; ThreadSanitizer keeps a call stack and a clock per
 * context ("fiber"). A switch synchronises for TSan: what a goroutine did
 * before it left a thread does happen before what the thread does next, since
 * the commit of the park reads it.
 */
#ifndef SANITIZE_H
#define SANITIZE_H

#include "defs.h"

#if defined(__SANITIZE_ADDRESS__)
#define SAN_ADDRESS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SAN_ADDRESS 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define SAN_THREAD 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SAN_THREAD 1
#endif
#endif

/* One per context that can be switched to. */
struct san {
#ifdef SAN_ADDRESS
	void *fake;
	const void *lo;
	size_t bytes;
#endif
#ifdef SAN_THREAD
	void *fiber;
#endif
#if !defined(SAN_ADDRESS) && !defined(SAN_THREAD)
	char none[0];
#endif
};

#ifdef SAN_ADDRESS
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

/* A goroutine is about to run for the first time on this stack. */
static always_inline void
san_start(struct san *s, void *lo, size_t bytes)
{
	s->fake = NULL;
	s->lo = lo;
	s->bytes = bytes;
}
/* The thread's own context; its bounds are known after the first switch. */
static always_inline void san_thread(struct san *s) { s->fake = NULL; }
static always_inline void
san_before(struct san *from, struct san *to, bool from_dies)
{
	__sanitizer_start_switch_fiber(from_dies ? NULL : &from->fake,
	    to->lo, to->bytes);
}
/* Now on `me`; `origin` gets the bounds of the context we came from. */
static always_inline void
san_after(struct san *me, struct san *origin)
{
	__sanitizer_finish_switch_fiber(me->fake, &origin->lo, &origin->bytes);
}
static always_inline void san_end(struct san *s) { (void)s; }
/* Poison of frames that did not return must not concern the next user. */
static always_inline void
san_stack_reset(void *lo, size_t bytes)
{
	__asan_unpoison_memory_region(lo, bytes);
}
#elif defined(SAN_THREAD)
#include <sanitizer/tsan_interface.h>

static always_inline void
san_start(struct san *s, void *lo, size_t bytes)
{
	(void)lo, (void)bytes;
	s->fiber = __tsan_create_fiber(0);
}
static always_inline void
san_thread(struct san *s) { s->fiber = __tsan_get_current_fiber(); }
static always_inline void
san_before(struct san *from, struct san *to, bool from_dies)
{
	(void)from, (void)from_dies;
	__tsan_switch_to_fiber(to->fiber, 0);
}
static always_inline void
san_after(struct san *me, struct san *origin) { (void)me, (void)origin; }
static always_inline void
san_end(struct san *s)
{
	__tsan_destroy_fiber(s->fiber);
	s->fiber = NULL;
}
static always_inline void
san_stack_reset(void *lo, size_t bytes) { (void)lo, (void)bytes; }
#else
static always_inline void
san_start(struct san *s, void *lo, size_t bytes)
{
	(void)s, (void)lo, (void)bytes;
}
static always_inline void san_thread(struct san *s) { (void)s; }
static always_inline void
san_before(struct san *from, struct san *to, bool dies)
{
	(void)from, (void)to, (void)dies;
}
static always_inline void
san_after(struct san *me, struct san *origin) { (void)me, (void)origin; }
static always_inline void san_end(struct san *s) { (void)s; }
static always_inline void
san_stack_reset(void *lo, size_t bytes) { (void)lo, (void)bytes; }
#endif

/*
 * An order that ThreadSanitizer cannot see by itself: what precedes a release
 * of `at` happens before what follows a later acquire of it.
 */
#ifdef SAN_THREAD
static always_inline void san_release(void *at) { __tsan_release(at); }
static always_inline void san_acquire(void *at) { __tsan_acquire(at); }
#else
static always_inline void san_release(void *at) { (void)at; }
static always_inline void san_acquire(void *at) { (void)at; }
#endif

#if defined(SAN_ADDRESS) || defined(SAN_THREAD)
enum { SAN_ON = 1 };
#else
enum { SAN_ON = 0 };
#endif

#endif
