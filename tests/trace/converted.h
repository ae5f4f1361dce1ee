/* SPDX-License-Identifier: MIT */
/* What a command of weft-trace makes of a trace in memory. */
#ifndef CONVERTED_H
#define CONVERTED_H

#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "t.h"
#include "trace_file.h"

/* What it wrote, to be freed, *bytes and a NUL. */
T_NOT_INLINED static char *
converted(const struct made_file *f, int (*command)(struct trace *, FILE *),
    size_t *bytes)
{
	struct text why = {0};
	struct trace *t = trace_open_memory(f->data, f->bytes, &why);
	char *data = NULL;
	FILE *out = open_memstream(&data, bytes);

	OK(t && out);
	EQ(command(t, out), 0);
	fclose(out);
	trace_close(t);
	return data;
}

#endif
