/* SPDX-License-Identifier: MIT */
/*
 * The commands of weft-prof. Each writes to `out`; main.c opens that, and
 * reports what could not be written.
 */
#ifndef COMMAND_H
#define COMMAND_H

#include <stdio.h>

#include "profile.h"
#include "tree.h"

/* What the commands are given. */
struct job {
	const char *path;
	const struct profile *profile;
	const struct profile_type *type;	/* what is counted */
	struct tree *tree;
	size_t stacks;		/* in it */
	const struct profile *base;	/* the one compared with, or NULL */
	const char *base_path;
	size_t lines;		/* of top */
};

void command_top(const struct job *j, FILE *out);
void command_folded(const struct job *j, FILE *out);
void command_view(const struct job *j, FILE *out);

/* "CPU profile"; "" if the file does not say. At most 63 bytes. */
enum { KIND_BYTES = 64 };
const char *kind_of(const struct profile *p, char out[KIND_BYTES]);

/* "1.25s", "12": at most 31 bytes. */
enum { QUANTITY_BYTES = 32 };
void quantity(char out[QUANTITY_BYTES], int64_t v, const char *unit);

#endif
