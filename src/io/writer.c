/* SPDX-License-Identifier: MIT */
/*
 * A descriptor written through a buffer.
 *
 * What is not written yet is buf[start .. end). Text of text, printf and byte
 * is taken as a whole or not at all: if there is no room for it the buffer is
 * flushed first, and grows if that is not enough, so that after the first thing
 * that can fail nothing else does. A flush that fails has moved `start` past
 * what was written, and the next one continues there. Bytes as many as the
 * buffer holds are written past it, once it is empty.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "defs.h"
#include "weft.h"

enum { DEFAULT_BYTES = 8192 };	/* if the writer does not say */

static size_t
limit(const weft_writer *w)
{
	return w->size ? w->size : DEFAULT_BYTES;
}

static size_t
room(const weft_writer *w)
{
	return w->cap - w->end;
}

public int
weft_writer_flush(weft_writer *w)
{
	size_t done;
	ssize_t n;

	if (w->start == w->end)
		return 0;
	n = weft_write_full(w->fd, w->buf + w->start, w->end - w->start,
	    &done);
	w->start += done;
	if (w->start == w->end)
		w->start = w->end = 0;
	/* What takes nothing and has no error would be asked for ever. */
	return n < 0 ? (int)n : w->end ? -EIO : 0;
}

/* Room for n more bytes, in one piece: 0, or why there is none. */
static int
reserve(weft_writer *w, size_t n)
{
	size_t cap = n < limit(w) ? limit(w) : n;
	char *buf;
	int err;

	if (n <= room(w))
		return 0;
	err = weft_writer_flush(w);
	if (err || n <= w->cap)
		return err;
	buf = realloc(w->buf, cap);
	if (!buf)
		return -ENOMEM;
	w->buf = buf;
	w->cap = cap;
	return 0;
}

static void
append(weft_writer *w, const void *data, size_t n)
{
	if (n)
		memcpy(w->buf + w->end, data, n);
	w->end += n;
}

public ssize_t
weft_writer_write(weft_writer *w, const void *data, size_t len)
{
	int err = 0;

	if (len < limit(w)) {
		err = reserve(w, len);
		if (!err)
			append(w, data, len);
		return err ? err : (ssize_t)len;
	}
	err = weft_writer_flush(w);
	return err ? err : weft_write(w->fd, data, len);
}

public ssize_t
weft_writer_text(weft_writer *w, const char *text)
{
	size_t len = strlen(text);
	int err = reserve(w, len);

	if (!err)
		append(w, text, len);
	return err ? err : (ssize_t)len;
}

public int
weft_writer_byte(weft_writer *w, int byte)
{
	int err = reserve(w, 1);

	if (!err)
		w->buf[w->end++] = (char)byte;
	return err;
}

/* vsnprintf adds a NUL, for which there must be room, and which is dropped. */
public ssize_t
weft_writer_vprintf(weft_writer *w, const char *format, va_list args)
{
	char *at = w->buf ? w->buf + w->end : NULL;
	va_list again;
	int n, err = 0;

	va_copy(again, args);
	n = vsnprintf(at, room(w), format, again);
	va_end(again);
	if (n >= 0 && (size_t)n >= room(w)) {
		err = reserve(w, (size_t)n + 1);
		if (!err)
			n = vsnprintf(w->buf + w->end, room(w), format, args);
	}
	if (!err && n < 0)
		err = -EINVAL;
	if (err)
		return err;
	w->end += (size_t)n;
	return n;
}

public ssize_t
weft_writer_printf(weft_writer *w, const char *format, ...)
{
	va_list args;
	ssize_t n;

	va_start(args, format);
	n = weft_writer_vprintf(w, format, args);
	va_end(args);
	return n;
}

public void
weft_writer_free(weft_writer *w)
{
	free(w->buf);
	w->buf = NULL;
	w->start = w->end = w->cap = 0;
}
