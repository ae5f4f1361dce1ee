/* SPDX-License-Identifier: MIT */
/* Names: from a network and an address as text to socket addresses. */
#ifndef RESOLVE_H
#define RESOLVE_H

#include "address.h"
#include "dial_deadline.h"

/* All different, with their ports, in the order in which to try them. */
struct found {
	size_t n;		/* not 0 */
	weft_address at[];
};

/*
 * 0 and what is to be freed with free(), or -errno: as address_parse, -ENOENT,
 * -EAGAIN, -EIO (the name server), -ENOMEM, or the limit's. May wait.
 */
int resolve(const char *network, const char *address, bool passive,
    const struct dial_deadline *l, struct found **out);

#endif
