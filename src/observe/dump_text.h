/* SPDX-License-Identifier: MIT */
/* A dump as text. Its format is described in docs/debugging.md. */
#ifndef DUMP_TEXT_H
#define DUMP_TEXT_H

#include "dump_group.h"
#include "sink.h"

struct dump_limits {
	uint32_t ids;		/* of a group */
	uint32_t groups;
	uint32_t frames;
};

/* All groups, sorted, and the modules that are in their stacks. */
void dump_text(struct sink *out, const struct dump_groups *d,
    const struct dump_limits *limits);

/* Lines for a stack; notes the modules in it for dump_text. */
void dump_text_stack(struct sink *out, bool named[DUMP_MODULES],
    const uintptr_t *pcs, unsigned n);

#endif
