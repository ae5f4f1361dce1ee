/* SPDX-License-Identifier: MIT */
/*
 * A descriptor read through a buffer: no byte is lost, doubled or out of
 * order, however it comes in and however it is taken.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weft.h>

#include "t.h"

enum { DEFAULT_MAX = 64 * 1024 };

/* ---- what comes in ---- */

struct feed {
	int fd;
	const char *text;
	size_t len, chunk;
};

static void
feeds(void *arg)
{
	struct feed *f = arg;
	size_t done = 0;

	while (done < f->len) {
		size_t n = f->len - done < f->chunk ? f->len - done : f->chunk;

		EQ(weft_write_full(f->fd, f->text + done, n, NULL), n);
		done += n;
		weft_yield();
	}
	EQ(weft_close(f->fd), 0);
}

/* A pipe from which the text comes, chunk by chunk. */
static int
fed(const char *text, size_t len, size_t chunk)
{
	struct feed f = { .text = text, .len = len, .chunk = chunk };
	int fd[2];

	OK(pipe(fd) == 0);
	f.fd = fd[1];
	OK(weft_spawn(NULL, 0, feeds, &f, sizeof f) > 0);
	return fd[0];
}

/* A pipe that has these in it, and stays open at the other end. */
static int
holding(const char *text, int *other)
{
	int fd[2];

	OK(pipe(fd) == 0);
	EQ(write(fd[1], text, strlen(text)), strlen(text));
	*other = fd[1];
	return fd[0];
}

/* Bytes that differ from their neighbours, without a newline. */
static char *
filler(size_t len)
{
	char *s = malloc(len + 1);

	for (size_t i = 0; i < len; i++)
		s[i] = (char)('a' + (i * 7 + i / 23) % 26);
	s[len] = '\0';
	return s;
}

static bool
same(const char *a, const char *b, size_t n)
{
	return memcmp(a, b, n) == 0;
}

/* ---- lines ---- */

/* Lines of 1 to 400 bytes, the last one without an end. */
static void
read_lines(const char *text, size_t len, size_t chunk)
{
	weft_reader r = WEFT_READER(fed(text, len, chunk));
	size_t at = 0;
	char *line;
	ssize_t n;

	while ((n = weft_reader_line(&r, &line)) > 0) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t want = end ? (size_t)(end + 1 - (text + at)) : len - at;

		EQ(n, want);
		OK(same(line, text + at, (size_t)n));
		at += (size_t)n;
	}
	EQ(n, 0);
	EQ(at, len);
	OK(r.ended);
	EQ(weft_reader_line(&r, &line), 0);
	weft_reader_free(&r);
	EQ(weft_close(r.fd), 0);
}

static void
lines_of_all_lengths(void)
{
	static const size_t chunks[] = { 1, 2, 3, 64, 401, 4096, 10000 };
	size_t len = (size_t)t_scale(40000);
	char *text = filler(len);

	for (size_t i = 0, step = 0; i < len; i += step++ % 400 + 1)
		text[i] = '\n';
	text[len - 1] = 'x';
	for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++)
		read_lines(text, len, chunks[i]);
	free(text);
}
ON_ALL(lines_of_all_lengths)

/* Outside of a goroutine, without a runtime. */
TEST(on_a_plain_thread)
{
	int other;
	weft_reader r = WEFT_READER(holding("one\ntwo\n", &other));
	char *line;

	close(other);
	EQ(weft_reader_line(&r, &line), 4);
	OK(same(line, "one\n", 4));
	EQ(weft_reader_line(&r, &line), 4);
	OK(same(line, "two\n", 4));
	EQ(weft_reader_line(&r, &line), 0);
	weft_reader_free(&r);
	close(r.fd);
}

GTEST(nothing_at_all, 1)
{
	weft_reader r = WEFT_READER(fed("", 0, 1));
	char *line;

	EQ(weft_reader_line(&r, &line), 0);
	EQ(weft_reader_peek(&r, 5, &line), 0);
	EQ(weft_reader_read(&r, &line, sizeof line), 0);
	EQ(weft_reader_read_full(&r, &line, sizeof line, NULL), 0);
	weft_reader_free(&r);
	EQ(weft_close(r.fd), 0);
}

GTEST(other_ends, 1)
{
	static const char text[] = "a\0bc\0\xff" "de\xff" "f";
	weft_reader r = WEFT_READER(fed(text, sizeof text - 1, 1));
	char *s;

	EQ(weft_reader_until(&r, 0, &s), 2);
	EQ(weft_reader_until(&r, 0, &s), 3);
	OK(same(s, "bc", 3));
	EQ(weft_reader_until(&r, 0xff, &s), 1);
	EQ(weft_reader_until(&r, 0xff, &s), 3);
	OK(same(s, "de\xff", 3));
	EQ(weft_reader_until(&r, 0xff, &s), 1);
	EQ(s[0], 'f');
	EQ(weft_reader_until(&r, 0xff, &s), 0);
	weft_reader_free(&r);
	EQ(weft_close(r.fd), 0);
}

