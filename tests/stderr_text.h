/* SPDX-License-Identifier: MIT */
/* What is printed to standard error meanwhile. */
#ifndef STDERR_TEXT_H
#define STDERR_TEXT_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "t.h"

struct stderr_text {
	FILE *file;
	int saved;
};

/* From now on it goes to a file. */
static inline struct stderr_text
stderr_begin(void)
{
	struct stderr_text t = { tmpfile(), dup(2) };

	OK(t.file && t.saved >= 0);
	dup2(fileno(t.file), 2);
	return t;
}

/* What is in the file by now, as one string to be freed. */
static inline char *
stderr_so_far(const struct stderr_text *t)
{
	long n = (long)lseek(fileno(t->file), 0, SEEK_END);
	char *text = calloc(1, (size_t)n + 1);

	EQ(pread(fileno(t->file), text, (size_t)n, 0), n);
	return text;
}

/* The same, and standard error is what it was. */
static inline char *
stderr_end(struct stderr_text *t)
{
	char *text;

	dup2(t->saved, 2);
	close(t->saved);
	text = stderr_so_far(t);
	fclose(t->file);
	return text;
}

#endif
