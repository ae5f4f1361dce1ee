/* SPDX-License-Identifier: MIT */
/* Deadlines of descriptors. What they do is in desc.c. */
#include "desc.h"
#include "weft.h"

static int
set(int fd, int64_t when, bool in, bool out)
{
	struct desc *d;
	int err = desc_enter(fd, &d);

	if (err)
		return err;
	if (a_load_relaxed(&d->kind) == KIND_FILE)
		in = out = false;
	if (in)
		desc_set_deadline(d, DIR_IN, when);
	if (out)
		desc_set_deadline(d, DIR_OUT, when);
	desc_leave(d);
	return 0;
}

public int
weft_set_deadline(int fd, int64_t when)
{
	return set(fd, when, true, true);
}

public int
weft_set_read_deadline(int fd, int64_t when)
{
	return set(fd, when, true, false);
}

public int
weft_set_write_deadline(int fd, int64_t when)
{
	return set(fd, when, false, true);
}
