/* SPDX-License-Identifier: MIT */
/* What the kernel cannot wait for: files, directories, devices. */
#define _GNU_SOURCE 1
#include <sys/eventfd.h>

#include "fd_pairs.h"

static weft_waitgroup all;

/* A file without a name. */
static int
scratch(void)
{
	char path[] = "/tmp/weft-regular-XXXXXX";
	int fd = mkstemp(path);

	OK(fd >= 0);
	unlink(path);
	return fd;
}

/* ---- a file ---- */

static void
file_round(void)
{
	char buf[16] = {0}, a[3] = {0}, b[8] = {0};
	struct iovec out[] = { { a, 3 }, { b, 8 } };
	int fd = scratch();

	EQ(weft_read(fd, buf, sizeof buf), 0);
	EQ(weft_write(fd, "hello world", 11), 11);
	EQ(weft_read(fd, buf, sizeof buf), 0);
	EQ(lseek(fd, 0, SEEK_SET), 0);
	EQ(weft_read(fd, buf, 5), 5);
	OK(!memcmp(buf, "hello", 5));
	EQ(weft_readv(fd, out, 2), 6);
	OK(!memcmp(a, " wo", 3) && !memcmp(b, "rld", 4));
	EQ(weft_writev(fd, out, 2), 11);
	EQ(lseek(fd, 0, SEEK_CUR), 22);
	EQ(weft_pwrite(fd, "HE", 2, 0), 2);
	EQ(weft_pread(fd, buf, 5, 0), 5);
	OK(!memcmp(buf, "HEllo", 5));
	EQ(weft_pread(fd, buf, 5, 22), 0);
	EQ(weft_pread(fd, buf, 5, 20), 2);
	EQ(weft_pread(fd, buf, 5, -1), -EINVAL);
	EQ(weft_pwrite(fd, buf, 5, -1), -EINVAL);
	EQ(weft_pwrite(fd, "far", 3, (off_t)1 << 32), 3);
	EQ(weft_pread(fd, buf, 8, (off_t)1 << 32), 3);
	EQ(lseek(fd, 0, SEEK_CUR), 22);
	EQ(weft_fsync(fd), 0);
	EQ(weft_close(fd), 0);
}

GTEST(files_on_one, 1) { file_round(); }
GTEST(files_on_four, 4) { file_round(); }
TEST(files_without_a_runtime) { file_round(); }

static void
file_full(void)
{
	size_t len = (size_t)t_scale(5 << 20), done = 0;
	char *out = malloc(len), *in = malloc(len + 10);
	int fd = scratch();

	wire_fill(out, len, 0);
	EQ(weft_write_full(fd, out, len, &done), len);
	EQ(done, len);
	lseek(fd, 0, SEEK_SET);
	EQ(weft_read_full(fd, in, len + 10, &done), len);
	EQ(done, len);
	OK(wire_same(in, len, 0));
	EQ(weft_close(fd), 0);
	free(out);
	free(in);
}

GTEST(all_of_a_file, 2) { file_full(); }

/* A deadline means nothing to a file. */
GTEST(no_deadlines_for_files, 1)
{
	struct pollfd p = { .events = POLLIN | POLLOUT };
	int fd = scratch();
	char c;

	EQ(weft_set_deadline(fd, weft_deadline(-1)), 0);
	EQ(weft_set_read_deadline(fd, weft_deadline(-1)), 0);
	EQ(weft_set_write_deadline(fd, weft_deadline(-1)), 0);
	EQ(weft_write(fd, "abc", 3), 3);
	EQ(weft_pread(fd, &c, 1, 0), 1);
	EQ(weft_read(fd, &c, 1), 0);
	EQ(weft_wait_readable(fd), 0);
	EQ(weft_wait_writable(fd), 0);
	p.fd = fd;
	EQ(weft_poll(&p, 1, WEFT_NEVER), 1);
	EQ(p.revents, POLLIN | POLLOUT);
	EQ(weft_close(fd), 0);
	EQ(weft_close(fd), -EBADF);
}

static void
write_own_part(int fd, int part, int bytes)
{
	char buf[64];

	for (int at = part * 64; at < bytes; at += 8 * 64) {
		wire_fill(buf, 64, (size_t)at);
		EQ(weft_pwrite(fd, buf, 64, at), 64);
	}
	weft_waitgroup_done(&all);
}

GTEST(many_write_one_file, 4)
{
	int bytes = (int)t_scale(2000) * 64, fd = scratch();
	char *buf = malloc((size_t)bytes);

	weft_waitgroup_add(&all, 8);
	for (int i = 0; i < 8; i++)
		weft_go(write_own_part, fd, i, bytes);
	weft_waitgroup_wait(&all);
	EQ(weft_pread(fd, buf, (size_t)bytes, 0), bytes);
	OK(wire_same(buf, (size_t)bytes, 0));
	EQ(weft_close(fd), 0);
	free(buf);
}

/* ---- how it was opened ---- */

