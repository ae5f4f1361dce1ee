/* SPDX-License-Identifier: MIT */
/*
 * close, fclose, and the calls that make descriptors: libweft learns that a
 * number is closed, or is another file now. A wait on a number of which it
 * still believes what was is repaired only after a second or so.
 *
 * A close on a goroutine is weft_close: goroutines that wait on the number
 * return EBADF, and it is not reused while one of them still uses it.
 */
#define _GNU_SOURCE 1
#include "number.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core.h"
#include "real.h"

/* Not in an announced call or a signal handler, where libweft must not be used,
 * nor in the child of a vfork. */
static bool
may_tell(void)
{
	return weft_fd_replaced && (!on_goroutine() || weft_can_park()) &&
	    is_own_process();
}

int
number_is_new(int fd)
{
	if (fd >= 0 && may_tell())
		weft_fd_replaced(fd);
	return fd;
}

/* A call that does not wait returns on its thread: its errno is there. */
static long
close_here(int fd)
{
	long r;

	weft_thread_hold();
	r = libc_result(weft_close(fd));
	weft_thread_release();
	return r;
}

static int
pair_is_new(int result, const int fd[2])
{
	if (result == 0) {
		number_is_new(fd[0]);
		number_is_new(fd[1]);
	}
	return result;
}

public int
close(int fd)
{
	if (!may_tell())
		return real()->close(fd);
	if (on_goroutine())
		return (int)close_here(fd);
	weft_fd_replaced(fd);
	return real()->close(fd);
}

/* Before it is closed: after that the number may be another goroutine's. */
public int
fclose(FILE *f)
{
	number_is_new(on_goroutine() ? fileno(f) : -1);
	return real()->fclose(f);
}

public int
socket(int domain, int type, int protocol)
{
	return number_is_new(real()->socket(domain, type, protocol));
}

public int
socketpair(int domain, int type, int protocol, int fd[2])
{
	return pair_is_new(real()->socketpair(domain, type, protocol, fd), fd);
}

public int
pipe(int fd[2])
{
	return pair_is_new(real()->pipe(fd), fd);
}

public int
pipe2(int fd[2], int flags)
{
	return pair_is_new(real()->pipe2(fd, flags), fd);
}

public int
dup(int fd)
{
	return number_is_new(real()->dup(fd));
}

/* The same number twice changes nothing. */
public int
dup2(int fd, int to)
{
	int r = real()->dup2(fd, to);

	return fd == to ? r : number_is_new(r);
}

public int
dup3(int fd, int to, int flags)
{
	return number_is_new(real()->dup3(fd, to, flags));
}
