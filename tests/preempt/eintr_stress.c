/* SPDX-License-Identifier: MIT */
/*
 * EINTR. A call that the kernel restarts never sees one, however short the
 * slices are; of the others (timed waits) each that fails is counted.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "raw_syscall.h"
#include "run_env.h"

/* Of linux/futex.h, which musl has not. */
enum { FUTEX_WAIT, FUTEX_WAKE, FUTEX_PRIVATE_FLAG = 128 };

static weft_waitgroup all;
static long stop, rounds, cut_short;

#define SOON "WEFT_SLICE_US=50"

/* errno as libc left it, right after the call. */
#define FAILED(call) ((call) < 0 ? errno : 0)

static void
hog(void)
{
	compute(&stop);
	weft_waitgroup_done(&all);
}

static void
start(void (*fn)(void))
{
	weft_waitgroup_add(&all, 1);
	OK(weft_try_go(fn) > 0);
}

/*
 * Gets a processor, without which it is not preempted, and computes for some
 * microseconds: its slice ends before the call, within, or after.
 */
static void
dither(long i)
{
	weft_checkpoint();
	for (volatile long k = i % 64 * 50; k > 0; k--)
		;
}

static void
for_a_while(void)
{
	while (t_more(2))
		weft_sleep(20 * WEFT_MS);
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
}

/* Some was done meanwhile, and no call was cut short. */
static void
none_is_interrupted(void)
{
	for_a_while();
	weft_waitgroup_wait(&all);
	OK(rounds > 0);
	EQ(stalls_now().interrupted, 0);
}

/* ---- calls that are restarted ---- */

static int there[2], back[2];

static void
answers(void)
{
	char c;

	while (read(there[0], &c, 1) == 1) {
		dither(get(&rounds));
		EQ(write(back[1], &c, 1), 1);
	}
	weft_waitgroup_done(&all);
}

static void
asks(void)
{
	char c = 'c';

	while (!get(&stop)) {
		dither(get(&rounds) / 3);
		EQ(FAILED(write(there[1], &c, 1)), 0);
		EQ(FAILED(read(back[0], &c, 1)), 0);
		bump(&rounds);
	}
	close(there[1]);
	weft_waitgroup_done(&all);
}

ETEST(pipes, 2, SOON)
{
	EQ(pipe(there), 0);
	EQ(pipe(back), 0);
	start(answers);
	start(asks);
	start(hog);
	none_is_interrupted();
}

static int lock_fd[2];

static void
locks(int nr)
{
	while (!get(&stop)) {
		EQ(FAILED(flock(lock_fd[nr], LOCK_EX)), 0);
		bump(&rounds);
		dither(get(&rounds));
		EQ(FAILED(flock(lock_fd[nr], LOCK_UN)), 0);
	}
	weft_waitgroup_done(&all);
}

ETEST(file_locks, 2, SOON)
{
	char path[] = "/tmp/weft-lock-XXXXXX";

	lock_fd[0] = mkstemp(path);
	lock_fd[1] = open(path, O_RDWR);
	unlink(path);
	weft_waitgroup_add(&all, 2);
	weft_go(locks, 0);
	weft_go(locks, 1);
	start(hog);
	none_is_interrupted();
}

static uint32_t word;

static long
futex(int op, uint32_t val)
{
	long r = syscall6(SYS_futex, (long)&word, op | FUTEX_PRIVATE_FLAG, val,
	    0, 0, 0);

	if (r < 0)
		errno = (int)-r;
	return r < 0 ? -1 : r;
}

/* EAGAIN: the word has changed already. */
static void
futex_waits(void)
{
	while (!get(&stop)) {
		uint32_t v = __atomic_load_n(&word, __ATOMIC_ACQUIRE);
		int e;

		dither(get(&rounds) / 3);
		e = FAILED(futex(FUTEX_WAIT, v));
		OK(e == 0 || e == EAGAIN);
		bump(&rounds);
	}
	weft_waitgroup_done(&all);
}

static void
futex_wakes(void)
{
	while (!get(&stop)) {
		dither(get(&rounds));
		__atomic_add_fetch(&word, 1, __ATOMIC_RELEASE);
		futex(FUTEX_WAKE, 1);
		weft_yield();
	}
	__atomic_add_fetch(&word, 1, __ATOMIC_RELEASE);
	futex(FUTEX_WAKE, 1);
	weft_waitgroup_done(&all);
}

ETEST(futexes, 2, SOON)
{
	start(futex_waits);
	start(futex_wakes);
	start(hog);
	none_is_interrupted();
}

static struct sockaddr_in server;

static void
accepts(int listener)
{
	while (!get(&stop)) {
		int s;

		dither(get(&rounds) / 5);
		s = accept(listener, NULL, NULL);
		EQ(s < 0 ? errno : 0, 0);
		close(s);
		bump(&rounds);
	}
	weft_waitgroup_done(&all);
}