/* ---- long ones ---- */

/* A line that fills the buffer to the last byte, between two short ones. */
GTEST(longest_line, 2)
{
	size_t len = 3 + DEFAULT_MAX + 3;
	char *text = filler(len), *line;
	weft_reader r = WEFT_READER(-1);

	text[2] = text[2 + DEFAULT_MAX] = text[len - 1] = '\n';
	r.fd = fed(text, len, 1000);
	EQ(weft_reader_line(&r, &line), 3);
	EQ(weft_reader_line(&r, &line), DEFAULT_MAX);
	OK(same(line, text + 3, DEFAULT_MAX));
	EQ(weft_reader_line(&r, &line), 3);
	OK(same(line, text + 3 + DEFAULT_MAX, 3));
	EQ(weft_reader_line(&r, &line), 0);
	EQ(r.cap, DEFAULT_MAX);
	weft_reader_free(&r);
	EQ(weft_close(r.fd), 0);
	free(text);
}

/* One byte more is refused, again and again, and can be read otherwise. */
static void
refuse_longer(size_t max)
{
	size_t n = max ? max : DEFAULT_MAX, len = n + 1 + 4;
	char *text = filler(len), *got = malloc(len), *line;
	weft_reader r = WEFT_READER(-1);

	memcpy(text + n, "\nabc\n", 5);
	r.max = max;
	r.fd = fed(text, len, 1 + n / 3);
	EQ(weft_reader_line(&r, &line), -EMSGSIZE);
	EQ(weft_reader_line(&r, &line), -EMSGSIZE);
	EQ(weft_reader_peek(&r, n + 1, &line), -EMSGSIZE);
	EQ(weft_reader_peek(&r, n, &line), n);
	OK(same(line, text, n));
	EQ(weft_reader_read_full(&r, got, n, NULL), n);
	OK(same(got, text, n));
	EQ(weft_reader_line(&r, &line), 1);
	EQ(weft_reader_read_full(&r, got, 5, NULL), 4);
	OK(same(got, "abc\n", 4));
	weft_reader_free(&r);
	EQ(weft_close(r.fd), 0);
	free(text);
	free(got);
}

GTEST(longer_than_allowed, 1)
{
	static const size_t max[] = { 0, 1, 2, 10, 4096, 4097, 100000 };

	for (size_t i = 0; i < sizeof max / sizeof *max; i++)
		refuse_longer(max[i]);
}

/* A program may allow what it likes. */
GTEST(a_megabyte_in_one, 1)
{
	size_t len = 1024 * 1024;
	char *text = filler(len), *line;
	weft_reader r = WEFT_READER(-1);

	text[len - 1] = '\n';
	r.max = SIZE_MAX;
	r.fd = fed(text, len, 50000);
	EQ(weft_reader_line(&r, &line), len);
	OK(same(line, text, len));
	weft_reader_free(&r);
	EQ(weft_close(r.fd), 0);
	free(text);
}

/* ---- bytes ---- */

GTEST(peek_and_skip, 1)
{
	weft_reader r = WEFT_READER(fed("0123456789", 10, 3));
	char *s, buf[4];

	OK(weft_reader_peek(&r, 1, &s) >= 1);
	EQ(s[0], '0');
	OK(weft_reader_peek(&r, 5, &s) >= 5);
	OK(same(s, "01234", 5));
	weft_reader_skip(&r, 4);
	OK(weft_reader_peek(&r, 0, &s) >= 0);
	OK(weft_reader_peek(&r, 2, &s) >= 2);
	OK(same(s, "45", 2));
	EQ(weft_reader_read_full(&r, buf, 4, NULL), 4);
	OK(same(buf, "4567", 4));
	EQ(weft_reader_peek(&r, 100, &s), 2);
	OK(same(s, "89", 2));
	weft_reader_skip(&r, 100);
	EQ(weft_reader_peek(&r, 1, &s), 0);
	weft_reader_free(&r);
	EQ(weft_close(r.fd), 0);
}

/* In all ways by turns; what is taken is what comes next. */
static void
take_somehow(weft_reader *r, unsigned way, const char *want, size_t *at)
{
	char buf[5000], *s = buf;
	ssize_t n;

	switch (way % 5) {
	case 0:
		n = weft_reader_line(r, &s);
		break;
	case 1:
		n = weft_reader_read(r, buf, way % 97 + 1);
		break;
	case 2:
		n = weft_reader_read(r, buf, sizeof buf);
		break;
	case 3:
		n = weft_reader_read_full(r, buf, way % 301, NULL);
		break;
	default:
		n = weft_reader_peek(r, way % 53, &s);
		if (n > 20)
			n = 20;
		OK(n < 0 || same(s, want + *at, (size_t)n));
		if (n > 0)
			weft_reader_skip(r, (size_t)n);
	}
	OK(n >= 0);
	if (n > 0) {
		OK(same(s, want + *at, (size_t)n));
		*at += (size_t)n;
	}
}

