/* SPDX-License-Identifier: MIT */
/* Descriptors of other kinds, and numbers that are none. */
#define _GNU_SOURCE 1
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>

#include "fd_pairs.h"
#include "kernel_clock.h"
#include "plain_thread.h"

static weft_waitgroup all;

/* ---- eventfd ---- */

static void
add_when_awaited(int fd, uint64_t n)
{
	let_them_wait(1);
	EQ(weft_write(fd, &n, sizeof n), sizeof n);
	weft_waitgroup_done(&all);
}

static void
take_when_awaited(int fd, uint64_t expected)
{
	uint64_t v = 0;

	let_them_wait(1);
	EQ(weft_read(fd, &v, sizeof v), sizeof v);
	EQ(v, expected);
	weft_waitgroup_done(&all);
}

static void
events(int flags)
{
	int fd = eventfd(0, flags);
	uint64_t v = 0, most = UINT64_MAX - 1, one = 1;

	weft_waitgroup_add(&all, 1);
	weft_go(add_when_awaited, fd, UINT64_C(5));
	EQ(weft_read(fd, &v, sizeof v), sizeof v);
	EQ(v, 5);
	weft_waitgroup_wait(&all);
	/* full: a writer waits for a reader */
	EQ(weft_write(fd, &most, sizeof most), sizeof most);
	weft_waitgroup_add(&all, 1);
	weft_go(take_when_awaited, fd, most);
	EQ(weft_write(fd, &one, sizeof one), sizeof one);
	weft_waitgroup_wait(&all);
	EQ(weft_read(fd, &v, sizeof v), sizeof v);
	EQ(v, 1);
	EQ(weft_set_read_deadline(fd, weft_deadline(5 * WEFT_MS)), 0);
	EQ(weft_read(fd, &v, sizeof v), -ETIMEDOUT);
	EQ(!(fcntl(fd, F_GETFL) & O_NONBLOCK), !flags);
	EQ(weft_close(fd), 0);
}

GTEST(events_on_one, 1)
{
	events(0);
	events(EFD_NONBLOCK);
}

GTEST(events_on_four, 4)
{
	events(0);
	events(EFD_NONBLOCK);
}

/* ---- timerfd ---- */

static void
ticks(int flags)
{
	struct itimerspec in = { { 0, 5 * WEFT_MS }, { 0, 20 * WEFT_MS } };
	int fd = timerfd_create(CLOCK_MONOTONIC, flags);
	int64_t start = kernel_now();
	uint64_t n = 0, sum = 0;

	EQ(timerfd_settime(fd, 0, &in, NULL), 0);
	while (sum < 5) {
		n = 0;
		EQ(weft_read(fd, &n, sizeof n), sizeof n);
		OK(n > 0);
		sum += n + (n == 0 ? 100 : 0);
		OK(kernel_now() >= start +
		    (int64_t)(15 + 5 * (sum > 100 ? 0 : sum)) * WEFT_MS);
	}
	EQ(weft_close(fd), 0);
}

GTEST(timers_of_the_kernel, 1)
{
	ticks(0);
	ticks(TFD_NONBLOCK);
}

/* Only a timer of the kernel is left to wake main: that is no deadlock. */
GTEST(waiting_is_no_deadlock, 1)
{
	struct itimerspec in = { .it_value = { 0, 500 * WEFT_MS } };
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	uint64_t n = 0;

	EQ(timerfd_settime(fd, 0, &in, NULL), 0);
	EQ(weft_read(fd, &n, sizeof n), sizeof n);
	EQ(n, 1);
	EQ(weft_close(fd), 0);
}

/* Nor if another process is to read. */
GTEST(waiting_for_room_is_no_deadlock, 1)
{
	static char sh[] = "sh", c[] = "-c", late[] = "sleep 0.4; exec cat";
	static char zeros[1 << 20];
	char *const argv[] = { sh, c, late, NULL };
	weft_process_options opt = { .in = WEFT_FD_PIPE, .out = WEFT_FD_NULL };
	weft_process p;
	int status = -1;

	EQ(weft_process_start(&p, argv, &opt, sizeof opt), 0);
	EQ(weft_write(p.in, zeros, sizeof zeros), sizeof zeros);
	EQ(weft_close(p.in), 0);
	EQ(weft_process_wait(&p, &status), 0);
	EQ(status, 0);
}

static void
leave_at_tick(int fd)
{
	uint64_t n;

	weft_read(fd, &n, sizeof n);
	_exit(0);
}

GTEST(main_exits_a_reader_stays, 2)
{
	struct itimerspec in = { .it_value = { 0, 400 * WEFT_MS } };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);

	EQ(timerfd_settime(fd, 0, &in, NULL), 0);
	weft_go(leave_at_tick, fd);
	weft_goexit();
}

static void
leave_now(void)
{
	_exit(0);
}

