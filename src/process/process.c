/* SPDX-License-Identifier: MIT */
/*
 * Child processes.
 *
 * A child is made with posix_spawn, in a thread of whose P nobody is in need
 * (weft_blocking): the parent's thread sleeps until the child has executed the
 * program, or has failed to and said why, which is how the error is exact.
 * Nothing runs in the child but libc, on a stack of its own and with all
 * signals blocked, until it has its own program.
 *
 * Descriptors. What is to become the child's 0, 1 or 2 is first brought to a
 * number above these, here, and closed by exec; then the order in which they
 * are put in place cannot matter, and none is put in its own place, where
 * exec would close it.
 *
 * Its end is waited for with a pidfd, which can be read then. Only who holds
 * the mutex lets the kernel forget the child, and only who holds it sends a
 * signal, so no other process that has got its number is ever meant. A kernel
 * (before 5.3), or an emulator, that has no pidfd, and a process that has no
 * number left for one: then a wait without an end blocks a thread, and one
 * with an end looks again and again, at least every 10 ms.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "desc.h"
#include "fdio.h"
#include "netpoll.h"
#include "os.h"
#include "valgrind.h"
#include "weft.h"

enum {
	STANDARD = 3,		/* descriptors: 0, 1, 2 */
	POLL_FIRST_NS = 100 * 1000,
	POLL_MOST_NS = 10 * 1000 * 1000,
	/* the same on all architectures; older headers do not have them */
	NR_PIDFD_SEND_SIGNAL = 424,
	NR_PIDFD_OPEN = 434,
	ID_PIDFD = 3
};

/* weft_process.state_; or -ECHILD */
enum { RUNS, ENDED };

extern char **environ;

/* ---- descriptors ---- */

/* A child that is being made. */
struct child_spec {
	char *const *argv;
	weft_process_opt opt;
	int child_fds[STANDARD];	/* to become its 0, 1, 2; -1: as ours is */
	int ours[STANDARD];	/* our ends of pipes; -1 */
	int made[STANDARD];	/* of child_fds, to be closed here; -1 */
	pid_t pid;
};

/* None of them has been used for anything here. */
static void
close_each(const int fds[STANDARD])
{
	for (int i = 0; i < STANDARD; i++)
		if (fds[i] >= 0)
			fd_close(fds[i]);
}

/* A second descriptor for the same, that is no standard one. */
static int
copy_up(int fd)
{
	return (int)fd_control(fd, F_DUPFD_CLOEXEC, STANDARD);
}

/* Instead of one that is ours. -errno stays what it is. */
static int
move_up(int fd)
{
	int up;

	if (fd < 0 || fd >= STANDARD)
		return fd;
	up = copy_up(fd);
	fd_close(fd);
	return up;
}

/*
 * A pipe for the child's i-th: ours[i], which does not block, and made[i]. 0
 * or -errno. What was opened before it fails is in one of the two, or closed.
 */
static int
make_pipe(struct child_spec *b, int i)
{
	int fd[2], flags = i == 0 ? O_WRONLY : O_RDONLY;
	int err = (int)syscall6(SYS_pipe2, (long)fd, O_CLOEXEC, 0, 0, 0, 0);

	if (err)
		return err;
	b->ours[i] = move_up(fd[i == 0]);
	b->made[i] = move_up(fd[i != 0]);
	if (b->ours[i] < 0)
		return b->ours[i];
	if (b->made[i] < 0)
		return b->made[i];
	desc_new_fd(b->ours[i]);
	return (int)fd_control(b->ours[i], F_SETFL, flags | O_NONBLOCK);
}

static int
open_null(void)
{
	return move_up((int)syscall6(SYS_openat, AT_FDCWD, (long)"/dev/null",
	    O_RDWR | O_CLOEXEC, 0, 0, 0));
}

static bool
is_open(int fd)
{
	return fd_control(fd, F_GETFD, 0) >= 0;
}

/* The child's i-th shall be our fd. */
static int
give(struct child_spec *b, int i, int fd)
{
	if (fd < STANDARD)
		fd = b->made[i] = copy_up(fd);
	return b->child_fds[i] = fd;
}

