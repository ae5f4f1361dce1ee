/* SPDX-License-Identifier: MIT */
/*
 * Child processes.
 *
 * A child is made by posix_spawn, in an announced call (weft_blocking): the
 * parent's thread sleeps until the child has executed the program, or has
 * failed to, which is how the error is exact. Until then only libc runs in the
 * child, on a stack of its own and with all signals blocked.
 *
 * Descriptors. What is to become the child's 0, 1 or 2 is first duplicated, in
 * the parent, to a number above these, close-on-exec. Then the order of the
 * dup2 calls in the child does not matter, and none is a dup2 to itself, which
 * would leave it close-on-exec.
 *
 * The end of the child makes its pidfd readable. A child is reaped, and a
 * signal sent to it, only under the mutex, so that a signal never reaches
 * another process that has got its id. Without a pidfd (Linux before 5.3, an
 * emulator, no descriptor left) a wait without a limit blocks a thread, and one
 * with a limit polls, at least every 10 ms.
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

#include "contents.h"
#include "desc.h"
#include "fd_context.h"
#include "fdio.h"
#include "netpoll.h"
#include "options.h"
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
	weft_process_options opt;
	int child_fds[STANDARD]; /* to become its 0, 1, 2; -1: inherited */
	int ours[STANDARD];	/* the parent's ends of pipes; -1 */
	int made[STANDARD];	/* of child_fds, to be closed afterwards; -1 */
	pid_t pid;
};

/* No goroutine has used them. */
static void
close_each(const int fds[STANDARD])
{
	for (int i = 0; i < STANDARD; i++)
		if (fds[i] >= 0)
			fd_close(fds[i]);
}

/* A duplicate with a number that is no standard one. */
static int
copy_up(int fd)
{
	return (int)fd_control(fd, F_DUPFD_CLOEXEC, STANDARD);
}

/* The same, and closes fd. -errno is passed through. */
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
 * A pipe for the child's i-th: ours[i], non-blocking, and made[i]. 0 or -errno;
 * after an error what was opened is in one of the two, or closed.
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

/* The child's i-th is the parent's fd. */
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

/* All are checked first: a pipe made here could get the number of a closed
 * one. */
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

/* All: also libc's own signals, which the child would ignore otherwise. */
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

	/* Valgrind does not know pidfds, and warns each time. */
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
    const weft_process_options *opt, size_t size)
{
	struct child_spec b = { .argv = argv, .child_fds = { -1, -1, -1 },
	    .ours = { -1, -1, -1 }, .made = { -1, -1, -1 } };
	int err = options_copy(&b.opt, sizeof b.opt, opt, size);

	*p = (weft_process){ .pid = -1, .in = -1, .out = -1, .err = -1,
	    .pidfd_ = -1, .state_ = -ECHILD };
	if (!err)
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

/* Mutex held. `ours`: the number is still the pidfd. */
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
 * Mutex held. Reaps the child if it has ended. By its id where that cannot be
 * done by the pidfd (Linux 5.3 has only poll for it; or the program has closed
 * it): until it is reaped, which only we do, the id is its own.
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

/* For weft_blocking. Does not reap: see weft_process_kill. */
static void *
wait_for_pid(void *arg)
{
	weft_process *p = arg;
	siginfo_t si;

	wait_id(P_PID, p->pid, &si, WNOWAIT);
	return NULL;
}

/* How long a wait may last, and how long the next look is away. */
struct wait_limit {
	int64_t when;		/* WEFT_NEVER: no limit */
	weft_context *context;	/* NULL: none */
	int64_t poll_ns;
};

/* Without a pidfd: 0 if it is time to look; -ETIMEDOUT, -ECANCELED. */
static int
wait_no_pidfd(weft_process *p, struct wait_limit *l)
{
	int64_t now = weft_now();
	int err = weft_context_error(l->context);

	if (l->when == WEFT_NEVER && !l->context) {
		weft_blocking(wait_for_pid, p);
		return 0;
	}
	if (err || now >= l->when)
		return err ? err : -ETIMEDOUT;
	weft_sleep_until(l->when - now < l->poll_ns ? l->when :
	    now + l->poll_ns);
	if (l->poll_ns < POLL_MOST_NS)
		l->poll_ns *= 2;
	return 0;
}

static long
try_end(struct desc *d, void *unused)
{
	(void)unused;
	return fdio_ready_now(d, DIR_IN) ? 0 : -EAGAIN;
}

/* Under the mutex: a close that comes later waits for desc_leave. */
static int
enter_pidfd(weft_process *p, struct desc **d)
{
	int err;

	weft_mutex_lock(&p->mutex_);
	err = p->pidfd_ < 0 ? -EBADF : desc_enter_own(p->pidfd_, d);
	weft_mutex_unlock(&p->mutex_);
	return err;
}

/* Within a call on the pidfd: 0: it is readable; or why not. */
static int
wait_readable(struct desc *d, const struct wait_limit *l)
{
	int err;

	desc_set_deadline(d, 1u << DIR_IN, l->when);
	err = fd_context_set(d, l->context);
	if (err)
		return err;
	err = (int)fdio_loop(d, DIR_IN, try_end, NULL, 0);
	if (l->context)
		fd_context_set(d, NULL);
	return err;
}

/* The same with it. */
static int
wait_for_end(weft_process *p, struct wait_limit *l)
{
	struct desc *d;
	int err = enter_pidfd(p, &d);

	if (!err) {
		err = wait_readable(d, l);
		desc_leave(d);
	}
	if (err == 0 || err == -ETIMEDOUT || err == -ECANCELED)
		return err;
	return wait_no_pidfd(p, l);
}

/* A child that has ended is reaped, whatever the limit says. */
static int
wait_limited(weft_process *p, int *status, int64_t when, weft_context *ctx)
{
	struct wait_limit l = { when ? when : WEFT_NEVER, ctx, POLL_FIRST_NS };
	int err, late = 0;

	while ((err = check_ended(p, status)) == -EAGAIN && !late)
		late = wait_for_end(p, &l);
	return err == -EAGAIN ? late : err;
}

public int
weft_process_wait(weft_process *p, int *status)
{
	return wait_limited(p, status, WEFT_NEVER, NULL);
}

public int
weft_process_try_wait(weft_process *p, int *status)
{
	return check_ended(p, status);
}

public int
weft_process_wait_until(weft_process *p, int *status, int64_t when)
{
	return wait_limited(p, status, when, NULL);
}

public int
weft_process_wait_context(weft_process *p, int *status, weft_context *ctx)
{
	return wait_limited(p, status, WEFT_NEVER, ctx);
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

/* Runs it and collects its output; when this returns it is reaped. */
static int
run(char *const argv[], struct contents *c, size_t max, int64_t when,
    int *status)
{
	weft_process p;
	int err = weft_process_start_with(&p, argv, .in = WEFT_FD_NULL,
	    .out = WEFT_FD_PIPE);

	if (err)
		return err;
	weft_set_read_deadline(p.out, when);
	err = contents_read(c, p.out, max);
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
	struct contents c = {0};
	int err;

	if (max > SIZE_MAX / 2)
		max = SIZE_MAX / 2;
	/* Before there is a child that would have to be killed. */
	err = contents_grow(&c, 0, max) ? run(argv, &c, max, when, status) :
	    -ENOMEM;
	if (err) {
		free(c.buf);
		c = (struct contents){0};
	}
	*out = c.buf;
	if (len)
		*len = c.len;
	return err;
}
