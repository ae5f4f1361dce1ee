/* SPDX-License-Identifier: MIT */
/*
 * Reads that the kernel does while their goroutine is parked: that it does, and
 * what happens when it refuses; when the descriptor is closed, the process
 * forks or the runtime ends meanwhile.
 */
#define _GNU_SOURCE 1
#include <sys/syscall.h>
#include <sys/wait.h>

#include "block_file.h"
#include "plain_thread.h"
#include "ring.h"
#include "run_env.h"
#include "stderr_text.h"
#include "syscall_inject.h"

#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#define SYS_io_uring_enter 426
#endif

/* They are not used otherwise. */
__attribute__((constructor)) static void
ask_for_rings(void)
{
	putenv((char *)(uintptr_t)"WEFT_DEBUG=uring=1");
}

enum { READERS = 64, EACH = 20 };

static weft_waitgroup all;
static int fd;
static long stop;

static uint64_t
done(void)
{
	return a_load_relaxed(&ring_counts.done);
}

static uint64_t
parked(void)
{
	return a_load_relaxed(&ring_counts.parked);
}

/* Is there a ring, and a disk behind it? */
static void
need_ring(void)
{
	for (uint32_t i = 0; i < 100 && !parked(); i++) {
		block_file_drop(fd);
		EQ(block_read(fd, i), BLOCK);
	}
	if (!done())
		t_skip("no io_uring here");
	if (!parked())
		t_skip("no disk here");
}

static void
reader(uint32_t first)
{
	for (uint32_t i = 0; i < EACH; i++)
		EQ(block_read(fd, (first + i * 37) % BLOCKS), BLOCK);
}

static void
read_by_many(void)
{
	block_file_drop(fd);
	for (uint32_t i = 0; i < READERS; i++)
		weft_waitgroup_go(&all, reader, i * 13);
	weft_waitgroup_wait(&all);
}

/* ---- the kernel does it ---- */

static void
by_ring(void)
{
	fd = block_file_make(NULL);
	need_ring();
	read_by_many();
	OK(parked() > 1);
	EQ(weft_close(fd), 0);
}

GTEST(by_ring_on_1, 1) { by_ring(); }
GTEST(by_ring_on_4, 4) { by_ring(); }

/* Its end is the end, also if the kernel finds it. */
GTEST(the_end, 2)
{
	char buf[3 * BLOCK];

	fd = block_file_make(NULL);
	need_ring();
	block_file_drop(fd);
	EQ(weft_pread(fd, buf, sizeof buf, (BLOCKS - 1) * BLOCK), BLOCK);
	block_file_drop(fd);
	EQ(weft_pread(fd, buf, sizeof buf, (BLOCKS - 1) * BLOCK + 1000),
	    BLOCK - 1000);
	EQ(weft_pread(fd, buf, sizeof buf, BLOCKS * BLOCK), 0);
	EQ(weft_pread(fd, (void *)8, BLOCK, 0), -EFAULT);
	EQ(weft_close(fd), 0);
}

/* The first half from memory, the rest from the disk: one result. */
GTEST(in_two_parts, 2)
{
	static uint32_t buf[16 * BLOCK / 4];

	fd = block_file_make(NULL);
	need_ring();
	for (uint32_t i = 0; i + 16 < BLOCKS; i += 16) {
		block_file_drop(fd);
		EQ(block_read(fd, i), BLOCK);
		EQ(block_read(fd, i + 5), BLOCK);
		EQ(weft_pread(fd, buf, sizeof buf, i * BLOCK), sizeof buf);
		for (uint32_t k = 0; k < 16; k++)
			OK(block_is(buf + k * BLOCK / 4, i + k));
	}
	EQ(weft_close(fd), 0);
}

static void
direct(void)
{
	static uint32_t buf[BLOCK / 2] __attribute__((__aligned__(4096)));
	char path[64];
	int two;

	fd = block_file_make(path);
	two = open(path, O_RDONLY | O_DIRECT);
	unlink(path);
	if (two < 0)
		t_skip("no O_DIRECT here");
	for (uint32_t i = 0; i < 50; i++) {
		EQ(weft_pread(two, buf, BLOCK, i * BLOCK), BLOCK);
		OK(block_is(buf, i));
	}
	EQ(weft_pread(two, (char *)buf + 1, BLOCK, 0), pread(two,
	    (char *)buf + 1, BLOCK, 0) < 0 ? -errno : BLOCK);
	EQ(weft_close(two), 0);
	EQ(weft_close(fd), 0);
}

