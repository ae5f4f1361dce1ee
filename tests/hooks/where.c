/* SPDX-License-Identifier: MIT */
/*
 * Where a hooked call is the system's: it waits in the kernel, with its thread,
 * and nothing is parked. Everywhere the same calls wait, each for an answer
 * that is given once the thread sleeps.
 */
#define _GNU_SOURCE 1
#include <weft.h>

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "child_process.h"
#include "counter.h"
#include "fd_pairs.h"
#include "hooked.h"
#include "plain_thread.h"
#include "run_env.h"

/* ---- calls that wait, and their answers ---- */

enum { CALLS = 9, ROOM = 4096 };

/* What the calls need, made before: they may be made in a signal handler. */
struct visit {
	int tid, step, bad;
	int pipe[2], full[2], pair[2];
	int listener, client, epoll;
	wire_addr addr;
};

#define SEE(v, x)							\
	do {								\
		if (!(x)) {						\
			(v)->bad++;					\
			t_fail(__FILE__, __LINE__, #x);			\
		}							\
	} while (0)

static void
visit_begin(struct visit *v)
{
	struct epoll_event e = { .events = EPOLLIN };

	memset(v, 0, sizeof *v);
	SEE(v, pipe(v->pipe) == 0 && pipe(v->full) == 0);
	SEE(v, socketpair(AF_UNIX, SOCK_STREAM, 0, v->pair) == 0);
	fcntl(v->full[1], F_SETPIPE_SZ, ROOM);
	wire_stuff(v->full[1]);
	v->addr = wire_loopback(AF_INET);
	v->listener = wire_listen(SOCK_STREAM, &v->addr, 4);
	v->client = socket(AF_INET, SOCK_STREAM, 0);
	v->epoll = epoll_create1(0);
	SEE(v, epoll_ctl(v->epoll, EPOLL_CTL_ADD, v->pipe[0], &e) == 0);
}

/* As a thread or a goroutine: gives the answers, and does not park for it. */
static void
answer(struct visit *v)
{
	char c = 'a', room[ROOM];

	weft_hooks_off();
	for (int i = 1; i <= CALLS; i++) {
		while (counter_get(&v->step) < i)
			weft_sleep(100 * WEFT_US);
		await_asleep(&v->tid);
		if (i == 5)
			SEE(v, read(v->full[0], room, ROOM) == ROOM);
		else if (i == 6)
			SEE(v, write(v->pair[1], &c, 1) == 1);
		else if (i == 7)
			SEE(v, connect(v->client, &v->addr.a.any,
			    v->addr.len) == 0);
		else if (i < 9)
			SEE(v, write(v->pipe[1], &c, 1) == 1);
	}
}

THREAD_JOB(answer_thread, struct visit, v, answer(v))

static void
next_call(struct visit *v)
{
	counter_add(&v->step, 1);
}

/* Each has to wait; then what it waited for is consumed. */
static void
wait_for_pipe(struct visit *v)
{
	struct pollfd p = { .fd = v->pipe[0], .events = POLLIN };
	struct epoll_event e;
	fd_set set;
	char c = 0;

	next_call(v);
	SEE(v, read(v->pipe[0], &c, 1) == 1 && c == 'a');
	next_call(v);
	SEE(v, poll(&p, 1, -1) == 1 && p.revents == POLLIN);
	SEE(v, read(v->pipe[0], &c, 1) == 1);
	next_call(v);
	FD_ZERO(&set);
	FD_SET(v->pipe[0], &set);
	SEE(v, select(v->pipe[0] + 1, &set, NULL, NULL, NULL) == 1);
	SEE(v, read(v->pipe[0], &c, 1) == 1);
	next_call(v);
	SEE(v, epoll_wait(v->epoll, &e, 1, -1) == 1);
	SEE(v, read(v->pipe[0], &c, 1) == 1);
}

static void
wait_for_sockets(struct visit *v)
{
	struct timespec ms = { 0, 20000000 };
	double start;
	char c = 0;
	int fd;

	next_call(v);
	SEE(v, write(v->full[1], &c, 1) == 1);
	next_call(v);
	SEE(v, recv(v->pair[0], &c, 1, 0) == 1 && c == 'a');
	next_call(v);
	SEE(v, (fd = accept(v->listener, NULL, NULL)) >= 0);
	close(fd);
	next_call(v);
	SEE(v, readv(v->pipe[0], &(struct iovec){ &c, 1 }, 1) == 1);
	start = t_now();
	next_call(v);
	SEE(v, nanosleep(&ms, NULL) == 0);
	SEE(v, t_now() - start >= 0.02);
}

/* All of them, on one thread. */
static void
visit_all(struct visit *v)
{
	__atomic_store_n(&v->tid, thread_id(), __ATOMIC_RELEASE);
	wait_for_pipe(v);
	wait_for_sockets(v);
	SEE(v, thread_id() == v->tid);
}

/* The same; nothing was parked for it. */
static void
visit_here(struct visit *v)
{
	weft_hooks_stats was = hooks_now(), now;

	visit_all(v);
	now = hooks_now();
	SEE(v, now.parks == was.parks);
	SEE(v, now.sleeps == was.sleeps);
}

/* The same, answered by a plain thread. True if all was well. */
static bool
visit_alone(void)
{
	struct visit v;
	pthread_t t;

	visit_begin(&v);
	t = thread_start(answer_thread, &v);
	visit_here(&v);
	SEE(&v, pthread_join(t, NULL) == 0);
	return v.bad == 0;
}

PLAIN_THREAD(visit_thread, OK(visit_alone()))

/* ---- where there is no goroutine ---- */

TEST(before_the_runtime)
{
	OK(visit_alone());
}

static int
main_that_waits(int argc, char **argv)
{
	(void)argc, (void)argv;
	usleep(1000);
	return 0;
}

TEST(after_the_runtime)
{
	weft_config c = { .procs = 2 };

	EQ(weft_run_config(&c, sizeof c, main_that_waits, 0, NULL), 0);
	OK(visit_alone());
}

GTEST(plain_thread, 1)
{
	thread_run_blocking(visit_thread, NULL);
}

static void
fork_and_wait(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(visit_alone() ? 0 : 1);
	EQ(exit_status(pid), 0);
}

GTEST(child_of_a_goroutine, 2) { fork_and_wait(); }

TEST(child_of_a_thread) { fork_and_wait(); }

PLAIN_THREAD(fork_thread, fork_and_wait())

GTEST(child_of_a_thread_beside_a_runtime, 2)
{
	thread_run_blocking(fork_thread, NULL);
}

/* ---- on goroutines ---- */

/* The answers come from a goroutine, so the P must have been given away. */
static void
visit_goroutine(void (*place)(struct visit *v))
{
	struct visit v;
	weft_waitgroup wg = {0};

	visit_begin(&v);
	weft_waitgroup_go(&wg, answer, &v);
	place(&v);
	weft_waitgroup_wait(&wg);
	EQ(v.bad, 0);
}

static void *
visit_announced(void *v)
{
	visit_here(v);
	return NULL;
}

static void
announced(struct visit *v)
{
	weft_blocking(visit_announced, v);
}

static void
entered(struct visit *v)
{
	weft_blocking_enter();
	visit_here(v);
	weft_blocking_leave();
}

static void
switched_off(struct visit *v)
{
	EQ(weft_hooks_off(), 0);
	EQ(weft_hooks_off(), 0);
	weft_hooks_on();
	visit_here(v);
	weft_hooks_on();
}

/* It parks with its thread. */
static void
pinned(struct visit *v)
{
	weft_pin();
	visit_all(v);
	weft_unpin();
}

/* The mask is the thread's: a goroutine that changed it must stay. */
static void
masked(struct visit *v)
{
	sigset_t set, was;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	EQ(pthread_sigmask(SIG_BLOCK, &set, &was), 0);
	visit_here(v);
	EQ(pthread_sigmask(SIG_SETMASK, &was, NULL), 0);
}

GTEST(announced_call, 1) { visit_goroutine(announced); }
GTEST(entered_call, 1) { visit_goroutine(entered); }
GTEST(off, 1) { visit_goroutine(switched_off); }
GTEST(pinned_goroutine, 1) { visit_goroutine(pinned); }
GTEST(another_signal_mask, 1) { visit_goroutine(masked); }

static void
write_when_parked(int fd)
{
	OK(GETS_TO(parks, 1));
	EQ(write(fd, "b", 1), 1);
}

/* And after all that the goroutine parks again. */
GTEST(on_again, 1)
{
	int end[2];
	char c = 0;
	weft_waitgroup wg = {0};

	visit_goroutine(switched_off);
	visit_goroutine(announced);
	visit_goroutine(masked);
	EQ(hooks_now().parks, 0);
	EQ(pipe(end), 0);
	weft_waitgroup_go(&wg, write_when_parked, end[1]);
	EQ(read(end[0], &c, 1), 1);
	EQ(c, 'b');
	weft_waitgroup_wait(&wg);
}

/* off holds for one goroutine. */
static void
read_with_hooks(int fd)
{
	char c;

	EQ(read(fd, &c, 1), 1);
}

GTEST(off_is_of_one_goroutine, 1)
{
	int end[2];
	weft_waitgroup wg = {0};

	EQ(pipe(end), 0);
	EQ(weft_hooks_off(), 0);
	weft_waitgroup_go(&wg, read_with_hooks, end[0]);
	OK(GETS_TO(parks, 1));
	EQ(write(end[1], "b", 1), 1);
	weft_waitgroup_wait(&wg);
	weft_hooks_on();
}

/* ---- signal handlers ---- */

static struct visit *interrupted;

static void
visit_in_handler(int sig)
{
	(void)sig;
	visit_here(interrupted);
}

static void
handle(int sig, void (*fn)(int), int flags)
{
	struct sigaction sa = { .sa_handler = fn, .sa_flags = flags };

	EQ(sigaction(sig, &sa, NULL), 0);
}

static void
interrupt(struct visit *v)
{
	interrupted = v;
	EQ(raise(SIGUSR1), 0);
}

GTEST(handler_on_a_goroutine, 1)
{
	handle(SIGUSR1, visit_in_handler, 0);
	visit_goroutine(interrupt);
}

GTEST(handler_on_another_stack, 1)
{
	handle(SIGUSR1, visit_in_handler, SA_ONSTACK);
	visit_goroutine(interrupt);
}

/*
 * A handler that tells of its signal through a pipe, which is full at first,
 * while goroutines are interrupted in whatever they do.
 */
enum { SIGNALS = 200, PLAYERS = 8 };
static int told[2], entries, stop_playing;

static void
tell(int sig)
{
	char c = 0;

	(void)sig;
	counter_add(&entries, 1);
	EQ(write(told[1], &c, 1), 1);
}

static void
play(int fd)
{
	char c = 'x';

	while (!counter_get(&stop_playing)) {
		EQ(write(fd, &c, 1), 1);
		EQ(read(fd, &c, 1), 1);
		EQ(c, 'x');
	}
	shutdown(fd, SHUT_WR);
}

static void
echo(int fd)
{
	char c;

	while (read(fd, &c, 1) == 1)
		EQ(write(fd, &c, 1), 1);
}

static void
send_signals(void)
{
	while (counter_get(&entries) < SIGNALS) {
		kill(getpid(), SIGUSR1);
		sched_yield();
	}
}

/* What was there first, and a byte for each handler: none of them is lost. */
static void
listen_to_handlers(void)
{
	char room[256];
	long n = 0;

	while (counter_get(&entries) == 0)
		weft_sleep(100 * WEFT_US);
	while (counter_get(&entries) < SIGNALS ||
	    n < ROOM + counter_get(&entries)) {
		ssize_t got = read(told[0], room, sizeof room);

		OK(got > 0);
		n += got;
	}
	OK(n >= ROOM + SIGNALS);
}

PLAIN_THREAD(sender_thread, send_signals())
PLAIN_THREAD(reader_thread, listen_to_handlers())

GTEST(handlers_that_write_to_a_full_pipe, 2)
{
	weft_waitgroup wg = {0};
	pthread_t sender, reader;
	sigset_t usr1;
	int end[2];

	handle(SIGUSR1, tell, SA_RESTART);
	EQ(pipe(told), 0);
	EQ(fcntl(told[1], F_SETPIPE_SZ, ROOM), ROOM);
	wire_stuff(told[1]);
	for (int i = 0; i < PLAYERS; i++) {
		EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, end), 0);
		weft_waitgroup_go(&wg, play, end[0]);
		weft_waitgroup_go(&wg, echo, end[1]);
	}
	/* The thread that reads would wait for itself. */
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	reader = thread_start(reader_thread, NULL);
	sender = thread_start(sender_thread, NULL);
	pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
	weft_blocking(thread_join, &sender);
	weft_blocking(thread_join, &reader);
	counter_set(&stop_playing, 1);
	weft_waitgroup_wait(&wg);
}
