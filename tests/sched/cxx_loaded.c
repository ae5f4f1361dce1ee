/* SPDX-License-Identifier: MIT */
/*
 * A program in C that loads C++, while it runs or before. Exceptions stay with
 * the goroutines that catch them.
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <stdlib.h>

#include <weft.h>

#include "t.h"

/* AddressSanitizer wants to see every throw, and so C++ from the start. */
enum { WITH_CXX = T_ASAN };

enum { GOROUTINES = 20 };

static int (*plugin_throws)(void (*others)(void), int nr);
static weft_waitgroup wg;
static long n_wrong, n_done;

static void nothing(void) { }

/* Loads it, calls `before`, and has others use it. */
static void
load(const char *path, void (*before)(void))
{
	void *h;

	if (WITH_CXX || dlsym(RTLD_DEFAULT, "__cxa_get_globals"))
		t_skip("this program has C++ already");
	h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!h) {
		t_fail(__FILE__, __LINE__, dlerror());
		exit(1);
	}
	before();
	__atomic_store_n(&plugin_throws, (int (*)(void (*)(void), int))
	    dlsym(h, "plugin_throws"), __ATOMIC_RELEASE);
}

static void
throws(int nr)
{
	for (long i = t_scale(200); i > 0; i--)
		__atomic_fetch_add(&n_wrong, plugin_throws(weft_yield, nr),
		    __ATOMIC_RELAXED);
	__atomic_fetch_add(&n_done, 1, __ATOMIC_RELAXED);
	weft_waitgroup_done(&wg);
}

/* It waits for the plugin, on whichever thread. */
static void
throws_later(int nr)
{
	while (!__atomic_load_n(&plugin_throws, __ATOMIC_ACQUIRE))
		weft_yield();
	throws(nr);
}

static void
begin(void (*fn)(int nr))
{
	weft_waitgroup_add(&wg, GOROUTINES);
	for (int i = 0; i < GOROUTINES; i++)
		weft_go(fn, i);
}

static void
finish(void)
{
	weft_waitgroup_wait(&wg);
	EQ(n_wrong, 0);
	EQ(n_done, GOROUTINES);
}

static int
all_throw(int argc, char **argv)
{
	(void)argc, (void)argv;
	begin(throws);
	finish();
	return 0;
}

TEST(loaded_before)
{
	load(PLUGIN, nothing);
	EQ(weft_run(all_throw, 0, NULL), 0);
}

static void
idles(int nr)
{
	(void)nr;
	for (int i = 0; i < 100; i++)
		weft_yield();
	weft_waitgroup_done(&wg);
}

/* All threads are there by then. */
static void
load_and_throw(void)
{
	begin(idles);
	weft_waitgroup_wait(&wg);
	load(PLUGIN, nothing);
	begin(throws);
	finish();
}

GTEST(loaded_by_a_goroutine, 1) { load_and_throw(); }
GTEST(loaded_by_one_of_several, 4) { load_and_throw(); }

/* Another library before it, which has no C++. */
GTEST(loaded_after_another, 2)
{
	OK(dlopen("libm.so.6", RTLD_NOW) != NULL);
	begin(idles);
	weft_waitgroup_wait(&wg);
	load(PLUGIN, weft_cxx_loaded);
	begin(throws);
	finish();
}

/* The goroutines that throw were there before it. */
GTEST(told_of, 4)
{
	begin(throws_later);
	for (int i = 0; i < 10; i++)
		weft_yield();
	load(PLUGIN, weft_cxx_loaded);
	finish();
}

/* It includes weft.h, and says so itself. */
GTEST(says_so_itself, 4)
{
	begin(throws_later);
	for (int i = 0; i < 10; i++)
		weft_yield();
	load(PLUGIN_WEFT, nothing);
	finish();
}
