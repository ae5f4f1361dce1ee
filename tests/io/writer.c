/* SPDX-License-Identifier: MIT */
/*
 * A descriptor written through a buffer: no byte is lost, doubled or out of
 * order, also if writes fail and are tried again.
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <unistd.h>
#include "fd_pairs.h"

static weft_waitgroup all;

/* What has arrived, without waiting. */
static ssize_t
arrived(int fd, char *buf, size_t cap)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t n = 0;

	while (n < cap && weft_try_poll(&p, 1) == 1 && p.revents & POLLIN) {
		ssize_t r = weft_read(fd, buf + n, cap - n);

		if (r <= 0)
			break;
		n += (size_t)r;
	}
	return (ssize_t)n;
}

static bool
arrived_is(int fd, const char *text)
{
	char buf[4096];
	ssize_t n = arrived(fd, buf, sizeof buf);

	return n == (ssize_t)strlen(text) && !memcmp(buf, text, (size_t)n);
}

GTEST(each_kind, 1)
{
	int end[2];
	weft_writer w;

	wire(PIPE, end);
	w = (weft_writer)WEFT_WRITER(end[1]);
	EQ(weft_writer_flush(&w), 0);
	EQ(weft_writer_text(&w, ""), 0);
	EQ(weft_writer_write(&w, NULL, 0), 0);
	EQ(weft_writer_printf(&w, "%s", ""), 0);
	OK(arrived_is(end[0], ""));
	EQ(weft_writer_text(&w, "one "), 4);
	EQ(weft_writer_printf(&w, "%d %s ", 2, "three"), 8);
	EQ(weft_writer_byte(&w, '4'), 0);
	EQ(weft_writer_byte(&w, 0x80 + '\n'), 0);
	EQ(weft_writer_write(&w, "five", 4), 4);
	/* Nothing before it is flushed. */
	OK(arrived_is(end[0], ""));
	EQ(weft_writer_flush(&w), 0);
	OK(arrived_is(end[0], "one 2 three 4\x8a" "five"));
	/* What is not flushed is gone. */
	EQ(weft_writer_text(&w, "lost"), 4);
	weft_writer_free(&w);
	EQ(weft_writer_flush(&w), 0);
	OK(arrived_is(end[0], ""));
	EQ(weft_writer_text(&w, "again"), 5);
	EQ(weft_writer_flush(&w), 0);
	OK(arrived_is(end[0], "again"));
	weft_writer_free(&w);
	wire_drop(end);
}

/* A text that just fits is printed at once; longer ones need room. */
GTEST(printf_at_every_length, 1)
{
	static char text[300], buf[600];
	int end[2];

	wire(PIPE_NB, end);
	memset(text, 't', sizeof text);
	for (int before = 0; before < 100; before += 7)
		for (int len = 0; len < 250; len++) {
			weft_writer w = WEFT_WRITER(end[1]);

			w.size = 100;
			EQ(weft_writer_write(&w, text, (size_t)before), before);
			EQ(weft_writer_printf(&w, "%.*s!", len, text), len + 1);
			EQ(weft_writer_flush(&w), 0);
			EQ(arrived(end[0], buf, sizeof buf), before + len + 1);
			EQ(buf[before + len], '!');
			OK(before + len == 0 || buf[before + len - 1] == 't');
			weft_writer_free(&w);
		}
	wire_drop(end);
}

/* ---- all sizes, in order ---- */

