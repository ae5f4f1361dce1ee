/* SPDX-License-Identifier: MIT */
/*
 * Beyond the core: an object pool, a concurrent map, calls that share one
 * execution, a rate limiter, a value computed once. weft.h does not include
 * this header: a program that needs it says
 *
 *	#include <weft/extra.h>
 *
 * All of it may be used by goroutines and by plain threads alike, before and
 * during a run of the runtime; where a goroutine would wait a plain thread
 * blocks. What is embedded in your data must not be copied or moved after its
 * first use.
 */
#ifndef WEFT_EXTRA_H
#define WEFT_EXTRA_H

#include <string.h>

#include "../weft.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- pool -------------------------------------------------------------- */

/*
 * A cache of objects that are costly to make and as good as new when they are
 * put back. Each processor has a part of it; one that has none left takes from
 * the common part, and then from other processors. The zero value is ready,
 * without constructor and destructor:
 *
 *	static weft_pool buffers = { .make = new_buffer, .destroy = free };
 *	struct buffer *b = weft_pool_get(&buffers);
 *	...
 *	weft_pool_put(&buffers, b);
 *
 * Any object may be destroyed at any time while it is in the pool; one that
 * was not needed for `idle` is destroyed within about twice that time, by a
 * goroutine of the library (without a runtime: when there is one, or by
 * weft_pool_free). If memory for the cache is refused, put destroys.
 *
 * get and put hardly ever wait: neither does so for make and destroy, which
 * may wait, and must not use the pool themselves.
 */
typedef struct weft_pool {
	/* NULL: get returns NULL when the pool is empty */
	void *(*make)(void *arg) WEFT_ZERO_;
	/* NULL: objects are dropped */
	void (*destroy)(void *object) WEFT_ZERO_;
	void *arg WEFT_ZERO_;		/* of make */
	int64_t idle WEFT_ZERO_;	/* in ns; 0: 5 seconds */
	void *core_ WEFT_ZERO_;
} weft_pool;

/* An object of the pool; else what make(arg) returns. */
void *weft_pool_get(weft_pool *p);
/* The caller uses it no more. NULL is ignored. */
void weft_pool_put(weft_pool *p, void *object);
/*
 * Destroys what is in it. No other call may use the pool at that time; when it
 * has returned the library calls destroy no more, and the pool is as new. (A
 * goroutine that was destroying objects when the main goroutine returned never
 * ends that: then nothing is destroyed here, either.)
 */
void weft_pool_free(weft_pool *p);

/* ---- keys -------------------------------------------------------------- */

/*
 * What map and flight look up: bytes, such as a string without its 0, or a
 * number or pointer, by value. Bytes are copied where they are kept. A key of
 * one kind never equals one of the other.
 */
typedef struct weft_key {
	const void *at;		/* the bytes; or the number itself */
	size_t bytes;		/* how many; or WEFT_KEY_NUMBER */
} weft_key;
#define WEFT_KEY_NUMBER SIZE_MAX

static inline weft_key
weft_key_bytes(const void *at, size_t bytes)
{
	weft_key k = { at, bytes };

	return k;
}

static inline weft_key
weft_key_string(const char *s)
{
	return weft_key_bytes(s, strlen(s));
}

static inline weft_key
weft_key_number(uintptr_t n)
{
	return weft_key_bytes((const void *)n, WEFT_KEY_NUMBER);
}

static inline weft_key
weft_key_pointer(const void *p)
{
	return weft_key_bytes(p, WEFT_KEY_NUMBER);
}

/* ---- map --------------------------------------------------------------- */

/*
 * A hash map from keys to pointers, which may be NULL. The zero value is
 * ready. Each call but range is atomic. Calls that find their key, other than
 * delete, do not block each other; otherwise one waits at most for the calls
 * whose keys fall into the same one of 64 parts. The map neither owns what
 * values point to, nor keeps a caller that got a value from being overtaken by
 * one that deletes and frees it.
 */
typedef struct weft_map {
	void *core_;
} weft_map;

/* True if it is there; *value is written only then. value may be NULL. */
bool weft_map_get(weft_map *m, weft_key key, void **value);
/* 0, or -ENOMEM, and then nothing has changed. */
int weft_map_set(weft_map *m, weft_key key, void *value);
/* As weft_map_set; 1 if it was there, and then *old is the value it had. */
int weft_map_swap(weft_map *m, weft_key key, void *value, void **old);
/*
 * 1 if it was there: it stays, and *actual is its value. 0 if it is there now
 * with this value, which is *actual. -ENOMEM. actual may be NULL.
 */