GTEST(direct_reads, 2) { direct(); }

/* ---- beside a goroutine that does not come back ---- */

static void
hog(void)
{
	compute(&stop);
}

GTEST(while_the_p_is_stuck, 1)
{
	fd = block_file_make(NULL);
	need_ring();
	weft_waitgroup_go(&all, hog);
	for (uint32_t i = 0; i < 20; i++) {
		block_file_drop(fd);
		EQ(block_read(fd, i), BLOCK);
	}
	bump(&stop);
	weft_waitgroup_wait(&all);
	EQ(weft_close(fd), 0);
}

/* ---- refused ---- */

static void
without_ring(void)
{
	fd = block_file_make(NULL);
	read_by_many();
	EQ(done(), 0);
	EQ(weft_close(fd), 0);
}

TEST(switched_off) { run_env(2, "WEFT_DEBUG=uring=0", without_ring); }

static int refuse_with;

static void
no_setup(void)
{
	inject(SYS_io_uring_setup, refuse_with, 1000000);
	without_ring();
}

static void
run_refused(int error)
{
	refuse_with = error;
	inject_run(SYS_io_uring_setup, 2, no_setup);
}

TEST(not_permitted) { run_refused(EPERM); }
TEST(not_in_this_kernel) { run_refused(ENOSYS); }
TEST(no_descriptor_left) { run_refused(EMFILE); }
TEST(no_memory) { run_refused(ENOMEM); }

/* It may be refused for some time only. */
static void
for_a_while(void)
{
	inject(SYS_io_uring_setup, ENFILE, 3);
	fd = block_file_make(NULL);
	need_ring();
	inject(SYS_io_uring_enter, EAGAIN, 10);
	read_by_many();
	await_injected(SYS_io_uring_enter);
	EQ(a_load_relaxed(&ring_counts.refused), 10);
	EQ(weft_close(fd), 0);
}

TEST(refused_for_a_while)
{
	inject_start((long[]){ SYS_io_uring_setup, SYS_io_uring_enter }, 2);
	run_env(1, NULL, for_a_while);	/* which has its ring by then */
}

/* The program has closed our descriptor: reads go on without it. */
GTEST(the_ring_is_closed, 1)
{
	fd = block_file_make(NULL);
	need_ring();
	for (int n = 32; n < 64; n++) {
		char link[64], to[64] = "";

		snprintf(link, sizeof link, "/proc/self/fd/%d", n);
		if (readlink(link, to, sizeof to - 1) > 0 &&
		    strstr(to, "io_uring"))
			EQ(close(n), 0);
	}
	read_by_many();
	EQ(weft_close(fd), 0);
}

/* ---- no goroutine ---- */

static void *
on_a_thread(void *arg)
{
	block_file_drop(fd);
	for (uint32_t i = 0; i < 20; i++)
		EQ(block_read(fd, i), BLOCK);
	return arg;
}

GTEST(on_a_plain_thread, 2)
{
	pthread_t t;

	fd = block_file_make(NULL);
	EQ(pthread_create(&t, NULL, on_a_thread, NULL), 0);
	pthread_join(t, NULL);
	EQ(done(), 0);
	EQ(weft_close(fd), 0);
}

TEST(without_a_runtime)
{
	fd = block_file_make(NULL);
	on_a_thread(NULL);
	EQ(weft_close(fd), 0);
}

/* ---- closed meanwhile ---- */

static void
read_until_closed(int mine)
{
	for (uint32_t i = 0; i < 200; i++) {
		long n = block_read(mine, i * 7 % BLOCKS);

		if (n == -EBADF)
			return;
		EQ(n, BLOCK);
	}
}

