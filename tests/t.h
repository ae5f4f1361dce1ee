/* SPDX-License-Identifier: MIT */
/*
 * The harness. A test program is a file of TESTs; each runs in a process of
 * its own, since a process has one runtime, and has 60 seconds. Output is TAP.
 *
 *	TEST(name) { ... }			plain C
 *	GTEST(name, procs) { ... }		the body is the main goroutine
 *	DIES(name, procs, "text") { ... }	the same, and must abort with
 *						that text on standard error
 *
 * A check that fails says so and goes on; the test then fails at its end.
 */
#ifndef T_H
#define T_H

#include <stdbool.h>
#include <stdint.h>

/* clang says it another way. */
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

/* Which sanitizers this is built with; for the preprocessor, too. */
#ifdef __SANITIZE_ADDRESS__
#define T_ASAN 1
#else
#define T_ASAN 0
#endif
#ifdef __SANITIZE_THREAD__
#define T_TSAN 1
#else
#define T_TSAN 0
#endif
#define T_SANITIZED (T_ASAN || T_TSAN)

/* A function that stays one, with its own name. */
#ifdef __clang__
#define T_NOT_INLINED __attribute__((noinline))
#else
#define T_NOT_INLINED __attribute__((noinline, noclone))
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct t {
	const char *name, *dies;
	int procs;		/* 0: plain */
	void (*fn)(void);
	struct t *next;
};

void t_register(struct t *t);
void t_fail(const char *file, int line, const char *what);
void t_eq(const char *file, int line, const char *what, int64_t a, int64_t b);
__attribute__((__noreturn__)) void t_skip(const char *why);

/*
 * So many of these seconds as this run has: T_SHARE percent, but not less than
 * a few tenths. For what finds more the longer it goes on, where the same is
 * run in many variants.
 */
double t_share(double seconds);
/* n, or less where everything is slow (sanitizers, emulation); at least 1. */
long t_scale(long n);
/* Under valgrind: all is slow, and memory is not what it was. */
bool t_valgrind(void);
/* Under an emulator, which makes up some of what it tells of the kernel. */
bool t_emulated(void);
/* For stress tests: runs while this says so (T_SECONDS, default few, of which
 * t_share). */
bool t_more(double default_seconds);
/* Options for the runtime of the GTESTs in this program. */
extern int t_max_threads, t_max_detached;
double t_now(void);
/* Resident bytes of this process, page tables included. */
int64_t t_resident(void);
/* Not 0 if AddressSanitizer finds memory that is lost; else always 0. */
int t_leaks(void);

#define OK(x) do { if (!(x)) t_fail(__FILE__, __LINE__, #x); } while (0)
#define EQ(a, b) \
	t_eq(__FILE__, __LINE__, #a " == " #b, (int64_t)(a), (int64_t)(b))

#define T_DEF_(id, p, d)						\
	static void test_##id(void);					\
	__attribute__((constructor)) static void reg_##id(void)	\
	{								\
		static struct t t;					\
		t.name = #id;						\
		t.procs = p;						\
		t.dies = d;						\
		t.fn = test_##id;					\
		t_register(&t);						\
	}								\
	static void test_##id(void)

/* Calls fn on 1, 2, 4 and 8 procs; a GTEST that does only that. */
void t_on_all(void (*fn)(void));
#define ON_ALL(fn) GTEST(fn##_on_1_2_4_8, 1) { t_on_all(fn); }

#define TEST(id) T_DEF_(id, 0, 0)
#define GTEST(id, procs) T_DEF_(id, procs, 0)
#define DIES(id, procs, text) T_DEF_(id, procs, text)

#ifdef __cplusplus
}
#endif

#endif