/* One more connection than are waited for: the last accept must return. */
static void
connects(void)
{
	bool last = false;

	while (!last) {
		int s = socket(AF_INET, SOCK_STREAM, 0), e;

		last = get(&stop);
		e = FAILED(connect(s, (struct sockaddr *)&server,
		    sizeof server));
		EQ(e, 0);
		dither(get(&rounds));
		close(s);
	}
	weft_waitgroup_done(&all);
}

ETEST(connections, 2, SOON)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof server;

	server.sin_family = AF_INET;
	server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener, (struct sockaddr *)&server, len) != 0)
		t_skip("no network");
	getsockname(listener, (struct sockaddr *)&server, &len);
	EQ(listen(listener, 100), 0);
	weft_waitgroup_add(&all, 1);
	weft_go(accepts, listener);
	start(connects);
	start(hog);
	none_is_interrupted();
}

static void
has_children(void)
{
	while (!get(&stop)) {
		pid_t pid = fork();
		int status = -1;

		if (pid == 0) {
			usleep(30);
			_exit(3);
		}
		dither(get(&rounds));
		EQ(FAILED(waitpid(pid, &status, 0)), 0);
		EQ(status, 3 << 8);
		bump(&rounds);
	}
	weft_waitgroup_done(&all);
}

ETEST(children, 2, SOON)
{
	start(has_children);
	start(hog);
	none_is_interrupted();
}

/* ---- calls that are not ---- */

static void
count(int failed)
{
	bump(&rounds);
	if (failed == EINTR)
		bump(&cut_short);
	else
		EQ(failed, 0);
}

static void
timed_calls(void)
{
	struct timespec ts = { 0, 50000 };
	int ep = epoll_create1(0);
	struct epoll_event ev;

	for (long i = 0; !get(&stop); i++) {
		dither(i);
		count(FAILED(nanosleep(&ts, NULL)));
		count(FAILED(ppoll(NULL, 0, &ts, NULL)));
		count(FAILED(epoll_wait(ep, &ev, 1, 1)));
	}
	close(ep);
	weft_waitgroup_done(&all);
}

/*
 * None is missed. One may be counted twice: a second signal may come before
 * the thread has executed a single instruction after the first.
 */
ETEST(timed_ones_are_counted, 2, SOON)
{
	start(timed_calls);
	start(timed_calls);
	start(hog);
	for_a_while();
	weft_waitgroup_wait(&all);
	OK(rounds > 0);
	OK((long)stalls_now().interrupted >= cut_short);
	OK((long)stalls_now().interrupted <= cut_short + cut_short / 20 + 2);
}

/*
 * Asleep when the monitor looked: no signal is sent. With usual slices a sleep
 * of many slices is always found asleep.
 */
static void
sleeps_long(void)
{
	struct timespec ts = { 0, 60000000 };

	while (!get(&stop))
		count(FAILED(nanosleep(&ts, NULL)));
	weft_waitgroup_done(&all);
}

GTEST(a_sleeper_is_left_alone, 1)
{
	for (int i = 0; i < 8; i++)
		start(sleeps_long);
	start(hog);
	for_a_while();
	weft_waitgroup_wait(&all);
	OK(stalls_now().taken[WEFT_RETAKE_ASLEEP] > 0);
	EQ(stalls_now().interrupted, 0);
	EQ(cut_short, 0);
}

/* ---- calls of ours that ask without waiting ---- */

static int asker;		/* thread that shall be interrupted */

static void
heard(int nr)
{
	(void)nr;
}

static void *
interrupts(void *arg)
{
	while (!get(&stop)) {
		int tid = __atomic_load_n(&asker, __ATOMIC_RELAXED);

		if (tid)
			syscall6(SYS_tgkill, getpid(), tid, SIGUSR1, 0, 0, 0);
	}
	return arg;
}

static void
begins(long *begun)
{
	__atomic_store_n(begun, 1, __ATOMIC_RELEASE);
	weft_waitgroup_done(&all);
}

/* A signal does not make a descriptor readable. */
static void
begins_by_event(void)
{
	int end[2];
	long begun = 0;

	EQ(pipe(end), 0);
	weft_waitgroup_add(&all, 1);
	__atomic_store_n(&asker, gettid(), __ATOMIC_RELAXED);
	OK(weft_go_readable(end[0], begins, &begun) > 0);
	weft_yield();
	EQ(get(&begun), 0);
	EQ(write(end[1], "", 1), 1);
	weft_waitgroup_wait(&all);
	EQ(weft_close(end[0]), 0);
	EQ(weft_close(end[1]), 0);
	bump(&rounds);
}

GTEST(readiness_is_asked_again, 1)
{
	struct sigaction sa = { .sa_handler = heard, .sa_flags = SA_RESTART };
	pthread_t t;

	EQ(sigaction(SIGUSR1, &sa, NULL), 0);
	EQ(pthread_create(&t, NULL, interrupts, NULL), 0);
	while (t_more(2))
		begins_by_event();
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
	OK(rounds > 0);
}
