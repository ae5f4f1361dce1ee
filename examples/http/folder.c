/* SPDX-License-Identifier: MIT */
/*
 * To open a file is to open its folder first. That folder is the same for all
 * requests, but its name may come to mean another one, if the files are
 * replaced by renaming a folder or a link. So it stays open for a second, and
 * is opened anew then: one request in a second pays for it.
 *
 * The last one that was opened is kept. It belongs to `current` and to each
 * request that uses it; the last owner closes it.
 */
#define _GNU_SOURCE 1
#include "folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft.h>

static const int64_t kept_ns = WEFT_SECOND;

struct folder {
	/* constant */
	int fd;
	int64_t until;		/* it is opened anew after that */
	/* any thread, atomic */
	int owners;
	char name[];
};

static weft_mutex lock;
static struct folder *current;	/* under lock */

int
folder_fd(const struct folder *f)
{
	return f->fd;
}

void
folder_release(struct folder *f)
{
	if (!f || __atomic_sub_fetch(&f->owners, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	close(f->fd);
	free(f);
}

/* A number, or -errno. */
static int
open_folder(const char *name)
{
	int fd;

	weft_blocking_enter();
	fd = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	fd = fd < 0 ? -errno : fd;
	weft_blocking_leave();
	return fd;
}

/* It has one owner. */
static struct folder *
folder_open(const char *name, int *error)
{
	struct folder *f = malloc(sizeof *f + strlen(name) + 1);
	int fd = f ? open_folder(name) : -ENOMEM;

	if (fd < 0) {
		*error = fd;
		free(f);
		return NULL;
	}
	*f = (struct folder){ .fd = fd, .owners = 1,
		.until = weft_deadline(kept_ns) };
	strcpy(f->name, name);
	return f;
}

static struct folder *
take_current(const char *name)
{
	struct folder *f;

	weft_mutex_lock(&lock);
	f = current;
	if (f && (strcmp(f->name, name) != 0 || weft_now() >= f->until))
		f = NULL;
	if (f)
		__atomic_add_fetch(&f->owners, 1, __ATOMIC_RELAXED);
	weft_mutex_unlock(&lock);
	return f;
}

struct folder *
folder_take(const char *name, int *error)
{
	struct folder *f = take_current(name), *old;

	if (f || !(f = folder_open(name, error)))
		return f;
	__atomic_add_fetch(&f->owners, 1, __ATOMIC_RELAXED);
	weft_mutex_lock(&lock);
	old = current;
	current = f;
	weft_mutex_unlock(&lock);
	folder_release(old);
	return f;
}
