/* SPDX-License-Identifier: MIT */
/*
 * Where a goroutine was spawned, as text. A site is a constant of a module,
 * which may have been unloaded since: then it is not there, or is another
 * object's. Signal-safe.
 */
#ifndef SITE_TEXT_H
#define SITE_TEXT_H

#include "weft.h"

enum { SITE_BYTES = 512 };	/* of a name, with its NUL */

struct site_text {
	int line;		/* 0: there is no place */
	char fn[SITE_BYTES], file[SITE_BYTES];
};

/* False if it cannot be read: then the function is "(unloaded)". */
bool site_text(const weft_site *site, struct site_text *out);

#endif
