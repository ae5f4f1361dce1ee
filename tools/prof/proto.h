/* SPDX-License-Identifier: MIT */
/*
 * Reading protocol buffers: the fields of a message, one after the other. Every
 * read is checked: a message that is cut short, or whose lengths lie, ends with
 * `bad` set, and nothing outside of it is read.
 */
#ifndef PROTO_H
#define PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proto {
	const uint8_t *at, *end;
	bool bad;
};

struct proto_field {
	unsigned number;
	bool bytes;		/* data and n, else v */
	uint64_t v;
	const uint8_t *data;
	size_t n;
};

/* The next field; false at the end, or if the rest makes no sense. Fields of
 * other kinds than numbers and bytes are skipped. */
bool proto_next(struct proto *p, struct proto_field *f);

/* The message in a field. */
struct proto proto_in(const struct proto_field *f);

/*
 * A field that is repeated comes as many fields, or packed in one. Calls fn
 * for each number in this one; false if it makes no sense.
 */
bool proto_numbers(const struct proto_field *f,
    void (*fn)(uint64_t v, void *arg), void *arg);

#endif