GTEST(main_exits_a_readable_stays, 2)
{
	struct itimerspec in = { .it_value = { 0, 400 * WEFT_MS } };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);

	EQ(timerfd_settime(fd, 0, &in, NULL), 0);
	OK(weft_go_readable(fd, leave_now) > 0);
	weft_goexit();
}

/* ---- signalfd ---- */

static void
raise_when_awaited(int sig)
{
	let_them_wait(1);
	EQ(kill(getpid(), sig), 0);
	weft_waitgroup_done(&all);
}

/* Blocked before there are other threads. */
static int
signals_main(int argc, char **argv)
{
	struct signalfd_siginfo info = {0};
	sigset_t set;
	int fd;

	(void)argc, (void)argv;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	fd = signalfd(-1, &set, 0);
	for (int i = 0; i < 3; i++) {
		weft_waitgroup_add(&all, 1);
		weft_go(raise_when_awaited, SIGUSR2);
		EQ(weft_read(fd, &info, sizeof info), sizeof info);
		EQ(info.ssi_signo, SIGUSR2);
		weft_waitgroup_wait(&all);
	}
	EQ(weft_close(fd), 0);
	return 0;
}

TEST(signals_as_reads)
{
	weft_config c = { .procs = 1 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	EQ(sigprocmask(SIG_BLOCK, &set, NULL), 0);
	EQ(weft_run_config(&c, sizeof c, signals_main, 0, NULL), 0);
}

/* ---- inotify ---- */

static void
touch_when_awaited(const char *dir)
{
	char path[200];
	int fd;

	snprintf(path, sizeof path, "%s/new", dir);
	let_them_wait(1);
	fd = weft_open(path, O_WRONLY | O_CREAT, 0600);
	OK(fd >= 0);
	EQ(weft_close(fd), 0);
	unlink(path);
	weft_waitgroup_done(&all);
}

GTEST(changes_of_a_directory, 1)
{
	char dir[] = "/tmp/weft-descriptors-XXXXXX";
	union { char room[4096]; struct inotify_event first; } u;
	int fd = inotify_init1(0);

	OK(mkdtemp(dir) != NULL);
	OK(inotify_add_watch(fd, dir, IN_CREATE) >= 0);
	weft_waitgroup_add(&all, 1);
	weft_go(touch_when_awaited, dir);
	OK(weft_read(fd, &u, sizeof u) > (ssize_t)sizeof u.first);
	OK(!strcmp(u.first.name, "new"));
	weft_waitgroup_wait(&all);
	EQ(weft_close(fd), 0);
	rmdir(dir);
}

/* ---- a process ---- */

GTEST(end_of_a_process, 1)
{
	int end[2], fd, status;
	pid_t child;

	wire(PIPE, end);
	child = fork();
	if (child == 0) {
		char c;

		close(end[1]);
		(void)!read(end[0], &c, 1);
		_exit(3);
	}
	fd = (int)syscall(SYS_pidfd_open, child, 0);
	if (fd < 0)
		t_skip("no pidfd here");
	EQ(weft_set_read_deadline(fd, weft_deadline(5 * WEFT_MS)), 0);
	EQ(weft_wait_readable(fd), -ETIMEDOUT);
	EQ(weft_set_read_deadline(fd, WEFT_NEVER), 0);
	EQ(weft_close(end[1]), 0);
	EQ(weft_wait_readable(fd), 0);
	EQ(waitpid(child, &status, WNOHANG), child);
	EQ(WEXITSTATUS(status), 3);
	EQ(weft_close(fd), 0);
}

/* ---- an epoll within ours ---- */

GTEST(epoll_within, 1)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int end[2], fd = epoll_create1(0);

	wire(PIPE, end);
	EQ(epoll_ctl(fd, EPOLL_CTL_ADD, end[0], &ev), 0);
	EQ(weft_set_read_deadline(fd, weft_deadline(5 * WEFT_MS)), 0);
	EQ(weft_wait_readable(fd), -ETIMEDOUT);
	EQ(weft_set_read_deadline(fd, WEFT_NEVER), 0);
	EQ(write(end[1], "x", 1), 1);
	EQ(weft_wait_readable(fd), 0);
	EQ(epoll_wait(fd, &ev, 1, 0), 1);
	EQ(weft_close(fd), 0);
	wire_drop(end);
}

/* ---- a terminal ---- */

static void
type_when_awaited(int master, const char *text)
{
	let_them_wait(1);
	EQ(weft_write(master, text, strlen(text)), strlen(text));
	weft_waitgroup_done(&all);
}