GTEST(opening, 1)
{
	char path[] = "/tmp/weft-regular-XXXXXX", buf[4];
	int fd = mkstemp(path), r, w;
	struct stat st;

	close(fd);
	r = weft_open(path, O_RDONLY | O_CLOEXEC, 0);
	w = weft_open(path, O_WRONLY | O_APPEND, 0);
	OK(r >= 0 && w >= 0);
	EQ(fcntl(r, F_GETFD), FD_CLOEXEC);
	EQ(weft_write(w, "ab", 2), 2);
	EQ(weft_write(w, "cd", 2), 2);
	EQ(weft_read(r, buf, 4), 4);
	EQ(weft_write(r, "x", 1), -EBADF);
	EQ(weft_read(w, buf, 1), -EBADF);
	EQ(weft_close(r), 0);
	EQ(weft_close(w), 0);
	unlink(path);
	EQ(weft_open(path, O_RDONLY, 0), -ENOENT);
	EQ(weft_open("/tmp", O_WRONLY, 0), -EISDIR);
	EQ(weft_open("", O_RDONLY, 0), -ENOENT);
	umask(0);
	fd = weft_open(path, O_RDWR | O_CREAT | O_EXCL, 0640);
	OK(fd >= 0);
	EQ(fstat(fd, &st), 0);
	EQ(st.st_mode & 0777, 0640);
	EQ(weft_open(path, O_RDWR | O_CREAT | O_EXCL, 0640), -EEXIST);
	EQ(weft_close(fd), 0);
	unlink(path);
	fd = weft_open("/tmp", O_PATH, 0);
	OK(fd >= 0);
	EQ(weft_read(fd, buf, 1), -EBADF);
	EQ(weft_close(fd), 0);
}

GTEST(directories, 1)
{
	int fd = weft_open("/tmp", O_RDONLY | O_DIRECTORY, 0);
	char c;

	OK(fd >= 0);
	EQ(weft_read(fd, &c, 1), -EISDIR);
	EQ(weft_pread(fd, &c, 1, 0), -EISDIR);
	EQ(weft_write(fd, &c, 1), -EBADF);
	EQ(weft_set_deadline(fd, weft_deadline(0)), 0);
	EQ(weft_read(fd, &c, 1), -EISDIR);
	EQ(weft_close(fd), 0);
}

GTEST(devices, 1)
{
	char buf[100];
	int zero = weft_open("/dev/zero", O_RDWR, 0);
	int null = weft_open("/dev/null", O_RDWR, 0);
	int full = weft_open("/dev/full", O_RDWR, 0);

	memset(buf, 1, sizeof buf);
	EQ(weft_read(zero, buf, sizeof buf), sizeof buf);
	for (int i = 0; i < 100; i++)
		EQ(buf[i], 0);
	EQ(weft_write(zero, buf, sizeof buf), sizeof buf);
	EQ(weft_read(null, buf, sizeof buf), 0);
	EQ(weft_write(null, buf, sizeof buf), sizeof buf);
	EQ(weft_write_full(null, buf, sizeof buf, NULL), sizeof buf);
	EQ(weft_write(full, buf, sizeof buf), -ENOSPC);
	EQ(weft_wait_readable(zero), 0);
	EQ(weft_wait_writable(null), 0);
	EQ(weft_close(zero), 0);
	EQ(weft_close(null), 0);
	EQ(weft_close(full), 0);
}

GTEST(files_of_the_kernel, 1)
{
	int fd = weft_open("/proc/self/stat", O_RDONLY, 0);
	char buf[4096];
	ssize_t n;

	OK(fd >= 0);
	n = weft_read_full(fd, buf, sizeof buf - 1, NULL);
	OK(n > 10);
	buf[n > 0 ? n : 0] = 0;
	EQ(atoi(buf), getpid());
	EQ(weft_close(fd), 0);
}

/* ---- opening a FIFO waits until the other side is opened ---- */

static void
open_to_write(const char *path)
{
	int fd = weft_open(path, O_WRONLY, 0);

	OK(fd >= 0);
	EQ(weft_write(fd, "through", 7), 7);
	EQ(weft_close(fd), 0);
	weft_waitgroup_done(&all);
}

GTEST(fifos_are_opened, 1)
{
	wire_addr w = wire_unix(false);
	const char *path = w.a.un.sun_path;
	char buf[16];

	EQ(mkfifo(path, 0600), 0);
	for (int i = 0; i < 5; i++) {
		int fd;

		weft_waitgroup_add(&all, 1);
		weft_go(open_to_write, path);
		fd = weft_open(path, O_RDONLY, 0);
		OK(fd >= 0);
		EQ(weft_read_full(fd, buf, sizeof buf, NULL), 7);
		weft_waitgroup_wait(&all);
		EQ(weft_close(fd), 0);
	}
	unlink(path);
}

/* ---- what does not fit ---- */

GTEST(what_does_not_fit, 1)
{
	int end[2], pair[2], ev = eventfd(t_emulated(), 0);
	char c = 0;

	wire(PIPE, end);
	wire(STREAM, pair);
	EQ(weft_pread(end[0], &c, 1, 0), -ESPIPE);
	EQ(weft_pwrite(end[1], &c, 1, 0), -ESPIPE);
	EQ(weft_pread(pair[0], &c, 1, 0), -ESPIPE);
	EQ(weft_read(end[1], &c, 1), -EBADF);
	EQ(weft_write(end[0], &c, 1), -EBADF);
	EQ(weft_fsync(end[0]), -EINVAL);
	EQ(weft_fsync(pair[0]), -EINVAL);
	/* Empty, if the kernel can be asked not to wait: an emulator may not
	 * know that call, and only what is ready is read then. */
	EQ(weft_read(ev, &c, 1), -EINVAL);
	EQ(weft_write(ev, &c, 1), -EINVAL);
	EQ(weft_write(end[1], (void *)16, 10), -EFAULT);
	EQ(weft_write(end[1], "x", 1), 1);
	EQ(weft_read(end[0], (void *)16, 1), -EFAULT);
	EQ(weft_read(end[0], &c, 1), 1);
	EQ(weft_close(ev), 0);
	wire_drop(end);
	wire_drop(pair);
}
