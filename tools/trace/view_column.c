/* SPDX-License-Identifier: MIT */
/*
 * See view_column.h. The base64 has no characters that HTML knows, so whatever
 * is in a trace cannot end the element that it is in.
 */
#include "view_column.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

#include "grow.h"
#include "idmap.h"

/* ---- numbers ---- */

void
column_byte(struct column *c, uint8_t byte)
{
	*GROW(c->bytes, c->count, c->room) = byte;
	c->count++;
}

void
column_bytes(struct column *c, const void *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		column_byte(c, ((const uint8_t *)data)[i]);
}

void
column_put(struct column *c, uint64_t value)
{
	for (; value >= 128; value >>= 7)
		column_byte(c, (uint8_t)(value | 128));
	column_byte(c, (uint8_t)value);
}

void
column_word(struct column *c, uint64_t *last, uint64_t value)
{
	uint64_t difference = value - *last;

	*last = value;
	column_bytes(c, &difference, sizeof difference);
}

/* ---- elements ---- */

static void
write_base64(const uint8_t *bytes, size_t count, FILE *out)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < count; i += 3) {
		uint32_t word = (uint32_t)bytes[i] << 16;
		char quad[4] = "====";

		if (i + 1 < count)
			word |= (uint32_t)bytes[i + 1] << 8;
		if (i + 2 < count)
			word |= bytes[i + 2];
		quad[0] = digits[word >> 18];
		quad[1] = digits[word >> 12 & 63];
		if (i + 1 < count)
			quad[2] = digits[word >> 6 & 63];
		if (i + 2 < count)
			quad[3] = digits[word & 63];
		fwrite(quad, 1, sizeof quad, out);
	}
}

#ifdef HAVE_ZLIB
/* Replaces the bytes; false: they are as they were. */
static bool
deflated(struct column *c)
{
	uLongf bytes = compressBound(c->count);
	uint8_t *small = zeroed(bytes, 1);

	if (compress2(small, &bytes, c->bytes, c->count, 6) != Z_OK) {
		free(small);
		return false;
	}
	free(c->bytes);
	c->bytes = small;
	c->count = bytes;
	return true;
}
#else
static bool
deflated(struct column *c)
{
	(void)c;
	return false;
}
#endif

void
column_write(struct column *c, const char *name, FILE *out)
{
	bool small = c->count > 64 && deflated(c);

	fprintf(out, "<script type=\"weft/column\" data-name=\"%s\" "
	    "data-coding=\"%s\">", name, small ? "deflate" : "raw");
	write_base64(c->bytes, c->count, out);
	fputs("</script>\n", out);
	free(c->bytes);
	*c = (struct column){0};
}

/* ---- texts ---- */

struct string { size_t start, bytes; uint32_t next; };

struct strings {
	struct column text;
	struct string *string;
	size_t count, room;
	struct idmap by_hash;		/* -> number, of the first with it */
};

static uint64_t
hash(const char *text, size_t bytes)
{
	uint64_t h = 14695981039346656037u;

	for (size_t i = 0; i < bytes; i++)
		h = (h ^ (uint8_t)text[i]) * 1099511628211u;
	return h ? h : 1;
}

struct strings *
strings_new(void)
{
	struct strings *s = zeroed(1, sizeof *s);

	*GROW(s->string, s->count, s->room) = (struct string){0};
	s->count = 1;
	return s;
}

uint32_t
strings_add(struct strings *s, const char *text, size_t bytes)
{
	uint64_t *first;

	if (!bytes)
		return 0;
	first = idmap_put(&s->by_hash, hash(text, bytes));
	for (uint32_t i = (uint32_t)*first; i; i = s->string[i].next)
		if (s->string[i].bytes == bytes && memcmp(text,
		    s->text.bytes + s->string[i].start, bytes) == 0)
			return i;
	*GROW(s->string, s->count, s->room) = (struct string){
		.start = s->text.count, .bytes = bytes,
		.next = (uint32_t)*first,
	};
	column_bytes(&s->text, text, bytes);
	*first = s->count;
	return (uint32_t)s->count++;
}

uint32_t
strings_add_z(struct strings *s, const char *text)
{
	return strings_add(s, text ? text : "", text ? strlen(text) : 0);
}

void
strings_write(struct strings *s, FILE *out)
{
	struct column lengths = {0};

	for (size_t i = 0; i < s->count; i++)
		column_put(&lengths, s->string[i].bytes);
	column_write(&lengths, "str.len", out);
	column_write(&s->text, "str.bytes", out);
	idmap_free(&s->by_hash);
	free(s->string);
	free(s);
}
