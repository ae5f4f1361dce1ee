/* SPDX-License-Identifier: MIT */
/*
 * Reads at an offset: what the page cache has is read without an announced
 * call, whatever the kernel says to that; and nothing but the file's contents
 * and its end are ever returned.
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "fd_expect.h"
#include "syscall_inject.h"

enum { BYTES = 8192, PIECE = 1000 };

static char path[] = "/tmp/weft-cached-XXXXXX";

/* A file of which each byte says where it is; in the page cache. */
static int
scratch(int flags)
{
	char buf[BYTES];
	int fd = NEED(mkstemp(path));

	for (int i = 0; i < BYTES; i++)
		buf[i] = (char)(i % 251);
	EQ(write(fd, buf, BYTES), BYTES);
	close(fd);
	fd = open(path, O_RDWR | flags);
	if (fd < 0)
		t_skip("no such flag in this file system");
	return fd;
}

/* Has this file system RWF_NOWAIT? Before calls are counted. */
static void
need_nowait(void)
{
	char c;
	struct iovec iov = { &c, 1 };
	int fd = scratch(0);
	/* By number: not each libc has it. 8: RWF_NOWAIT */
	long n = syscall(SYS_preadv2, fd, &iov, 1, 0, 0, 8);

	close(fd);
	unlink(path);
	strcpy(path + sizeof path - 7, "XXXXXX");
	if (n < 0)
		t_skip("no RWF_NOWAIT here");
}

static bool
is_right(const char *buf, long n, off_t at)
{
	for (long i = 0; i < n; i++)
		if (buf[i] != (char)((at + i) % 251))
			return false;
	return true;
}

static void
expect(int fd, off_t at, long want)
{
	char buf[PIECE];

	EQ(weft_pread(fd, buf, sizeof buf, at), want);
	OK(is_right(buf, want, at));
}

static void
read_all(int fd)
{
	expect(fd, 0, PIECE);
	expect(fd, 4000, PIECE);
	expect(fd, BYTES - 10, 10);
	expect(fd, BYTES, 0);
	EQ(lseek(fd, 0, SEEK_CUR), 0);
}

/* So many calls were seen, which are counted a moment after they return. */
static void
expect_seen(long nr, long n)
{
	double end = t_now() + 10;

	while (inject_seen(nr) < n && t_now() < end)
		weft_sleep(100 * WEFT_US);
	EQ(inject_seen(nr), n);
}

static void
with_calls(void (*fn)(void))
{
	inject_start((long[]){ SYS_preadv2, SYS_pread64 }, 2);
	run_env(2, NULL, fn);
	unlink(path);
}

/* ---- what is there ---- */

static void
hit(void)
{
	int fd = scratch(0);

	for (int i = 0; i < 10; i++)
		expect(fd, i * 700, PIECE);
	expect_seen(SYS_preadv2, 10);
	OK(inject_seen(SYS_pread64) < 5);	/* memory may be scarce */
	read_all(fd);
	EQ(weft_close(fd), 0);
}

TEST(a_hit_is_one_call)
{
	need_nowait();
	with_calls(hit);
}

/* ---- what is not, or so the kernel says ---- */

static void
miss(void)
{
	int fd = scratch(0);

	inject(SYS_preadv2, EAGAIN, 4);
	read_all(fd);
	await_injected(SYS_preadv2);
	inject(SYS_preadv2, 0, 4);	/* 0 bytes, as if at the end */
	read_all(fd);
	await_injected(SYS_preadv2);
	inject(SYS_preadv2, EINTR, 4);
	read_all(fd);
	await_injected(SYS_preadv2);
	EQ(weft_close(fd), 0);
}

TEST(a_miss_is_read_all_the_same) { with_calls(miss); }

/* Asked once, and again of the next file with that number. */
static void
refuse(int error)
{
	int fd = scratch(0);
	long before = inject_seen(SYS_preadv2);

	inject(SYS_preadv2, error, 1);
	read_all(fd);
	read_all(fd);
	expect_seen(SYS_preadv2, before + 1);
	EQ(weft_close(fd), 0);
	EQ(weft_open(path, O_RDONLY, 0), fd);
	expect(fd, 0, PIECE);
	expect_seen(SYS_preadv2, before + 2);
	EQ(weft_close(fd), 0);
}

static void
not_supported(void)
{
	refuse(EOPNOTSUPP);
}

static void
no_such_call(void)
{
	refuse(ENOSYS);
}

TEST(a_file_system_without_it) { with_calls(not_supported); }
TEST(a_kernel_without_it) { with_calls(no_such_call); }

/* The kernel would wait for the disk. */
static void
direct(void)
{
	static char buf[BYTES] __attribute__((__aligned__(4096)));
	int fd = scratch(O_DIRECT);

	EQ(weft_pread(fd, buf, BYTES, 0), BYTES);
	OK(is_right(buf, BYTES, 0));
	EQ(weft_pread(fd, buf, 4096, 4096), 4096);
	OK(is_right(buf, 4096, 4096));
	expect_seen(SYS_preadv2, 0);
	EQ(weft_close(fd), 0);
}

TEST(direct_is_not_tried) { with_calls(direct); }

/* ---- what is no file, or none any more ---- */

static void
replaced(void)
{
	int fd = scratch(0), pair[2];
	char c;

	expect(fd, 0, PIECE);
	NEED(close(fd));		/* unnoticed */
	NEED(pipe(pair));
	EQ(pair[0], fd);
	EQ(weft_pread(fd, &c, 1, 0), -ESPIPE);
	EQ(weft_pwrite(pair[1], &c, 1, 0), -ESPIPE);
	NEED(close(pair[0]));
	EQ(weft_pread(fd, &c, 1, 0), -EBADF);
	EQ(weft_pread(-1, &c, 1, 0), -EBADF);
	NEED(close(pair[1]));
}

TEST(a_number_that_is_a_pipe_now) { with_calls(replaced); }

static void
bad_buffer(void)
{
	int fd = scratch(0);

	EQ(weft_pread(fd, (void *)8, PIECE, 0), -EFAULT);
	EQ(weft_pread(fd, NULL, 0, 0), 0);
	EQ(weft_pread(fd, (void *)8, PIECE, -1), -EINVAL);
	EQ(weft_close(fd), 0);
}

TEST(what_does_not_make_sense) { with_calls(bad_buffer); }
