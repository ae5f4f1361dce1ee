/* SPDX-License-Identifier: MIT */
/*
 * zlib: compression on many goroutines, with memory from functions that yield;
 * and gzip files that are pipes between goroutines, whose ends zlib reads and
 * writes with blocking calls.
 */
#define _GNU_SOURCE 1
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <weft.h>

#include "counter.h"
#include "run_env.h"
#include "t.h"

enum {
	WORKERS = 200, ROUNDS = 2,
	LENGTH = 40000,		/* of a text */
	PIPES = 100,
};

static int done;

/* Words of a small vocabulary in an order that is the seed's. */
static void
make_text(unsigned char *text, size_t n, unsigned seed)
{
	static const char *const words[] = { "park ", "ready ", "steal ",
		"poll ", "channel ", "timer ", "stack ", "signal " };

	for (size_t i = 0; i < n; ) {
		const char *w = words[rand_r(&seed) % 8];
		size_t len = strlen(w);

		len = len < n - i ? len : n - i;
		memcpy(text + i, w, len);
		i += len;
	}
}

/* ---- memory to memory ---- */

static void *
yielding_alloc(void *opaque, unsigned items, unsigned size)
{
	(void)opaque;
	weft_yield();
	return calloc(items, size);
}

static void
yielding_free(void *opaque, void *p)
{
	(void)opaque;
	weft_yield();
	free(p);
}

/* Step by step, with other goroutines between the steps. */
static size_t
deflate_text(const unsigned char *text, unsigned char *out, size_t cap)
{
	z_stream z = { .zalloc = yielding_alloc, .zfree = yielding_free };
	int r;

	EQ(deflateInit(&z, 6), Z_OK);
	z.next_in = (unsigned char *)(uintptr_t)text;
	z.next_out = out;
	do {
		size_t in = (size_t)(z.next_in - text);
		size_t used = (size_t)(z.next_out - out);

		z.avail_in = (unsigned)(LENGTH - in > 7000 ? 7000 :
		    LENGTH - in);
		z.avail_out = (unsigned)(cap - used);
		r = deflate(&z, in + z.avail_in < LENGTH ? Z_NO_FLUSH :
		    Z_FINISH);
		weft_yield();
	} while (r == Z_OK);
	EQ(r, Z_STREAM_END);
	EQ(deflateEnd(&z), Z_OK);
	return (size_t)(z.next_out - out);
}

static void
inflate_text(unsigned char *packed, size_t n, unsigned char *out)
{
	z_stream z = { .zalloc = yielding_alloc, .zfree = yielding_free };
	int r;

	EQ(inflateInit(&z), Z_OK);
	z.next_in = packed;
	z.avail_in = (unsigned)n;
	z.next_out = out;
	do {
		size_t got = (size_t)(z.next_out - out);

		z.avail_out = (unsigned)(LENGTH - got > 5000 ? 5000 :
		    LENGTH - got);
		r = inflate(&z, Z_NO_FLUSH);
		weft_yield();
	} while (r == Z_OK);
	EQ(r, Z_STREAM_END);
	EQ(z.next_out - out, LENGTH);
	EQ(inflateEnd(&z), Z_OK);
}

static void
worker(unsigned id)
{
	size_t cap = compressBound(LENGTH), n;
	unsigned char *text = malloc(LENGTH), *back = malloc(LENGTH);
	unsigned char *packed = malloc(cap);
	uLongf len = LENGTH;

	for (unsigned i = 0; i < ROUNDS; i++) {
		make_text(text, LENGTH, id * ROUNDS + i + 1);
		n = deflate_text(text, packed, cap);
		OK(n < LENGTH / 2);
		inflate_text(packed, n, back);
		OK(memcmp(text, back, LENGTH) == 0);
		EQ(adler32(1, text, LENGTH), adler32(1, back, LENGTH));
		memset(back, 0, LENGTH);
		EQ(uncompress(back, &len, packed, n), Z_OK);
		OK(len == LENGTH && memcmp(text, back, LENGTH) == 0);
		counter_add(&done, 1);
	}
	free(text);
	free(back);
	free(packed);
}

static void
compress_all(void)
{
	weft_waitgroup wg = {0};

	for (unsigned i = 0; i < WORKERS; i++)
		weft_waitgroup_go(&wg, worker, i);
	weft_waitgroup_wait(&wg);
	EQ(counter_get(&done), WORKERS * ROUNDS);
}
GTEST(compress_on_1, 1) { compress_all(); }
GTEST(compress_on_4, 4) { compress_all(); }
ETEST(compress_moving, 2, "WEFT_MIGRATE=1") { compress_all(); }
ETEST(compress_sliced, 2, "WEFT_SLICE_US=50") { compress_all(); }

/* ---- gzip files that are pipes ---- */

static void
packer(int fd, unsigned seed)
{
	gzFile f = gzdopen(fd, "wb1");
	unsigned char *text = malloc(LENGTH);

	for (unsigned i = 0; i < ROUNDS; i++) {
		make_text(text, LENGTH, seed + i);
		EQ(gzwrite(f, text, LENGTH), LENGTH);
		EQ(gzflush(f, Z_SYNC_FLUSH), Z_OK);
	}
	EQ(gzclose(f), Z_OK);
	free(text);
}

/* Smaller pieces than were written. */
static void
unpacker(int fd, unsigned seed)
{
	gzFile f = gzdopen(fd, "rb");
	unsigned char *text = malloc(LENGTH), *back = malloc(LENGTH);
	char byte;

	for (unsigned i = 0; i < ROUNDS; i++) {
		make_text(text, LENGTH, seed + i);
		for (int n = 0; n < LENGTH; n += 1000)
			EQ(gzread(f, back + n, 1000), 1000);
		OK(memcmp(text, back, LENGTH) == 0);
	}
	EQ(gzread(f, &byte, 1), 0);
	EQ(gzclose(f), Z_OK);
	counter_add(&done, 1);
	free(text);
	free(back);
}

static void
pipe_all(void)
{
	weft_waitgroup wg = {0};
	int end[2];

	for (unsigned i = 0; i < PIPES; i++) {
		EQ(pipe(end), 0);
		weft_waitgroup_go(&wg, unpacker, end[0], i * 100 + 1);
		weft_waitgroup_go(&wg, packer, end[1], i * 100 + 1);
	}
	weft_waitgroup_wait(&wg);
	EQ(counter_get(&done), PIPES);
}
GTEST(pipes_on_1, 1) { pipe_all(); }
GTEST(pipes_on_4, 4) { pipe_all(); }
ETEST(pipes_moving, 2, "WEFT_MIGRATE=1") { pipe_all(); }
