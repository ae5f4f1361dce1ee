/* SPDX-License-Identifier: MIT */
#include "proto.h"

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

/* False and bad: it is cut short, or longer than 64 bits. */
static bool
varint(struct proto *p, uint64_t *v)
{
	*v = 0;
	for (unsigned shift = 0; shift < 64 && p->at < p->end; shift += 7) {
		uint8_t b = *p->at++;

		*v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return true;
	}
	p->bad = true;
	return false;
}

static bool
skip(struct proto *p, uint64_t n)
{
	if (n > (uint64_t)(p->end - p->at)) {
		p->bad = true;
		return false;
	}
	p->at += n;
	return true;
}

static bool
value(struct proto *p, unsigned wire, struct proto_field *f)
{
	switch (wire) {
	case VARINT:
		return varint(p, &f->v);
	case FIXED64:
		return skip(p, 8);
	case FIXED32:
		return skip(p, 4);
	case BYTES:
		if (!varint(p, &f->v))
			return false;
		f->bytes = true;
		f->data = p->at;
		f->n = (size_t)f->v;
		return skip(p, f->v);
	}
	p->bad = true;		/* groups were given up long ago */
	return false;
}

bool
proto_next(struct proto *p, struct proto_field *f)
{
	uint64_t key;

	while (!p->bad && p->at < p->end) {
		*f = (struct proto_field){0};
		if (!varint(p, &key) || !value(p, key & 7, f))
			return false;
		f->number = key >> 3 > UINT32_MAX ? 0 : (unsigned)(key >> 3);
		if ((key & 7) == VARINT || (key & 7) == BYTES)
			return true;
	}
	return false;
}

struct proto
proto_in(const struct proto_field *f)
{
	return (struct proto){ f->data, f->data + f->n, !f->bytes };
}

bool
proto_numbers(const struct proto_field *f, void (*fn)(uint64_t v, void *arg),
    void *arg)
{
	struct proto p = proto_in(f);
	uint64_t v;

	if (!f->bytes) {
		fn(f->v, arg);
		return true;
	}
	while (p.at < p.end && varint(&p, &v))
		fn(v, arg);
	return !p.bad;
}
