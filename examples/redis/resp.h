/* SPDX-License-Identifier: MIT */
/*
 * The protocol, RESP 2: requests out of bytes; see resp.c. Replies are in
 * reply.h.
 */
#ifndef REDIS_RESP_H
#define REDIS_RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Bytes of any value, which belong to another object. */
struct slice {
	const char *at;
	size_t len;
};

enum {
	REQUEST_ARGS = 1 << 20,		/* of one request */
	REQUEST_LINE = 64 << 10,	/* an inline request */
	REQUEST_FEW = 16		/* arguments that need no memory */
};

/*
 * A request that is being read. All is relative to where it begins, since the
 * buffer may move, or grow, until it is complete. All zeros is one that has
 * not begun.
 */
struct request {
	size_t at;		/* so many bytes have been parsed */
	long want;		/* arguments, if it is an array; else 0 */
	bool in_bulk;		/* the length of the next argument is known */
	size_t bulk;		/* ... that */
	size_t n;		/* arguments that are complete */
	size_t cap;		/* of `many`; 0: they are in `few` */
	struct piece { size_t at, len; } few[REQUEST_FEW], *many;
	char *base;		/* set when it is complete */
};

/*
 * in[0 .. len) is what came. The length of the request, if it is complete (it
 * may have no arguments: then there is nothing to do); 0 if more must come; -1
 * if it is none, and *error says why: the connection has to be closed, since
 * its next request cannot be found. `most` limits an argument.
 */
ssize_t request_parse(struct request *r, char *in, size_t len, size_t most,
    const char **error);
/* How many bytes it will be at least, as far as is known. */
size_t request_needs(const struct request *r);
/* It is done: r is one that has not begun. */
void request_reset(struct request *r);

/* The i-th argument of a complete request; 0 is the command. */
static inline struct slice
request_arg(const struct request *r, size_t i)
{
	const struct piece *p = r->cap ? &r->many[i] : &r->few[i];

	return (struct slice){ r->base + p->at, p->len };
}

/* The whole slice is a decimal number that fits: true, and the number. */
bool slice_number(struct slice s, int64_t *number);
/* Does it say that, in capital or small letters? */
bool slice_is(struct slice s, const char *word);

#endif
