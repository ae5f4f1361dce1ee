/* SPDX-License-Identifier: MIT */
/*
 * Directories, read with getdents64, which may block and is announced. The
 * kernel fills a buffer with records:
 *
 *	inode 8 | position 8 | length 2 | type 1 | name, NUL, padding
 *
 * and the position in the directory is the descriptor's, so that a call that
 * fails has skipped nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "fdio.h"
#include "file.h"
#include "weft.h"

enum {
	BUF_BYTES = 32 * 1024,
	LENGTH_AT = 16,
	TYPE_AT = 18,
	NAME_AT = 19
};

public int
weft_dir_open(weft_dir *dir, const char *path)
{
	*dir = (weft_dir){ .fd_ = -1 };
	dir->buf_ = malloc(BUF_BYTES);
	if (!dir->buf_)
		return -ENOMEM;
	dir->fd_ = weft_open(path, O_RDONLY | O_DIRECTORY, 0);
	if (dir->fd_ >= 0)
		return 0;
	free(dir->buf_);
	dir->buf_ = NULL;
	return dir->fd_;
}

static long
getdents_now(struct desc *d, void *buf)
{
	return syscall6(SYS_getdents64, d->fd, (long)buf, BUF_BYTES, 0, 0, 0);
}

/* The next record; "." and ".." too. */
static void
take(weft_dir *dir, weft_dir_entry *out)
{
	const char *p = dir->buf_ + dir->start_;
	uint16_t len;

	memcpy(&out->inode, p, sizeof out->inode);
	memcpy(&len, p + LENGTH_AT, sizeof len);
	out->type = (unsigned char)p[TYPE_AT];
	out->name = p + NAME_AT;
	dir->start_ += len;
}

static bool
is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

public int
weft_dir_next(weft_dir *dir, weft_dir_entry *out)
{
	do {
		if (dir->start_ == dir->end_) {
			long n = file_call(dir->fd_, getdents_now, dir->buf_);

			if (n <= 0)
				return (int)n;
			dir->start_ = 0;
			dir->end_ = (size_t)n;
		}
		take(dir, out);
	} while (is_dots(out->name));
	return 1;
}

public void
weft_dir_close(weft_dir *dir)
{
	if (dir->fd_ >= 0)
		weft_close(dir->fd_);
	free(dir->buf_);
	*dir = (weft_dir){ .fd_ = -1 };
}
