/* SPDX-License-Identifier: MIT */
/*
 * Functions and lines of a module's file. With libdw from its debugging
 * information (source_dw.c), else names only, from its symbol table
 * (source_names.c).
 */
#ifndef SOURCE_H
#define SOURCE_H

#include <stdbool.h>
#include <stdint.h>

struct source;

/* One function at an address: the innermost that was inlined comes first. */
struct source_place {
	const char *function;	/* NULL: not known */
	const char *file;	/* NULL: not known */
	int line;
	bool inlined;		/* into the next one */
};

/* NULL if the file cannot be read or is not of this build. `id` may be "". */
struct source *source_open(const char *path, const char *id);
void source_close(struct source *s);	/* NULL: does nothing */
/* At most max places; how many. They are valid until the next call. */
int source_find(struct source *s, uint64_t address, struct source_place *out,
    int max);

#endif
