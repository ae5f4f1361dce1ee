/* SPDX-License-Identifier: MIT */
/*
 * The runtime's own descriptors: they are out of the program's way, its calls
 * on them are refused, and if it closes them all the same it is told so. No
 * goroutine is left waiting.
 */
#define _GNU_SOURCE 1
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "connection.h"
#include "fd_expect.h"

enum { NUMBERS = 1024, PATIENCE = 20 };	/* seconds */

static weft_waitgroup all;
static bool before[NUMBERS];	/* open before the runtime needed any */

/* Not of what the monitor keeps, which comes and goes. */
static bool
is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0 && !is_of_monitor(fd);
}

static void
look_before(void)
{
	for (int fd = 0; fd < NUMBERS; fd++)
		before[fd] = is_open(fd);
}

static int
lowest_free(void)
{
	int fd = NEED(dup(0));

	NEED(close(fd));
	return fd;
}

/* It is, or will be when the monitor has opened what it opens just now. */
static bool
is_lowest(int fd)
{
	double end = t_now() + PATIENCE;

	while (lowest_free() != fd)
		if (t_now() > end)
			return false;
	return true;
}

/* The same of what is opened next. */
static bool
is_opened_as(int want)
{
	double end = t_now() + PATIENCE;
	int fd;

	while ((fd = NEED(open("/dev/null", O_RDONLY))) != want) {
		NEED(close(fd));
		if (t_now() > end)
			return false;
	}
	return true;
}

/* Not by libc's close, which tells ThreadSanitizer. */
static long
plain_close(int fd)
{
	return syscall(SYS_close, fd);
}

/* One waits and another one wakes it: the poller is there, and works. */
static void
use_poller(void)
{
	int fd[2];

	unix_pair(fd);
	weft_waitgroup_add(&all, 1);
	weft_go(expect_read, fd[0], 1, &all);
	await_waiting(1);
	EQ(weft_write(fd[1], "x", 1), 1);
	weft_waitgroup_wait(&all);
	EQ(weft_close(fd[0]), 0);
	EQ(weft_close(fd[1]), 0);
}

/* ---- out of the program's way ---- */

GTEST(the_lowest_number_stays_free, 2)
{
	int low = lowest_free(), status;
	weft_chan *c = weft_chan_make(sizeof(int), 1);
	char *argv[] = { (char[]){ "true" }, NULL };
	weft_process p;

	use_poller();
	OK(is_lowest(low));
	EQ(weft_signal_notify(c, SIGUSR1), 0);
	OK(is_lowest(low));
	EQ(weft_process_start(&p, argv, NULL, 0), 0);
	OK(is_lowest(low));
	EQ(weft_process_wait(&p, &status), 0);
	EQ(weft_signal_stop(c, 0), 0);
	weft_chan_release(c);
}

/* As daemons do: what is opened next has the lowest numbers. */
GTEST(standard_ones_are_opened_anew, 2)
{
	use_poller();
	NEED(close(0));
	OK(is_opened_as(0));
	use_poller();
}

/* Where all numbers are low it takes what there is. */
GTEST(few_numbers, 2)
{
	weft_chan *c = weft_chan_make(sizeof(int), 1);
	int sig = 0;

	limit_fds((rlim_t)lowest_free() + 8);
	use_poller();
	EQ(weft_signal_notify(c, SIGUSR1), 0);
	raise(SIGUSR1);
	EQ(weft_chan_recv(c, &sig), 1);
	EQ(sig, SIGUSR1);
	EQ(weft_signal_stop(c, 0), 0);
	weft_chan_release(c);
}

/* ---- refused ---- */

static void
nothing(void)
{
	t_fail(__FILE__, __LINE__, "it has begun");
}

static void
refuse(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char c = 0;

	EQ(weft_read(fd, &c, 1), -EBADF);
	EQ(weft_write(fd, &c, 1), -EBADF);
	EQ(weft_pread(fd, &c, 1, 0), -EBADF);
	EQ(weft_fsync(fd), -EBADF);
	EQ(weft_set_deadline(fd, weft_deadline(0)), -EBADF);
	EQ(weft_wait_readable(fd), -EBADF);
	EQ(weft_copy(fd, 0, 1), -EBADF);
	EQ(weft_go_readable(fd, nothing), -EBADF);
	EQ(weft_poll(&p, 1, WEFT_NEVER), 1);
	EQ(p.revents, POLLNVAL);
	EQ(weft_close(fd), -EBADF);
	EQ(weft_close(fd), -EBADF);
	OK(is_open(fd));
}

