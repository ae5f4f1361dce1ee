/* SPDX-License-Identifier: MIT */
/*
 * The file of the workload `files`, for weft and its peers: BLOCKS blocks of
 * 4 KiB, each with its number in front, in $TMPDIR or /var/tmp; and the order
 * in which they are read. Uncached means: the file is written out, its pages
 * are dropped (POSIX_FADV_DONTNEED), there is no read-ahead (_RANDOM), and each
 * block is read once.
 */
#ifndef FILES_DATA_H
#define FILES_DATA_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	FILES_BLOCK = 4096,
	FILES_BLOCKS = 16384,		/* 64 MiB */
	FILES_CACHED_OPS = 400000,
	FILES_ALONE_OPS = 4096		/* uncached, by one reader */
};

struct files_data {
	int fd;
	uint32_t order[FILES_BLOCKS];	/* a random permutation */
};

static inline void
files_shuffle(struct files_data *f)
{
	uint64_t x = 88172645463325252u;

	for (uint32_t i = 0; i < FILES_BLOCKS; i++)
		f->order[i] = i;
	for (uint32_t i = FILES_BLOCKS - 1; i > 0; i--) {
		uint32_t j, t = f->order[i];

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		j = (uint32_t)(x % (i + 1));
		f->order[i] = f->order[j];
		f->order[j] = t;
	}
}

/* 0 if there is no such file to be had. */
static inline int
files_make(struct files_data *f)
{
	static char block[FILES_BLOCK];
	const char *dir = getenv("TMPDIR");
	char path[512];

	snprintf(path, sizeof path, "%s/weft-files-XXXXXX",
	    dir && *dir ? dir : "/var/tmp");
	f->fd = mkstemp(path);
	if (f->fd < 0)
		return 0;
	unlink(path);
	for (uint32_t i = 0; i < FILES_BLOCKS; i++) {
		memcpy(block, &i, sizeof i);
		if (write(f->fd, block, FILES_BLOCK) != FILES_BLOCK)
			return 0;
	}
	fsync(f->fd);
	posix_fadvise(f->fd, 0, 0, POSIX_FADV_RANDOM);
	files_shuffle(f);
	return 1;
}

/* All of it in the page cache, or none. */
static inline void
files_prepare(struct files_data *f, int cached)
{
	static char buf[64 * FILES_BLOCK];
	off_t at = 0;

	if (!cached)
		posix_fadvise(f->fd, 0, 0, POSIX_FADV_DONTNEED);
	else
		while (pread(f->fd, buf, sizeof buf, at) == sizeof buf)
			at += (off_t)sizeof buf;
}

static inline long
files_ops(int cached, int readers)
{
	return cached ? FILES_CACHED_OPS :
	    readers == 1 ? FILES_ALONE_OPS : FILES_BLOCKS;
}

/* The block of that operation, and whether it was read. */
static inline uint32_t
files_block(const struct files_data *f, long op)
{
	return f->order[op % FILES_BLOCKS];
}

static inline int
files_right(const char *buf, long n, uint32_t block)
{
	uint32_t is;

	memcpy(&is, buf, sizeof is);
	return n == FILES_BLOCK && is == block;
}

#endif
