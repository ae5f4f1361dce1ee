/* SPDX-License-Identifier: MIT */
/*
 * A request is an array of arguments, each with its length,
 *
 *	*2\r\n $3\r\nGET\r\n $5\r\nhello\r\n
 *
 * or, inline, a line of words, for people: GET hello. A word may be in quotes;
 * in double ones a backslash has C's meaning.
 *
 * A length that is announced costs no memory: room is made when bytes have
 * come. What was parsed is not parsed again when more comes, so that a large
 * request in small pieces costs no more than in large ones.
 */
#include "resp.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NUMBER_LINE = 32 };	/* the longest line with a length in it */

/* ---- slices ------------------------------------------------------------ */

bool
slice_number(struct slice s, int64_t *number)
{
	bool minus = s.len > 0 && s.at[0] == '-';
	int64_t n = 0;

	if (s.len == (size_t)minus || s.len > 20 ||
	    (s.at[minus] == '0' && s.len > 1))
		return false;
	for (size_t i = minus; i < s.len; i++) {
		int digit = s.at[i] - '0';

		if (digit < 0 || digit > 9 ||
		    __builtin_mul_overflow(n, 10, &n) ||
		    __builtin_sub_overflow(n, digit, &n))
			return false;
	}
	if (!minus && __builtin_sub_overflow(0, n, &n))
		return false;
	*number = n;
	return true;
}

bool
slice_is(struct slice s, const char *word)
{
	return strlen(word) == s.len && strncasecmp(s.at, word, s.len) == 0;
}

/* ---- arguments --------------------------------------------------------- */

static bool
make_room(struct request *r)
{
	size_t cap = r->cap ? r->cap * 2 : 4 * REQUEST_FEW;
	struct piece *p = realloc(r->many, cap * sizeof *p);

	if (!p)
		return false;
	if (!r->cap)
		memcpy(p, r->few, sizeof r->few);
	r->many = p;
	r->cap = cap;
	return true;
}

static bool
add_arg(struct request *r, size_t at, size_t len)
{
	if (r->n == (r->cap ? r->cap : REQUEST_FEW) && !make_room(r))
		return false;
	(r->cap ? r->many : r->few)[r->n++] = (struct piece){ at, len };
	return true;
}

void
request_reset(struct request *r)
{
	free(r->many);
	r->many = NULL;
	r->at = r->n = r->cap = 0;
	r->want = 0;
	r->in_bulk = false;
}

size_t
request_needs(const struct request *r)
{
	return r->at + (r->in_bulk ? r->bulk + 2 : 1);
}

/* ---- arrays ------------------------------------------------------------ */

/*
 * The line at r->at, which is a character and a number: 1, and it is behind us;
 * 0: not all of it is there; -1: it is no such line.
 */
static int
number_line(struct request *r, const char *in, size_t len, int64_t *number)
{
	const char *line = in + r->at, *end;
	size_t left = len - r->at;

	end = memchr(line, '\n', left < NUMBER_LINE ? left : NUMBER_LINE);
	if (!end)
		return left < NUMBER_LINE ? 0 : -1;
	if (end - line < 3 || end[-1] != '\r' ||
	    !slice_number((struct slice){ line + 1,
	    (size_t)(end - line) - 2 }, number))
		return -1;
	r->at += (size_t)(end - line) + 1;
	return 1;
}

/* The length of the next argument; as number_line. */
static int
bulk_line(struct request *r, const char *in, size_t len, size_t most,
    const char **error)
{
	int64_t number = 0;
	int got;

	if (r->at == len)
		return 0;
	if (in[r->at] != '$') {
		*error = "expected '$' before an argument";
		return -1;
	}
	got = number_line(r, in, len, &number);
	if (got == 0)
		return 0;
	*error = "invalid bulk length";
	if (got < 0 || number < 0 || (uint64_t)number > most)
		return -1;
	r->in_bulk = true;
	r->bulk = (size_t)number;
	return 1;
}