GTEST(closed_in_flight, 4)
{
	char path[64];

	fd = block_file_make(path);
	for (int round = 0; round < 30; round++) {
		int mine = weft_open(path, O_RDONLY, 0);

		posix_fadvise(mine, 0, 0, POSIX_FADV_RANDOM);
		block_file_drop(mine);
		for (int i = 0; i < 8; i++)
			weft_waitgroup_go(&all, read_until_closed, mine);
		weft_sleep((round % 10) * 50 * WEFT_US);
		EQ(weft_close(mine), 0);
		weft_waitgroup_wait(&all);
		EQ(fcntl(mine, F_GETFD), -1);
	}
	unlink(path);
	EQ(weft_close(fd), 0);
}

/* A deadline means nothing to a file. */
GTEST(deadline_in_flight, 2)
{
	fd = block_file_make(NULL);
	for (uint32_t i = 0; i < 50; i++) {
		EQ(weft_set_deadline(fd, weft_deadline(10 * WEFT_US)), 0);
		block_file_drop(fd);
		EQ(block_read(fd, i), BLOCK);
	}
	EQ(weft_close(fd), 0);
}

/* ---- fork ---- */

static void
read_until_stopped(uint32_t first)
{
	for (uint32_t i = 0; !get(&stop); i++) {
		if (i % 64 == 0)
			block_file_drop(fd);
		EQ(block_read(fd, (first + i * 37) % BLOCKS), BLOCK);
	}
}

/* The child has the file, but neither ring nor runtime. */
static void
fork_once(void)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		for (uint32_t i = 0; i < 20; i++)
			if (block_read(fd, i) != BLOCK)
				_exit(1);
		_exit(a_load_relaxed(&ring_counts.refused) ? 2 : 0);
	}
	OK(pid > 0);
	EQ(waitpid(pid, &status, 0), pid);
	EQ(status, 0);
}

GTEST(fork_in_flight, 2)
{
	fd = block_file_make(NULL);
	for (uint32_t i = 0; i < 16; i++)
		weft_waitgroup_go(&all, read_until_stopped, i * 50);
	for (int i = 0; i < 20; i++) {
		fork_once();
		weft_sleep(WEFT_MS);
	}
	bump(&stop);
	weft_waitgroup_wait(&all);
	EQ(weft_close(fd), 0);
}

/* ---- the end ---- */

static char *buffers;
static long started;

static void
read_for_ever(uint32_t mine)
{
	bump(&started);
	for (uint32_t i = 0; ; i++)
		weft_pread(fd, buffers + mine * BLOCK, BLOCK,
		    (off_t)((mine * 16 + i) % BLOCKS) * BLOCK);
}

static int
end_in_flight(int argc, char **argv)
{
	(void)argc, (void)argv;
	for (uint32_t i = 0; i < READERS; i++)
		weft_go(read_for_ever, i);
	await(&started, READERS);
	block_file_drop(fd);
	weft_sleep(WEFT_MS);
	block_file_drop(fd);
	return 5;
}

/* Then the memory is the program's again. */
TEST(the_runtime_ends)
{
	weft_config c = { .procs = 2 };

	fd = block_file_make(NULL);
	buffers = calloc(READERS, BLOCK);
	EQ(weft_run_config(&c, sizeof c, end_in_flight, 0, NULL), 5);
	OK(!ring_any_waiters());
	EQ(block_read(fd, 3), BLOCK);
	close(fd);
}

/* ---- WEFT_EXPLAIN ---- */

static void
nothing(void)
{
}

static bool
is_said(const char *env, const char *text)
{
	struct stderr_text t = stderr_begin();
	char *all_of_it;
	bool said;

	run_env(1, env, nothing);
	all_of_it = stderr_end(&t);
	said = strstr(all_of_it, text) != NULL;
	free(all_of_it);
	return said;
}

TEST(explained)
{
	OK(is_said("WEFT_EXPLAIN=1", "files that are not in memory are read "
	    "by "));
}

TEST(explained_that_it_is_off)
{
	putenv((char *)(uintptr_t)"WEFT_DEBUG=uring=0");
	OK(is_said("WEFT_EXPLAIN=1", "WEFT_DEBUG=uring=1 asks for io_uring"));
}

TEST(not_explained)
{
	OK(!is_said("WEFT_EXPLAIN=0", "files"));
}
