/* SPDX-License-Identifier: MIT */
#include "input.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

/* A profile of that size has tens of millions of stacks. */
enum { MAX_BYTES = 512 << 20, FIRST_BYTES = 1 << 16 };

void
die(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("weft-prof: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	/* Not exit(): what was read is still in use, and no leak. */
	_exit(1);
}

void *
take(void *old, size_t n, size_t size)
{
	void *p;

	if (size && n > SIZE_MAX / size)
		die("out of memory");
	p = realloc(old, n && size ? n * size : 1);
	if (!p)
		die("out of memory");
	return p;
}

static void
read_all(struct input *in, FILE *f, const char *path)
{
	size_t cap = FIRST_BYTES, got;

	in->data = take(NULL, cap, 1);
	while ((got = fread(in->data + in->n, 1, cap - in->n, f)) > 0) {
		in->n += got;
		if (in->n > MAX_BYTES)
			die("%s: larger than %d MiB", path, MAX_BYTES >> 20);
		if (in->n == cap)
			in->data = take(in->data, cap *= 2, 1);
	}
	if (ferror(f))
		die("%s: %s", path, strerror(errno));
}

#ifdef HAVE_ZLIB
static struct input
uncompress_all(const struct input *in, const char *path)
{
	struct input out = { take(NULL, FIRST_BYTES, 1), 0 };
	size_t cap = FIRST_BYTES;
	z_stream z = { .next_in = in->data, .avail_in = (uInt)in->n };
	int r = inflateInit2(&z, 15 + 16);	/* gzip's header */

	while (r == Z_OK && out.n <= MAX_BYTES) {
		if (out.n == cap)
			out.data = take(out.data, cap *= 2, 1);
		z.next_out = out.data + out.n;
		z.avail_out = (uInt)(cap - out.n);
		r = inflate(&z, Z_NO_FLUSH);
		out.n = cap - z.avail_out;
	}
	inflateEnd(&z);
	if (r != Z_STREAM_END)
		die("%s: %s", path, out.n > MAX_BYTES ?
		    "too large when uncompressed" :
		    "compressed, and damaged or cut short");
	return out;
}
#else
static struct input
uncompress_all(const struct input *in, const char *path)
{
	(void)in;
	die("%s: compressed, and weft-prof was built without zlib: gunzip it "
	    "first", path);
}
#endif

struct input
input_read(const char *path)
{
	bool piped = strcmp(path, "-") == 0;
	FILE *f = piped ? stdin : fopen(path, "rb");
	struct input in = {0}, out;

	if (!f)
		die("%s: %s", path, strerror(errno));
	read_all(&in, f, path);
	if (!piped)
		fclose(f);
	if (in.n < 2 || in.data[0] != 0x1f || in.data[1] != 0x8b)
		return in;
	out = uncompress_all(&in, path);
	free(in.data);
	return out;
}
