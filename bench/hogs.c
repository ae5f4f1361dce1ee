/* SPDX-License-Identifier: MIT */
/*
 * How late a goroutine is beside two others for every processor that call
 * nothing of weft: they loop, or sleep in libc, or compute there. None of that
 * is announced. It sleeps 1 ms, or sends a message over TCP and waits for the
 * answer of a goroutine at the other end, 500 times: one message after the
 * other, or with 1 ms between, when that time does not count.
 *
 * The main goroutine is the one that is late. The others look at `quit`
 * whenever they are back, which takes them up to 200 ms.
 */
#include "bench.h"
#include "echo.h"

#include <stdlib.h>
#include <unistd.h>

#include <weft.h>

enum { TIMES = 500, SORTED = 1000000 };

static int quit;

static bool
going(void)
{
	return !__atomic_load_n(&quit, __ATOMIC_RELAXED);
}

/* once(fd) says how late it was. */
static void
beside(const char *name, void (*hog)(void), int64_t (*once)(int fd), int fd)
{
	static int64_t late[TIMES];
	int64_t before = weft_goroutines();

	__atomic_store_n(&quit, 0, __ATOMIC_RELAXED);
	for (int i = 0; i < 2 * weft_procs(); i++)
		weft_go(hog);
	for (int i = 0; i < TIMES; i++)
		late[i] = once(fd);
	__atomic_store_n(&quit, 1, __ATOMIC_RELAXED);
	bench_p50_p99(name, late, TIMES, "ms");
	bench_settle(before);
}

static int64_t
sleep_once(int fd)
{
	int64_t due = weft_deadline(WEFT_MS);

	(void)fd;
	weft_sleep(WEFT_MS);
	return weft_now() - due;
}

static void
sleep_beside(const char *name, void (*hog)(void))
{
	beside(name, hog, sleep_once, -1);
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

/* The whole round trip counts as late. */
static int64_t
trip_once(int fd)
{
	int64_t start = weft_now();

	echo_trip(fd);
	return weft_now() - start;
}

/* No goroutine that runs has to do with it when it begins. */
static int64_t
paced_once(int fd)
{
	weft_sleep(WEFT_MS);
	return trip_once(fd);
}

/* The first trip is without hogs: the connection is then accepted. */
static void
trip_beside(const char *name, int64_t (*once)(int fd))
{
	int64_t before = weft_goroutines();
	struct echo_server s;
	int fd;

	echo_start(&s, false);
	fd = echo_dial(&s);
	echo_trip(fd);
	beside(name, spin, once, fd);
	weft_close(fd);
	echo_stop(&s);
	bench_settle(before);
}

void
bench_netload(void)
{
	trip_beside("net_late", trip_once);
}

void
bench_netpaced(void)
{
	trip_beside("net_paced", paced_once);
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