/* With its discipline of lines: nothing is there before the newline. */
GTEST(a_terminal_has_lines, 1)
{
	struct termios t;
	char buf[64] = {0};
	int end[2];

	wire(PTY, end);
	EQ(tcgetattr(end[0], &t), 0);
	t.c_lflag = ICANON;
	EQ(tcsetattr(end[0], TCSANOW, &t), 0);
	EQ(weft_write(end[1], "ab", 2), 2);
	EQ(weft_set_read_deadline(end[0], weft_deadline(10 * WEFT_MS)), 0);
	EQ(weft_read(end[0], buf, sizeof buf), -ETIMEDOUT);
	EQ(weft_set_read_deadline(end[0], WEFT_NEVER), 0);
	weft_waitgroup_add(&all, 1);
	weft_go(type_when_awaited, end[1], "c\n");
	EQ(weft_read(end[0], buf, sizeof buf), 4);
	OK(!strcmp(buf, "abc\n"));
	weft_waitgroup_wait(&all);
	/* and the other way */
	EQ(weft_write(end[0], "out", 3), 3);
	EQ(weft_read(end[1], buf, sizeof buf), 3);
	/* hung up */
	EQ(weft_close(end[0]), 0);
	EQ(weft_read(end[1], buf, sizeof buf), -EIO);
	EQ(weft_close(end[1]), 0);
}

/* ---- numbers that are none ---- */

static void
refuse(int fd, int64_t expected)
{
	wire_addr a = wire_loopback(AF_INET);
	char c = 0;
	struct iovec v = { &c, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	EQ(weft_read(fd, &c, 1), expected);
	EQ(weft_read(fd, &c, 0), expected);
	EQ(weft_write(fd, &c, 1), expected);
	EQ(weft_write(fd, &c, 0), expected);
	EQ(weft_readv(fd, &v, 1), expected);
	EQ(weft_writev(fd, &v, 1), expected);
	EQ(weft_pread(fd, &c, 1, 0), expected);
	EQ(weft_pwrite(fd, &c, 1, 0), expected);
	EQ(weft_read_full(fd, &c, 1, NULL), expected);
	EQ(weft_write_full(fd, &c, 1, NULL), expected);
	EQ(weft_fsync(fd), expected);
	EQ(weft_close(fd), expected);
	EQ(weft_wait_readable(fd), expected);
	EQ(weft_wait_writable(fd), expected);
	EQ(weft_sock_recv(fd, &c, 1, 0), expected);
	EQ(weft_sock_send(fd, &c, 1, 0), expected);
	EQ(weft_recvfrom(fd, &c, 1, 0, NULL, NULL), expected);
	EQ(weft_sendto(fd, &c, 1, 0, NULL, 0), expected);
	EQ(weft_recvmsg(fd, &m, 0), expected);
	EQ(weft_sendmsg(fd, &m, 0), expected);
	EQ(weft_accept(fd, NULL, NULL), expected);
	EQ(weft_connect(fd, &a.a.any, a.len), expected);
	EQ(weft_shutdown(fd, SHUT_RD), expected);
	EQ(weft_set_deadline(fd, WEFT_NEVER), expected);
	EQ(weft_set_read_deadline(fd, weft_deadline(1)), expected);
	EQ(weft_set_write_deadline(fd, weft_deadline(-1)), expected);
}

static void
refuse_all(void)
{
	int end[2], never = 1000;

	for (int fd = -1; fd > -10; fd--)
		refuse(fd, -EBADF);
	refuse(INT32_MIN, -EBADF);
	refuse(INT32_MAX, -EBADF);
	refuse(INT32_MAX - 1, -EBADF);
	refuse(1 << 20, -EBADF);
	refuse(never, -EBADF);
	/* closed: by weft and by hand, used before or not */
	for (int k = 0; k < WIRES; k++) {
		char c = 'c';

		if (!wire_make(k, end))
			continue;
		EQ(weft_write(end[1], &c, 1), 1);
		EQ(weft_read(end[0], &c, 1), 1);
		wire_drop(end);
		refuse(end[0], -EBADF);
		refuse(end[1], -EBADF);
	}
	wire(TCP4, end);
	close(end[0]);
	close(end[1]);
	refuse(end[0], -EBADF);
	refuse(end[1], -EBADF);
}

GTEST(numbers_that_are_none, 1) { refuse_all(); }

PLAIN_THREAD(refuse_on_a_thread, refuse_all())

GTEST(numbers_that_are_none_on_a_thread, 2)
{
	thread_run_blocking(refuse_on_a_thread, NULL);
}

TEST(numbers_that_are_none_without_a_runtime) { refuse_all(); }

/* errno is the caller's own. */
GTEST(errno_is_left_alone, 1)
{
	int end[2];
	char c;

	wire(PIPE, end);
	errno = 12345;
	EQ(weft_read(-1, &c, 1), -EBADF);
	EQ(weft_set_read_deadline(end[0], weft_deadline(WEFT_MS)), 0);
	EQ(weft_read(end[0], &c, 1), -ETIMEDOUT);
	EQ(weft_open("/nowhere/at/all", O_RDONLY, 0), -ENOENT);
	EQ(weft_pread(end[0], &c, 1, 0), -ESPIPE);
	EQ(weft_close(1000), -EBADF);
	EQ(errno, 12345);
	wire_drop(end);
}
