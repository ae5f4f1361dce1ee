/* SPDX-License-Identifier: MIT */
/*
 * Which file the code at an address is of: what a profile says so that tools
 * find the names of functions by themselves.
 */
#ifndef PROFILE_MAPS_H
#define PROFILE_MAPS_H

#include "defs.h"

enum {
	PROFILE_MAPS = 256,
	PROFILE_PATH = 512,
	PROFILE_BUILD_ID = 20		/* bytes; longer ones are cut */
};

/* An executable segment of a loaded object. */
struct profile_map {
	uintptr_t lo, hi;
	uint64_t offset;	/* in the file, of lo */
	char path[PROFILE_PATH];
	char build_id[2 * PROFILE_BUILD_ID + 1];	/* in hex, or "" */
};

struct profile_maps {
	unsigned n;
	unsigned omitted;	/* objects beyond PROFILE_MAPS */
	struct profile_map map[PROFILE_MAPS];	/* the program first */
};

/* Those of now. Takes libc's locks. */
void profile_maps_read(struct profile_maps *maps);
/* The map of this address, counted from 1; 0: none. */
unsigned profile_maps_find(const struct profile_maps *maps, uintptr_t pc);

#endif
