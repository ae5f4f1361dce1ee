/* SPDX-License-Identifier: MIT */
/*
 * Files: calls in which the kernel may block, for a disk or a remote file
 * system, and which are announced. And closing.
 */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "preempt.h"
#include "tsan_io.h"
#include "weft.h"

/* ---- by descriptor ---- */

long
file_call(int fd, fdio_try *fn, void *arg)
{
	struct desc *d;
	long n;

	checkpoint();
	n = desc_enter_file(fd, &d);
	if (n)
		return n;
	do
		n = fdio_blocking(fn, d, arg);
	while (n == -EINTR);
	desc_leave(d);
	return n;
}

static long
fsync_now(struct desc *d, void *unused)
{
	(void)unused;
	return syscall6(SYS_fsync, d->fd, 0, 0, 0, 0, 0);
}

public int
weft_fsync(int fd)
{
	return (int)file_call(fd, fsync_now, NULL);
}

static long
fdatasync_now(struct desc *d, void *unused)
{
	(void)unused;
	return syscall6(SYS_fdatasync, d->fd, 0, 0, 0, 0, 0);
}

public int
weft_fdatasync(int fd)
{
	return (int)file_call(fd, fdatasync_now, NULL);
}

static long
ftruncate_now(struct desc *d, void *len)
{
	return syscall6(SYS_ftruncate, d->fd, (long)*(off_t *)len, 0, 0, 0, 0);
}

public int
weft_ftruncate(int fd, off_t len)
{
	return (int)file_call(fd, ftruncate_now, &len);
}

/* A struct stat of libc is the kernel's on all architectures of weft. */
static long
fstat_now(struct desc *d, void *out)
{
	return syscall6(SYS_fstat, d->fd, (long)out, 0, 0, 0, 0);
}

public int
weft_fstat(int fd, struct stat *out)
{
	return (int)file_call(fd, fstat_now, out);
}

/* ---- by path ---- */

/* What these calls have, each some of it. */
struct path {
	const char *name, *to;
	struct stat *out;
	int flags;
	mode_t mode;
};

static long
path_call(fdio_try *fn, struct path *p)
{
	long n;

	checkpoint();
	do
		n = fdio_blocking(fn, NULL, p);
	while (n == -EINTR);
	return n;
}

static long
open_now(struct desc *none, void *arg)
{
	const struct path *p = arg;

	(void)none;
	return syscall6(SYS_openat, AT_FDCWD, (long)p->name,
	    p->flags | O_CLOEXEC, p->mode, 0, 0);
}

public int
weft_open(const char *path, int flags, mode_t mode)
{
	struct path p = { .name = path, .flags = flags, .mode = mode };
	long n = path_call(open_now, &p);

	if (n >= 0)
		desc_new_fd((int)n);
	return (int)n;
}

static long
stat_now(struct desc *none, void *arg)
{
	const struct path *p = arg;

	(void)none;
	return syscall6(SYS_newfstatat, AT_FDCWD, (long)p->name, (long)p->out,
	    p->flags, 0, 0);
}

public int
weft_stat(const char *path, struct stat *out)
{
	struct path p = { .name = path, .out = out };

	return (int)path_call(stat_now, &p);
}

public int
weft_lstat(const char *path, struct stat *out)
{
	struct path p = { .name = path, .out = out,
	    .flags = AT_SYMLINK_NOFOLLOW };

	return (int)path_call(stat_now, &p);
}

static long
rename_now(struct desc *none, void *arg)
{
	const struct path *p = arg;

	(void)none;
	return syscall6(SYS_renameat2, AT_FDCWD, (long)p->name, AT_FDCWD,
	    (long)p->to, 0, 0);
}

public int
weft_rename(const char *from, const char *to)
{
	struct path p = { .name = from, .to = to };

	return (int)path_call(rename_now, &p);
}

static long
unlink_now(struct desc *none, void *arg)
{
	const struct path *p = arg;

	(void)none;
	return syscall6(SYS_unlinkat, AT_FDCWD, (long)p->name, p->flags, 0, 0,
	    0);
}

public int
weft_unlink(const char *path)
{
	struct path p = { .name = path };

	return (int)path_call(unlink_now, &p);
}

public int
weft_rmdir(const char *path)
{
	struct path p = { .name = path, .flags = AT_REMOVEDIR };

	return (int)path_call(unlink_now, &p);
}

static long
mkdir_now(struct desc *none, void *arg)
{
	const struct path *p = arg;

	(void)none;
	return syscall6(SYS_mkdirat, AT_FDCWD, (long)p->name, (long)p->mode, 0,
	    0, 0);
}

public int
weft_mkdir(const char *path, mode_t mode)
{
	struct path p = { .name = path, .mode = mode };

	return (int)path_call(mkdir_now, &p);
}

/* ---- closing ---- */

public void
weft_fd_replaced(int fd)
{
	struct desc *d = fd < 0 ? NULL : desc_at(fd);

	/* Its own it closes itself: the caller's close is the kernel's. */
	if (d && !(a_load_relaxed(&d->refs) & OWN))
		desc_new_fd(fd);
}

public int
weft_close(int fd)
{
	tsan_io_release();
	checkpoint();
	return desc_close(fd);
}
