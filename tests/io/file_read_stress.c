/* SPDX-License-Identifier: MIT */
/*
 * Reads at an offset, from the disk and from memory, by many goroutines, while
 * their descriptors are closed and opened, pages dropped, processes forked, and
 * goroutines compute: every read returns the right bytes, or says that the
 * descriptor is closed.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>

#include "block_file.h"
#include "run_env.h"

/* They are not used otherwise. */
__attribute__((constructor)) static void
ask_for_rings(void)
{
	putenv((char *)(uintptr_t)"WEFT_DEBUG=uring=1");
}

enum { FDS = 8, READERS = 600 };

static char path[64];
static int fds[FDS];		/* atomic */
static long stop, reads, closed;
static weft_waitgroup all;

static void
reader(uint32_t number)
{
	while (!get(&stop)) {
		int fd = __atomic_load_n(&fds[number % FDS], __ATOMIC_ACQUIRE);
		long n;

		number = number * 1664525 + 1013904223;
		n = block_read(fd, number / 7 % BLOCKS);
		if (n != -EBADF)
			EQ(n, BLOCK);
		__atomic_add_fetch(n == BLOCK ? &reads : &closed, 1,
		    __ATOMIC_RELAXED);
		weft_yield();	/* a hit does not wait */
	}
}

static int
open_one(void)
{
	int fd = weft_open(path, O_RDONLY, 0);

	OK(fd >= 0);
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	return fd;
}

static void
closer(void)
{
	for (int i = 0; !get(&stop); i = (i + 1) % FDS) {
		int fd = fds[i];

		block_file_drop(fd);
		EQ(weft_close(fd), 0);
		__atomic_store_n(&fds[i], open_one(), __ATOMIC_RELEASE);
		weft_sleep(200 * WEFT_US);
	}
}

static void
forker(void)
{
	while (!get(&stop)) {
		int status = 0;
		pid_t pid = fork();

		if (pid == 0)
			_exit(block_read(open_one(), 7) == BLOCK ? 0 : 1);
		OK(pid > 0);
		EQ(waitpid(pid, &status, 0), pid);
		EQ(status, 0);
		weft_sleep(20 * WEFT_MS);
	}
}

static void
hog(void)
{
	while (!get(&stop)) {
		double end = t_now() + 0.005;

		while (t_now() < end && !get(&stop))
			;
		weft_yield();
	}
}

static void
mix(void)
{
	int fd = block_file_make(path);
	long n = t_scale(READERS);

	for (int i = 0; i < FDS; i++)
		fds[i] = open_one();
	for (long i = 0; i < n; i++)
		weft_waitgroup_go(&all, reader, (uint32_t)i);
	weft_waitgroup_go(&all, closer);
	weft_waitgroup_go(&all, forker);
	weft_waitgroup_go(&all, hog);
	while (t_more(0.7))
		weft_sleep(20 * WEFT_MS);
	bump(&stop);
	weft_waitgroup_wait(&all);
	OK(get(&reads) > 0);
	printf("# %ld reads, %ld of a closed descriptor\n", reads, closed);
	for (int i = 0; i < FDS; i++)
		EQ(weft_close(fds[i]), 0);
	EQ(weft_close(fd), 0);
	unlink(path);
}

GTEST(mix_on_1, 1) { mix(); }
GTEST(mix_on_4, 4) { mix(); }
ETEST(mix_by_threads, 2, "WEFT_DEBUG=uring=0") { mix(); }