GTEST(own_ones_are_refused, 2)
{
	weft_chan *c = weft_chan_make(sizeof(int), 1);
	char *argv[] = { (char[]){ "cat" }, NULL };
	weft_process_options opt = { .in = WEFT_FD_PIPE };
	weft_process p;
	int own = 0, status, sig = 0;

	look_before();
	use_poller();
	EQ(weft_signal_notify(c, SIGUSR1), 0);
	EQ(weft_process_start(&p, argv, &opt, sizeof opt), 0);
	for (int fd = 0; fd < NUMBERS; fd++)
		if (is_open(fd) && !before[fd] && fd != p.in) {
			own++;
			refuse(fd);
		}
	OK(own >= 3);
	use_poller();
	raise(SIGUSR1);
	EQ(weft_chan_recv(c, &sig), 1);
	EQ(weft_close(p.in), 0);
	EQ(weft_process_wait(&p, &status), 0);
	EQ(status, 0);
	EQ(weft_signal_stop(c, 0), 0);
	weft_chan_release(c);
}

/* A number that is not open becomes one of its own within that very call. */
GTEST(a_number_to_be, 1)
{
	char c;
	int n = 0;

	look_before();
	for (int fd = 32; fd < 40; fd++)
		if (!is_open(fd)) {
			OK(weft_read(fd, &c, 1) == -EBADF ||
			    is_of_monitor(fd));
			n++;
		}
	OK(n > 0);
	use_poller();
}

/*
 * All that can be closed is, maybe a file of the monitor's, too; a reader goes
 * on.
 */
GTEST(a_program_closes_all, 2)
{
	int fd[2];

	look_before();
	unix_pair(fd);
	weft_waitgroup_add(&all, 1);
	weft_go(expect_read, fd[0], 1, &all);
	await_waiting(1);
	for (int i = 3; i < NUMBERS; i++)
		if (!before[i] && i != fd[0] && i != fd[1]) {
			bool own = is_open(i);

			OK(weft_close(i) == -EBADF || !own);
		}
	EQ(weft_write(fd[1], "x", 1), 1);
	weft_waitgroup_wait(&all);
	use_poller();
}

/* ---- closed all the same ---- */

static void
close_rest(void)
{
	for (int fd = 3; fd < NUMBERS; fd++)
		if (!before[fd])
			plain_close(fd);
}

/* The i-th that the runtime has opened since look_before. */
static int
own(int i)
{
	int fd = 0;

	for (;; fd++)
		if (!before[fd] && is_open(fd) && i-- == 0)
			return fd;
}

/* Before anything is open there is nothing to lose. */
GTEST(closed_before_the_first_use, 2)
{
	look_before();
	close_rest();
	use_poller();
}

DIES(closed_after_it, 2, "are weft's own, and the program has closed")
{
	look_before();
	use_poller();
	close_rest();
	use_poller();
}

DIES(poller_is_closed, 1, "are weft's own, and the program has closed")
{
	look_before();
	use_poller();
	plain_close(own(0));
	use_poller();
}

DIES(break_is_closed, 1, "are weft's own, and the program has closed")
{
	look_before();
	use_poller();
	plain_close(own(1));
	/* A thread has to be woken, or the monitor finds out. */
	for (;;)
		use_poller();
}

/* No goroutine makes a call: those that wait are not left waiting. */
static void
closed_and_waiting(int i)
{
	int fd[2];

	look_before();
	use_poller();
	i = own(i);
	unix_pair(fd);
	plain_close(i);
	weft_waitgroup_add(&all, 1);
	expect_read(fd[0], 1, &all);
}

DIES(poller_is_closed_by_a_waiter, 2, "weft's own")
{
	closed_and_waiting(0);
}

DIES(break_is_closed_by_a_waiter, 2, "weft's own") { closed_and_waiting(1); }

/* The number is another file's, which says nothing when it is written to. */
static void
replaced_and_waiting(int i)
{
	int fd[2], other = NEED(open("/dev/null", O_RDWR));

	look_before();
	use_poller();
	i = own(i);
	unix_pair(fd);
	NEED(dup2(other, i));
	weft_waitgroup_add(&all, 1);
	expect_read(fd[0], 1, &all);
}