static void
mixed(size_t chunk)
{
	size_t len = (size_t)t_scale(200000), at = 0;
	char *text = filler(len);
	weft_reader r = WEFT_READER(-1);

	for (size_t i = 0; i < len; i += 113)
		text[i] = '\n';
	r.max = 300;
	r.fd = fed(text, len, chunk);
	for (unsigned way = 0; at < len; way++)
		take_somehow(&r, way, text, &at);
	EQ(at, len);
	weft_reader_free(&r);
	EQ(weft_close(r.fd), 0);
	free(text);
}

GTEST(all_ways_mixed, 2)
{
	mixed(70);
	mixed(4096);
}

/* A large read of nothing buffered needs no buffer, a small one does. */
GTEST(past_the_buffer, 1)
{
	char *text = filler(20000), *got = malloc(20000);
	weft_reader r = WEFT_READER(fed(text, 20000, 20000));

	EQ(weft_reader_read_full(&r, got, 20000, NULL), 20000);
	OK(same(got, text, 20000));
	OK(r.buf == NULL);
	EQ(weft_reader_read(&r, got, 20000), 0);
	OK(r.ended);
	EQ(weft_reader_read(&r, got, 0), 0);
	weft_reader_free(&r);
	EQ(weft_close(r.fd), 0);
	free(text);
	free(got);
}

/* ---- what goes wrong ---- */

/* What came before the time was up is there when it goes on. */
GTEST(goes_on_after_a_timeout, 1)
{
	int other;
	weft_reader r = WEFT_READER(holding("first\nsec", &other));
	char *line, buf[8];
	size_t done;

	EQ(weft_reader_line(&r, &line), 6);
	weft_set_read_deadline(r.fd, weft_deadline(5 * WEFT_MS));
	EQ(weft_reader_line(&r, &line), -ETIMEDOUT);
	EQ(weft_reader_line(&r, &line), -ETIMEDOUT);
	EQ(weft_reader_peek(&r, 4, &line), -ETIMEDOUT);
	EQ(weft_reader_peek(&r, 3, &line), 3);
	weft_set_read_deadline(r.fd, WEFT_NEVER);
	EQ(write(other, "ond\nth", 6), 6);
	EQ(weft_reader_line(&r, &line), 7);
	OK(same(line, "second\n", 7));
	weft_set_read_deadline(r.fd, weft_deadline(5 * WEFT_MS));
	EQ(weft_reader_read_full(&r, buf, 5, &done), -ETIMEDOUT);
	EQ(done, 2);
	OK(same(buf, "th", 2));
	EQ(weft_reader_read(&r, buf, 1), -ETIMEDOUT);
	OK(!r.ended);
	weft_reader_free(&r);
	close(other);
	EQ(weft_close(r.fd), 0);
}

GTEST(no_such_descriptor, 1)
{
	weft_reader r = WEFT_READER(-1);
	char *s, big[8192];
	size_t done = 1;

	EQ(weft_reader_line(&r, &s), -EBADF);
	EQ(weft_reader_peek(&r, 1, &s), -EBADF);
	EQ(weft_reader_read(&r, big, 1), -EBADF);
	EQ(weft_reader_read(&r, big, sizeof big), -EBADF);
	EQ(weft_reader_read_full(&r, big, 1, &done), -EBADF);
	EQ(done, 0);
	weft_reader_free(&r);
}

/* A file that others go on writing to. */
GTEST(ended_can_be_undone, 1)
{
	char name[] = "/tmp/weft-lines-XXXXXX", *line;
	int writes = mkstemp(name);
	weft_reader r = WEFT_READER(open(name, O_RDONLY));

	OK(writes >= 0 && r.fd >= 0);
	unlink(name);
	EQ(write(writes, "one\ntw", 6), 6);
	EQ(weft_reader_line(&r, &line), 4);
	EQ(weft_reader_peek(&r, 4, &line), 2);
	EQ(write(writes, "o\n", 2), 2);
	EQ(weft_reader_peek(&r, 4, &line), 2);
	r.ended = false;
	EQ(weft_reader_line(&r, &line), 4);
	OK(same(line, "two\n", 4));
	EQ(weft_reader_line(&r, &line), 0);
	weft_reader_free(&r);
	close(writes);
	EQ(weft_close(r.fd), 0);
}

GTEST(freed_and_used_again, 1)
{
	weft_reader r = WEFT_READER(fed("one\nrest", 8, 8));
	char *line;

	EQ(weft_reader_line(&r, &line), 4);
	weft_reader_free(&r);
	OK(r.buf == NULL);
	weft_reader_free(&r);
	EQ(weft_close(r.fd), 0);
	r.fd = fed("two\n", 4, 1);
	EQ(weft_reader_line(&r, &line), 4);
	OK(same(line, "two\n", 4));
	EQ(weft_reader_line(&r, &line), 0);
	weft_reader_free(&r);
	EQ(weft_close(r.fd), 0);
	r.fd = fed("three\n", 6, 6);
	EQ(weft_reader_line(&r, &line), 6);
	weft_reader_free(&r);
	EQ(weft_close(r.fd), 0);
}
