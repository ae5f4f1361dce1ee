/* SPDX-License-Identifier: MIT */
/* Files on disk: read and write give what the system's give. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <weft.h>

#include "run_env.h"
#include "t.h"

enum { BYTES = 4 << 20, CACHED = 64 << 10, PAGE = 4096, MARK = 12345 };

/* A file without a name. */
static int
scratch(void)
{
	char path[] = "/tmp/weft-hooked-XXXXXX";
	int fd = mkstemp(path);

	OK(fd >= 0);
	unlink(path);
	return fd;
}

/* Whether some of it is not in memory. */
static bool
is_partly_cached(int fd)
{
	unsigned char in[BYTES / PAGE];
	void *p = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);
	bool all = true;

	OK(p != MAP_FAILED);
	EQ(mincore(p, BYTES, in), 0);
	for (size_t i = 0; i < sizeof in; i++)
		all = all && in[i] & 1;
	EQ(munmap(p, BYTES), 0);
	return !all;
}

/* Only its beginning is in memory; the rest must come from the disk. */
static void
drop_pages(int fd, char *buf)
{
	EQ(fdatasync(fd), 0);
	EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM), 0);
	EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	EQ(pread(fd, buf, CACHED, 0), CACHED);
	if (!is_partly_cached(fd))
		t_skip("the pages of the file stay in memory");
}

/* A short read would say that the file is shorter. */
static void
read_all(void)
{
	char *buf = calloc(1, BYTES + 1);
	int fd = scratch();

	memset(buf, 'a', BYTES);
	EQ(write(fd, buf, BYTES), BYTES);
	drop_pages(fd, buf);
	memset(buf, 0, BYTES);
	EQ(lseek(fd, 0, SEEK_SET), 0);
	EQ(read(fd, buf, BYTES), BYTES);
	EQ(strspn(buf, "a"), BYTES);
	EQ(close(fd), 0);
	free(buf);
}

GTEST(partly_cached, 1) { read_all(); }
ETEST(partly_cached_that_moves, 2, "WEFT_MIGRATE=1") { read_all(); }

static void
keep_errno(void)
{
	int fd = scratch();
	char buf[4];

	for (int i = 0; i < 3; i++) {
		errno = MARK;
		EQ(write(fd, "log\n", 4), 4);
		EQ(errno, MARK);
	}
	EQ(lseek(fd, 0, SEEK_SET), 0);
	EQ(read(fd, buf, 4), 4);
	EQ(errno, MARK);
	EQ(close(fd), 0);
}

GTEST(errno_is_kept, 1) { keep_errno(); }
