/* SPDX-License-Identifier: MIT */
/* Files by path: their attributes, names, contents and directories. */
#define _GNU_SOURCE 1
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weft.h>

#include "t.h"

static char root[] = "/tmp/weft-file-ops-XXXXXX";

/* A path below a directory of this test; a few at a time. */
static const char *
at(const char *name)
{
	static char paths[4][300];
	static int next;
	char *p = paths[next++ % 4];

	snprintf(p, sizeof paths[0], "%s/%s", root, name);
	return p;
}

static void
begin(void)
{
	OK(mkdtemp(root) != NULL);
}

/* It is empty: what a test has made it has removed. */
static void
end(void)
{
	EQ(weft_rmdir(root), 0);
}

static void
attributes(void)
{
	struct stat st, by_fd;
	int fd;

	begin();
	EQ(weft_stat(at("f"), &st), -ENOENT);
	fd = weft_open(at("f"), O_RDWR | O_CREAT, 0640);
	OK(fd >= 0);
	EQ(weft_write(fd, "12345", 5), 5);
	EQ(weft_stat(at("f"), &st), 0);
	EQ(st.st_size, 5);
	OK(S_ISREG(st.st_mode));
	EQ(weft_fstat(fd, &by_fd), 0);
	EQ(by_fd.st_ino, st.st_ino);
	EQ(by_fd.st_mtim.tv_nsec, st.st_mtim.tv_nsec);
	EQ(symlink("f", at("link")), 0);
	EQ(weft_stat(at("link"), &by_fd), 0);
	EQ(by_fd.st_ino, st.st_ino);
	EQ(weft_lstat(at("link"), &by_fd), 0);
	OK(S_ISLNK(by_fd.st_mode));
	EQ(weft_ftruncate(fd, 3), 0);
	EQ(weft_fstat(fd, &st), 0);
	EQ(st.st_size, 3);
	EQ(weft_ftruncate(fd, -1), -EINVAL);
	EQ(weft_fdatasync(fd), 0);
	EQ(weft_fsync(fd), 0);
	EQ(weft_close(fd), 0);
	EQ(weft_fstat(fd, &st), -EBADF);
	EQ(weft_ftruncate(fd, 0), -EBADF);
	EQ(weft_fdatasync(-1), -EBADF);
	EQ(weft_unlink(at("link")), 0);
	EQ(weft_unlink(at("f")), 0);
	EQ(weft_unlink(at("f")), -ENOENT);
	end();
}

GTEST(attributes_of_a_file, 2) { attributes(); }
TEST(attributes_without_a_runtime) { attributes(); }

/* Also of what is no file. */
GTEST(attributes_of_a_pipe, 1)
{
	struct stat st;
	int fd[2];

	EQ(pipe(fd), 0);
	EQ(weft_fstat(fd[0], &st), 0);
	OK(S_ISFIFO(st.st_mode));
	EQ(weft_ftruncate(fd[1], 0), -EINVAL);
	weft_close(fd[0]);
	weft_close(fd[1]);
}

GTEST(names, 1)
{
	struct stat st;

	begin();
	EQ(weft_mkdir(at("d"), 0700), 0);
	EQ(weft_mkdir(at("d"), 0700), -EEXIST);
	EQ(weft_stat(at("d"), &st), 0);
	EQ(st.st_mode & 07777, 0700);
	EQ(weft_unlink(at("d")), -EISDIR);
	EQ(weft_write_file(at("d/a"), "a", 1, 0600), 0);
	EQ(weft_rmdir(at("d")), -ENOTEMPTY);
	EQ(weft_rmdir(at("d/a")), -ENOTDIR);
	EQ(weft_write_file(at("b"), "b", 1, 0600), 0);
	/* In place of what is there. */
	EQ(weft_rename(at("d/a"), at("b")), 0);
	EQ(weft_stat(at("d/a"), &st), -ENOENT);
	EQ(weft_rename(at("d/a"), at("b")), -ENOENT);
	EQ(weft_rename(at("b"), at("d")), -EISDIR);
	EQ(weft_rename(at("d"), at("e")), 0);
	EQ(weft_rmdir(at("e")), 0);
	EQ(weft_unlink(at("b")), 0);
	end();
}

/* ---- contents ---- */

static void
round_trip(size_t len)
{
	char *data = malloc(len + 1), *got = NULL;
	size_t n = 1;

	for (size_t i = 0; i < len; i++)
		data[i] = (char)(i * 31 + (i >> 8));
	EQ(weft_write_file(at("c"), data, len, 0600), 0);
	EQ(weft_read_file(at("c"), len, &got, &n), 0);
	EQ(n, len);
	OK(got && !memcmp(got, data, len) && got[len] == 0);
	free(got);
	EQ(weft_read_file(at("c"), SIZE_MAX, &got, NULL), 0);
	OK(got && !memcmp(got, data, len) && got[len] == 0);
	free(got);
	if (len > 0) {
		got = data;
		EQ(weft_read_file(at("c"), len - 1, &got, &n), -EMSGSIZE);
		OK(got == NULL && n == 0);
	}
	free(data);
}

