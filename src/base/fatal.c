/* SPDX-License-Identifier: MIT */
/*
 * Messages, and the end of the process. Called from anywhere: a goroutine near
 * the end of its stack, a signal handler, a thread that the runtime never saw.
 * So no stdio, which locks and allocates, and one write for each line, so that
 * lines of two threads do not mix.
 */
#include "fatal.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "atomic.h"

enum { LINE_MAX_BYTES = 640, LOOKS = 1000, LOOK_NS = 10000000 };

void (*fatal_hook)(void);
void (*fatal_last)(void);
size_t (*fatal_subject)(char *buf, size_t cap);
static a64 dying;		/* the thread that ends the process, or 0 */
static a32 dying_pid;		/* ... which is that one, and not its child */

struct out {
	char *p, *end;
};

static void
put(struct out *o, char c)
{
	if (o->p < o->end)
		*o->p++ = c;
}

static void
put_str(struct out *o, const char *s)
{
	for (s = s ? s : "(null)"; *s; s++)
		put(o, *s);
}

static void
put_num(struct out *o, uint64_t v, unsigned base)
{
	char tmp[24];
	int n = 0;

	do
		tmp[n++] = "0123456789abcdef"[v % base];
	while (v /= base);
	while (n)
		put(o, tmp[--n]);
}

static void
put_signed(struct out *o, int64_t v)
{
	if (v < 0)
		put(o, '-');
	put_num(o, v < 0 ? -(uint64_t)v : (uint64_t)v, 10);
}

/* A 64-bit argument if the format said l or z, else an int. */
static int64_t
next_signed(va_list *ap, bool wide)
{
	return wide ? va_arg(*ap, int64_t) : va_arg(*ap, int);
}

static uint64_t
next_unsigned(va_list *ap, bool wide)
{
	return wide ? va_arg(*ap, uint64_t) : va_arg(*ap, unsigned);
}

static void
put_arg(struct out *o, char conv, bool wide, va_list *ap)
{
	switch (conv) {
	case 's':
		put_str(o, va_arg(*ap, const char *));
		break;
	case 'c':
		put(o, (char)va_arg(*ap, int));
		break;
	case 'd':
		put_signed(o, next_signed(ap, wide));
		break;
	case 'u':
		put_num(o, next_unsigned(ap, wide), 10);
		break;
	case 'x':
		put_num(o, next_unsigned(ap, wide), 16);
		break;
	case 'p':
		put_str(o, "0x");
		put_num(o, (uintptr_t)va_arg(*ap, void *), 16);
		break;
	default:
		put(o, conv);
	}
}

size_t
format_list(char *buf, size_t cap, const char *fmt, va_list *ap)
{
	struct out o = { buf, buf + cap - 1 };

	for (; *fmt; fmt++) {
		bool wide = false;

		if (*fmt != '%') {
			put(&o, *fmt);
			continue;
		}
		for (fmt++; *fmt == 'l' || *fmt == 'z'; fmt++)
			wide = true;
		put_arg(&o, *fmt, wide, ap);
	}
	*o.p = 0;
	return (size_t)(o.p - buf);
}

size_t
format(char *buf, size_t cap, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	n = format_list(buf, cap, fmt, &ap);
	va_end(ap);
	return n;
}

static void
write_line(const char *buf, size_t n)
{
	/* If standard error is closed there is nothing left to try. */
	ssize_t ignored = write(STDERR_FILENO, buf, n);

	(void)ignored;
}

void
say(const char *fmt, ...)
{
	char buf[LINE_MAX_BYTES];
	va_list ap;

	va_start(ap, fmt);
	write_line(buf, format_list(buf, sizeof buf, fmt, &ap));
	va_end(ap);
}

bool
fatal_claim(void)
{
	uint64_t me = (uintptr_t)__builtin_thread_pointer();

	if (a_cas_relaxed(&dying, 0, me)) {
		a_store_relaxed(&dying_pid, (uint32_t)getpid());
		return true;
	}
	while (a_load_relaxed(&dying) != me)
		pause();
	return false;
}

void
fatal_let_die(void)
{
	const struct timespec look = { 0, LOOK_NS };
	uint64_t thread = a_load_relaxed(&dying);

	if (!thread || thread == (uintptr_t)__builtin_thread_pointer() ||
	    a_load_relaxed(&dying_pid) != (uint32_t)getpid())
		return;
	for (int i = 0; i < LOOKS; i++)
		nanosleep(&look, NULL);
}

void
fatal_forked(void)
{
	a_store_relaxed(&dying, 0);
}

/* If the first thread comes again, the hook itself has failed. */
static void
claim_fatal(void)
{
	if (!fatal_claim())
		abort();
}

/* The thread that has claimed the end. subject NULL: none. */
noreturn static void
die(const char *subject, const char *fmt, va_list *ap)
{
	char buf[LINE_MAX_BYTES];
	size_t n;

	n = format(buf, sizeof buf - 1, "weft: %s: ",
	    subject ? subject : "fatal");
	n += format_list(buf + n, sizeof buf - n - 1, fmt, ap);
	buf[n++] = '\n';
	write_line(buf, n);
	if (fatal_hook)
		fatal_hook();
	if (fatal_last)
		fatal_last();
	signal(SIGABRT, SIG_DFL);
	abort();
}

void
fatal(const char *fmt, ...)
{
	char subject[LINE_MAX_BYTES / 2];
	bool known;
	va_list ap;

	claim_fatal();
	known = fatal_subject && fatal_subject(subject, sizeof subject);
	va_start(ap, fmt);
	die(known ? subject : NULL, fmt, &ap);
}

void
fatal_of(const char *subject, const char *fmt, ...)
{
	va_list ap;

	claim_fatal();
	va_start(ap, fmt);
	die(subject, fmt, &ap);
}

void
fatal_check(const char *what, const char *file, int line)
{
	fatal("check failed: %s (%s:%d)", what, file, line);
}
