/* SPDX-License-Identifier: MIT */
/*
 * The bytes of a request: its head, and a body in chunks (RFC 9112).
 *
 * Nothing here waits, allocates or copies: the texts of a request point into
 * the buffer that it was read into. A head is parsed line by line, as lines
 * become complete, so that nonsense is found early, and a head that comes byte
 * by byte is looked at only once.
 *
 * It is strict, since what two programs on the way read differently lets one
 * client put words into another's mouth. What is refused although some would
 * take it: a line that ends with '\n' alone, a '\r' or any other control byte
 * inside of one, lines that continue the one before, blanks before a colon or
 * around a target, a repeated or doubtful length, a length beside chunks,
 * chunks in HTTP/1.0, more or less than one Host.
 *
 * (Debian's parser for C, libhttp-parser, is no longer maintained by its
 * authors, and this program would need a package for it.)
 */
#include "parse.h"

#include <errno.h>
#include <string.h>

/* ---- bytes ------------------------------------------------------------- */

enum {
	TOKEN = 1,		/* of a method or a name */
	TARGET = 2,		/* of a request's target */
	HOST = 4,		/* of a host's name */
	TEXT = 8		/* of a value */
};

#define CLASS_(c) \
	((((c) >= '0' && (c) <= '9') || ((c) >= 'a' && (c) <= 'z') || \
	    ((c) >= 'A' && (c) <= 'Z') ? TOKEN | HOST : 0) | \
	    ((c) == '!' || (c) == '$' || (c) == '&' || (c) == '\'' || \
	    (c) == '*' || (c) == '+' || (c) == '-' || (c) == '.' || \
	    (c) == '_' || (c) == '~' || (c) == '%' ? HOST : 0) | \
	    ((c) == '(' || (c) == ')' || (c) == ',' || (c) == ';' || \
	    (c) == '=' ? HOST : 0) | \
	    ((c) == '!' || (c) == '#' || (c) == '$' || (c) == '%' || \
	    (c) == '&' || (c) == '\'' || (c) == '*' || (c) == '+' || \
	    (c) == '-' || (c) == '.' || (c) == '^' || (c) == '_' || \
	    (c) == '`' || (c) == '|' || (c) == '~' ? TOKEN : 0) | \
	    ((c) > ' ' && (c) < 127 && (c) != '#' ? TARGET : 0) | \
	    ((c) == '\t' || ((c) >= ' ' && (c) != 127) ? TEXT : 0))
#define C4_(c) CLASS_(c), CLASS_((c) + 1), CLASS_((c) + 2), CLASS_((c) + 3)
#define C16_(c) C4_(c), C4_((c) + 4), C4_((c) + 8), C4_((c) + 12)
#define C64_(c) C16_(c), C16_((c) + 16), C16_((c) + 32), C16_((c) + 48)

static const uint8_t class[256] = { C64_(0), C64_(64), C64_(128), C64_(192) };

static bool
is(char c, int what)
{
	return class[(uint8_t)c] & what;
}