/* What the option says about the child's i-th. 0 or -errno. */
static int
arrange(struct child_spec *b, int i, int how)
{
	int err = 0;

	switch (how) {
	case 0:
	case WEFT_FD_INHERIT:
		return 0;
	case WEFT_FD_NULL:
		err = b->child_fds[i] = b->made[i] = open_null();
		break;
	case WEFT_FD_PIPE:
		err = make_pipe(b, i);
		b->child_fds[i] = b->made[i];
		break;
	case WEFT_FD_OUT:
		if (i != 2)
			return -EINVAL;
		if (b->child_fds[1] >= 0)
			b->child_fds[i] = b->child_fds[1];
		else
			err = give(b, i, 1);
		break;
	default:
		err = how < 0 ? -EINVAL : give(b, i, how);
	}
	return err < 0 ? err : 0;
}

/* Who gives a closed one must not find that it is our pipe by now. */
static int
arrange_all(struct child_spec *b)
{
	const int how[STANDARD] = { b->opt.in, b->opt.out, b->opt.err };
	int err = 0;

	for (int i = 0; i < STANDARD; i++)
		if (how[i] > 0 && !is_open(how[i]))
			return -EBADF;
	for (int i = 0; i < STANDARD && !err; i++)
		err = arrange(b, i, how[i]);
	return err;
}

/* ---- making one ---- */

/* 0 or an errno value, as all of these. */
static int
set_actions(posix_spawn_file_actions_t *fa, const struct child_spec *b)
{
	int err = 0;

	for (int i = 0; i < STANDARD && !err; i++)
		if (b->child_fds[i] >= 0)
			err = posix_spawn_file_actions_adddup2(fa,
			    b->child_fds[i], i);
	if (!err && b->opt.directory)
		err = posix_spawn_file_actions_addchdir_np(fa,
		    b->opt.directory);
	return err;
}

/* All: libc's own signals too, which it has ignored otherwise. */
static void
set_attributes(posix_spawnattr_t *at, bool group)
{
	sigset_t none, all;

	sigemptyset(&none);
	memset(&all, 0xff, sizeof all);
	posix_spawnattr_setsigmask(at, &none);
	posix_spawnattr_setsigdefault(at, &all);
	posix_spawnattr_setpgroup(at, 0);
	posix_spawnattr_setflags(at, (short)(POSIX_SPAWN_SETSIGMASK |
	    POSIX_SPAWN_SETSIGDEF | (group ? POSIX_SPAWN_SETPGROUP : 0)));
}

/* For weft_blocking: no pointer, but an errno value or 0. */
static void *
spawn(void *arg)
{
	struct child_spec *b = arg;
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t at;
	int err = posix_spawn_file_actions_init(&fa);

	if (err)
		return (void *)(intptr_t)err;
	err = set_actions(&fa, b);
	if (!err)
		err = posix_spawnattr_init(&at);
	if (!err) {
		set_attributes(&at, b->opt.group);
		err = posix_spawnp(&b->pid, b->argv[0], &fa, &at, b->argv,
		    b->opt.environment ? b->opt.environment : environ);
		posix_spawnattr_destroy(&at);
	}
	posix_spawn_file_actions_destroy(&fa);
	return (void *)(intptr_t)err;
}

/* -errno if there is none. */
static int
open_pidfd(pid_t pid)
{
	int fd;

	/* Which knows none, and says so each time. */
	if (vg_running())
		return -ENOSYS;
	fd = (int)os_fd_move_high(syscall6(NR_PIDFD_OPEN, pid, 0, 0, 0, 0, 0));
	if (fd >= 0 && desc_own(fd) != 0) {
		fd_close(fd);
		fd = -ENOMEM;
	}
	return fd;
}

public int
weft_process_start(weft_process *p, char *const argv[],
    const weft_process_opt *opt)
{
	struct child_spec b = { .argv = argv, .child_fds = { -1, -1, -1 },
	    .ours = { -1, -1, -1 }, .made = { -1, -1, -1 } };
	int err;

	*p = (weft_process){ .pid = -1, .in = -1, .out = -1, .err = -1,
	    .pidfd_ = -1, .state_ = -ECHILD };
	if (opt)
		b.opt = *opt;
	err = argv && argv[0] ? arrange_all(&b) : -EINVAL;
	if (!err)
		err = -(int)(intptr_t)weft_blocking(spawn, &b);
	close_each(b.made);
	if (err) {
		close_each(b.ours);
		return err;
	}
	p->pid = b.pid;
	p->in = b.ours[0];
	p->out = b.ours[1];
	p->err = b.ours[2];
	p->state_ = RUNS;
	p->pidfd_ = open_pidfd(b.pid);
	return 0;
}

