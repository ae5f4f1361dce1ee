/* SPDX-License-Identifier: MIT */
/* Which descriptors a test has. */
#ifndef FDS_H
#define FDS_H

#include <dirent.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/*
 * weft's monitor keeps files of /proc open for as long as it looks at threads
 * that do not let others run, which is up to the machine.
 */
static inline bool
is_of_monitor_(int dir, const char *name)
{
	char to[64] = {0};

	return readlinkat(dir, name, to, sizeof to - 1) > 0 &&
	    !strncmp(to, "/proc/", 6) && strstr(to, "/task/");
}

/* Descriptors of this process, but the one that looks, and the monitor's. */
static inline int
count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	int n = -1;

	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.' &&
		    !is_of_monitor_(dirfd(d), e->d_name);
	if (d)
		closedir(d);
	return n;
}

#endif
