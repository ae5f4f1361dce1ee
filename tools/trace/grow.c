/* SPDX-License-Identifier: MIT */
/* See grow.h. */
#include "grow.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
die(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("weft-trace: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

void *
zeroed(size_t count, size_t bytes)
{
	void *p = calloc(count ? count : 1, bytes);

	if (!p)
		die("no memory for %zu elements", count);
	return p;
}

void *
grown(void *old, size_t count, size_t *room, size_t bytes)
{
	void *p = old;

	if (count >= *room) {
		size_t more = *room ? *room + *room / 2 + 1 : 16;

		if (more <= count)
			more = count + 1;
		p = more > SIZE_MAX / bytes ? NULL : realloc(old, more * bytes);
		if (!p)
			die("no memory for %zu elements", more);
		*room = more;
	}
	return p;
}

void
text_put(struct text *t, const void *data, size_t bytes)
{
	t->s = grown(t->s, t->bytes + bytes, &t->room, 1);
	if (bytes)
		memcpy(t->s + t->bytes, data, bytes);
	t->bytes += bytes;
	t->s[t->bytes] = '\0';
}

void
text_add(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	t->s = grown(t->s, t->bytes + (size_t)n + 1, &t->room, 1);
	va_start(ap, fmt);
	vsnprintf(t->s + t->bytes, (size_t)n + 1, fmt, ap);
	va_end(ap);
	t->bytes += (size_t)n;
}

void
text_free(struct text *t)
{
	free(t->s);
	*t = (struct text){0};
}