int weft_map_get_or_set(weft_map *m, weft_key key, void *value, void **actual);
/* True if it was there; *old is the value it had. old may be NULL. */
bool weft_map_delete(weft_map *m, weft_key key, void **old);
/*
 * Calls fn for each key until it returns false. fn may use the map and may
 * wait. A key that is there all the time is visited exactly once, any other
 * one at most once, with a value that it has or had during the call. The bytes
 * of a key are valid during fn, which must return (no weft_goexit, exception
 * or longjmp). How many were visited; -ENOMEM if memory is refused, maybe after
 * some were.
 */
int64_t weft_map_range(weft_map *m,
    bool (*fn)(weft_key key, void *value, void *arg), void *arg);
/* Forgets all. No other call may use the map at that time; it is as new. */
void weft_map_free(weft_map *m);

/* ---- flight: one execution for many callers ---------------------------- */

/*
 * Of the calls of `do` with one key that overlap, the first calls fn(arg), and
 * the others wait for its result and return it, too. The next call after that
 * calls fn anew. The zero value is ready, and needs no end.
 *
 * If fn ends its goroutine (weft_goexit) or throws a C++ exception, one of the
 * callers that wait calls its own fn instead. The same happens when the
 * goroutine ends if fn is left by longjmp: do not. A call with the same key
 * from within fn would wait for itself, which is fatal. If memory is refused a
 * call does not share.
 *
 * Since all callers get one and the same pointer, retain(result) is called
 * once for each caller beyond the first, before any of them returns. NULL: it
 * is not.
 */
typedef struct weft_flight {
	void (*retain)(void *result) WEFT_ZERO_;
	uint64_t unused_ WEFT_ZERO_;
} weft_flight;

void *weft_flight_do(weft_flight *f, weft_key key,
    void *(*fn)(void *arg), void *arg);
/*
 * As weft_flight_do; a caller that waits for another's call does so until
 * `when` (0: no limit), or until the context is cancelled. False, and *result
 * is not written, if that came first. A caller that is the first calls fn
 * whatever the limit says.
 */
bool weft_flight_do_until(weft_flight *f, weft_key key,
    void *(*fn)(void *arg), void *arg, void **result, int64_t when);
bool weft_flight_do_context(weft_flight *f, weft_key key,
    void *(*fn)(void *arg), void *arg, void **result, weft_context *ctx);
/* Calls from now on do not join one that runs already. */
void weft_flight_forget(weft_flight *f, weft_key key);

/* ---- limiter ----------------------------------------------------------- */

/*
 * A token bucket: it is full at first, with `burst` tokens, and gets `rate`
 * new ones a second, up to burst. First come, first served: each caller is
 * given the time at which its tokens are there when it comes, and no later one
 * an earlier time. More tokens than burst are waited for as well. The members
 * are not changed after the first use; a rate that is negative or no number is
 * fatal.
 *
 *	weft_limiter l = { .rate = 100, .burst = 10 };
 */
typedef struct weft_limiter {
	double rate WEFT_ZERO_;		/* tokens a second; 0: no limit */
	uint64_t burst WEFT_ZERO_;	/* 0: 1 */
	uint64_t full_ WEFT_ZERO_;
} weft_limiter;

/*
 * Takes n tokens; waits until they are there. Take them last, right before the
 * work: tokens that are held while the caller waits for something else make
 * bursts.
 */
void weft_limiter_wait(weft_limiter *l, uint64_t n);
/* Takes n tokens if it need not wait for them. */
bool weft_limiter_try_wait(weft_limiter *l, uint64_t n);
/*
 * As weft_limiter_wait. Tokens that are there are taken, even if the limit is
 * over or the context cancelled. False at once, and nothing is taken, if they
 * will not be there until `when` (0: no limit), or until the context's
 * deadline. False if the context is cancelled meanwhile: then the tokens are
 * given back, unless a later caller has been given its time already.
 */
bool weft_limiter_wait_until(weft_limiter *l, uint64_t n, int64_t when);
bool weft_limiter_wait_context(weft_limiter *l, uint64_t n, weft_context *ctx);
/*
 * Takes n tokens and does not wait: the time, on the clock of weft_now(), from
 * which on the caller may use them. WEFT_NEVER, and nothing is taken, if that
 * is beyond the end of the clock.
 */
int64_t weft_limiter_reserve(weft_limiter *l, uint64_t n);

/* ---- a value computed once --------------------------------------------- */

/*
 * The result of the first call of fn(arg), as weft_once_do calls it; callers
 * that come meanwhile wait for it. NULL if fn did not return. The zero value
 * is ready.
 */
typedef struct weft_once_value {
	weft_once once_;
	void *value_;
} weft_once_value;

void *weft_once_value_get(weft_once_value *o, void *(*fn)(void *arg),
    void *arg);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