/* How many of the first bytes are of that kind. */
static size_t
span(const char *s, size_t n, int what)
{
	size_t i = 0;

	while (i < n && is(s[i], what))
		i++;
	return i;
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Letters in small; what is none may change too. */
static char
small(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* Has it no control bytes but tabs? Eight at a time as long as it is clear
 * that there is none; the arithmetic may be wrong only in doubting. */
static bool
is_text(const char *s, size_t n)
{
	const uint64_t ones = UINT64_MAX / 255, high = ones << 7;
	size_t i = 0;
	uint64_t x;

	for (; i + 8 <= n; i += 8) {
		memcpy(&x, s + i, 8);
		if ((((x - ones * 32) & ~x) |
		    (((x ^ ones * 127) - ones) & ~(x ^ ones * 127))) & high &&
		    span(s + i, 8, TEXT) < 8)
			return false;
	}
	return span(s + i, n - i, TEXT) == n - i;
}

/* ---- texts ------------------------------------------------------------- */

bool
http_text_is(struct http_text t, const char *word)
{
	size_t i;

	for (i = 0; i < t.len; i++)
		if (word[i] == 0 || small(t.at[i]) != small(word[i]))
			return false;
	return word[i] == 0;
}

struct http_text
http_field(const struct http_request *r, const char *name)
{
	for (unsigned i = 0; i < r->n_fields; i++)
		if (http_text_is(r->fields[i].name, name))
			return r->fields[i].value;
	return (struct http_text){ NULL, 0 };
}

static int
hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = small(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

ssize_t
http_decode(struct http_text t, char *out, size_t cap)
{
	size_t n = 0;

	for (size_t i = 0; i < t.len; i++) {
		int c = (uint8_t)t.at[i];

		if (c == '%') {
			if (t.len - i < 3 || hex(t.at[i + 1]) < 0 ||
			    hex(t.at[i + 2]) < 0)
				return -EINVAL;
			c = hex(t.at[i + 1]) << 4 | hex(t.at[i + 2]);
			i += 2;
		}
		if (c == 0)
			return -EINVAL;
		if (n + 1 >= cap)
			return -ENAMETOOLONG;
		out[n++] = (char)c;
	}
	if (n < cap)
		out[n] = 0;
	return n < cap ? (ssize_t)n : -ENAMETOOLONG;
}

/* Without blanks at both ends. */
static struct http_text
trimmed(const char *s, size_t n)
{
	while (n > 0 && is_blank(*s)) {
		s++;
		n--;
	}
	while (n > 0 && is_blank(s[n - 1]))
		n--;
	return (struct http_text){ s, n };
}

/* ---- the request line -------------------------------------------------- */

static enum http_method
method_of(struct http_text t)
{
	static const char *const names[] = { "GET", "HEAD", "POST", "PUT",
		"DELETE", "PATCH", "OPTIONS" };

	for (int i = 0; i < HTTP_OTHER; i++)
		if (strlen(names[i]) == t.len &&
		    memcmp(names[i], t.at, t.len) == 0)
			return i;
	return HTTP_OTHER;
}

/* name, or [address], and maybe a port. Empty is allowed. */
static bool
is_host(struct http_text t)
{
	const char *s = t.at;
	size_t n = 0;

	if (t.len > 0 && s[0] == '[') {
		for (n = 1; n < t.len && s[n] != ']'; n++)
			if (hex(s[n]) < 0 && s[n] != ':' && s[n] != '.')
				return false;
		if (n == t.len || n == 1)
			return false;
		n++;
	} else {
		n = span(s, t.len, HOST);
		if (n == 0 && t.len > 0)
			return false;
	}
	if (n < t.len && s[n] == ':')
		for (n++; n < t.len && s[n] >= '0' && s[n] <= '9'; n++)
			;
	return n == t.len;
}

/* The path and query of a target, from s to its end. */
static void
split(struct http_request *r, const char *s, const char *end)
{
	const char *q = memchr(s, '?', (size_t)(end - s));

	r->path = (struct http_text){ s, (size_t)((q ? q : end) - s) };
	r->query = (struct http_text){ q ? q + 1 : end,
		q ? (size_t)(end - q - 1) : 0 };
}

/* "http://host/path", as proxies are asked: its host is the one that counts. */
static int
take_absolute(struct http_head *p, struct http_request *r)
{
	struct http_text t = r->target;
	const char *end = t.at + t.len, *s = t.at + 7, *path = s;

	if (t.len <= 7 || !http_text_is((struct http_text){ t.at, 7 },
	    "http://"))
		return -400;
	while (path < end && *path != '/' && *path != '?')
		path++;
	r->host = (struct http_text){ s, (size_t)(path - s) };
	p->absolute = true;
	if (r->host.len == 0 || !is_host(r->host))
		return -400;
	split(r, path, end);
	if (r->path.len == 0)
		r->path = (struct http_text){
			r->method == HTTP_OPTIONS ? "*" : "/", 1 };
	return 0;
}

static int
take_target(struct http_head *p, struct http_request *r)
{
	const char *s = r->target.at;

	if (s[0] == '/') {
		split(r, s, s + r->target.len);
		return 0;
	}
	if (r->method == HTTP_OPTIONS && r->target.len == 1 && s[0] == '*') {
		r->path = r->target;
		r->query = (struct http_text){ s + 1, 0 };
		return 0;
	}
	if (r->method == HTTP_OTHER)	/* CONNECT host:port, say */
		return -501;
	return take_absolute(p, r);
}

/* "HTTP/1.1": what is no version at all is worse than another version. */
static int
take_version(struct http_request *r, const char *s, size_t n)
{
	if (n != 8 || memcmp(s, "HTTP/", 5) != 0 || s[6] != '.' ||
	    s[5] < '0' || s[5] > '9' || s[7] < '0' || s[7] > '9')
		return -400;
	if (s[5] != '1')
		return -505;
	r->minor = s[7] > '0';
	return 0;
}

static int
take_request_line(struct http_head *p, struct http_request *r, const char *s,
    size_t n)
{
	size_t m = span(s, n, TOKEN), t;
	int error;

	if (m == 0 || m == n || s[m] != ' ')
		return -400;
	r->method_name = (struct http_text){ s, m };
	r->method = method_of(r->method_name);
	s += m + 1;
	n -= m + 1;
	t = span(s, n, TARGET);
	if (t == 0 || t == n || s[t] != ' ')
		return -400;
	r->target = (struct http_text){ s, t };
	error = take_version(r, s + t + 1, n - t - 1);
	return error ? error : take_target(p, r);
}

/* ---- header lines ------------------------------------------------------ */

/* Digits alone, and no second one, though it were the same. */
static int
take_length(struct http_head *p, struct http_request *r, struct http_text v)
{
	int64_t n = 0;

	if (p->has_length || v.len == 0)
		return -400;
	p->has_length = true;
	for (size_t i = 0; i < v.len; i++) {
		if (v.at[i] < '0' || v.at[i] > '9' ||
		    n > (INT64_MAX - 9) / 10)
			return -400;
		n = n * 10 + (v.at[i] - '0');
	}
	r->length = n;
	return 0;
}

/* Chunks, and nothing else: what does not end in chunks has no end. */
static int
take_encoding(struct http_head *p, struct http_request *r, struct http_text v)
{
	struct http_text last = v;

	if (p->has_encoding)
		return -400;
	p->has_encoding = true;
	for (size_t i = 0; i < v.len; i++)
		if (v.at[i] == ',')
			last = trimmed(v.at + i + 1, v.len - i - 1);
	if (!http_text_is(last, "chunked"))
		return -400;
	r->length = HTTP_CHUNKED;
	return last.len == v.len ? 0 : -501;
}

static int
take_host(struct http_head *p, struct http_request *r, struct http_text v)
{
	if (p->has_host || !is_host(v))
		return -400;
	p->has_host = true;
	if (!p->absolute)
		r->host = v;
	return 0;
}

/* A list of words. */
static void
take_connection(struct http_head *p, struct http_text v)
{
	const char *s = v.at, *end = v.at + v.len, *comma;

	for (; s < end; s = comma + 1) {
		struct http_text word;

		comma = memchr(s, ',', (size_t)(end - s));
		comma = comma ? comma : end;
		word = trimmed(s, (size_t)(comma - s));
		p->says_close |= http_text_is(word, "close");
		p->says_keep |= http_text_is(word, "keep-alive");
	}
}

static int
take_expect(struct http_request *r, struct http_text v)
{
	if (r->minor == 0)	/* knows nothing of it */
		return 0;
	r->expects = true;
	return http_text_is(v, "100-continue") ? 0 : -417;
}

/* Those that say where a request ends, and what becomes of the connection. */
static int
take_known(struct http_head *p, struct http_request *r, struct http_field *f)
{
	switch (f->name.len) {
	case 4:
		return http_text_is(f->name, "host") ?
		    take_host(p, r, f->value) : 0;
	case 6:
		return http_text_is(f->name, "expect") ?
		    take_expect(r, f->value) : 0;
	case 10:
		if (http_text_is(f->name, "connection"))
			take_connection(p, f->value);
		return 0;
	case 14:
		return http_text_is(f->name, "content-length") ?
		    take_length(p, r, f->value) : 0;
	case 17:
		return http_text_is(f->name, "transfer-encoding") ?
		    take_encoding(p, r, f->value) : 0;
	}
	return 0;
}

static int
take_field(struct http_head *p, const struct http_limits *max,
    struct http_request *r, const char *s, size_t n)
{
	size_t m = span(s, n, TOKEN);
	struct http_field *f;

	/* Also a line that begins with a blank, and goes on with the last. */
	if (m == 0 || m == n || s[m] != ':' || !is_text(s + m, n - m))
		return -400;
	if (r->n_fields == max->fields)
		return -431;
	f = &r->fields[r->n_fields++];
	f->name = (struct http_text){ s, m };
	f->value = trimmed(s + m + 1, n - m - 1);
	return take_known(p, r, f);
}

/* The empty line: does it all fit together? */
static int
take_end(struct http_head *p, struct http_request *r)
{
	if (p->has_encoding && (p->has_length || r->minor == 0))
		return -400;
	if (r->minor > 0 && !p->has_host)
		return -400;
	r->keep_alive = !p->says_close && (r->minor > 0 || p->says_keep);
	return r->method == HTTP_OTHER ? -501 : 0;
}

/* ---- heads ------------------------------------------------------------- */

static void
begin(struct http_request *r)
{
	r->method = HTTP_GET;
	r->n_fields = 0;
	r->length = 0;
	r->expects = false;
	r->host = (struct http_text){ "", 0 };
}

/* One line without its end: 1 if it is the last, or -status. */
static int
take_line(struct http_head *p, const struct http_limits *max,
    struct http_request *r, const char *s, size_t n)
{
	int error;

	if (!p->in_fields) {
		if (n == 0)	/* left over from the request before */
			return 0;
		begin(r);
		p->in_fields = true;
		return take_request_line(p, r, s, n);
	}
	if (n > 0)
		return take_field(p, max, r, s, n);
	error = take_end(p, r);
	return error ? error : 1;
}

/*
 * The line goes on at least to buf[upto]: which limit is behind it, if any?
 * The one that comes first, however the bytes arrive.
 */
static int
too_long(const struct http_head *p, const struct http_limits *max, size_t upto)
{
	size_t end = p->at + max->line + 1;

	if (!p->in_fields && upto > end && end < max->head)
		return -414;
	return upto < max->head ? 0 : -431;
}

ssize_t
http_head_parse(struct http_head *p, const struct http_limits *max,
    const char *buf, size_t len, struct http_request *r)
{
	const char *s, *lf;
	int end = 0;

	while (end == 0) {
		lf = memchr(buf + p->seen, '\n', len - p->seen);
		p->seen = lf ? (size_t)(lf - buf) : len;
		end = too_long(p, max, p->seen);
		if (end != 0 || !lf)
			return end;
		s = buf + p->at;
		p->at = ++p->seen;
		if (lf == s || lf[-1] != '\r')
			return -400;
		end = take_line(p, max, r, s, (size_t)(lf - s) - 1);
	}
	return end > 0 ? (ssize_t)p->at : end;
}

/* ---- chunks ------------------------------------------------------------ */

/*
 * size [;extension] CRLF data CRLF ... 0 [;extension] CRLF *(name: value CRLF)
 * CRLF. The names say what was read last; arrows are bytes.
 */
enum {
	NOTHING,	/* a digit -> SIZE */
	SIZE,		/* blank -> PAD, ; -> EXTENSION, \r -> SIZE_CR */
	PAD,		/* blanks before a ; -> EXTENSION */
	EXTENSION,	/* \r -> SIZE_CR */
	SIZE_CR,	/* \n -> DATA, or TRAILER if the size is 0 */
	DATA,		/* when all is there: \r -> DATA_CR */
	DATA_CR,	/* \n -> NOTHING */
	TRAILER,	/* \r -> END_CR, else -> NAME */
	NAME,		/* : -> VALUE */
	VALUE,		/* \r -> VALUE_CR */
	VALUE_CR,	/* \n -> TRAILER */
	END_CR,		/* \n -> ENDED */
	ENDED
};

enum { LINE_BYTES = 256, TRAILER_BYTES = 4096 };

/* A byte of the line with the size: the state after it, or -status. */
static int
size_byte(struct http_chunks *c, char b)
{
	int digit = hex(b);

	if (++c->line > LINE_BYTES)
		return -400;
	if (c->state <= SIZE && digit >= 0) {
		if (c->left >> 58)
			return -400;
		c->left = c->left << 4 | (uint64_t)digit;
		return SIZE;
	}
	if (c->state == NOTHING)
		return -400;
	if (b == '\r')
		return c->state == PAD ? -400 : SIZE_CR;
	if (c->state == EXTENSION)
		return is(b, TEXT) ? EXTENSION : -400;
	if (b == ';')
		return EXTENSION;
	return is_blank(b) ? PAD : -400;
}

/* A byte of what follows the last chunk. */
static int
trailer_byte(struct http_chunks *c, char b)
{
	if (++c->line > TRAILER_BYTES)
		return -431;
	if (c->state == VALUE)
		return b == '\r' ? VALUE_CR : is(b, TEXT) ? VALUE : -400;
	if (c->state == TRAILER && b == '\r')
		return END_CR;
	if (c->state == NAME && b == ':')
		return VALUE;
	return is(b, TOKEN) ? NAME : -400;
}

/* A byte that is no data. */
static int
frame_byte(struct http_chunks *c, char b)
{
	switch (c->state) {
	case SIZE_CR:
		c->line = 0;
		return b != '\n' ? -400 : c->left ? DATA : TRAILER;
	case DATA:
		return b == '\r' ? DATA_CR : -400;
	case DATA_CR:
		return b == '\n' ? NOTHING : -400;
	case VALUE_CR:
		return b == '\n' ? TRAILER : -400;
	case END_CR:
		return b == '\n' ? ENDED : -400;
	}
	return c->state < SIZE_CR ? size_byte(c, b) : trailer_byte(c, b);
}

ssize_t
http_chunks_take(struct http_chunks *c, const char *in, size_t len,
    size_t want, size_t *data)
{
	size_t i = 0, run;

	*data = 0;
	while (i < len && c->state != ENDED) {
		int state;

		if (http_chunks_run(c) > 0) {
			run = len - i < want ? len - i : want;
			run = run < c->left ? run : c->left;
			http_chunks_skip(c, run);
			*data = run;
			return (ssize_t)(i + run);
		}
		state = frame_byte(c, in[i++]);
		if (state < 0)
			return state;
		c->state = (uint8_t)state;
	}
	return (ssize_t)i;
}

bool
http_chunks_ended(const struct http_chunks *c)
{
	return c->state == ENDED;
}

uint64_t
http_chunks_run(const struct http_chunks *c)
{
	return c->state == DATA ? c->left : 0;
}

void
http_chunks_skip(struct http_chunks *c, uint64_t n)
{
	c->left -= n;
}
