/* SPDX-License-Identifier: MIT */
/*
 * Address space. If the kernel refuses memory that is an ordinary result here;
 * the caller decides what it means.
 */
#include "os.h"

#include <errno.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "rawcall.h"
#include "sanitize.h"
#include "valgrind.h"

/* Valgrind has room for 30000 mappings, and dies if there are more. */
enum { VALGRIND_MAPS = 16384 };

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif
#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif

enum { PIDFD_SELF = -10001 };	/* this process, without a descriptor */

/*
 * Fail the n-th mapping and all that follow, so that a debug build can test
 * every out-of-memory path. 0: never.
 */
#ifdef WEFT_DEBUG
a32 os_map_fail_after;
static bool
fail_now(void)
{
	uint32_t n = a_load_relaxed(&os_map_fail_after);

	if (n > 1)
		a_cas_relaxed(&os_map_fail_after, n, n - 1);
	return n == 1;
}
#else
static bool fail_now(void) { return false; }
#endif

static void *
map(size_t bytes, int flags)
{
	long r;

	if (fail_now())
		return NULL;
	r = syscall6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
	return r < 0 && r > -PAGE ? NULL : (void *)r;
}

void *
os_map(size_t bytes)
{
	return map(bytes, 0);
}

void *
os_map_stacks(size_t bytes)
{
	void *p = map(bytes, MAP_NORESERVE);

	/*
	 * One touched page must not make 2 MiB resident. A kernel without
	 * huge pages refuses this, which is as good.
	 */
	if (p)
		syscall6(SYS_madvise, (long)p, (long)bytes, MADV_NOHUGEPAGE,
		    0, 0, 0);
	return p;
}

/*
 * ThreadSanitizer has to forget who used this memory, before another part of
 * the library gets it: it sees libc's call.
 */
#ifdef SAN_THREAD
void
os_unmap(void *p, size_t bytes)
{
	int was = errno;

	munmap(p, bytes);
	errno = was;
}
#else
void
os_unmap(void *p, size_t bytes)
{
	syscall6(SYS_munmap, (long)p, (long)bytes, 0, 0, 0, 0);
}
#endif

void
os_release(void *p, size_t bytes)
{
	syscall6(SYS_madvise, (long)p, (long)bytes, MADV_DONTNEED, 0, 0, 0);
}

size_t
os_page_bytes(void)
{
	return getauxval(AT_PAGESZ);
}

int
os_guard_light(void *p, size_t bytes)
{
	return (int)syscall6(SYS_madvise, (long)p, (long)bytes,
	    MADV_GUARD_INSTALL, 0, 0, 0);
}

uint32_t
os_guard_light_many(char *p, size_t stride, size_t bytes, uint32_t n)
{
	struct iovec v[OS_GUARDS_MAX];
	long r;

	for (uint32_t i = 0; i < n; i++)
		v[i] = (struct iovec){ p + i * stride, bytes };
	r = syscall6(SYS_process_madvise, PIDFD_SELF, (long)v, n,
	    MADV_GUARD_INSTALL, 0, 0);
	return r > 0 ? (uint32_t)((size_t)r / bytes) : 0;
}

int
os_guard_split(void *p, size_t bytes)
{
	return (int)syscall6(SYS_mprotect, (long)p, (long)bytes, PROT_NONE,
	    0, 0, 0);
}

/*
 * Tested by effect: the kernel must fail to read a signal set from a guarded
 * page. If it does read it, the set is empty and blocks nothing.
 */
bool
os_guard_light_works(void)
{
	void *p;
	bool works;

	/* Valgrind would read the page before the kernel does, and crash. */
	if (vg_running() || !(p = map(PAGE, 0)))
		return false;
	works = os_guard_light(p, PAGE) == 0 &&
	    syscall6(SYS_rt_sigprocmask, SIG_BLOCK, (long)p, 0, 8, 0, 0)
	    == -EFAULT;
	os_unmap(p, PAGE);
	return works;
}

long
os_map_limit(void)
{
	char buf[32];
	long n = 0;

	if (vg_running())
		return VALGRIND_MAPS;
	if (os_read_file("/proc/sys/vm/max_map_count", buf, sizeof buf) <= 0)
		return 65530;
	for (const char *s = buf; *s >= '0' && *s <= '9' && n < 1 << 30; s++)
		n = n * 10 + (*s - '0');
	return n;
}

/*
 * The kernel reads a signal set before it finds that it does not know what to
 * do with it. Valgrind reads it itself, and would crash.
 */
bool
os_readable(const void *p)
{
	enum { NO_SUCH = 1 << 20, MASK_BYTES = 8 };

	return !vg_running() && syscall6(SYS_rt_sigprocmask, NO_SUCH, (long)p,
	    0, MASK_BYTES, 0, 0) == -EINVAL;
}
