/* SPDX-License-Identifier: MIT */
/* Small files, the affinity mask, random seeds, the environment. */
#include "os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rawcall.h"

long
os_read_file(const char *path, char *buf, size_t cap)
{
	long fd = syscall6(SYS_openat, AT_FDCWD, (long)path,
	    O_RDONLY | O_CLOEXEC, 0, 0, 0);
	size_t n = 0;
	long r = 0;

	if (fd < 0)
		return fd;
	while (n < cap - 1) {
		r = syscall6(SYS_read, fd, (long)(buf + n),
		    (long)(cap - 1 - n), 0, 0, 0);
		if (r == -EINTR)
			continue;
		if (r <= 0)
			break;
		n += (size_t)r;
	}
	syscall6(SYS_close, fd, 0, 0, 0, 0, 0);
	buf[n] = 0;
	return r < 0 ? r : (long)n;
}

void
os_program_path(char *buf, size_t cap)
{
	long n = syscall6(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe",
	    (long)buf, (long)cap, 0, 0);

	buf[n < 0 || n >= (long)cap ? 0 : n] = 0;
}

long
os_file_open(const char *path, uint64_t *bytes)
{
	/* Without NONBLOCK a FIFO of that name would wait for a writer. */
	long fd = syscall6(SYS_openat, AT_FDCWD, (long)path,
	    O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0, 0, 0);
	long end;

	if (fd < 0)
		return fd;
	end = syscall6(SYS_lseek, fd, 0, SEEK_END, 0, 0, 0);
	if (end < 0) {
		os_file_close(fd);
		return end;
	}
	*bytes = (uint64_t)end;
	return fd;
}

bool
os_file_read(long fd, void *buf, size_t bytes, uint64_t offset)
{
	char *to = buf;
	long r;

	while (bytes) {
		r = syscall6(SYS_pread64, fd, (long)to, (long)bytes,
		    (long)offset, 0, 0);
		if (r == -EINTR)
			continue;
		if (r <= 0)
			return false;
		to += r;
		offset += (uint64_t)r;
		bytes -= (size_t)r;
	}
	return true;
}

void
os_file_close(long fd)
{
	syscall6(SYS_close, fd, 0, 0, 0, 0, 0);
}

long
os_affinity(int tid, unsigned long *mask, size_t bytes)
{
	return syscall6(SYS_sched_getaffinity, tid, (long)bytes, (long)mask,
	    0, 0, 0);
}

/* Not for cryptography: the fallback is there for very early boot. */
uint64_t
os_random_seed(void)
{
	uint64_t seed;

	if (syscall6(SYS_getrandom, (long)&seed, sizeof seed, 1 /* NONBLOCK */,
	    0, 0, 0) != sizeof seed)
		seed = (uint64_t)os_now_ns() * (uint64_t)os_thread_id();
	return seed;
}

int
os_number(const char *s, int64_t *v)
{
	int64_t n = 0;
	bool neg;

	if (!*s)
		return 0;
	neg = *s == '-';
	s += neg;
	if (!*s)
		return -EINVAL;
	for (; *s >= '0' && *s <= '9' && n < INT64_C(1) << 56; s++)
		n = n * 10 + (*s - '0');
	*v = neg ? -n : n;
	return *s ? -EINVAL : 1;
}

int
os_env_number(const char *name, int64_t *v)
{
	const char *s = getenv(name);

	return s ? os_number(s, v) : 0;
}
