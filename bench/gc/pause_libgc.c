/* SPDX-License-Identifier: MIT */
/*
 * pause-libgc STACKS own|shared
 *
 * How long plain libgc stops everything for as much to read as the goroutines
 * of pause_weft.c have: so many stacks, 256 KiB of address space each, with one
 * frame of pause.h at the top of its last page. They are pushed by a hook. The
 * program has one thread, and libgc its own for marking. Prints the median and
 * the longest pause in microseconds.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <time.h>

#define GC_THREADS
#include <gc/gc.h>
#include <gc/gc_mark.h>

#include "pause.h"

enum { DISTANCE = 256 * 1024, FRAME_BYTES = FRAME_WORDS * sizeof(void *) };

static struct pause_options options;
static char *stacks;
static double stopped_at, pause_us;
static void (*push_threads)(void);	/* libgc's own */

static double
now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void *
alloc(size_t bytes)
{
	return GC_MALLOC(bytes);
}

static void **
frame(long i)
{
	return (void **)(void *)(stacks + (i + 1) * DISTANCE - FRAME_BYTES);
}

static void
push(void)
{
	if (push_threads)
		push_threads();
	for (long i = 0; i < options.frames; i++)
		GC_push_all_eager(frame(i), frame(i) + FRAME_WORDS);
}

static void
on_event(GC_EventType e)
{
	if (e == GC_EVENT_PRE_STOP_WORLD)
		stopped_at = now_us();
	else if (e == GC_EVENT_POST_START_WORLD)
		pause_us = now_us() - stopped_at;
}

/* Without huge pages, of which each stack would take a part of 2 MiB. */
static void
make_stacks(void)
{
	size_t bytes = (size_t)options.frames * DISTANCE;

	stacks = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE |
	    MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (stacks == MAP_FAILED)
		pause_fail("no address space");
	madvise(stacks, bytes, MADV_NOHUGEPAGE);
	for (long i = 0; i < options.frames; i++)
		pause_fill(&options, i, frame(i), alloc);
}

static void
init(void)
{
	GC_INIT();
	GC_allow_register_threads();
	GC_start_mark_threads();
	push_threads = GC_get_push_other_roots();
	GC_set_push_other_roots(push);
	GC_set_on_collection_event(on_event);
}

int
main(int argc, char **argv)
{
	double us[ROUNDS];
	long lost = 0;

	options = pause_arguments(argc, argv);
	init();
	GC_disable();
	pause_share(alloc);
	make_stacks();
	GC_enable();
	for (int i = -FIRST; i < ROUNDS; i++) {
		GC_gcollect();
		us[i < 0 ? 0 : i] = pause_us;
	}
	for (long i = 0; i < options.frames; i++)
		lost += pause_lost(&options, i, frame(i));
	if (lost)
		pause_fail("an object was collected that is in use");
	pause_print(&options, us);
	return 0;
}