/* The argument itself, whose length is known. */
static int
bulk_bytes(struct request *r, const char *in, size_t len, const char **error)
{
	const char *end = in + r->at + r->bulk;

	if (len - r->at < r->bulk + 2)
		return 0;
	if (end[0] != '\r' || end[1] != '\n') {
		*error = "expected a line's end behind an argument";
		return -1;
	}
	if (!add_arg(r, r->at, r->bulk)) {
		*error = "out of memory";
		return -1;
	}
	r->at += r->bulk + 2;
	r->in_bulk = false;
	return 1;
}

static ssize_t
parse_array(struct request *r, char *in, size_t len, size_t most,
    const char **error)
{
	int64_t number = 0;
	int got = 1;

	if (r->want == 0) {
		got = number_line(r, in, len, &number);
		*error = "invalid multibulk length";
		if (got < 0 || number > REQUEST_ARGS)
			return -1;
		if (got == 0)
			return 0;
		if (number <= 0)
			return (ssize_t)r->at;
		r->want = (long)number;
	}
	while (r->n < (size_t)r->want && got > 0) {
		if (!r->in_bulk)
			got = bulk_line(r, in, len, most, error);
		if (got > 0)
			got = bulk_bytes(r, in, len, error);
	}
	return got > 0 ? (ssize_t)r->at : got;
}

/* ---- lines ------------------------------------------------------------- */

static int
hex(char c)
{
	return !isxdigit((unsigned char)c) ? -1 :
	    isdigit((unsigned char)c) ? c - '0' : (c | 32) - 'a' + 10;
}

/* What a backslash and the characters behind it mean, at *p < end. */
static char
escaped(const char **p, const char *end)
{
	static const char from[] = "nrtab", to[] = "\n\r\t\a\b";
	const char *s = *p, *known = memchr(from, *s, sizeof from - 1);

	if (*s == 'x' && end - s > 2 && hex(s[1]) >= 0 && hex(s[2]) >= 0) {
		*p = s + 3;
		return (char)(hex(s[1]) * 16 + hex(s[2]));
	}
	*p = s + 1;
	return known ? to[known - from] : *s;
}

/*
 * A word in quotes, at *from, is written to `to` without them, which is not
 * longer. Its end there; NULL if there is no second quote, or no blank behind.
 */
static char *
unquote(const char **from, const char *end, char *to)
{
	const char *p = *from;
	char quote = *p++;

	while (p < end && *p != quote) {
		char c = *p++;

		if (c == '\\' && p < end && (quote == '"' || *p == quote))
			c = escaped(&p, end);
		*to++ = c;
	}
	if (p++ == end || (p < end && !isspace((unsigned char)*p)))
		return NULL;
	*from = p;
	return to;
}

/* The words of in[0 .. n): false if quotes do not match, or out of memory. */
static bool
split_line(struct request *r, char *in, size_t n)
{
	const char *p = in, *end = in + n;

	for (;;) {
		char *word, *to;

		while (p < end && isspace((unsigned char)*p))
			p++;
		if (p == end)
			return true;
		word = to = in + (p - in);
		if (*p == '"' || *p == '\'')
			to = unquote(&p, end, to);
		else
			while (p < end && !isspace((unsigned char)*p))
				p++, to++;
		if (!to || !add_arg(r, (size_t)(word - in),
		    (size_t)(to - word)))
			return false;
	}
}

static ssize_t
parse_line(struct request *r, char *in, size_t len, const char **error)
{
	char *end = memchr(in + r->at, '\n', len - r->at);

	if ((end ? (size_t)(end - in) : len) > REQUEST_LINE) {
		*error = "too big inline request";
		return -1;
	}
	if (!end) {
		r->at = len;
		return 0;
	}
	if (!split_line(r, in, (size_t)(end - in))) {
		*error = "unbalanced quotes in request";
		return -1;
	}
	return end - in + 1;
}

ssize_t
request_parse(struct request *r, char *in, size_t len, size_t most,
    const char **error)
{
	if (len == 0)
		return 0;
	r->base = in;
	return in[0] == '*' ? parse_array(r, in, len, most, error) :
	    parse_line(r, in, len, error);
}
