/* SPDX-License-Identifier: MIT */
/*
 * The file of the debug socket. Only its owner may connect (and root), from the
 * moment on at which the file exists: the kernel makes it with the mode of the
 * socket, which is set before it is bound. To change the umask for that moment
 * would change it for all threads of the program.
 *
 * Without a path it is $XDG_RUNTIME_DIR/weft-PID.sock, in a directory that is
 * the user's alone; else /tmp/weft-UID/weft-PID.sock, in a directory that is
 * made, or checked to be, the same. A file of a process that was killed is
 * replaced: that is a socket of the same user to which none listens.
 */
#include "debug_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "fatal.h"
#include "fdcall.h"
#include "os.h"

enum { BACKLOG = 16, PRIVATE_MODE = 0600, DIR_MODE = 0700 };

static uint32_t
uid_now(void)
{
	return (uint32_t)syscall6(SYS_geteuid, 0, 0, 0, 0, 0, 0);
}

/* Without following a link. */
static long
look(const char *path, struct stat *st)
{
	return syscall6(SYS_newfstatat, AT_FDCWD, (long)path, (long)st,
	    AT_SYMLINK_NOFOLLOW, 0, 0);
}

/* ---- the path ---- */

static bool
is_private_dir(const char *path)
{
	struct stat st;

	return look(path, &st) == 0 && S_ISDIR(st.st_mode) &&
	    st.st_uid == uid_now() && (st.st_mode & 077) == 0;
}

/* $XDG_RUNTIME_DIR, if it is a directory and the user's alone. */
static const char *
runtime_dir(void)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");

	return dir && *dir == '/' && !getauxval(AT_SECURE) &&
	    is_private_dir(dir) ? dir : NULL;
}

static int
put_path(char path[DEBUG_PATH_BYTES], const char *dir)
{
	size_t n = format(path, DEBUG_PATH_BYTES, "%s/weft-%d.sock", dir,
	    (int)syscall6(SYS_getpid, 0, 0, 0, 0, 0, 0));

	return n == DEBUG_PATH_BYTES - 1 ? -ENAMETOOLONG : 0;
}

static int
choose_own(char path[DEBUG_PATH_BYTES])
{
	const char *dir = runtime_dir();
	char tmp[40];
	long err;

	if (dir && put_path(path, dir) == 0)
		return 0;
	format(tmp, sizeof tmp, "/tmp/weft-%u", uid_now());
	err = syscall6(SYS_mkdirat, AT_FDCWD, (long)tmp, DIR_MODE, 0, 0, 0);
	if (err && err != -EEXIST)
		return (int)err;
	return is_private_dir(tmp) ? put_path(path, tmp) : -EACCES;
}

int
debug_path_choose(const char *asked, char path[DEBUG_PATH_BYTES])
{
	if (!asked || !*asked)
		return choose_own(path);
	if (strlen(asked) >= DEBUG_PATH_BYTES)
		return -ENAMETOOLONG;
	strcpy(path, asked);
	return 0;
}

/* ---- the socket ---- */

static struct sockaddr_un
address_of(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	memcpy(a.sun_path, path, strlen(path));
	return a;
}

static long
unix_socket(void)
{
	return syscall6(SYS_socket, AF_UNIX,
	    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, 0, 0, 0);
}

static long
bind_to(long fd, const char *path)
{
	struct sockaddr_un a = address_of(path);

	return syscall6(SYS_bind, fd, (long)&a, sizeof a, 0, 0, 0);
}

/* A socket of this user to which no process listens. */
static bool
is_left_behind(const char *path)
{
	struct sockaddr_un a = address_of(path);
	struct stat st;
	long fd, err;

	if (look(path, &st) != 0 || !S_ISSOCK(st.st_mode) ||
	    st.st_uid != uid_now())
		return false;
	fd = unix_socket();
	if (fd < 0)
		return false;
	err = syscall6(SYS_connect, fd, (long)&a, sizeof a, 0, 0, 0);
	fd_close((int)fd);
	return err == -ECONNREFUSED;
}

static void
remove_file(const char *path)
{
	syscall6(SYS_unlinkat, AT_FDCWD, (long)path, 0, 0, 0, 0);
}

void
debug_path_remove(const char *path, const struct debug_file *file)
{
	struct stat st;

	if (look(path, &st) == 0 && S_ISSOCK(st.st_mode) &&
	    st.st_dev == file->dev && st.st_ino == file->ino)
		remove_file(path);
}

/* The mode is what was set before; if the kernel is not Linux's, not so. */
static long
verify_mode(const char *path, struct debug_file *file)
{
	struct stat st;
	long err = look(path, &st);

	if (!err)
		*file = (struct debug_file){ st.st_dev, st.st_ino };
	if (err || (st.st_mode & 077) == 0)
		return err;
	return syscall6(SYS_fchmodat, AT_FDCWD, (long)path, PRIVATE_MODE, 0, 0,
	    0);
}

/* It listens soon after the file exists, so that another process that finds it
 * does not take it for one that was left behind. */
static long
bind_private(long fd, const char *path, struct debug_file *file)
{
	long err;

	syscall6(SYS_fchmod, fd, PRIVATE_MODE, 0, 0, 0, 0);
	err = bind_to(fd, path);
	if (err == -EADDRINUSE && is_left_behind(path)) {
		remove_file(path);
		err = bind_to(fd, path);
	}
	if (err)
		return err;
	err = syscall6(SYS_listen, fd, BACKLOG, 0, 0, 0, 0);
	if (!err)
		err = verify_mode(path, file);
	if (err)
		remove_file(path);
	return err;
}

long
debug_path_listen(const char *path, struct debug_file *file)
{
	long fd = os_fd_move_high(unix_socket()), err;

	if (fd < 0)
		return fd;
	err = bind_private(fd, path, file);
	if (err)
		fd_close((int)fd);
	return err ? err : fd;
}
