/* SPDX-License-Identifier: MIT */
/* Which descriptors a test has. */
#ifndef FDS_H
#define FDS_H

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * weft's monitor keeps files of /proc open for as long as it looks at threads
 * that do not let others run, which is up to the machine. For a moment, while
 * it opens one, that has the lowest free number.
 */
static inline bool
is_of_monitor(int fd)
{
	char path[32], to[64] = {0};

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return readlink(path, to, sizeof to - 1) > 0 &&
	    !strncmp(to, "/proc/", 6) && strstr(to, "/task/");
}

/* Descriptors of this process, but the one that looks, and the monitor's. */
static inline int
count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	int n = -1;

	/* One that is gone by now was the monitor's. */
	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.' && !is_of_monitor(atoi(e->d_name)) &&
		    fcntl(atoi(e->d_name), F_GETFD) >= 0;
	if (d)
		closedir(d);
	return n;
}

#endif
