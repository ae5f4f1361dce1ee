/* SPDX-License-Identifier: MIT */
/*
 * Calls that block and were not announced: a goroutine on the only processor
 * sleeps in the kernel until another one, on the same processor, does
 * something about it.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run_env.h"

static weft_waitgroup all;
static int fd[2];
static long stage, others;

static void
finish(void)
{
	weft_waitgroup_done(&all);
}

/* Goes round while the others block; counts that it could. */
static void
go_round(const long *stop)
{
	while (!get(stop)) {
		bump(&others);
		weft_yield();
	}
	finish();
}

/* ---- pipes ---- */

static void
write_one(void)
{
	EQ(write(fd[1], "x", 1), 1);
	finish();
}

GTEST(read_of_a_pipe, 1)
{
	char c = 0;

	EQ(pipe(fd), 0);
	for (int i = 0; i < 20; i++) {
		weft_waitgroup_add(&all, 1);
		weft_go(write_one);
		EQ(read(fd[0], &c, 1), 1);
		weft_waitgroup_wait(&all);
	}
	OK(stalls_now().taken[WEFT_RETAKE_ASLEEP] > 0);
}

/* Two talk to each other, and both always sleep in a read. */
static void
echo(const int *in, const int *out, int n)
{
	char c;

	for (int i = 0; i < n; i++) {
		EQ(read(*in, &c, 1), 1);
		EQ(write(*out, &c, 1), 1);
	}
	finish();
}

GTEST(conversation, 1)
{
	static int a[2], b[2];
	char c = 'c';

	EQ(pipe(a), 0);
	EQ(pipe(b), 0);
	weft_waitgroup_add(&all, 1);
	weft_go(echo, &a[0], &b[1], 20);
	for (int i = 0; i < 20; i++) {
		EQ(write(a[1], &c, 1), 1);
		EQ(read(b[0], &c, 1), 1);
	}
	weft_waitgroup_wait(&all);
}

/* A full pipe: the writer sleeps. */
static void
drain(long bytes)
{
	char buf[4096];

	while (bytes > 0)
		bytes -= read(fd[0], buf, sizeof buf);
	EQ(bytes, 0);
	finish();
}

GTEST(write_to_a_full_pipe, 1)
{
	static char big[1 << 20];
	ssize_t n = 0, done = 0;

	EQ(pipe(fd), 0);
	weft_waitgroup_add(&all, 1);
	weft_go(drain, sizeof big);
	while (done < (ssize_t)sizeof big && n >= 0) {
		n = write(fd[1], big + done, sizeof big - (size_t)done);
		done += n;
	}
	OK(n > 0);
	weft_waitgroup_wait(&all);
}

/* ---- sleeping ---- */

static void
naps(void)
{
	long before = get(&others);

	while (get(&others) == before)
		OK(usleep(20000) == 0 || errno == EINTR);
	finish();
}

GTEST(usleep_lets_others_run, 1)
{
	static long stop;

	weft_waitgroup_add(&all, 9);
	weft_go(go_round, &stop);
	for (int i = 0; i < 8; i++)
		weft_go(naps);
	while (weft_goroutines() > 2)
		weft_yield();
	bump(&stop);
	weft_waitgroup_wait(&all);
}

/* ---- locks of threads ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static long guarded;

static void
holds(void)
{
	pthread_mutex_lock(&lock);
	bump(&stage);
	usleep(30000);
	guarded++;
	pthread_mutex_unlock(&lock);
	finish();
}

static void
wants(void)
{
	pthread_mutex_lock(&lock);
	guarded++;
	pthread_mutex_unlock(&lock);
	finish();
}

GTEST(pthread_mutex, 1)
{
	weft_waitgroup_add(&all, 5);
	weft_go(holds);
	await(&stage, 1);
	for (int i = 0; i < 4; i++)
		weft_go(wants);
	weft_waitgroup_wait(&all);
	EQ(guarded, 5);
}

static void
waits_cond(long turn)
{
	pthread_mutex_lock(&lock);
	while (guarded < turn)
		pthread_cond_wait(&cond, &lock);
	guarded++;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&lock);
	finish();
}

GTEST(pthread_cond, 1)
{
	weft_waitgroup_add(&all, 10);
	for (int i = 9; i >= 0; i--)
		weft_go(waits_cond, i);
	weft_waitgroup_wait(&all);
	EQ(guarded, 10);
}

GTEST(semaphores, 1)
{
	static sem_t sem;
	static long stop;

	EQ(sem_init(&sem, 0, 0), 0);
	weft_waitgroup_add(&all, 1);
	weft_go(go_round, &stop);
	weft_go(sem_post, &sem);
	EQ(sem_wait(&sem), 0);
	bump(&stop);
	weft_waitgroup_wait(&all);
}

/* ---- files and processes ---- */

