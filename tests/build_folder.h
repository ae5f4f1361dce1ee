/* SPDX-License-Identifier: MIT */
/* Where a test program was built, for tests that compile others. */
#ifndef BUILD_FOLDER_H
#define BUILD_FOLDER_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "t.h"

/* What is above `part` in this program's path; skips where there is none. */
static inline const char *
folder_above(const char *part)
{
	static char path[512];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
	char *s;

	path[n > 0 ? n : 0] = '\0';
	s = strstr(path, part);
	if (!s)
		t_skip("not where it was built");
	*s = '\0';
	return path;
}

/* The compiler of this variant. */
static inline const char *
compiler(void)
{
	const char *cc = getenv("CC");

	return cc && *cc ? cc : "cc";
}

#endif
