/* SPDX-License-Identifier: MIT */
/* Deadlines of descriptors; they are enforced in poll/desc.c. */
#include "desc.h"
#include "weft.h"

enum { IN = 1u << DIR_IN, OUT = 1u << DIR_OUT };

static int
set(int fd, int64_t when, unsigned dirs)
{
	struct desc *d;
	int err = desc_enter(fd, &d);

	if (err)
		return err;
	if (a_load_relaxed(&d->kind) != KIND_FILE)
		desc_set_deadline(d, dirs, when);
	desc_leave(d);
	return 0;
}

public int
weft_set_deadline(int fd, int64_t when)
{
	return set(fd, when, IN | OUT);
}

public int
weft_set_read_deadline(int fd, int64_t when)
{
	return set(fd, when, IN);
}

public int
weft_set_write_deadline(int fd, int64_t when)
{
	return set(fd, when, OUT);
}
