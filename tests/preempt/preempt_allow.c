/* SPDX-License-Identifier: MIT */
/*
 * weft_preempt_allow: code of a shared library is preempted too, if it passes
 * the examination. The libraries are made here, with the compiler.
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "run_env.h"

/* Weak: what looks for a library's names is in the way of the audit. */
#pragma weak dlopen
#pragma weak dlsym

static const char clean[] =
	"void spin(const long *stop)\n"
	"{ while (!__atomic_load_n(stop, __ATOMIC_ACQUIRE)); }\n";
static const char tied[] =
	"__thread long mine;\n"
	"void spin(const long *stop)\n"
	"{ while (!__atomic_load_n(stop, __ATOMIC_ACQUIRE)) mine++; }\n";

static void (*spin)(const long *stop);

/* Compiles and loads the text. */
static void
load(const char *text, const char *name)
{
	char dir[] = "/tmp/weft-lib-XXXXXX", path[128], cmd[512];
	const char *cc = getenv("CC");
	void *lib;
	FILE *f;

	if (!dlopen || !mkdtemp(dir))
		t_skip("nothing to load a library with");
	snprintf(path, sizeof path, "%s/%s.c", dir, name);
	f = fopen(path, "w");
	fputs(text, f);
	fclose(f);
	snprintf(cmd, sizeof cmd, "cd %s && %s -O2 -g -shared -fPIC "
	    "-o %s.so %s.c 2>/dev/null", dir, cc ? cc : "cc", name, name);
	if (system(cmd) != 0)
		t_skip("no compiler");
	snprintf(path, sizeof path, "%s/%s.so", dir, name);
	lib = dlopen(path, RTLD_NOW);
	snprintf(cmd, sizeof cmd, "rm -r %s", dir);
	OK(system(cmd) == 0);
	OK(lib != NULL);
	spin = lib ? (void (*)(const long *))dlsym(lib, "spin") : NULL;
	OK(spin != NULL);
}

static weft_waitgroup all;
static long stop;

static void
spins(void)
{
	spin(&stop);
	weft_waitgroup_done(&all);
}

/*
 * Runs it until it was preempted, paused with its thread, or has lost its
 * processor. True: the first.
 */
static bool
is_preempted(void)
{
	weft_preempt_stats s, before = stalls_now();
	uint64_t n = 0;

	stop = 0;
	weft_waitgroup_add(&all, 1);
	weft_go(spins);
	do {
		weft_sleep(WEFT_MS);
		s = stalls_now();
		n = s.preempted - before.preempted;
		for (int i = 0; i < WEFT_RETAKE_REASONS; i++)
			n += s.taken[i] - before.taken[i] +
			    s.paused[i] - before.paused[i];
	} while (n == 0);
	bump(&stop);
	weft_waitgroup_wait(&all);
	return s.preempted > before.preempted;
}

/*
 * On a busy machine the goroutine may be preempted before it is in the library,
 * or this one is; not each time.
 */
static bool
stays_unpreempted(void)
{
	for (int i = 0; i < 10; i++)
		if (!is_preempted())
			return true;
	return false;
}

static const void *
address(void)
{
	return (const void *)(uintptr_t)spin;
}

GTEST(is_foreign_until_allowed, 1)
{
	char text[4096];

	load(clean, "clean");
	if (!can_preempt())
		t_skip("this program cannot be preempted");
	OK(stays_unpreempted());
	EQ(weft_preempt_allow(address()), 0);
	while (!is_preempted())
		;
	EQ(weft_preempt_allow(address()), 0);
	weft_preempt_explain(text, sizeof text);
	OK(strstr(text, "clean.so: can be preempted by signals\n"));
}

GTEST(one_that_fails, 1)
{
	char text[4096];

	load(tied, "tied");
	EQ(weft_preempt_allow(address()), -EACCES);
	weft_preempt_explain(text, sizeof text);
	OK(strstr(text, "tied.so: cannot be preempted by signals:\n"));
	OK(strstr(text, "thread-local"));
	OK(stays_unpreempted());
}

GTEST(no_such_library, 1)
{
	int here = 0;

	EQ(weft_preempt_allow(NULL), -ENOENT);
	EQ(weft_preempt_allow(&here), -ENOENT);
	EQ(weft_preempt_allow((void *)-1), -ENOENT);
	EQ(weft_preempt_allow((void *)4096), -ENOENT);
}

/* libc does not pass: it is what all the state of a thread is for. */
GTEST(libc_is_refused, 1)
{
	EQ(weft_preempt_allow((const void *)(uintptr_t)dlsym(NULL, "malloc")),
	    -EACCES);
}

ETEST(without_signals, 1, "WEFT_PREEMPT_SIGNAL=-1")
{
	load(clean, "clean");
	EQ(weft_preempt_allow(address()), 0);
	OK(stays_unpreempted());
}
