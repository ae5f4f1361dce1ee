/* SPDX-License-Identifier: MIT */
/* Child processes: how they start, what they have, how they end. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "open_fds.h"
#include "run_env.h"

/* Literals are not const to exec. */
#define ARGV(...) ((char **)(const char *[]){ __VA_ARGS__, NULL })
#define SH(text) ARGV("sh", "-c", text)
#define OPT(...) ((weft_process_options){ __VA_ARGS__ })

/* Its status, or -errno if it could not start. */
static int
run(char **argv, const weft_process_options *opt)
{
	weft_process p;
	int status = -1, err = weft_process_start(&p, argv, opt, sizeof *opt);

	if (err)
		return err;
	EQ(weft_process_wait(&p, &status), 0);
	return status;
}

/* The same for one that ends by exit: with what. */
static int
code(char **argv, const weft_process_options *opt)
{
	int status = run(argv, opt);

	return status < 0 ? status :
	    WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* All that comes from a descriptor, as text; it is closed. */
static char *
text_of(int fd)
{
	static char buf[4096];
	size_t n = 0;
	ssize_t got;

	while ((got = weft_read(fd, buf + n, sizeof buf - 1 - n)) > 0)
		n += (size_t)got;
	EQ(got, 0);
	buf[n] = '\0';
	EQ(weft_close(fd), 0);
	return buf;
}

static bool
is(const char *a, const char *b)
{
	if (strcmp(a, b) != 0)
		fprintf(stderr, "# \"%s\" is not \"%s\"\n", a, b);
	return strcmp(a, b) == 0;
}

/* What it writes to its standard output; the rest is as opt says. */
static char *
says(char **argv, weft_process_options opt)
{
	weft_process p;
	char *text;
	int err;

	opt.out = WEFT_FD_PIPE;
	err = weft_process_start(&p, argv, &opt, sizeof opt);
	EQ(err, 0);
	if (err)
		return (char *)(uintptr_t)"";
	text = text_of(p.out);
	EQ(weft_process_wait(&p, NULL), 0);
	return text;
}

/* No child of ours is left behind, dead or alive. */
static bool
childless(void)
{
	return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD;
}

/* ---- how it ends ---- */

static void
statuses(void)
{
	EQ(code(ARGV("true"), NULL), 0);
	EQ(code(ARGV("false"), NULL), 1);
	EQ(code(SH("exit 7"), NULL), 7);
	EQ(code(SH("exit 255"), NULL), 255);
	EQ(code(ARGV("/bin/sh", "-c", "exit $#", "0", "a", "b c"), NULL), 2);
	EQ(run(SH("kill -TERM $$"), NULL), SIGTERM);
	/* A system that pipes cores to a program makes one all the same. */
	EQ(WTERMSIG(run(SH("ulimit -c 0; kill -ABRT $$"), NULL)), SIGABRT);
	OK(childless());
}
ON_ALL(statuses)

GTEST(asked_again, 1)
{
	weft_process p;
	int status = -1;

	EQ(weft_process_start(&p, SH("exit 3"), NULL, 0), 0);
	OK(p.pid > 0 && p.in == -1 && p.out == -1 && p.err == -1);
	EQ(weft_process_wait(&p, NULL), 0);
	EQ(weft_process_wait(&p, &status), 0);
	EQ(WEXITSTATUS(status), 3);
	status = -1;
	EQ(weft_process_try_wait(&p, &status), 0);
	EQ(WEXITSTATUS(status), 3);
	EQ(weft_process_kill(&p, 0), -ESRCH);
	OK(childless());
}

/* ---- why it does not start ---- */

static void
refuse(char **argv, const weft_process_options *opt, int err)
{
	weft_process p;
	int status;

	EQ(weft_process_start(&p, argv, opt, sizeof *opt), err);
	OK(p.pid == -1 && p.in == -1 && p.out == -1 && p.err == -1);
	EQ(weft_process_wait(&p, &status), -ECHILD);
	EQ(weft_process_try_wait(&p, &status), -ECHILD);
	EQ(weft_process_kill(&p, SIGTERM), -ESRCH);
	OK(childless());
}

/* A file of that mode and text; its name. */
static char *
file(int mode, const char *text)
{
	static char name[64];
	int fd;

	strcpy(name, "/tmp/weft-children-XXXXXX");
	fd = mkstemp(name);
	OK(fd >= 0);
	EQ(write(fd, text, strlen(text)), strlen(text));
	OK(fchmod(fd, (mode_t)mode) == 0);
	close(fd);
	return name;
}

/* An emulator has no vfork: the child's errors stay in the child. */
GTEST(not_executable, 1)
{
	char *name;

	if (t_emulated())
		t_skip("errors of exec are not seen under an emulator");
	refuse(ARGV("/no/such/program"), NULL, -ENOENT);
	refuse(ARGV("weft-no-such-program"), NULL, -ENOENT);
	refuse(ARGV("/dev/null/x"), NULL, -ENOTDIR);
	refuse(ARGV("/tmp"), NULL, -EACCES);
	name = file(0600, "#!/bin/sh\n");
	refuse(ARGV(name), NULL, -EACCES);
	unlink(name);
	name = file(0700, "neither this nor that");
	refuse(ARGV(name), NULL, -ENOEXEC);
	unlink(name);
}

GTEST(no_such_directory, 1)
{
	if (t_emulated())
		t_skip("errors of exec are not seen under an emulator");
	refuse(ARGV("true"), &OPT(.directory = "/no/such"),
	    -ENOENT);
	refuse(ARGV("true"), &OPT(.directory = "/dev/null"),
	    -ENOTDIR);
}

GTEST(too_much_to_say, 1)
{
	char *huge = malloc(4 << 20);

	if (t_emulated())
		t_skip("errors of exec are not seen under an emulator");
	memset(huge, 'x', 4 << 20);
	huge[(4 << 20) - 1] = '\0';
	refuse(ARGV("true", huge), NULL, -E2BIG);
	free(huge);
}

GTEST(absurd, 1)
{
	int fd = open("/dev/null", O_RDONLY);

	close(fd);
	refuse(NULL, NULL, -EINVAL);
	refuse((char *[]){ NULL }, NULL, -EINVAL);
	refuse(ARGV("true"), &OPT(.in = -5), -EINVAL);
	refuse(ARGV("true"), &OPT(.in = WEFT_FD_OUT), -EINVAL);
	refuse(ARGV("true"), &OPT(.in = WEFT_FD_PIPE,
	    .out = WEFT_FD_OUT), -EINVAL);
	refuse(ARGV("true"), &OPT(.out = WEFT_FD_PIPE,
	    .err = fd), -EBADF);
}

/* One that was never started is no process. */
GTEST(zeroed, 1)
{
	weft_process p = {0};

	EQ(weft_process_kill(&p, SIGKILL), -ESRCH);
	EQ(weft_process_wait(&p, NULL), -ECHILD);
}

/* ---- pipes ---- */

struct writing {
	int fd;
	const char *data;
	size_t len;
};

static void
writes(void *arg)
{
	struct writing *w = arg;

	EQ(weft_write_full(w->fd, w->data, w->len, NULL), w->len);
	EQ(weft_close(w->fd), 0);
}

/* A megabyte in, the same megabyte out. */
static void
through_cat(void)
{
	size_t len = 1 << 20;
	char *data = malloc(len), *back = malloc(len + 1);
	weft_process_options opt = { .in = WEFT_FD_PIPE, .out = WEFT_FD_PIPE };
	weft_process p;
	int status = -1;

	for (size_t i = 0; i < len; i++)
		data[i] = (char)(i * 31 + i / 251);
	EQ(weft_process_start(&p, ARGV("cat"), &opt, sizeof opt), 0);
	OK(p.in > 2 && p.out > 2 && p.err == -1);
	OK(fcntl(p.in, F_GETFL) & O_NONBLOCK);
	OK(fcntl(p.out, F_GETFL) & O_NONBLOCK);
	OK(fcntl(p.in, F_GETFD) & FD_CLOEXEC);
	OK(fcntl(p.out, F_GETFD) & FD_CLOEXEC);
	weft_spawn(NULL, 0, writes, &(struct writing){ p.in, data, len },
	    sizeof(struct writing));
	EQ(weft_read_full(p.out, back, len + 1, NULL), len);
	OK(memcmp(data, back, len) == 0);
	EQ(weft_close(p.out), 0);
	EQ(weft_process_wait(&p, &status), 0);
	EQ(status, 0);
	free(data);
	free(back);
}
ON_ALL(through_cat)

GTEST(out_and_err, 1)
{
	weft_process_options opt = { .out = WEFT_FD_PIPE, .err = WEFT_FD_PIPE };
	weft_process p;

	EQ(weft_process_start(&p, SH("echo out; echo err >&2"), &opt,
	    sizeof opt), 0);
	OK(is(text_of(p.out), "out\n"));
	OK(is(text_of(p.err), "err\n"));
	EQ(weft_process_wait(&p, NULL), 0);
}

GTEST(err_to_out, 1)
{
	OK(is(says(SH("echo out; echo err >&2; echo out"),
	    OPT(.err = WEFT_FD_OUT)), "out\nerr\nout\n"));
}

GTEST(nothing_to_read, 1)
{
	OK(is(says(ARGV("cat"), OPT(.in = WEFT_FD_NULL)),
	    ""));
	OK(is(says(SH("echo err >&2; readlink /proc/self/fd/2"),
	    OPT(.err = WEFT_FD_NULL)), "/dev/null\n"));
}

/* ---- descriptors that we give ---- */

static int
temporary(const char *text)
{
	char *name = file(0600, text);
	int fd = open(name, O_RDWR | O_CLOEXEC);

	unlink(name);
	return fd;
}

static char *
content(int fd)
{
	OK(lseek(fd, 0, SEEK_SET) == 0);
	return text_of(fd);
}

GTEST(files_as_all_three, 1)
{
	int in = temporary("text\n"), out = temporary(""), err = temporary("");

	EQ(code(SH("cat; echo err >&2"),
	    &OPT(.in = in, .out = out, .err = err)), 0);
	OK(is(content(out), "text\n"));
	OK(is(content(err), "err\n"));
	EQ(weft_close(in), 0);
}

/* The child gets our 1 and 2 crossed, our 2 as its 0 and so on. */
static void
crossed(const weft_process_options *opt, const char *one, const char *two)
{
	int keep1 = dup(1), keep2 = dup(2);
	int a = temporary("a\n"), b = temporary("b\n"), got;

	dup2(a, 1);
	dup2(b, 2);
	got = code(SH("echo out; echo err >&2; read x && echo $x; :"), opt);
	dup2(keep1, 1);
	dup2(keep2, 2);
	close(keep1);
	close(keep2);
	EQ(got, 0);
	OK(is(content(a), one));
	OK(is(content(b), two));
}

GTEST(numbers_that_overlap, 1)
{
	crossed(&OPT(.in = WEFT_FD_NULL), "out\n", "err\n");
	crossed(&OPT(.in = WEFT_FD_NULL, .out = 2, .err = 1),
	    "err\n", "out\n");
	crossed(&OPT(.in = WEFT_FD_NULL, .out = 1, .err = 2),
	    "out\n", "err\n");
	crossed(&OPT(.in = WEFT_FD_NULL, .out = 2, .err = 2),
	    "a\n", "out\nerr\n");
	crossed(&OPT(.in = WEFT_FD_NULL,
	    .err = WEFT_FD_OUT), "out\nerr\n", "b\n");
	crossed(&OPT(.in = WEFT_FD_NULL, .out = 2,
	    .err = WEFT_FD_OUT), "a\n", "out\nerr\n");
	/* What it reads is where 1 was: its beginning was overwritten. */
	crossed(&OPT(.in = 1, .out = 2, .err = WEFT_FD_NULL),
	    "a\n", "out\na\n");
}

/* Pipes that would get the numbers 0, 1 and 2. */
GTEST(ours_are_closed, 1)
{
	weft_process_options opt = { .in = WEFT_FD_PIPE, .out = WEFT_FD_PIPE,
	    .err = WEFT_FD_PIPE };
	int keep[3], err;
	weft_process p;

	for (int i = 0; i < 3; i++) {
		keep[i] = dup(i);
		close(i);
	}
	err = weft_process_start(&p, SH("cat; echo err >&2"), &opt,
	    sizeof opt);
	for (int i = 0; i < 3; i++) {
		dup2(keep[i], i);
		close(keep[i]);
	}
	EQ(err, 0);
	OK(p.in > 2 && p.out > 2 && p.err > 2);
	EQ(weft_write_full(p.in, "text\n", 5, NULL), 5);
	EQ(weft_close(p.in), 0);
	OK(is(text_of(p.out), "text\n"));
	OK(is(text_of(p.err), "err\n"));
	EQ(weft_process_wait(&p, NULL), 0);
}

static void
close_on_exec(void)
{
	for (int fd = 3; fd < 1000; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* ls has one more open, the directory that it lists. */
GTEST(has_no_more_descriptors, 1)
{
	weft_process_options opt = { .in = WEFT_FD_PIPE, .out = WEFT_FD_NULL,
	    .err = WEFT_FD_PIPE };
	weft_process other;
	int open_on;

	close_on_exec();
	EQ(weft_process_start(&other, ARGV("cat"), &opt, sizeof opt), 0);
	OK(is(says(ARGV("ls", "/proc/self/fd"), OPT(0)),
	    "0\n1\n2\n3\n"));
	open_on = fcntl(other.in, F_DUPFD, 100);
	OK(is(says(ARGV("ls", "/proc/self/fd"),
	    OPT(.in = WEFT_FD_NULL, .err = WEFT_FD_OUT)),
	    "0\n1\n100\n2\n3\n"));
	EQ(close(open_on), 0);
	EQ(weft_close(other.in), 0);
	EQ(weft_process_wait(&other, NULL), 0);
	EQ(weft_close(other.err), 0);
}

GTEST(none_are_left_open, 2)
{
	weft_process_options piped = { .in = WEFT_FD_PIPE, .out = WEFT_FD_PIPE,
	    .err = WEFT_FD_PIPE };
	weft_process_options given = { .in = 2, .out = 2, .err = 1 };
	weft_process_options bad = { .in = WEFT_FD_PIPE, .out = WEFT_FD_NULL,
	    .err = WEFT_FD_PIPE, .directory = "/no/such" };
	weft_process p;
	int before;

	/* What waiting needs is opened once. */
	OK(is(says(ARGV("true"), OPT(0)), ""));
	before = count_fds();
	for (int i = 0; i < 5; i++) {
		EQ(weft_process_start(&p, ARGV("true"), &piped,
		    sizeof piped), 0);
		weft_close(p.in);
		weft_close(p.out);
		weft_close(p.err);
		EQ(weft_process_wait(&p, NULL), 0);
		EQ(code(ARGV("true"), &given), 0);
		EQ(weft_process_start(&p, NULL, &piped, sizeof piped), -EINVAL);
		if (!t_emulated())
			EQ(weft_process_start(&p, ARGV("true"), &bad,
			    sizeof bad),
			    -ENOENT);
	}
	EQ(count_fds(), before);
	OK(childless());
}

/* ---- what else it has ---- */

GTEST(environment, 1)
{
	weft_process_options opt = {0};

	OK(setenv("WEFT_TEST", "ours", 1) == 0);
	OK(is(says(SH("echo $WEFT_TEST"), opt), "ours\n"));
	opt.environment = ARGV("OTHER=theirs");
	OK(is(says(SH("echo $WEFT_TEST$OTHER"), opt), "theirs\n"));
	opt.environment = (char *[]){ NULL };
	OK(is(says(ARGV("env"), opt), ""));
}

GTEST(directory, 1)
{
	char name[] = "/tmp/weft-children-XXXXXX", line[64];
	weft_process_options opt = { .directory = name };
	int fd;

	OK(mkdtemp(name) != NULL);
	snprintf(line, sizeof line, "%s\n", name);
	OK(is(says(ARGV("pwd"), opt), line));
	/* A program of that directory. */
	snprintf(line, sizeof line, "%s/prog", name);
	fd = open(line, O_CREAT | O_WRONLY | O_CLOEXEC, 0700);
	EQ(write(fd, "#!/bin/sh\necho here\n", 20), 20);
	close(fd);
	OK(is(says(ARGV("./prog"), opt), "here\n"));
	unlink(line);
	rmdir(name);
}

GTEST(group, 1)
{
	weft_process_options opt = { .in = WEFT_FD_PIPE };
	weft_process p;

	EQ(weft_process_start(&p, ARGV("cat"), &opt, sizeof opt), 0);
	EQ(getpgid(p.pid), getpgrp());
	weft_close(p.in);
	EQ(weft_process_wait(&p, NULL), 0);
	opt.group = true;
	EQ(weft_process_start(&p, ARGV("cat"), &opt, sizeof opt), 0);
	if (!t_emulated())	/* start does not wait for it there */
		EQ(getpgid(p.pid), p.pid);
	weft_close(p.in);
	EQ(weft_process_wait(&p, NULL), 0);
}

/* Nothing blocked, nothing ignored, whatever we do. */
GTEST(signals, 1)
{
	weft_chan *c = weft_chan_make(sizeof(int), 1);
	sigset_t some, old;
	char *text;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	EQ(weft_signal_notify(c, SIGTERM), 0);
	sigemptyset(&some);
	sigaddset(&some, SIGURG);
	sigaddset(&some, SIGINT);
	weft_pin();
	pthread_sigmask(SIG_BLOCK, &some, &old);
	text = says(ARGV("grep", "-E", "^Sig(Blk|Ign)",
	    "/proc/self/status"), OPT(0));
	/* An emulator leaves those ignored that were when it was started. */
	if (!t_emulated())
		OK(is(text, "SigBlk:\t0000000000000000\n"
		    "SigIgn:\t0000000000000000\n"));
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	weft_unpin();
	EQ(weft_signal_stop(c, 0), 0);
	weft_chan_release(c);
}

/* ---- waiting ---- */

static void
cancel_soon(weft_context *ctx)
{
	weft_sleep(2 * WEFT_MS);
	weft_context_cancel(ctx, 0);
}

GTEST(waits_with_a_context, 2)
{
	int64_t when = weft_deadline(5 * WEFT_MS);
	weft_context *ctx = weft_context_make(NULL);
	weft_context *timed = weft_context_make_until(NULL, when);
	weft_process p;
	int status = -1;

	EQ(weft_process_start_with(&p, ARGV("sleep", "100")), 0);
	EQ(weft_process_wait_context(&p, &status, timed), -ETIMEDOUT);
	OK(weft_now() >= when);
	weft_go(cancel_soon, ctx);
	EQ(weft_process_wait_context(&p, &status, ctx), -ECANCELED);
	EQ(weft_process_wait_context(&p, &status, ctx), -ECANCELED);
	/* It is not kept for the next wait. */
	EQ(weft_process_wait_until(&p, &status, weft_deadline(WEFT_MS)),
	    -ETIMEDOUT);
	EQ(weft_process_kill(&p, SIGKILL), 0);
	EQ(weft_process_wait_context(&p, &status, NULL), 0);
	EQ(WTERMSIG(status), SIGKILL);
	/* What can be done is done, though the context is cancelled. */
	EQ(weft_process_wait_context(&p, &status, ctx), 0);
	weft_context_release(ctx);
	weft_context_release(timed);
	OK(childless());
}

/* Of an older program, which has less, and of a newer one, which has more. */
GTEST(options_of_another_version, 1)
{
	struct { weft_process_options old; long more; } newer = {
		.old = { .directory = "/no/such" }
	};
	weft_process p;
	int status = -1;

	if (t_emulated())
		t_skip("errors of exec are not seen under an emulator");
	EQ(weft_process_start(&p, ARGV("true"), &newer.old,
	    offsetof(weft_process_options, directory)), 0);
	EQ(weft_process_wait(&p, &status), 0);
	EQ(weft_process_start(&p, ARGV("true"), &newer.old, sizeof newer),
	    -ENOENT);
	newer.more = 1;
	EQ(weft_process_start(&p, ARGV("true"), &newer.old, sizeof newer),
	    -E2BIG);
	EQ(weft_process_wait(&p, &status), -ECHILD);
	OK(childless());
}

GTEST(waits_until, 1)
{
	weft_process p;
	int status = -1;
	int64_t when;

	EQ(weft_process_start(&p, ARGV("sleep", "100"), NULL, 0), 0);
	EQ(weft_process_try_wait(&p, &status), -EAGAIN);
	EQ(weft_process_wait_until(&p, &status, weft_now()), -ETIMEDOUT);
	for (int i = 0; i < 3; i++) {
		when = weft_deadline(10 * WEFT_MS);
		EQ(weft_process_wait_until(&p, &status, when), -ETIMEDOUT);
		OK(weft_now() >= when);
	}
	EQ(weft_process_kill(&p, 0), 0);
	EQ(weft_process_kill(&p, 12345), -EINVAL);
	EQ(weft_process_kill(&p, SIGKILL), 0);
	EQ(weft_process_wait(&p, &status), 0);
	EQ(status, SIGKILL);
	EQ(weft_process_kill(&p, SIGKILL), -ESRCH);
	OK(childless());
}

static void
waits(weft_process *p, weft_chan *done)
{
	int status = -1;

	EQ(weft_process_wait(p, &status), 0);
	weft_send(done, status);
}

/* One waits, another one kills. */
static void
killed_meanwhile(void)
{
	weft_chan *done = weft_chan_make(sizeof(int), 0);
	weft_process p;

	EQ(weft_process_start(&p, ARGV("sleep", "100"), NULL, 0), 0);
	weft_go(waits, &p, done);
	weft_sleep(2 * WEFT_MS);
	EQ(weft_process_kill(&p, SIGTERM), 0);
	EQ(weft_recv(done, int), SIGTERM);
	EQ(weft_process_kill(&p, SIGTERM), -ESRCH);
	weft_chan_release(done);
}
ON_ALL(killed_meanwhile)

/* Kills all the time, as long as it may be its end is waited for. */
GTEST(killed_at_its_end, 4)
{
	weft_chan *done = weft_chan_make(sizeof(int), 1);

	for (long i = 0; i < t_scale(50); i++) {
		weft_process p;
		int status, err;

		EQ(weft_process_start(&p, ARGV("true"), NULL, 0), 0);
		weft_go(waits, &p, done);
		while ((err = weft_process_kill(&p, 0)) == 0)
			weft_yield();
		EQ(err, -ESRCH);
		status = weft_recv(done, int);
		EQ(status, 0);
	}
	weft_chan_release(done);
}

static void
one_of_many(int n, weft_waitgroup *wg)
{
	char text[32];

	snprintf(text, sizeof text, "exit %d", n);
	EQ(code(SH(text), NULL), n);
	weft_waitgroup_done(wg);
}

static void
fifty(void)
{
	int n = t_emulated() ? 10 : 50;
	weft_waitgroup wg = {0};

	weft_waitgroup_add(&wg, n);
	for (int i = 0; i < n; i++)
		weft_go(one_of_many, i, &wg);
	weft_waitgroup_wait(&wg);
	OK(childless());
}

/* It needs little stack. */
GTEST(on_a_small_stack, 1)
{
	weft_waitgroup wg = {0};

	weft_waitgroup_add(&wg, 1);
	weft_go_opt(WEFT_OPT(.stack = 16 * 1024), one_of_many, 77, &wg);
	weft_waitgroup_wait(&wg);
}

GTEST(fifty_on_one, 1) { fifty(); }
GTEST(fifty_on_four, 4) { fifty(); }

/* They all live at the same time. */
GTEST(fifty_alive, 2)
{
	weft_process p[50];
	int status;

	for (int i = 0; i < 50; i++)
		EQ(weft_process_start(&p[i], ARGV("sleep", "100"), NULL, 0), 0);
	for (int i = 0; i < 50; i++)
		EQ(weft_process_kill(&p[i], SIGTERM), 0);
	for (int i = 49; i >= 0; i--) {
		EQ(weft_process_wait(&p[i], &status), 0);
		EQ(status, SIGTERM);
	}
	OK(childless());
}

/* ---- other waiters ---- */

GTEST(another_waited, 1)
{
	weft_process p;
	int status;

	EQ(weft_process_start(&p, ARGV("true"), NULL, 0), 0);
	EQ(waitpid(p.pid, &status, 0), p.pid);
	EQ(weft_process_kill(&p, 0), -ESRCH);
	EQ(weft_process_wait(&p, &status), -ECHILD);
	EQ(weft_process_wait(&p, &status), -ECHILD);
}

GTEST(sigchld_is_ignored, 1)
{
	weft_process p;

	signal(SIGCHLD, SIG_IGN);
	EQ(weft_process_start(&p, ARGV("true"), NULL, 0), 0);
	EQ(weft_process_wait(&p, NULL), -ECHILD);
}

/* SIGCHLD comes on a channel, and the status is there to be had. */
GTEST(told_by_signal, 1)
{
	weft_chan *c = weft_chan_make(sizeof(int), 1);
	weft_process p;
	int status = -1;

	EQ(weft_signal_notify(c, SIGCHLD), 0);
	EQ(weft_process_start(&p, SH("exit 4"), NULL, 0), 0);
	EQ(weft_recv(c, int), SIGCHLD);
	EQ(weft_process_try_wait(&p, &status), 0);
	EQ(WEXITSTATUS(status), 4);
	EQ(weft_signal_stop(c, 0), 0);
	weft_chan_release(c);
}

/* ---- without what is usual ---- */

TEST(without_a_runtime)
{
	weft_process_options opt = { .in = WEFT_FD_PIPE };
	weft_process p;
	int status;

	EQ(code(SH("exit 5"), NULL), 5);
	EQ(weft_process_start(&p, ARGV("cat"), &opt, sizeof opt), 0);
	EQ(weft_process_wait_until(&p, &status, weft_deadline(3 * WEFT_MS)),
	    -ETIMEDOUT);
	close(p.in);
	EQ(weft_process_wait(&p, &status), 0);
	EQ(status, 0);
}

/* The kernel, from now on, has no pidfd_open. */
static bool
without_pidfds(void)
{
	struct { uint16_t code; uint8_t yes, no; uint32_t k; } filter[] = {
		{ 0x20, 0, 0, 0 },		/* load the call's number */
		{ 0x15, 0, 1, 434 },		/* pidfd_open? */
		{ 0x06, 0, 0, 0x00050000 | ENOSYS },
		{ 0x06, 0, 0, 0x7fff0000 },	/* allow */
	};
	struct { unsigned short n; void *filter; } program = { 4, filter };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	    prctl(PR_SET_SECCOMP, 2, &program) == 0;
}

static void
as_on_old_kernels(void)
{
	weft_chan *done = weft_chan_make(sizeof(int), 0);
	int64_t when = weft_deadline(30 * WEFT_MS);
	weft_process p;
	int status;

	EQ(syscall(434, getpid(), 0), -1);
	EQ(code(SH("exit 9"), NULL), 9);
	EQ(weft_process_start(&p, ARGV("sleep", "100"), NULL, 0), 0);
	EQ(weft_process_wait_until(&p, &status, when), -ETIMEDOUT);
	OK(weft_now() >= when);
	weft_go(waits, &p, done);
	weft_sleep(2 * WEFT_MS);
	EQ(weft_process_kill(&p, SIGTERM), 0);
	EQ(weft_recv(done, int), SIGTERM);
	EQ(weft_process_kill(&p, SIGTERM), -ESRCH);
	EQ(weft_process_start(&p, SH("sleep 0.05; exit 8"), NULL, 0), 0);
	EQ(weft_process_wait_until(&p, &status,
	    weft_deadline(60 * WEFT_SECOND)), 0);
	EQ(WEXITSTATUS(status), 8);
	fifty();
	weft_chan_release(done);
}

TEST(without_a_pidfd)
{
	if (!without_pidfds())
		t_skip("calls cannot be forbidden here");
	run_env(2, NULL, as_on_old_kernels);
}

/* The pipe for the error is the first that finds none. */
GTEST(no_numbers_left, 1)
{
	weft_process_options opt = { .in = WEFT_FD_PIPE, .out = WEFT_FD_NULL,
	    .err = WEFT_FD_PIPE };
	struct rlimit limit;
	int fd, n = 0;

	EQ(code(ARGV("true"), NULL), 0);
	OK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	limit.rlim_cur = 100;
	OK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	while ((fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		n = fd;
	for (int i = 0; i < 4; i++)
		close(n - i);
	refuse(ARGV("true"), &opt, -EMFILE);
	for (int i = 0; i < 4; i++)
		OK(open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0);
	EQ(open("/dev/null", O_RDONLY), -1);
}
