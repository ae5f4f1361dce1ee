/* SPDX-License-Identifier: MIT */
/*
 * The type of a channel's elements, as the typed macros of weft.h pass it: a
 * word with the size in the low 24 bits and the kind (WEFT_KIND_*) above. The
 * word 0 (no size and no kind) says that the caller knows nothing.
 *
 * A channel has such a word and a mask: all bits if its kind is known, the
 * bits of the size if it is not. So the check of a send or receive is one
 * compare, whichever channel it is, and all else is in the slow path.
 */
#ifndef CHAN_TYPE_H
#define CHAN_TYPE_H

#include "chan.h"

enum { TYPE_KIND_SHIFT = 24, TYPE_SIZE_MASK = (1 << TYPE_KIND_SHIFT) - 1 };

/* Room for any integer after its conversion. */
struct converted {
	uint64_t value;
};

/* Is this a kind, and can it have elements of that size? */
bool type_valid(size_t bytes, int kind);

static always_inline bool
type_fits(const struct weft_chan *c, uint32_t type)
{
	return likely((type & c->type_mask) == c->type);
}

/*
 * The element of c that the value of that type at v is sent as: v itself, or
 * *out, if it is an integer that the element's type can represent. All else is
 * fatal.
 */
const void *type_convert_slow(const struct weft_chan *c, const void *v,
    uint32_t type, struct converted *out);

static always_inline const void *
type_convert(const struct weft_chan *c, const void *v, uint32_t type,
    struct converted *out)
{
	return type_fits(c, type) ? v : type_convert_slow(c, v, type, out);
}

/* Fatal unless an element of c can be accessed as that type. */
cold void type_check_slow(const struct weft_chan *c, uint32_t type,
    const char *how);

static always_inline void
type_check(const struct weft_chan *c, uint32_t type, const char *how)
{
	if (!type_fits(c, type))
		type_check_slow(c, type, how);
}

#endif