static void
unlocks(int file)
{
	bump(&stage);
	weft_sleep(10 * WEFT_MS);
	EQ(flock(file, LOCK_UN), 0);
	finish();
}

GTEST(flock_of_another, 1)
{
	char path[] = "/tmp/weft-lock-XXXXXX";
	int a = mkstemp(path), b = open(path, O_RDWR);

	unlink(path);
	OK(a >= 0 && b >= 0);
	EQ(flock(a, LOCK_EX), 0);
	weft_waitgroup_add(&all, 1);
	weft_go(unlocks, a);
	EQ(flock(b, LOCK_EX), 0);
	EQ(get(&stage), 1);
	weft_waitgroup_wait(&all);
}

static void
release_child(void)
{
	weft_sleep(5 * WEFT_MS);
	close(fd[1]);
	finish();
}

GTEST(waitpid_for_a_child, 1)
{
	char c;
	int status = 0;
	pid_t pid;

	EQ(pipe(fd), 0);
	pid = fork();
	if (pid == 0) {
		close(fd[1]);
		_exit(read(fd[0], &c, 1) == 0 ? 7 : 8);
	}
	weft_waitgroup_add(&all, 1);
	weft_go(release_child);
	EQ(waitpid(pid, &status, 0), pid);
	OK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	weft_waitgroup_wait(&all);
}

/* ---- sockets ---- */

static void
speaks(int s)
{
	char buf[16] = "";

	EQ(recv(s, buf, sizeof buf, 0), 5);
	EQ(send(s, buf, 5, 0), 5);
	finish();
}

GTEST(socket_pair, 1)
{
	char buf[16] = "";
	int s[2];

	EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	weft_waitgroup_add(&all, 1);
	weft_go(speaks, s[1]);
	weft_yield();
	EQ(send(s[0], "hello", 5, 0), 5);
	EQ(recv(s[0], buf, sizeof buf, 0), 5);
	OK(!memcmp(buf, "hello", 5));
	weft_waitgroup_wait(&all);
}

/* ---- many, and none is mistaken for dead ---- */

static void
reads_one(void)
{
	char c;

	EQ(read(fd[0], &c, 1), 1);
	finish();
}

GTEST(forty_reads, 1)
{
	int n = 40;

	EQ(pipe(fd), 0);
	weft_waitgroup_add(&all, n);
	for (int i = 0; i < n; i++)
		weft_go(reads_one);
	while (stalls_now().blocked < n)
		weft_sleep(WEFT_MS);
	EQ(stalls_now().detached, 0);
	for (int i = 0; i < n; i++)
		EQ(write(fd[1], "x", 1), 1);
	weft_waitgroup_wait(&all);
	while (stalls_now().blocked)	/* on their way out */
		weft_sleep(WEFT_MS);
}

static void *
release_later(void *arg)
{
	usleep(500000);
	EQ(write(fd[1], "x", 1), 1);
	return arg;
}

/* All others wait for one that sleeps in the kernel: that is no deadlock. */
GTEST(no_deadlock, 1)
{
	pthread_t t;

	EQ(pipe(fd), 0);
	weft_waitgroup_add(&all, 1);
	weft_go(reads_one);
	pthread_create(&t, NULL, release_later, NULL);
	weft_waitgroup_wait(&all);
	pthread_join(t, NULL);
}

static void
wakes_by_itself(void)
{
	usleep(500000);
	finish();
}

GTEST(no_deadlock_alone, 1)
{
	weft_waitgroup_add(&all, 1);
	weft_go(wakes_by_itself);
	weft_waitgroup_wait(&all);
}