GTEST(contents, 2)
{
	begin();
	round_trip(100000);
	round_trip(0);
	round_trip(1);
	for (size_t d = 0; d < 3; d++)
		round_trip(4095 + d);
	round_trip((size_t)t_scale(5 << 20));
	EQ(weft_unlink(at("c")), 0);
	end();
}

GTEST(contents_without_a_size, 1)
{
	char *got;
	size_t len;

	/* It has no size, and ends somewhere. */
	EQ(weft_read_file("/proc/self/maps", 1 << 24, &got, &len), 0);
	OK(len > 100 && strstr(got, "[stack]"));
	EQ(strlen(got), len);
	free(got);
	EQ(weft_read_file("/dev/null", 0, &got, &len), 0);
	OK(got && len == 0);
	free(got);
	EQ(weft_read_file("/dev/zero", 10000, &got, &len), -EMSGSIZE);
	EQ(weft_read_file("/no/such", 100, &got, &len), -ENOENT);
	OK(got == NULL && len == 0);
	EQ(weft_read_file("/", 100, &got, &len), -EISDIR);
	EQ(weft_write_file("/no/such", "x", 1, 0600), -ENOENT);
	EQ(weft_write_file("/", "x", 1, 0600), -EISDIR);
	EQ(weft_write_file("/dev/full", "x", 1, 0600), -ENOSPC);
}

/* Less than was there, and the mode only of a new one. */
GTEST(contents_are_replaced, 1)
{
	struct stat st;
	char *got;

	begin();
	EQ(weft_write_file(at("c"), "a long text", 11, 0600), 0);
	EQ(weft_write_file(at("c"), "short", 5, 0644), 0);
	EQ(weft_read_file(at("c"), 100, &got, NULL), 0);
	OK(!strcmp(got, "short"));
	free(got);
	EQ(weft_stat(at("c"), &st), 0);
	EQ(st.st_mode & 07777, 0600);
	EQ(weft_unlink(at("c")), 0);
	end();
}

/* ---- directories ---- */

GTEST(directory, 2)
{
	enum { MANY = 2000 };	/* more than a buffer of the kernel's */
	static bool seen[MANY];
	weft_dir d;
	weft_dir_entry e;
	struct stat st;
	char name[200];
	int n = 0, got;

	begin();
	EQ(weft_dir_open(&d, root), 0);
	EQ(weft_dir_next(&d, &e), 0);
	EQ(weft_dir_next(&d, &e), 0);
	weft_dir_close(&d);
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof name, "%d-%0100d", i, 0);
		EQ(weft_write_file(at(name), "", 0, 0600), 0);
	}
	EQ(weft_mkdir(at("sub"), 0700), 0);
	EQ(weft_dir_open(&d, root), 0);
	while ((got = weft_dir_next(&d, &e)) > 0) {
		EQ(weft_lstat(at(e.name), &st), 0);
		EQ(st.st_ino, e.inode);
		if (e.type != DT_UNKNOWN)
			EQ(e.type, strcmp(e.name, "sub") ? DT_REG : DT_DIR);
		if (strcmp(e.name, "sub")) {
			OK(!seen[atoi(e.name)]);
			seen[atoi(e.name)] = true;
			EQ(weft_unlink(at(e.name)), 0);
		}
		n++;
	}
	EQ(got, 0);
	EQ(n, MANY + 1);
	weft_dir_close(&d);
	weft_dir_close(&d);
	EQ(weft_rmdir(at("sub")), 0);
	end();
}

GTEST(no_directory, 1)
{
	weft_dir d;
	weft_dir_entry e;

	EQ(weft_dir_open(&d, "/no/such"), -ENOENT);
	EQ(weft_dir_next(&d, &e), -EBADF);
	weft_dir_close(&d);
	EQ(weft_dir_open(&d, "/dev/null"), -ENOTDIR);
	weft_dir_close(&d);
}

/* ---- they do not stop others ---- */

static weft_waitgroup all;
static bool opened;

static void
reads_fifo(void)
{
	char *got = NULL;

	EQ(weft_read_file(at("fifo"), 100, &got, NULL), 0);
	OK(got && !strcmp(got, "through"));
	free(got);
	__atomic_store_n(&opened, true, __ATOMIC_RELEASE);
	weft_waitgroup_done(&all);
}

/* On one P: the open of a FIFO blocks its thread until the other side's. */
GTEST(others_go_on, 1)
{
	begin();
	EQ(mkfifo(at("fifo"), 0600), 0);
	weft_waitgroup_add(&all, 1);
	weft_go(reads_fifo);
	for (int i = 0; i < 100; i++)
		weft_yield();
	OK(!__atomic_load_n(&opened, __ATOMIC_ACQUIRE));
	EQ(weft_write_file(at("fifo"), "through", 7, 0600), 0);
	weft_waitgroup_wait(&all);
	EQ(weft_unlink(at("fifo")), 0);
	end();
}
