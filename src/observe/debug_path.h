/* SPDX-License-Identifier: MIT */
/* Where the debug socket is, and how it is made. See debug_path.c. */
#ifndef DEBUG_PATH_H
#define DEBUG_PATH_H

#include "defs.h"

enum { DEBUG_PATH_BYTES = 108 };	/* as in struct sockaddr_un */

/* The path that is asked for, or one for this process if it is NULL or "".
 * 0, -ENAMETOOLONG, or -errno of the directory. */
int debug_path_choose(const char *asked, char path[DEBUG_PATH_BYTES]);

/* Which file it is: another process may have replaced it. */
struct debug_file {
	uint64_t dev, ino;
};

/* A socket that listens there, with a high number; or -errno. */
long debug_path_listen(const char *path, struct debug_file *file);

/* Removes the file, if it is still that one. */
void debug_path_remove(const char *path, const struct debug_file *file);

#endif
