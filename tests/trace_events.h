/* SPDX-License-Identifier: MIT */
/*
 * The events of a trace file, one ring after the other, for tests of what the
 * runtime writes. (tools/trace has the reader that orders them.)
 */
#ifndef TRACE_EVENTS_H
#define TRACE_EVENTS_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../src/trace/trace_format.h"
#include "t.h"

struct trace_text {
	char *bytes;
	size_t n;
};

/* A file for this test; removed by trace_text_free. */
static inline const char *
trace_path(void)
{
	static char path[64];

	if (!path[0])
		snprintf(path, sizeof path, "/tmp/weft-test-%d.trace",
		    (int)getpid());
	return path;
}

static inline void
trace_text_check(const struct trace_text *t)
{
	OK(t->n >= sizeof(struct trace_file) &&
	    memcmp(t->bytes, TRACE_MAGIC, 16) == 0);
}

static inline struct trace_text
trace_text_read(const char *path)
{
	struct trace_text t = {0};
	int fd = open(path, O_RDONLY);
	struct stat st;

	OK(fd >= 0 && fstat(fd, &st) == 0);
	t.n = (size_t)st.st_size;
	t.bytes = malloc(t.n + 1);
	EQ(read(fd, t.bytes, t.n), t.n);
	close(fd);
	trace_text_check(&t);
	return t;
}

static inline void
trace_text_free(struct trace_text *t)
{
	free(t->bytes);
	unlink(trace_path());
}

/* The block at *at, which then is that of the next; NULL at the end. */
static inline const struct trace_block *
trace_next_block(const struct trace_text *t, size_t *at)
{
	const struct trace_block *b = (const void *)(t->bytes + *at);

	if (*at + sizeof *b > t->n)
		return NULL;
	*at += sizeof *b + b->bytes;
	OK(*at <= t->n && b->bytes % 8 == 0);
	return *at <= t->n ? b : NULL;
}

/* Calls fn with every event: its words, and the block that it is in. */
static inline void
trace_each(const struct trace_text *t, void (*fn)(const struct trace_block *b,
    const uint64_t *words, void *arg), void *arg)
{
	size_t at = sizeof(struct trace_file);
	const struct trace_block *b;

	while ((b = trace_next_block(t, &at))) {
		const uint64_t *w = (const void *)(b + 1), *end;

		end = w + b->bytes / 8;
		if (b->type != TRACE_BLOCK_EVENTS)
			continue;
		while (w < end) {
			OK((*w & 63) > TR_NONE && (*w & 63) < TR_TYPES);
			OK(trace_words_after(*w) < (size_t)(end - w));
			fn(b, w, arg);
			w += 1 + trace_words_after(*w);
		}
	}
}

/* How often each type occurs; words that come with it are left out. */
struct trace_counts { long n[64]; };

static inline void
trace_count_(const struct trace_block *b, const uint64_t *words, void *arg)
{
	(void)b;
	((struct trace_counts *)arg)->n[*words & 63]++;
}

static inline struct trace_counts
trace_count(const struct trace_text *t)
{
	struct trace_counts c = {0};

	trace_each(t, trace_count_, &c);
	return c;
}

/* Does the file have this text anywhere? */
static inline bool
trace_has(const struct trace_text *t, const char *text)
{
	size_t n = strlen(text);

	for (size_t i = 0; i + n <= t->n; i++)
		if (memcmp(t->bytes + i, text, n) == 0)
			return true;
	return false;
}

/* Does it end as one that was stopped? */
static inline bool
trace_is_whole(const struct trace_text *t)
{
	size_t at = sizeof(struct trace_file);
	const struct trace_block *b, *last = NULL;

	while ((b = trace_next_block(t, &at)))
		last = b;
	return last && last->type == TRACE_BLOCK_END;
}

#endif
