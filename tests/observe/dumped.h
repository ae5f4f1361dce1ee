/* SPDX-License-Identifier: MIT */
/* What weft_dump writes, as a string. */
#ifndef DUMPED_H
#define DUMPED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft.h>

#include "t.h"

/* To be freed. */
static inline char *
dumped(const weft_dump_options *o)
{
	FILE *f = tmpfile();
	char *text;
	long n;

	EQ(weft_dump(fileno(f), o, o ? sizeof *o : 0), 0);
	fseek(f, 0, SEEK_END);
	n = ftell(f);
	rewind(f);
	text = (char *)calloc(1, (size_t)n + 1);
	EQ(fread(text, 1, (size_t)n, f), n);
	fclose(f);
	return text;
}

/* How often it has this part. */
static inline long
dumped_count(const char *text, const char *part)
{
	long n = 0;

	while ((text = strstr(text, part))) {
		n++;
		text++;
	}
	return n;
}

#endif
