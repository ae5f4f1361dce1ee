/* SPDX-License-Identifier: MIT */
/*
 * Helpers: see the header. A helper counts itself, when it has begun and until
 * it ends. If it were counted before it exists, another thread could be taken
 * for it, and a program that this thread may wake for one in a deadlock.
 */
#include "helper.h"

#include <errno.h>
#include <stdlib.h>

#include "atomic.h"
#include "os.h"

enum { STACK_BYTES = 256 * 1024 };

static a32 count;

struct start {
	void (*fn)(void *arg);
	void *arg;
};

static void *
helper_main(void *arg)
{
	struct start s = *(struct start *)arg;

	/* A crash of one is reported as any other. */
	os_sigmask_set(os_sigmask_all() & ~os_sigfaults());
	free(arg);
	a_add_relaxed(&count, 1);
	s.fn(s.arg);
	a_add_relaxed(&count, -1u);
	return NULL;
}

int
helper_start(void (*fn)(void *arg), void *arg)
{
	struct start *s = malloc(sizeof *s);
	int err;

	if (!s)
		return -ENOMEM;
	*s = (struct start){ fn, arg };
	err = os_thread_start(helper_main, s, STACK_BYTES);
	if (err)
		free(s);
	return err;
}

void
helper_count_more(int n)
{
	a_add_relaxed(&count, (uint32_t)n);
}

void
helper_forked(void)
{
	a_store_relaxed(&count, 0);
}

uint32_t
helper_count(void)
{
	return a_load_relaxed(&count);
}