/* ---- its end ---- */

/* As waitpid has it. */
static int
status_of(const siginfo_t *si)
{
	if (si->si_code == CLD_EXITED)
		return (si->si_status & 0xff) << 8;
	return si->si_status | (si->si_code == CLD_DUMPED ? 0x80 : 0);
}

static long
wait_id(int type, int id, siginfo_t *si, int how)
{
	long err;

	do {
		memset(si, 0, sizeof *si);
		err = syscall6(SYS_waitid, type, id, (long)si, WEXITED | how,
		    0, 0);
	} while (err == -EINTR);
	return err;
}

/* Mutex held: the pidfd, if there is one. `ours`: it is still what it was. */
static void
close_pidfd(weft_process *p, bool ours)
{
	int fd = p->pidfd_;

	p->pidfd_ = -1;
	if (fd < 0)
		return;
	desc_disown(fd);
	if (ours)
		desc_close(fd);
	else
		desc_new_fd(fd);
}

/*
 * Mutex held. Lets the kernel forget it if it has ended. By its number too
 * (Linux 5.3 can wait for a pidfd with poll only; or the program has closed
 * it): as nobody else was to wait for it the number is still its own.
 */
static void
reap(weft_process *p)
{
	siginfo_t si;
	long err = -EINVAL;

	if (p->pidfd_ >= 0)
		err = wait_id(ID_PIDFD, p->pidfd_, &si, WNOHANG);
	if (err == -EBADF)
		close_pidfd(p, false);
	if (err == -EINVAL || err == -EBADF)
		err = wait_id(P_PID, p->pid, &si, WNOHANG);
	if (err == 0 && si.si_pid == 0)
		return;
	p->state_ = err ? -ECHILD : ENDED;
	if (!err)
		p->status_ = status_of(&si);
	close_pidfd(p, true);
}

/* How it ended: 0 and its status, -ECHILD, or -EAGAIN if it has not. */
static int
check_ended(weft_process *p, int *status)
{
	int state;

	weft_mutex_lock(&p->mutex_);
	if (p->state_ == RUNS && p->pid > 0)
		reap(p);
	state = p->pid > 0 ? p->state_ : -ECHILD;
	weft_mutex_unlock(&p->mutex_);
	if (state == ENDED && status)
		*status = p->status_;
	return state == RUNS ? -EAGAIN : state == ENDED ? 0 : state;
}

/* For weft_blocking. It is not forgotten: see kill. */
static void *
wait_for_pid(void *arg)
{
	weft_process *p = arg;
	siginfo_t si;

	wait_id(P_PID, p->pid, &si, WNOWAIT);
	return NULL;
}

/* Without a pidfd: 0 if it is time to look, -ETIMEDOUT. */
static int
wait_no_pidfd(weft_process *p, int64_t when, int64_t *poll_ns)
{
	int64_t now = weft_now();

	if (when == WEFT_NEVER) {
		weft_blocking(wait_for_pid, p);
		return 0;
	}
	if (now >= when)
		return -ETIMEDOUT;
	weft_sleep_until(when - now < *poll_ns ? when : now + *poll_ns);
	if (*poll_ns < POLL_MOST_NS)
		*poll_ns *= 2;
	return 0;
}

static long
try_end(struct desc *d, void *unused)
{
	(void)unused;
	return fdio_ready_now(d, DIR_IN) ? 0 : -EAGAIN;
}

/* Under the mutex: who closes it then does so when we have left it. */
static int
enter_pidfd(weft_process *p, struct desc **d)
{
	int err;

	weft_mutex_lock(&p->mutex_);
	err = p->pidfd_ < 0 ? -EBADF : desc_enter_own(p->pidfd_, d);
	weft_mutex_unlock(&p->mutex_);
	return err;
}

