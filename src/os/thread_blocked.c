/* SPDX-License-Identifier: MIT */
/*
 * Whether a thread sleeps in the kernel: field 3 of its stat file in /proc,
 * the only place where the kernel tells. The monitor asks about the same
 * threads again and again, up to every 20 us, so their files are kept open,
 * under high numbers (see own_fds.c): a file that is opened and closed each
 * time would for a moment have the lowest free number, which the program may
 * rely on. Also, this takes a third of the time.
 *
 * A few are kept. Those of threads that are not asked about any more are
 * closed, and all of them when the process becomes idle. If there is no room
 * for another, or no high number, the file is opened for that one call.
 *
 * A program may close our descriptors. So what is read must begin with the
 * thread's id, and a number is closed only if it still is the file that was
 * opened. (Reading the file of a thread that has ended is an error, even if
 * its id has been reused.)
 */
#include "os.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "fatal.h"
#include "fdcall.h"

enum { KEPT = 16, PATH_BYTES = 48, TEXT_BYTES = 256 };

/* The monitor's alone; in the child of a fork, the child's. */
static struct kept {
	int tid;		/* 0: none */
	int fd;
	bool asked;		/* since os_thread_blocked_close */
	dev_t dev;		/* of the file that was opened */
	ino_t ino;
} kept[KEPT];

/* The file that has that number now. */
static long
identify(int fd, dev_t *dev, ino_t *ino)
{
	struct stat st = {0};
	long err = syscall6(SYS_fstat, fd, (long)&st, 0, 0, 0, 0);

	*dev = st.st_dev;
	*ino = st.st_ino;
	return err;
}

static void
drop(struct kept *k)
{
	dev_t dev;
	ino_t ino;

	if (identify(k->fd, &dev, &ino) == 0 && dev == k->dev && ino == k->ino)
		fd_close(k->fd);
	k->tid = 0;
}

static struct kept *
find(int tid)
{
	for (int i = 0; i < KEPT; i++)
		if (kept[i].tid == tid)
			return &kept[i];
	return NULL;
}

/*
 * "tid (name) S ...": 1 unless the state is R. The name may contain
 * anything, so its end is searched from the end of the text.
 */
static int
state_of(char *buf, long n, int tid)
{
	char id[16];
	size_t len = format(id, sizeof id, "%d (", tid);
	char *s;

	for (size_t i = 0; i < len; i++)
		if ((long)i >= n || buf[i] != id[i])
			return -EINVAL;
	for (s = buf + n - 3; s > buf && *s != ')'; s--)
		;
	if (s[0] != ')' || s[1] != ' ')
		return -EINVAL;
	return s[2] != 'R';
}

static int
read_state(int fd, int tid)
{
	char buf[TEXT_BYTES];
	long n;

	do
		n = syscall6(SYS_pread64, fd, (long)buf, sizeof buf, 0, 0, 0);
	while (n == -EINTR);
	return n < 0 ? (int)n : state_of(buf, n, tid);
}

/* Keeps the descriptor if it gets a high number; true if so. *fd: its number
 * now. */
static bool
keep(struct kept *k, int *fd, int tid)
{
	*fd = (int)os_fd_move_high(*fd);
	if (*fd < FD_HIGH || identify(*fd, &k->dev, &k->ino))
		return false;
	k->fd = *fd;
	k->asked = true;
	k->tid = tid;
	return true;
}

static int
open_stat(int tid)
{
	char path[PATH_BYTES];

	format(path, sizeof path, "/proc/self/task/%d/stat", tid);
	return (int)syscall6(SYS_openat, AT_FDCWD, (long)path,
	    O_RDONLY | O_CLOEXEC, 0, 0, 0);
}

int
os_thread_blocked_once(int tid)
{
	int fd = open_stat(tid), state;

	if (fd < 0)
		return fd;
	state = read_state(fd, tid);
	fd_close(fd);
	return state;
}

static int
open_and_ask(int tid)
{
	struct kept *k = find(0);
	int fd = open_stat(tid), state;

	if (fd < 0)
		return fd;
	state = read_state(fd, tid);
	if (state < 0 || !k || !keep(k, &fd, tid))
		fd_close(fd);
	return state;
}

int
os_thread_blocked(int tid)
{
	struct kept *k = find(tid);
	int state;

	if (!k)
		return open_and_ask(tid);
	k->asked = true;
	state = read_state(k->fd, tid);
	if (state >= 0)
		return state;
	drop(k);
	return open_and_ask(tid);
}

void
os_thread_blocked_close(bool all)
{
	for (struct kept *k = kept; k < kept + KEPT; k++) {
		if (k->tid && (all || !k->asked))
			drop(k);
		k->asked = false;
	}
}
