/* SPDX-License-Identifier: MIT */
/*
 * Plain threads: threads that the test makes, and not the runtime. Most of
 * weft's calls work on them, too.
 */
#ifndef PLAIN_THREAD_H
#define PLAIN_THREAD_H

#include <pthread.h>
#include <stddef.h>

#include <weft.h>

#include "t.h"

/* A start routine that evaluates an expression, which may use arg. */
#define PLAIN_THREAD(name, call)					\
	static void *							\
	name(void *arg)							\
	{								\
		(void)arg;						\
		call;							\
		return NULL;						\
	}

/* The same with a pointer of that type to what it is given. */
#define THREAD_JOB(name, type, job, call)				\
	static void *							\
	name(void *arg)							\
	{								\
		type *job = arg;					\
									\
		call;							\
		return NULL;						\
	}

static inline pthread_t
thread_start(void *(*fn)(void *), void *arg)
{
	pthread_t t;

	EQ(pthread_create(&t, NULL, fn, arg), 0);
	return t;
}

/* Runs fn(arg) on a plain thread, and joins it. A goroutine keeps its P. */
static inline void
thread_run(void *(*fn)(void *), void *arg)
{
	EQ(pthread_join(thread_start(fn, arg), NULL), 0);
}

/* For weft_blocking: *t has ended. */
static inline void *
thread_join(void *t)
{
	EQ(pthread_join(*(pthread_t *)t, NULL), 0);
	return NULL;
}

/* The same as a blocking call: others run on the goroutine's P meanwhile. */
static inline void
thread_run_blocking(void *(*fn)(void *), void *arg)
{
	pthread_t t = thread_start(fn, arg);

	weft_blocking(thread_join, &t);
}

/* n of them with the same argument. */
static inline void
threads_start(pthread_t *t, int n, void *(*fn)(void *), void *arg)
{
	for (int i = 0; i < n; i++)
		t[i] = thread_start(fn, arg);
}

static inline void
threads_join(const pthread_t *t, int n)
{
	for (int i = 0; i < n; i++)
		EQ(pthread_join(t[i], NULL), 0);
}

/* ---- functions without an argument ---- */

struct thread_call {
	void (*fn)(void);
	weft_event over;
};

static inline void *
thread_call_body(void *arg)
{
	struct thread_call *c = arg;

	c->fn();
	weft_event_set(&c->over);
	return NULL;
}

/* Calls fn on a plain thread, and joins it. A goroutine keeps its P. */
static inline void
thread_call(void (*fn)(void))
{
	struct thread_call c = { .fn = fn };

	thread_run(thread_call_body, &c);
}

/* The same; the goroutine is parked until fn has returned. */
static inline void
thread_call_parked(void (*fn)(void))
{
	struct thread_call c = { .fn = fn };
	pthread_t t = thread_start(thread_call_body, &c);

	weft_event_wait(&c.over);
	EQ(pthread_join(t, NULL), 0);
}

/* The same; the goroutine yields until fn has returned. */
static inline void
thread_call_yielding(void (*fn)(void))
{
	struct thread_call c = { .fn = fn };
	pthread_t t = thread_start(thread_call_body, &c);

	while (!weft_event_is_set(&c.over))
		weft_yield();
	EQ(pthread_join(t, NULL), 0);
}

/* The same as a blocking call. */
static inline void
thread_call_blocking(void (*fn)(void))
{
	struct thread_call c = { .fn = fn };

	thread_run_blocking(thread_call_body, &c);
}

#endif