/* The same with it. */
static int
wait_for_end(weft_process *p, int64_t when, int64_t *poll_ns)
{
	struct desc *d;
	int err = enter_pidfd(p, &d);

	if (!err) {
		desc_set_deadline(d, 1u << DIR_IN, when);
		err = (int)fdio_loop(d, DIR_IN, try_end, NULL, 0);
		desc_leave(d);
	}
	if (err == 0 || err == -ETIMEDOUT)
		return err;
	return wait_no_pidfd(p, when, poll_ns);
}

public int
weft_process_wait_until(weft_process *p, int *status, int64_t when)
{
	int64_t poll_ns = POLL_FIRST_NS;
	int err, late = 0;

	while ((err = check_ended(p, status)) == -EAGAIN && !late)
		late = wait_for_end(p, when, &poll_ns);
	return err == -EAGAIN ? late : err;
}

public int
weft_process_wait(weft_process *p, int *status)
{
	return weft_process_wait_until(p, status, WEFT_NEVER);
}

public int
weft_process_kill(weft_process *p, int sig)
{
	long err = -EBADF;

	weft_mutex_lock(&p->mutex_);
	if (p->state_ != RUNS || p->pid <= 0)
		err = -ESRCH;
	else if (p->pidfd_ >= 0)
		err = syscall6(NR_PIDFD_SEND_SIGNAL, p->pidfd_, sig, 0, 0, 0,
		    0);
	if (err == -EBADF)
		err = syscall6(SYS_kill, p->pid, sig, 0, 0, 0, 0);
	weft_mutex_unlock(&p->mutex_);
	return (int)err;
}

/* ---- what it writes ---- */

enum { TEXT_FIRST = 4096 };

struct text {
	char *buf;
	size_t len, cap;	/* cap: without the NUL */
};

static bool
text_grow(struct text *t, size_t max)
{
	size_t cap = t->cap > max / 2 ? max : 2 * t->cap;
	char *buf;

	if (cap < TEXT_FIRST && cap < max)
		cap = max < TEXT_FIRST ? max : TEXT_FIRST;
	buf = realloc(t->buf, cap + 1);
	if (!buf)
		return false;
	t->buf = buf;
	t->cap = cap;
	return true;
}

/* All that comes, until the end. 0, -EMSGSIZE if it is more than max, ... */
static int
collect(int fd, struct text *t, size_t max)
{
	char more;
	ssize_t n;

	do {
		if (t->len == t->cap && t->cap < max && !text_grow(t, max))
			return -ENOMEM;
		n = t->len < t->cap ?
		    weft_read(fd, t->buf + t->len, t->cap - t->len) :
		    weft_read(fd, &more, 1);
		if (n > 0 && t->len == t->cap)
			return -EMSGSIZE;
		if (n > 0)
			t->len += (size_t)n;
	} while (n > 0);
	return (int)n;
}

/* Runs it and collects; it has ended when this returns. */
static int
run(char *const argv[], struct text *t, size_t max, int64_t when, int *status)
{
	weft_process_opt opt = { .in = WEFT_FD_NULL, .out = WEFT_FD_PIPE };
	weft_process p;
	int err = weft_process_start(&p, argv, &opt);

	if (err)
		return err;
	weft_set_read_deadline(p.out, when);
	err = collect(p.out, t, max);
	if (!err)
		err = weft_process_wait_until(&p, status, when);
	if (err) {
		weft_process_kill(&p, SIGKILL);
		weft_process_wait(&p, status);
	}
	weft_close(p.out);
	return err;
}

public int
weft_process_output(char *const argv[], size_t max, int64_t when,
    char **out, size_t *len, int *status)
{
	struct text t = {0};
	int err;

	if (max > SIZE_MAX / 2)
		max = SIZE_MAX / 2;
	/* An empty text is a text. */
	err = text_grow(&t, max) ? run(argv, &t, max, when, status) : -ENOMEM;
	if (err) {
		free(t.buf);
		t = (struct text){0};
	} else {
		t.buf[t.len] = '\0';
	}
	*out = t.buf;
	if (len)
		*len = t.len;
	return err;
}
