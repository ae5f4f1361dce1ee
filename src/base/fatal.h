/* SPDX-License-Identifier: MIT */
/*
 * Fatal errors, which end the process with a message, and the checks that
 * raise them.
 *
 *	must(x)		always on: a violation would corrupt memory
 *	check(x)	debug builds: an invariant of the room
 *	check_slow(x)	debug builds: an invariant that is costly to evaluate
 *
 * A fatal error prints `weft: `, which goroutine or thread caused it, and the
 * text; then what the hook prints (all goroutines), then aborts. The first
 * thread to get there wins; others that arrive later wait for the process to
 * end.
 */
#ifndef FATAL_H
#define FATAL_H

#include <stdarg.h>

#include "defs.h"

/* Formats %s %d %u %x %p %c and the l, ll, z sizes; nothing else. */
noreturn cold void fatal(const char *fmt, ...) printf_like(1, 2);
/* The same, caused by something else than what runs; NULL: by no one thing. */
noreturn cold void fatal_of(const char *subject, const char *fmt, ...)
    printf_like(2, 3);

/* One formatted line (or part of one) to standard error. Signal-safe. */
cold void say(const char *fmt, ...) printf_like(1, 2);

/* Like snprintf with the formats above; returns the length written. */
size_t format(char *buf, size_t cap, const char *fmt, ...) printf_like(3, 4);
size_t format_list(char *buf, size_t cap, const char *fmt, va_list *ap);

/*
 * For other ways to end the process. True on the first thread that calls this
 * or dies of a fatal error; false if that was this thread: it has failed in
 * the attempt. Other threads do not return.
 */
bool fatal_claim(void);

/*
 * Before the process ends well: if another thread is about to end it with a
 * message, waits for that, for ten seconds at most, since standard error may be
 * a pipe that no process reads. fatal_forked: in the child of a fork, which has
 * no such thread.
 */
void fatal_let_die(void);
void fatal_forked(void);

/*
 * Registered once, before main, from above; they take no lock. The first
 * prints the state of the world; the second writes which goroutine or thread
 * runs, and returns the length: 0 if that says nothing to a user.
 */
extern void (*fatal_hook)(void);
extern void (*fatal_last)(void);	/* after the hook, and after a crash */
extern size_t (*fatal_subject)(char *buf, size_t cap);

noreturn cold void fatal_check(const char *what, const char *file, int line);

#define must(x) do {							\
	if (unlikely(!(x)))						\
		fatal_check(#x, __FILE__, __LINE__);			\
	} while (0)

#ifdef WEFT_DEBUG
#define check(x)	must(x)
#define check_slow(x)	must(x)
#else
/* The expression is compiled, so that it cannot rot, and never evaluated. */
#define check(x)	((void)sizeof((x) ? 1 : 0))
#define check_slow(x)	((void)sizeof((x) ? 1 : 0))
#endif

#endif
