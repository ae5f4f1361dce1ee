/* SPDX-License-Identifier: MIT */
/*
 * A descriptor read through a buffer: lines, and bytes that are looked at
 * before they are consumed.
 *
 * Unread bytes are buf[start .. end), contiguous, so that a line is returned in
 * place. When there is little room behind them they move to the front, and only
 * if there is none at all the buffer doubles, up to `max`. A call that fails
 * has consumed nothing: the next one finds all that was read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "defs.h"
#include "weft.h"

enum {
	FIRST_BYTES = 4096,
	MAX_BYTES = 64 * 1024		/* if the reader has no max */
};

static size_t
unread(const weft_reader *r)
{
	return r->end - r->start;
}

static size_t
limit(const weft_reader *r)
{
	return r->max ? r->max : MAX_BYTES;
}

/* The buffer is full of unread bytes: doubles it. 0, -EMSGSIZE, -ENOMEM. */
static int
grow(weft_reader *r)
{
	size_t most = limit(r), cap = r->cap ? r->cap : FIRST_BYTES / 2;
	char *buf;

	if (r->cap >= most)
		return -EMSGSIZE;
	cap = cap > most / 2 ? most : 2 * cap;
	buf = realloc(r->buf, cap);
	if (!buf)
		return -ENOMEM;
	r->buf = buf;
	r->cap = cap;
	return 0;
}

/*
 * Makes room behind what is unread. It is moved as soon as that gains more room
 * than there is, so that no read is for a few bytes only.
 */
static int
make_room(weft_reader *r)
{
	size_t room = r->cap - r->end;

	if (room == 0 && r->start == 0)
		return grow(r);
	if (room >= r->start)
		return 0;
	memmove(r->buf, r->buf + r->start, unread(r));
	r->end -= r->start;
	r->start = 0;
	return 0;
}

/* Reads once more: 1 if there is more now, 0 at the end, or -errno. */
static int
fill(weft_reader *r)
{
	ssize_t n;
	int err;

	if (r->ended)
		return 0;
	if (r->start == r->end)
		r->start = r->end = 0;
	err = make_room(r);
	if (err)
		return err;
	n = weft_read(r->fd, r->buf + r->end, r->cap - r->end);
	if (n < 0)
		return (int)n;
	r->end += (size_t)n;
	r->ended = n == 0;
	return n > 0;
}

static ssize_t
take(weft_reader *r, size_t n, char **text)
{
	/* Without a buffer there is nothing to point into. */
	*text = r->buf ? r->buf + r->start : NULL;
	r->start += n;
	return (ssize_t)n;
}

public ssize_t
weft_reader_until(weft_reader *r, int byte, char **text)
{
	size_t seen = 0;	/* of what is unread, without the byte */
	char *at;
	int more;

	for (;;) {
		size_t n = unread(r) - seen;

		at = n ? memchr(r->buf + r->start + seen, byte, n) : NULL;
		if (at)
			return take(r, (size_t)(at + 1 - r->buf) - r->start,
			    text);
		seen += n;
		more = fill(r);
		if (more <= 0)
			return more < 0 ? more : take(r, seen, text);
	}
}

public ssize_t
weft_reader_line(weft_reader *r, char **line)
{
	return weft_reader_until(r, '\n', line);
}

public ssize_t
weft_reader_peek(weft_reader *r, size_t n, char **data)
{
	int more = 1;

	if (n > limit(r) && n > r->cap)
		return -EMSGSIZE;
	while (unread(r) < n && more > 0)
		more = fill(r);
	if (more < 0)
		return more;
	take(r, 0, data);
	return (ssize_t)unread(r);
}

public void
weft_reader_skip(weft_reader *r, size_t n)
{
	r->start += n < unread(r) ? n : unread(r);
}

/* What is in the buffer, at most len bytes of it. */
static size_t
drain(weft_reader *r, void *buf, size_t len)
{
	size_t n = unread(r) < len ? unread(r) : len;

	if (n)
		memcpy(buf, r->buf + r->start, n);
	r->start += n;
	return n;
}

/* The buffer is empty, and would not hold more than len: read past it. */
static ssize_t
read_past(weft_reader *r, void *buf, size_t len)
{
	ssize_t n = weft_read(r->fd, buf, len);

	r->ended = n == 0;
	return n;
}

public ssize_t
weft_reader_read(weft_reader *r, void *buf, size_t len)
{
	int more;

	if (len == 0)
		return 0;
	if (unread(r) == 0) {
		if (!r->ended && len >= FIRST_BYTES && len >= r->cap)
			return read_past(r, buf, len);
		more = fill(r);
		if (more <= 0)
			return more;
	}
	return (ssize_t)drain(r, buf, len);
}

public ssize_t
weft_reader_read_full(weft_reader *r, void *buf, size_t len, size_t *done)
{
	size_t got = 0;
	ssize_t n = 1;

	while (got < len && n > 0) {
		n = weft_reader_read(r, (char *)buf + got, len - got);
		if (n > 0)
			got += (size_t)n;
	}
	if (done)
		*done = got;
	return n < 0 ? n : (ssize_t)got;
}

public void
weft_reader_free(weft_reader *r)
{
	free(r->buf);
	r->buf = NULL;
	r->start = r->end = r->cap = 0;
	r->ended = false;
}
