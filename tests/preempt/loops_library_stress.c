/* SPDX-License-Identifier: MIT */
/*
 * Loops that cannot be moved and spend their time in libraries: the allocator,
 * also with one arena and with jemalloc, stdio, the loader, and under a
 * spinlock. Each goes on, so does a goroutine that sleeps beside them, and
 * main returns beside fifty of them. LEAVE_TIMES says how often the last is
 * tried.
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run_env.h"

enum { LOOPS = 8, CROWD = 50, BLOCKS = 64, BEATS = 100 };

/* The audit refuses a program that has one: none of the loops is moved. */
static __thread volatile long mine;

static long turns[CROWD], stop, ended, locked;
static pthread_spinlock_t spin;
static FILE *shared;

/* ---- a turn of each loop ---- */

static void
use_malloc(int nr)
{
	void *block[BLOCKS];

	for (int i = 0; i < BLOCKS; i++) {
		block[i] = malloc((size_t)(16 + (nr + i) * 67 % 4000));
		*(volatile char *)block[i] = 1;
	}
	for (int i = 0; i < BLOCKS; i++)
		free(block[i]);
}

/* All write to one stream, whose lock a thread holds while it is elsewhere. */
static void
use_stdio(int nr)
{
	flockfile(shared);
	fprintf(shared, "%d %ld %f\n", nr, turns[nr], nr * 0.5);
	for (int i = 0; i < 100; i++)
		mine++;
	funlockfile(shared);
}

static void
use_loader(int nr)
{
	void *lib = dlopen("libm.so.6", RTLD_NOW);

	OK(!lib || dlsym(lib, "cos"));
	if (lib)
		dlclose(lib);
	(void)nr;
}

static void
use_spinlock(int nr)
{
	pthread_spin_lock(&spin);
	for (int i = 0; i < 1000; i++)
		mine++;
	locked += nr;
	pthread_spin_unlock(&spin);
}

static void (*const use[])(int) = { use_malloc, use_stdio, use_loader,
    use_spinlock };

static void
loop(int which, int nr)
{
	while (!get(&stop)) {
		for (int i = 0; i < 100; i++)
			mine++;
		use[which](nr);
		bump(&turns[nr]);
	}
	bump(&ended);
}

static void
prepare(void)
{
	shared = fopen("/dev/null", "w");
	OK(shared && !pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE));
}

/* ---- they go on, and so do others ---- */

static void
all_go_on(int which)
{
	long seen[LOOPS];

	prepare();
	for (int i = 0; i < LOOPS; i++)
		weft_go(loop, which, i);
	for (int i = 0; i < LOOPS; i++)
		await(&turns[i], 1);
	for (int i = 0; i < LOOPS; i++)
		seen[i] = get(&turns[i]);
	for (long i = t_scale(BEATS); i > 0; i--)
		weft_sleep(WEFT_MS);
	for (int i = 0; i < LOOPS; i++)
		await(&turns[i], seen[i] + 1);
	bump(&stop);
	await(&ended, LOOPS);
}

static void malloc_goes_on(void) { all_go_on(0); }

GTEST(allocating, 2) { malloc_goes_on(); }
GTEST(allocating_on_one, 1) { malloc_goes_on(); }

TEST(allocating_from_one_arena)
{
#ifdef M_ARENA_MAX
	mallopt(M_ARENA_MAX, 1);
#else
	t_skip("this libc's malloc has no arenas");
#endif
	run_env(2, NULL, malloc_goes_on);
}

/* ---- by jemalloc, which this program is run with once more ---- */

/* Some can only be loaded at the start: these are there, too. */
static bool
there_is(const char *library)
{
	return dlopen(library, RTLD_NOW) || strstr(dlerror(), "TLS");
}

TEST(allocating_by_jemalloc)
{
	static const char lib[] = "libjemalloc.so.2";
	char self[512], cmd[700];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (T_SANITIZED)
		t_skip("the sanitizer has a malloc of its own");
	if (t_emulated() || !there_is(lib))
		t_skip("no jemalloc (apt install libjemalloc2)");
	self[n > 0 ? n : 0] = 0;
	snprintf(cmd, sizeof cmd, "LD_PRELOAD=%s %s allocating >/dev/null",
	    lib, self);
	EQ(system(cmd), 0);
}

GTEST(printing, 2) { all_go_on(1); }
GTEST(printing_on_one, 1) { all_go_on(1); }
GTEST(loading, 2) { all_go_on(2); }
GTEST(loading_on_one, 1) { all_go_on(2); }
GTEST(spinning, 2) { all_go_on(3); }
GTEST(spinning_on_one, 1) { all_go_on(3); }

/* ---- main returns beside them ---- */

static void
returns(void)
{
	prepare();
	for (int i = 0; i < CROWD; i++)
		weft_go(loop, i % 4, i);
	await(&turns[0], 1);
}

static void
leave_once(void)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		alarm(20);
		run_env(2, NULL, returns);
		_exit(0);
	}
	EQ(waitpid(pid, &status, 0), pid);
	EQ(status, 0);
}

TEST(main_returns_beside_fifty)
{
	const char *times = getenv("LEAVE_TIMES");
	long n = times ? atol(times) : t_scale(30);

	while (n-- > 0)
		leave_once();
}
