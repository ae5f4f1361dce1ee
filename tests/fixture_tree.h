/* SPDX-License-Identifier: MIT */
/*
 * A made-up tree of files below a folder of its own: what /proc and /sys of
 * other systems look like. One at a time. _GNU_SOURCE comes first.
 */
#ifndef FIXTURE_TREE_H
#define FIXTURE_TREE_H

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static inline int
drop(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st, (void)flag, (void)ftw;
	return remove(path);
}

static inline void
fixture_end(void)
{
	nftw(root, drop, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void
fixture(void)
{
	/* Hundreds of files: in memory, if there is such a file system. */
	snprintf(root, sizeof(root), "%s/weft-tree-XXXXXX",
	    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (mkdtemp(root) == NULL)
		abort();
}

/*
 * Writes a file below the fixture's root, with the folders it needs. It appears
 * with all its text at once: another thread may read it now and then.
 */
static inline void
put(const char *name, const char *text)
{
	char path[2 * PATH_MAX], temporary[sizeof root + 8];
	char *slash;
	FILE *f;

	snprintf(path, sizeof(path), "%s%s", root, name);
	for (slash = path + strlen(root); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	snprintf(temporary, sizeof temporary, "%s/new", root);
	f = fopen(temporary, "w");
	if (f == NULL)
		abort();
	fputs(text, f);
	fclose(f);
	if (rename(temporary, path) != 0)
		abort();
}

#endif