DIES(poller_is_replaced, 2, "weft's own") { replaced_and_waiting(0); }
DIES(break_is_replaced, 2, "weft's own") { replaced_and_waiting(1); }

/* One of our calls gets a number that was the runtime's. */
DIES(number_comes_back, 2, "weft's own")
{
	look_before();
	use_poller();
	plain_close(own(1));
	for (int i = 0; i < 64; i++)
		weft_open("/dev/null", O_RDONLY, 0);
	for (;;)	/* unless it is the monitor's now */
		use_poller();
}

static weft_chan *signals;

static void
catch_signals(void)
{
	signals = weft_chan_make(sizeof(int), 1);
	look_before();
	use_poller();
	EQ(weft_signal_notify(signals, SIGUSR1), 0);
}

DIES(of_signals_is_closed, 2, "weft's own, for signals")
{
	int sig;

	catch_signals();
	plain_close(own(2));
	weft_chan_recv(signals, &sig);
}

/* ---- children ---- */

/* Its pidfd is closed: it is waited for in another way. */
static void
child_without(bool kill, bool replace)
{
	char *argv[] = { (char[]){ "cat" }, NULL };
	weft_process_options opt = { .in = WEFT_FD_PIPE };
	int status = -1, fd;
	weft_process p;

	use_poller();
	EQ(weft_process_start(&p, argv, &opt, sizeof opt), 0);
	fd = p.pidfd_;
	if (fd < 0)
		t_skip("there are no pidfds");
	if (replace)
		NEED(dup2(0, fd));
	else
		plain_close(fd);
	if (kill)
		EQ(weft_process_kill(&p, SIGKILL), 0);
	EQ(weft_close(p.in), 0);
	EQ(weft_process_wait(&p, &status), 0);
	EQ(status, kill ? SIGKILL : 0);
	EQ(is_open(fd), replace);
	if (replace)
		EQ(weft_close(fd), 0);
}

GTEST(child_without_its_own, 2) { child_without(false, false); }
GTEST(child_that_is_killed, 2) { child_without(true, false); }
GTEST(child_with_another, 2) { child_without(false, true); }
GTEST(child_killed_with_another, 2) { child_without(true, true); }

/* A child of fork may close all, and use what it opens then. */
GTEST(after_a_fork_all_is_closed, 2)
{
	int fd[2], status = -1;
	pid_t pid;
	char c;

	look_before();
	use_poller();
	pid = NEED(fork());
	if (pid == 0) {
		close_rest();
		unix_pair(fd);
		_exit(weft_write(fd[0], "x", 1) != 1 ||
		    weft_read(fd[1], &c, 1) != 1 ||
		    weft_set_read_deadline(fd[1],
		    weft_deadline(WEFT_MS)) != 0 ||
		    weft_read(fd[1], &c, 1) != -ETIMEDOUT);
	}
	EQ(waitpid(pid, &status, 0), pid);
	EQ(status, 0);
	use_poller();
}

/* Nothing of it is there after exec. */
GTEST(after_exec_none_is_there, 2)
{
	char text[128], *out = NULL, *argv[] = { (char[]){ "sh" },
	    (char[]){ "-c" }, text, NULL };
	int status = -1;
	size_t len;

	look_before();
	use_poller();
	snprintf(text, sizeof text, "test ! -e /proc/self/fd/%d && "
	    "test ! -e /proc/self/fd/%d", own(0), own(1));
	EQ(weft_process_output(argv, 4096, WEFT_NEVER, &out, &len, &status), 0);
	EQ(status, 0);
	free(out);
}

static void
chatter(void)
{
	int fd[2];
	char c;

	unix_pair(fd);
	weft_waitgroup_done(&all);
	/* Until there is no such descriptor. */
	while (weft_set_read_deadline(fd[0], weft_deadline(10 * WEFT_US)) == 0)
		weft_read(fd[0], &c, 1);
}

/* A program that closes all and then calls exec does not die of it. */
GTEST(all_is_closed_for_exec, 2)
{
	look_before();
	weft_waitgroup_add(&all, 2);
	weft_go(chatter);
	weft_go(chatter);
	weft_waitgroup_wait(&all);
	use_poller();
	close_rest();
	/* The others find out meanwhile. */
	for (double end = t_now() + 0.005; t_now() < end;)
		;
	execl("/bin/true", "true", (char *)NULL);
	t_fail(__FILE__, __LINE__, "exec");
}
