/* SPDX-License-Identifier: MIT */
/*
 * What the two programs that measure pauses share: the contents of a frame, and
 * the result.
 *
 * A frame has 64 words, of which each eighth points to an object of 32 bytes;
 * the others are small numbers. The objects are the frame's own, or some of
 * 1000 that all frames share. An object has a number in it, which is checked at
 * the end: a collector that has missed one may have used its memory for others.
 */
#ifndef BENCH_GC_PAUSE_H
#define BENCH_GC_PAUSE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	FRAME_WORDS = 64, EACH = 8, OBJECT_BYTES = 32, SHARED = 1000,
	ROUNDS = 30,
	FIRST = 2		/* collections before these, not counted */
};

struct pause_options {
	long frames;
	bool shared;
};

static void *shared_objects[SHARED];

static inline void
pause_fail(const char *what)
{
	fprintf(stderr, "pause: %s\n", what);
	exit(1);
}

/* Arguments: FRAMES own|shared */
static inline struct pause_options
pause_arguments(int argc, char **argv)
{
	struct pause_options o = {0};
	char *end = NULL;

	if (argc == 3)
		o.frames = strtol(argv[1], &end, 10);
	if (o.frames < 1 || *end || (strcmp(argv[2], "own") != 0 &&
	    strcmp(argv[2], "shared") != 0)) {
		fprintf(stderr, "usage: pause FRAMES own|shared\n");
		exit(2);
	}
	o.shared = strcmp(argv[2], "shared") == 0;
	return o;
}

static inline uint64_t *
pause_object(void *(*alloc)(size_t bytes), uint64_t number)
{
	uint64_t *p = alloc(OBJECT_BYTES);

	if (!p)
		pause_fail("out of memory");
	p[0] = number;
	return p;
}

static inline void
pause_share(void *(*alloc)(size_t bytes))
{
	for (int i = 0; i < SHARED; i++)
		shared_objects[i] = pause_object(alloc, (uint64_t)i);
}

/* The number of the object at word i of a frame. */
static inline uint64_t
pause_number(const struct pause_options *o, long frame, int i)
{
	uint64_t n = (uint64_t)frame * (FRAME_WORDS / EACH) +
	    (uint64_t)(i / EACH);

	return o->shared ? n % SHARED : n;
}

static inline void
pause_fill(const struct pause_options *o, long frame, void *volatile *words,
    void *(*alloc)(size_t bytes))
{
	for (int i = 0; i < FRAME_WORDS; i++) {
		uint64_t n = pause_number(o, frame, i);

		words[i] = i % EACH ? (void *)(uintptr_t)i : o->shared ?
		    shared_objects[n] : pause_object(alloc, n);
	}
}

/* How many of its objects are not what they were. */
static inline long
pause_lost(const struct pause_options *o, long frame, void *volatile *words)
{
	long lost = 0;

	for (int i = 0; i < FRAME_WORDS; i += EACH)
		lost += *(uint64_t *)words[i] != pause_number(o, frame, i);
	return lost;
}

static inline int
pause_by_length(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static inline void
pause_print(const struct pause_options *o, double *us)
{
	const char *kind = o->shared ? "shared" : "own";

	qsort(us, ROUNDS, sizeof us[0], pause_by_length);
	printf("pause_%s_%ld_p50 %.0f us\n", kind, o->frames, us[ROUNDS / 2]);
	printf("pause_%s_%ld_max %.0f us\n", kind, o->frames, us[ROUNDS - 1]);
}

#endif
