/* SPDX-License-Identifier: MIT */
/* Small files, the affinity mask, random seeds, the environment. */
#include "os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>

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

long
os_affinity(unsigned long *mask, size_t bytes)
{
	return syscall6(SYS_sched_getaffinity, 0, (long)bytes, (long)mask,
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
os_env_number(const char *name, int64_t *v)
{
	const char *s = getenv(name);
	int64_t n = 0;
	bool neg;

	if (!s || !*s)
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
