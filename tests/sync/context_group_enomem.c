/* SPDX-License-Identifier: MIT */
/*
 * malloc refuses: contexts, groups and local values say so, and nothing is
 * left behind. The program has its own malloc, which counts and can refuse.
 */
#include <errno.h>
#include <stdlib.h>

#include <weft.h>

#include "t.h"

#if defined(__GLIBC__) && !T_SANITIZED

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void __libc_free(void *p);

static long live;		/* allocations that exist */
static long left = -1;		/* so many more; < 0: any number */

static bool
refused(void)
{
	long n = __atomic_load_n(&left, __ATOMIC_RELAXED);

	if (n > 0)
		__atomic_sub_fetch(&left, 1, __ATOMIC_RELAXED);
	return n == 0;
}

static void *
counted(void *p)
{
	if (p)
		__atomic_add_fetch(&live, 1, __ATOMIC_RELAXED);
	return p;
}

void *
malloc(size_t n)
{
	return refused() ? NULL : counted(__libc_malloc(n));
}

void *
calloc(size_t n, size_t size)
{
	return refused() ? NULL : counted(__libc_calloc(n, size));
}

void *
realloc(void *p, size_t n)
{
	return p ? __libc_realloc(p, n) : malloc(n);
}

void
free(void *p)
{
	if (p)
		__atomic_sub_fetch(&live, 1, __ATOMIC_RELAXED);
	__libc_free(p);
}

static void
allow(long n)
{
	__atomic_store_n(&left, n, __ATOMIC_RELAXED);
}

static weft_context *top;
static weft_gls key;
static weft_group group;
static int value;

/* Each of these is NULL or 0 if it worked, and undoes what it did. */
static int
plain(void)
{
	weft_context *c = weft_context_make(top);

	weft_context_release(c);
	return c ? 0 : -ENOMEM;
}

static int
timed(void)
{
	weft_context *c = weft_context_make_until(top,
	    weft_deadline(WEFT_SECOND));

	weft_context_release(c);
	return c ? 0 : -ENOMEM;
}

static int
valued(void)
{
	weft_context *c = weft_context_make_value(top, &key, &value);

	weft_context_release(c);
	return c ? 0 : -ENOMEM;
}

static int
grouped(void)
{
	weft_context *c = weft_group_context(&group);

	EQ(weft_group_wait(&group), 0);
	return c ? 0 : -ENOMEM;
}

static int result;

static void
set(weft_waitgroup *wg)
{
	OK(weft_gls_get(&key) == NULL);
	result = weft_gls_set(&key, &value);
	OK(weft_gls_get(&key) == (result ? NULL : &value));
	weft_waitgroup_done(wg);
}

static int
local(void)
{
	weft_waitgroup wg = {0};

	weft_waitgroup_add(&wg, 1);
	weft_go(set, &wg);
	weft_waitgroup_wait(&wg);
	while (weft_goroutines() > 1)
		weft_yield();
	return result;
}

/* With 0, 1, 2 ... allocations granted it fails, until it does not. */
static void
starve(int (*fn)(void), int needs)
{
	long before = __atomic_load_n(&live, __ATOMIC_RELAXED);

	EQ(fn(), 0);
	EQ(__atomic_load_n(&live, __ATOMIC_RELAXED), before);
	for (int n = 0; n <= needs; n++) {
		allow(n);
		EQ(fn(), n < needs ? -ENOMEM : 0);
		allow(-1);
		EQ(__atomic_load_n(&live, __ATOMIC_RELAXED), before);
	}
}

GTEST(every_request_in_turn, 1)
{
	top = weft_context_make(NULL);
	starve(plain, 2);		/* the context and its channel */
	starve(timed, 2);
	starve(valued, 2);
	starve(grouped, 2);
	starve(local, 2);		/* the list and the value */
	weft_context_release(top);
}

#else
TEST(every_request_in_turn) { t_skip("needs a malloc of its own"); }
#endif
