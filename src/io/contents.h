/* SPDX-License-Identifier: MIT */
/* All that comes from a descriptor until its end, in memory. */
#ifndef CONTENTS_H
#define CONTENTS_H

#include "defs.h"

/* Zero: empty. The caller frees buf. */
struct contents {
	char *buf;		/* of cap bytes, and one for a NUL */
	size_t len, cap;
	bool by_offset;		/* of a file, of which it is all */
};

/*
 * Makes room for more, up to max bytes, and for at least `want` of them. False
 * without memory.
 */
bool contents_grow(struct contents *c, size_t want, size_t max);

/*
 * Reads until the end: 0, and a NUL behind the last byte; -EMSGSIZE: there are
 * more than max; -ENOMEM, or as weft_read. May wait.
 */
int contents_read(struct contents *c, int fd, size_t max);

#endif
