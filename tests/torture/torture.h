/* SPDX-License-Identifier: MIT */
/*
 * The torture: goroutines do what programs do, and check every result, while
 * WEFT_SLICE_US ends their slices all the time.
 *
 * A *work* is something that one goroutine does again and again, in rounds of
 * some microseconds up to a few milliseconds. The programs differ in the works
 * that they have, and so in what the audit must say about them. Each is a file
 * with a main that calls torture_main.
 *
 * This header does not include weft.h: some works must not see its errno.
 */
#ifndef TORTURE_H
#define TORTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "t.h"		/* only for what it knows of compilers */

#ifdef __cplusplus
extern "C" {
#endif

/* Everything is slower, and frames are larger. */
enum { TORTURE_SAN = T_SANITIZED };

/* A goroutine that works. */
struct me {
	const struct work *work;
	uint64_t rng;
	uint64_t rounds;	/* atomic: the watchdog reads it */
	uintptr_t base;		/* near the begin of its stack */
	FILE *null;		/* its own /dev/null */
};

struct work {
	const char *name;
	void (*round)(struct me *me);
	void (*once)(void);	/* before the runtime starts, or NULL */
	void (*end)(void);	/* when all have ended, or NULL */
};

/* Lists of works, each ended by one without a name. */
extern const struct work torture_cpu[], torture_libc[], torture_weft[];
extern const struct work torture_thread[], torture_throw[];

struct torture {
	const char *name;
	const struct work *lists[8];	/* ended by NULL */
	/* The audit passes; else its explanation has this text in it. */
	const char *fails;
};

/* Arguments: seconds, procs. Returns what main returns. */
int torture_main(const struct torture *t, int argc, char **argv);

/* Says what went wrong, lists all goroutines, and aborts. */
__attribute__((__noreturn__))
void torture_fail(const char *file, int line, const char *what, long long got);

#define MUST(x) do {							\
		if (!(x))						\
			torture_fail(__FILE__, __LINE__, #x, 0);	\
	} while (0)
#define SAME(a, b) do {							\
		long long a_ = (long long)(a);				\
		if (a_ != (long long)(b))				\
			torture_fail(__FILE__, __LINE__, #a " == " #b, a_); \
	} while (0)

/* So many steps of pure computation, about a nanosecond or two each; checks
 * its own result. */
void torture_spin(uint64_t steps);
/* A random number below n. */
uint64_t torture_random(struct me *me, uint64_t n);
/* The thread that runs this, as the kernel calls it. */
long torture_tid(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
