/* SPDX-License-Identifier: MIT */
/*
 * How late a goroutine wakes that sleeps 1 ms, 500 times, beside two others
 * for every processor that call nothing of weft: they loop, or sleep in libc,
 * or compute there. None of that is announced.
 *
 * The main goroutine is the sleeper. The others look at `quit` whenever they
 * are back, which takes them up to 200 ms.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <weft.h>

enum { SLEEPS = 500, SORTED = 1000000 };

static int quit;

static bool
going(void)
{
	return !__atomic_load_n(&quit, __ATOMIC_RELAXED);
}

static int
ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void
print_late(const char *name, int64_t *late)
{
	qsort(late, SLEEPS, sizeof *late, ascending);
	printf("%-16s %10.3f ms p50  %.3f ms p99\n", name,
	    (double)late[SLEEPS / 2] / 1e6,
	    (double)late[SLEEPS * 99 / 100 - 1] / 1e6);
	fflush(stdout);
}

static void
sleep_beside(const char *name, void (*hog)(void))
{
	static int64_t late[SLEEPS];
	int64_t before = weft_count();

	__atomic_store_n(&quit, 0, __ATOMIC_RELAXED);
	for (int i = 0; i < 2 * weft_procs(); i++)
		weft_go(hog);
	for (int i = 0; i < SLEEPS; i++) {
		int64_t due = weft_in(WEFT_MS);

		weft_sleep(WEFT_MS);
		late[i] = weft_now() - due;
	}
	__atomic_store_n(&quit, 1, __ATOMIC_RELAXED);
	print_late(name, late);
	bench_settle(before);
}

static void
spin(void)
{
	while (going())
		;
}

void
bench_preempt(void)
{
	sleep_beside("preempt_late", spin);
}

static void
doze(void)
{
	while (going())
		usleep(200000);
}

void
bench_foreign_block(void)
{
	sleep_beside("foreign_block", doze);
}

static int
by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Sorts a million numbers in no order, about a tenth of a second each time. */
static void
sort(void)
{
	uint32_t *v = malloc(SORTED * sizeof *v), x = 1;

	bench_check("foreign_hog: memory", v != NULL, true);
	while (going()) {
		for (int i = 0; i < SORTED; i++)
			v[i] = x = x * 1664525 + 1013904223;
		qsort(v, SORTED, sizeof *v, by_value);
	}
	free(v);
}

void
bench_foreign_hog(void)
{
	sleep_beside("foreign_hog", sort);
}
