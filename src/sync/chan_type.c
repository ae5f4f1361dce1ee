/* SPDX-License-Identifier: MIT */
/*
 * What happens when the type of a value is not exactly that of the elements of
 * a channel: an integer is converted if the element's type can represent its
 * value, and everything else is fatal, with both types in the message.
 */
#include "chan_type.h"

#include <string.h>

#include "fatal.h"

_Static_assert((int)CHAN_ELEM_MAX <= TYPE_SIZE_MASK, "the size has 24 bits");
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "integers are converted by their low bytes"
#endif

static uint32_t
size_of(uint32_t type)
{
	return type & TYPE_SIZE_MASK;
}

static int
kind_of(uint32_t type)
{
	return (int)(type >> TYPE_KIND_SHIFT);
}

static bool
is_integer(uint32_t type)
{
	int kind = kind_of(type);

	return kind == WEFT_KIND_SIGNED || kind == WEFT_KIND_UNSIGNED ||
	    kind == WEFT_KIND_BOOL;
}

bool
type_valid(size_t bytes, int kind)
{
	switch (kind) {
	case WEFT_KIND_NONE:
	case WEFT_KIND_OTHER:
		return true;
	case WEFT_KIND_SIGNED:
	case WEFT_KIND_UNSIGNED:
		return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
	case WEFT_KIND_BOOL:
		return bytes == sizeof(bool);
	case WEFT_KIND_FLOAT:
		return bytes == sizeof(float) || bytes == sizeof(double) ||
		    bytes == sizeof(long double);
	default:
		return false;
	}
}

/* ---- names, for messages ---- */

struct type_name {
	char text[40];
};

static const char *
type_name(uint32_t type, struct type_name *n)
{
	uint32_t bytes = size_of(type);

	switch (kind_of(type)) {
	case WEFT_KIND_SIGNED:
	case WEFT_KIND_UNSIGNED:
		format(n->text, sizeof n->text, "%sint%u_t",
		    kind_of(type) == WEFT_KIND_SIGNED ? "" : "u", 8 * bytes);
		return n->text;
	case WEFT_KIND_BOOL:
		return "bool";
	case WEFT_KIND_FLOAT:
		return bytes == sizeof(float) ? "float" :
		    bytes == sizeof(double) ? "double" : "long double";
	default:
		format(n->text, sizeof n->text, "a struct or pointer of %u "
		    "bytes", bytes);
		return n->text;
	}
}

static cold noreturn void
fatal_type(const struct weft_chan *c, uint32_t type, const char *how)
{
	struct type_name elem, other;

	if (kind_of(c->type) == WEFT_KIND_NONE)
		fatal("channel: its elements have %u bytes, not %u",
		    c->elem_bytes, size_of(type));
	fatal("channel: %s %s a channel of %s", type_name(type, &other), how,
	    type_name(c->type, &elem));
}

/* ---- integers ---- */

struct integer {
	bool negative;
	uint64_t bits;		/* two's complement, sign-extended */
};

static struct integer
integer_read(const void *v, uint32_t type)
{
	uint32_t unused_bits = 64 - 8 * size_of(type);
	struct integer i = {0};

	memcpy(&i.bits, v, size_of(type));
	if (kind_of(type) == WEFT_KIND_SIGNED) {
		i.bits = (uint64_t)((int64_t)(i.bits << unused_bits) >>
		    unused_bits);
		i.negative = (int64_t)i.bits < 0;
	}
	return i;
}

static bool
integer_fits(struct integer i, uint32_t type)
{
	uint32_t bits = 8 * size_of(type);
	uint64_t max;

	if (kind_of(type) == WEFT_KIND_SIGNED) {
		max = UINT64_MAX >> (65 - bits);
		return i.negative ? ~i.bits <= max : i.bits <= max;
	}
	max = kind_of(type) == WEFT_KIND_BOOL ? 1 : UINT64_MAX >> (64 - bits);
	return !i.negative && i.bits <= max;
}

static cold noreturn void
fatal_range(const struct weft_chan *c, struct integer i, uint32_t type)
{
	struct type_name elem, other;

	fatal("channel: %s %s%llu does not fit an element of %s",
	    type_name(type, &other), i.negative ? "-" : "",
	    (unsigned long long)(i.negative ? -i.bits : i.bits),
	    type_name(c->type, &elem));
}

/* ---- the slow paths ---- */

noinline const void *
type_convert_slow(const struct weft_chan *c, const void *v, uint32_t type,
    struct converted *out)
{
	struct integer i;

	if (type == 0)
		return v;
	if (!is_integer(type) || !is_integer(c->type))
		fatal_type(c, type, "sent on");
	i = integer_read(v, type);
	if (!integer_fits(i, c->type))
		fatal_range(c, i, type);
	out->value = i.bits;
	return out;
}

/* A bool must not be read from what may be neither 0 nor 1. */
void
type_check_slow(const struct weft_chan *c, uint32_t type, const char *how)
{
	if (type == 0)
		return;
	if (!is_integer(type) || !is_integer(c->type) ||
	    size_of(type) != size_of(c->type) ||
	    kind_of(type) == WEFT_KIND_BOOL)
		fatal_type(c, type, how);
}
