/* SPDX-License-Identifier: MIT */
/*
 * A file of blocks, each filled with its number, whose pages can be dropped:
 * then a read has to wait for the disk. In /var/tmp, which is one more often
 * than /tmp is.
 */
#ifndef BLOCK_FILE_H
#define BLOCK_FILE_H

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weft.h>

#include "t.h"

enum { BLOCK = 4096, BLOCKS = 1024 };

/* The name stays in `path`, if it is given; NULL: the file has none. */
static inline int
block_file_make(char path[64])
{
	char mine[64], *name = path ? path : mine;
	uint32_t buf[BLOCK / 4];
	int fd;

	strcpy(name, "/var/tmp/weft-blocks-XXXXXX");
	fd = mkstemp(name);
	if (fd < 0)
		t_skip("no files in /var/tmp");
	if (!path)
		unlink(name);
	for (uint32_t i = 0; i < BLOCKS; i++) {
		for (int k = 0; k < BLOCK / 4; k++)
			buf[k] = i;
		EQ(write(fd, buf, BLOCK), BLOCK);
	}
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	return fd;
}

static inline void
block_file_drop(int fd)
{
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

/* Does a block of memory have that number everywhere? */
static inline bool
block_is(const uint32_t *buf, uint32_t number)
{
	for (int k = 0; k < BLOCK / 4; k++)
		if (buf[k] != number)
			return false;
	return true;
}

/* Reads one, into a buffer that has something else: what weft_pread says. */
static inline long
block_read(int fd, uint32_t number)
{
	uint32_t buf[BLOCK / 4];
	long n;

	memset(buf, 0xee, sizeof buf);
	n = weft_pread(fd, buf, BLOCK, (off_t)number * BLOCK);
	if (n == BLOCK)
		OK(block_is(buf, number));
	return n;
}

#endif