static void
write_all_ways(int fd, size_t total, size_t size, unsigned seed)
{
	weft_writer w = WEFT_WRITER(fd);
	static char part[40000];
	size_t at = 0;

	w.size = size;
	while (at < total) {
		size_t n = (size_t)rand_r(&seed) % (rand_r(&seed) % 4 ? 60 :
		    sizeof part - 1);

		if (n > total - at)
			n = total - at;
		wire_fill(part, n, at);
		for (size_t i = 0; i < n; i++)	/* a text has no NUL */
			part[i] = (char)(part[i] & 63) + ' ';
		part[n] = 0;
		switch (rand_r(&seed) % 4) {
		case 0: EQ(weft_writer_write(&w, part, n), n); break;
		case 1: EQ(weft_writer_text(&w, part), n); break;
		case 2: EQ(weft_writer_printf(&w, "%s", part), n); break;
		default:
			n = n > 1 ? 1 : n;
			if (n)
				EQ(weft_writer_byte(&w, part[0]), 0);
		}
		at += n;
		if (rand_r(&seed) % 16 == 0)
			EQ(weft_writer_flush(&w), 0);
	}
	EQ(weft_writer_flush(&w), 0);
	weft_writer_free(&w);
	EQ(weft_close(fd), 0);
	weft_waitgroup_done(&all);
}

static void
in_order(size_t size)
{
	enum { TOTAL = 1000 * 1000 };
	char *got = malloc(TOTAL + 1), want;
	size_t n = (size_t)t_scale(TOTAL), done = 0, bad = 0;
	int end[2];

	wire(STREAM, end);
	weft_waitgroup_add(&all, 1);
	weft_go(write_all_ways, end[1], n, size, (unsigned)size);
	EQ(weft_read_full(end[0], got, n + 1, &done), n);
	EQ(done, n);
	for (size_t i = 0; i < done && !bad; i++) {
		want = (char)(wire_byte(i) & 63) + ' ';
		if (got[i] != want)
			bad = i + 1;
	}
	EQ(bad, 0);
	weft_waitgroup_wait(&all);
	EQ(weft_close(end[0]), 0);
	free(got);
}

GTEST(in_order_of_1, 2) { in_order(1); }
GTEST(in_order_of_100, 2) { in_order(100); }
GTEST(in_order_by_default, 2) { in_order(0); }

/* ---- what fails ---- */

/*
 * A pipe that is full, a deadline that is over: the same call is made again
 * until it succeeds, and all arrives once.
 */
GTEST(fails_and_continues, 1)
{
	enum { TOTAL = 300 * 1000 };
	static char got[TOTAL + 100];
	size_t taken = 0, n = 0, failed = 0;
	weft_writer w;
	int end[2];

	wire(PIPE_NB, end);
	w = (weft_writer)WEFT_WRITER(end[1]);
	w.size = 500;
	while (taken < TOTAL) {
		char line[70];
		ssize_t r;

		snprintf(line, sizeof line, "%020zu%047d\n", taken, 0);
		EQ(weft_set_write_deadline(end[1], weft_deadline(20 * WEFT_US)),
		    0);
		switch (taken / 68 % 3) {
		case 0: r = weft_writer_printf(&w, "%s", line); break;
		case 1: r = weft_writer_text(&w, line); break;
		default: r = weft_writer_write(&w, line, 68);
		}
		if (r == -ETIMEDOUT) {
			failed++;
			n += (size_t)arrived(end[0], got + n, 3000);
			continue;
		}
		EQ(r, 68);
		taken += 68;
	}
	EQ(weft_set_write_deadline(end[1], 0), 0);
	for (int err = 1; err; n += (size_t)arrived(end[0], got + n,
	    sizeof got - n)) {
		EQ(weft_set_write_deadline(end[1], weft_deadline(20 * WEFT_US)),
		    0);
		err = weft_writer_flush(&w);
		OK(err == 0 || err == -ETIMEDOUT);
	}
	OK(failed > 0);
	EQ(n, taken);
	for (size_t at = 0; at < n; at += 68) {
		char line[70];

		snprintf(line, sizeof line, "%020zu%047d\n", at, 0);
		if (memcmp(got + at, line, 68) != 0) {
			EQ(at, -1);
			break;
		}
	}
	weft_writer_free(&w);
	wire_drop(end);
}

