/* SPDX-License-Identifier: MIT */
/* Folders that files are served from, kept open for a while; see folder.c. */
#ifndef HTTP_FOLDER_H
#define HTTP_FOLDER_H

struct folder;

/* The folder of that name, for openat; NULL, and *error is -errno. */
struct folder *folder_take(const char *name, int *error);
int folder_fd(const struct folder *f);
void folder_release(struct folder *f);

#endif