/* More than a buffer is written at once, and said how much of it. */
GTEST(large_write_fails_in_the_middle, 1)
{
	static char data[1 << 20], got[1 << 20];
	weft_writer w;
	ssize_t n;
	int end[2];

	wire(PIPE_NB, end);
	w = (weft_writer)WEFT_WRITER(end[1]);
	wire_fill(data, sizeof data, 4);
	EQ(weft_writer_text(&w, "head"), 4);
	/* It is over when the first part is written, and the rest waits. */
	weft_waitgroup_add(&all, 1);
	weft_go(expire_when_awaited, end[1], weft_set_write_deadline, &all);
	n = weft_writer_write(&w, data, sizeof data);
	weft_waitgroup_wait(&all);
	OK(n > 0 && n < (ssize_t)sizeof data);
	EQ(weft_writer_write(&w, data, sizeof data), -ETIMEDOUT);
	EQ(arrived(end[0], got, sizeof got), n + 4);
	OK(!memcmp(got, "head", 4) && !memcmp(got + 4, data, (size_t)n));
	weft_writer_free(&w);
	wire_drop(end);
}

GTEST(no_reader, 1)
{
	weft_writer w;
	int end[2];

	wire(STREAM, end);
	w = (weft_writer)WEFT_WRITER(end[1]);
	EQ(weft_close(end[0]), 0);
	EQ(weft_writer_text(&w, "nobody"), 6);
	EQ(weft_writer_flush(&w), -EPIPE);
	EQ(weft_writer_flush(&w), -EPIPE);
	weft_writer_free(&w);
	w.fd = -1;
	EQ(weft_writer_text(&w, "nothing"), 7);
	EQ(weft_writer_flush(&w), -EBADF);
	weft_writer_free(&w);
	EQ(weft_close(end[1]), 0);
}

/* %lc of a character that the locale does not have. */
GTEST(what_libc_refuses, 1)
{
	weft_writer w = WEFT_WRITER(-1);

	EQ(weft_writer_printf(&w, "%lc", 0x20ac), -EINVAL);
	EQ(weft_writer_text(&w, "x"), 1);
	EQ(weft_writer_printf(&w, "%lc", 0x20ac), -EINVAL);
	EQ(w.end - w.start, 1);
	weft_writer_free(&w);
}

/* ---- several goroutines, each with its own ---- */

static void
answers(int fd)
{
	weft_reader r = WEFT_READER(fd);
	weft_writer w = WEFT_WRITER(fd);
	char *line;
	ssize_t n;

	while ((n = weft_reader_line(&r, &line)) > 0) {
		EQ(weft_writer_printf(&w, "you said: %.*s", (int)n, line),
		    n + 10);
		EQ(weft_writer_flush(&w), 0);
	}
	weft_reader_free(&r);
	weft_writer_free(&w);
	EQ(weft_close(fd), 0);
	weft_waitgroup_done(&all);
}

static void
asks(int fd, int nr)
{
	weft_reader r = WEFT_READER(fd);
	weft_writer w = WEFT_WRITER(fd);
	char want[64], *line;

	for (int i = 0; i < 100; i++) {
		EQ(weft_writer_printf(&w, "%d of %d\n", i, nr) > 0, 1);
		EQ(weft_writer_flush(&w), 0);
		snprintf(want, sizeof want, "you said: %d of %d\n", i, nr);
		EQ(weft_reader_line(&r, &line), strlen(want));
		OK(!memcmp(line, want, strlen(want)));
	}
	weft_reader_free(&r);
	weft_writer_free(&w);
	EQ(weft_close(fd), 0);
	weft_waitgroup_done(&all);
}

GTEST(conversations, 4)
{
	for (int i = 0; i < 20; i++) {
		int end[2];

		wire(i % 2 ? TCP4 : STREAM, end);
		weft_waitgroup_add(&all, 2);
		weft_go(answers, end[0]);
		weft_go(asks, end[1], i);
	}
	weft_waitgroup_wait(&all);
}
