/* SPDX-License-Identifier: MIT */
/* Signals as channels: each arrives, wherever it was sent, and what a signal
 * did before is restored. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plain_thread.h"
#include "run_env.h"

/* Never that long: the signal is there, or lost. */
enum { SOON_S = 20 };

static weft_chan *
chan(size_t room)
{
	return weft_chan_make(sizeof(int), room);
}

/* The next signal, 0 if none comes. */
static int
next(weft_chan *c)
{
	int sig = 0;

	return weft_chan_recv_until(c, &sig,
	    weft_deadline(SOON_S * WEFT_SECOND)) ? sig : 0;
}

/* What is in it now. */
static int
now_in(weft_chan *c)
{
	int sig = 0;

	return weft_chan_try_recv(c, &sig) ? sig : 0;
}

static void
send(int sig)
{
	OK(kill(getpid(), sig) == 0);
}

static void (*
action(int sig))(int)
{
	struct sigaction sa;

	OK(sigaction(sig, NULL, &sa) == 0);
	return sa.sa_handler;
}

static void
nothing(int sig)
{
	(void)sig;
}

/*
 * What is done with signals that come while no channel wants them: they are
 * ignored. An emulator reads the action twice on its way to a handler, and
 * jumps to SIG_IGN if another thread changes it in between; there the handler
 * is one that does nothing.
 */
static void
(*ignored(void))(int)
{
	return t_emulated() ? nothing : SIG_IGN;
}

/* ---- arriving ---- */

static void
arrives(void)
{
	weft_chan *c = chan(1);

	EQ(weft_signal_notify(c, SIGUSR1), 0);
	EQ(weft_signal_notify(c, SIGUSR1), 0);
	for (int i = 0; i < 10; i++) {
		send(SIGUSR1);
		EQ(next(c), SIGUSR1);
	}
	EQ(now_in(c), 0);
	EQ(weft_signal_stop(c, SIGUSR1), 0);
	weft_chan_release(c);
}
ON_ALL(arrives)

GTEST(each_of_two_gets_it, 2)
{
	weft_chan *a = chan(4), *b = chan(4);

	EQ(weft_signal_notify(a, SIGUSR1), 0);
	EQ(weft_signal_notify(b, SIGUSR1), 0);
	EQ(weft_signal_notify(b, SIGUSR2), 0);
	send(SIGUSR1);
	EQ(next(a), SIGUSR1);
	EQ(next(b), SIGUSR1);
	send(SIGUSR2);
	EQ(next(b), SIGUSR2);
	EQ(now_in(a), 0);
	EQ(weft_signal_stop(a, 0), 0);
	send(SIGUSR1);
	EQ(next(b), SIGUSR1);
	EQ(now_in(a), 0);
	EQ(weft_signal_stop(b, SIGUSR1), 0);
	send(SIGUSR2);
	EQ(next(b), SIGUSR2);
	EQ(weft_signal_stop(b, 0), 0);
	weft_chan_release(a);
	weft_chan_release(b);
}

/* One has room for one and is not read. */
GTEST(full_one_misses, 1)
{
	weft_chan *full = chan(1), *c = chan(4);

	EQ(weft_signal_notify(full, SIGUSR1), 0);
	EQ(weft_signal_notify(full, SIGUSR2), 0);
	EQ(weft_signal_notify(c, SIGUSR1), 0);
	EQ(weft_signal_notify(c, SIGUSR2), 0);
	send(SIGUSR1);
	EQ(next(c), SIGUSR1);
	send(SIGUSR2);
	EQ(next(c), SIGUSR2);
	EQ(weft_signal_stop(c, 0), 0);
	EQ(weft_signal_stop(full, 0), 0);
	EQ(now_in(full), SIGUSR1);
	EQ(now_in(full), 0);
	weft_chan_release(full);
	weft_chan_release(c);
}

static void
waits_for_one(weft_chan *c, weft_chan *done)
{
	weft_send(done, next(c));
}

/* With no room at all: a waiter gets it. The last ones may come when no channel
 * wants them any more. */
GTEST(without_room, 2)
{
	weft_chan *c = chan(0), *done = chan(1);
	int sig = 0;

	signal(SIGUSR1, ignored());
	EQ(weft_signal_notify(c, SIGUSR1), 0);
	weft_go(waits_for_one, c, done);
	while (!sig) {
		send(SIGUSR1);
		weft_chan_recv_until(done, &sig, weft_deadline(WEFT_MS));
	}
	EQ(sig, SIGUSR1);
	EQ(weft_signal_stop(c, 0), 0);
	weft_chan_release(c);
	weft_chan_release(done);
}

static bool
can_be_had(int sig)
{
	return sig != SIGKILL && sig != SIGSTOP && sig != SIGSEGV &&
	    sig != SIGBUS && sig != SIGFPE && sig != SIGILL &&
	    sig != SIGTRAP && sig != SIGSYS && sig != SIGURG &&
	    !(sig > SIGSYS && sig < SIGRTMIN);
}

GTEST(all_there_are, 2)
{
	/* An emulator keeps some for itself. */
	int last = SIGRTMAX - (t_emulated() ? 4 : 0);
	void (*before[65])(int);	/* ignored, by nohup say, or default */
	weft_chan *c = chan(100);

	for (int sig = 1; sig <= last; sig++) {
		if (!can_be_had(sig))
			continue;
		before[sig] = action(sig);
		EQ(weft_signal_notify(c, sig), 0);
	}
	for (int sig = 1; sig <= last; sig++) {
		if (!can_be_had(sig))
			continue;
		send(sig);
		EQ(next(c), sig);
	}
	/* And together. */
	for (int sig = SIGRTMIN; sig <= last; sig++)
		send(sig);
	for (int sig = SIGRTMIN; sig <= last; sig++)
		OK(next(c) >= SIGRTMIN);
	EQ(now_in(c), 0);
	EQ(weft_signal_stop(c, 0), 0);
	for (int sig = 1; sig <= last; sig++)
		if (can_be_had(sig))
			OK(action(sig) == before[sig]);
	weft_chan_release(c);
}

/* There is room for all, as many or few of them as arrive. */
GTEST(bursts, 2)
{
	long most = t_scale(20000), ones = 0, twos = 0;
	weft_chan *c = chan((size_t)most + 1);

	signal(SIGUSR1, ignored());
	EQ(weft_signal_notify(c, SIGUSR1), 0);
	EQ(weft_signal_notify(c, SIGUSR2), 0);
	for (long i = 0; i < most; i++)
		send(SIGUSR1);
	send(SIGUSR2);
	while (twos == 0 || ones == 0) {
		int sig = next(c);

		ones += sig == SIGUSR1;
		twos += sig == SIGUSR2;
		OK(sig == SIGUSR1 || sig == SIGUSR2);
		if (!sig)
			break;
	}
	EQ(weft_signal_stop(c, 0), 0);
	while (now_in(c) == SIGUSR1)
		ones++;
	OK(ones <= most);
	EQ(twos, 1);
	weft_chan_release(c);
}

/* Not one is left lying: each is waited for before the next is sent. */
GTEST(no_wakeup_is_lost, 2)
{
	weft_chan *c = chan(2);

	EQ(weft_signal_notify(c, SIGUSR1), 0);
	for (long i = 0; i < t_scale(20000); i++) {
		send(SIGUSR1);
		if (next(c) != SIGUSR1) {
			t_fail(__FILE__, __LINE__, "lost");
			break;
		}
	}
	EQ(weft_signal_stop(c, 0), 0);
	weft_chan_release(c);
}

/* ---- from where, and where to ---- */

static long stop_it;

static void *
plain_thread(void *arg)
{
	while (!get(&stop_it))
		usleep(1000);
	return arg;
}

/* The handler runs on a thread that is none of ours. */
GTEST(to_a_plain_thread, 1)
{
	weft_chan *c = chan(1);
	pthread_t t;

	EQ(weft_signal_notify(c, SIGUSR1), 0);
	EQ(pthread_create(&t, NULL, plain_thread, NULL), 0);
	for (int i = 0; i < 10; i++) {
		EQ(pthread_kill(t, SIGUSR1), 0);
		EQ(next(c), SIGUSR1);
	}
	bump(&stop_it);
	pthread_join(t, NULL);
	EQ(weft_signal_stop(c, 0), 0);
	weft_chan_release(c);
}

static void *
from_here(void *arg)
{
	weft_chan *c = arg;

	EQ(weft_signal_notify(c, SIGUSR1), 0);
	send(SIGUSR1);
	EQ(next(c), SIGUSR1);
	EQ(weft_signal_stop(c, SIGUSR1), 0);
	return NULL;
}

/* Asked for by one, while there is a runtime. */
GTEST(by_a_plain_thread, 1)
{
	weft_chan *c = chan(1);

	thread_run(from_here, c);
	weft_chan_release(c);
}

/* All goroutines are asleep, but it is no deadlock. */
GTEST(from_another_process, 1)
{
	weft_chan *c = chan(1);
	int status;
	pid_t pid;

	EQ(weft_signal_notify(c, SIGUSR1), 0);
	pid = fork();
	if (pid == 0) {
		usleep(300 * 1000);
		_exit(kill(getppid(), SIGUSR1) == 0 ? 0 : 1);
	}
	EQ(weft_recv(c, int), SIGUSR1);
	EQ(waitpid(pid, &status, 0), pid);
	EQ(status, 0);
	EQ(weft_signal_stop(c, 0), 0);
	weft_chan_release(c);
}

/* What it interrupts does not notice. */
GTEST(leaves_errno_alone, 1)
{
	weft_chan *c = chan(1);

	EQ(weft_signal_notify(c, SIGUSR1), 0);
	weft_pin();
	errno = 12345;
	raise(SIGUSR1);
	EQ(errno, 12345);
	weft_unpin();
	EQ(next(c), SIGUSR1);
	EQ(weft_signal_stop(c, 0), 0);
	weft_chan_release(c);
}

static void *
reads(void *fds)
{
	char byte = 0;

	EQ(read(((int *)fds)[0], &byte, 1), 1);
	EQ(byte, 'x');
	bump(&stop_it);
	return NULL;
}

GTEST(restarts_calls, 1)
{
	weft_chan *c = chan(1);
	pthread_t t;
	int fd[2];

	OK(pipe(fd) == 0);
	EQ(weft_signal_notify(c, SIGUSR1), 0);
	EQ(pthread_create(&t, NULL, reads, fd), 0);
	for (int i = 0; i < 10; i++) {
		EQ(pthread_kill(t, SIGUSR1), 0);
		EQ(next(c), SIGUSR1);
	}
	EQ(get(&stop_it), 0);
	EQ(write(fd[1], "x", 1), 1);
	pthread_join(t, NULL);
	close(fd[0]);
	close(fd[1]);
	EQ(weft_signal_stop(c, 0), 0);
	weft_chan_release(c);
}

/* ---- what it did before ---- */

GTEST(ignored_before_and_after, 1)
{
	weft_chan *c = chan(1);

	signal(SIGUSR1, SIG_IGN);
	EQ(weft_signal_notify(c, SIGUSR1), 0);
	OK(action(SIGUSR1) != SIG_IGN);
	send(SIGUSR1);
	EQ(next(c), SIGUSR1);
	EQ(weft_signal_stop(c, SIGUSR1), 0);
	OK(action(SIGUSR1) == SIG_IGN);
	send(SIGUSR1);
	EQ(weft_signal_notify(c, SIGUSR2), 0);
	send(SIGUSR2);
	EQ(next(c), SIGUSR2);
	EQ(weft_signal_stop(c, 0), 0);
	weft_chan_release(c);
}

static long handled;

static void
handler(int sig)
{
	__atomic_store_n(&handled, sig, __ATOMIC_RELEASE);
}

static void
other_handler(int sig)
{
	__atomic_store_n(&handled, -sig, __ATOMIC_RELEASE);
}

GTEST(handled_before_and_after, 1)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
	weft_chan *a = chan(1), *b = chan(1);

	sigaddset(&sa.sa_mask, SIGHUP);
	OK(sigaction(SIGUSR1, &sa, NULL) == 0);
	EQ(weft_signal_notify(a, SIGUSR1), 0);
	EQ(weft_signal_notify(b, SIGUSR1), 0);
	send(SIGUSR1);
	EQ(next(a), SIGUSR1);
	EQ(next(b), SIGUSR1);
	EQ(get(&handled), 0);
	EQ(weft_signal_stop(a, 0), 0);
	OK(action(SIGUSR1) != handler);
	EQ(weft_signal_stop(b, 0), 0);
	OK(sigaction(SIGUSR1, NULL, &sa) == 0);
	OK(sa.sa_handler == handler && sa.sa_flags & SA_RESTART);
	OK(sigismember(&sa.sa_mask, SIGHUP) == 1);
	raise(SIGUSR1);
	await(&handled, SIGUSR1);
	EQ(weft_signal_stop(b, 0), 0);
	weft_chan_release(a);
	weft_chan_release(b);
}

/* A program that has taken it back keeps it. */
GTEST(another_handler_stays, 1)
{
	weft_chan *c = chan(1);

	EQ(weft_signal_notify(c, SIGUSR1), 0);
	signal(SIGUSR1, other_handler);
	EQ(weft_signal_stop(c, 0), 0);
	OK(action(SIGUSR1) == other_handler);
	weft_chan_release(c);
}

/* What was sent before is in the channel when stop returns. */
GTEST(stop_loses_nothing, 2)
{
	weft_chan *c = chan(1);

	weft_pin();
	for (long i = 0; i < t_scale(2000); i++) {
		EQ(weft_signal_notify(c, SIGUSR1), 0);
		raise(SIGUSR1);		/* handled when it returns */
		EQ(weft_signal_stop(c, 0), 0);
		EQ(now_in(c), SIGUSR1);
	}
	weft_unpin();
	weft_chan_release(c);
}

static long seen, senders;

static void
counts(int sig)
{
	(void)sig;
	bump(&seen);
}

/* Sends the next one when the last was seen. */
static void *
sends_slowly(void *arg)
{
	long n = *(const long *)arg;

	for (long i = 0; i < n; i++) {
		double limit = t_now() + SOON_S;

		raise(SIGUSR1);
		while (get(&seen) <= i && t_now() < limit)
			usleep(10);
		if (get(&seen) <= i)
			t_fail(__FILE__, __LINE__, "lost");
		if (get(&seen) <= i)
			break;
	}
	bump(&senders);
	return NULL;
}

/* Notify and stop all the time: each does the one thing or the other. */
GTEST(comes_here_or_there, 2)
{
	long n = t_scale(3000);
	weft_chan *c = chan(1);
	pthread_t t;

	if (T_TSAN)
		t_skip("the sanitizer keeps those of the program's handler");
	signal(SIGUSR1, counts);
	EQ(pthread_create(&t, NULL, sends_slowly, &n), 0);
	while (!get(&senders)) {
		EQ(weft_signal_notify(c, SIGUSR1), 0);
		weft_yield();
		EQ(weft_signal_stop(c, SIGUSR1), 0);
		if (now_in(c))
			bump(&seen);
	}
	pthread_join(t, NULL);
	EQ(get(&seen), n);
	weft_chan_release(c);
}

/* ---- where no channel is notified ---- */

/* The signal that ends a process which runs fn, 0 if none does. */
static int
ends_by(int (*fn)(int, char **), bool after)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		weft_run(fn, 0, NULL);
		if (after)
			send(SIGTERM);
		for (int i = 0; after && i < SOON_S * 1000; i++)
			usleep(1000);
		_exit(0);
	}
	OK(waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static int
notify_stop_send(int argc, char **argv)
{
	weft_chan *c = chan(1);

	(void)argc, (void)argv;
	EQ(weft_signal_notify(c, SIGTERM), 0);
	EQ(weft_signal_stop(c, SIGTERM), 0);
	send(SIGTERM);
	weft_sleep(SOON_S * WEFT_SECOND);
	return 0;
}

TEST(default_after_stop)
{
	EQ(ends_by(notify_stop_send, false), SIGTERM);
}

static int
notify_term(int argc, char **argv)
{
	(void)argc, (void)argv;
	EQ(weft_signal_notify(chan(1), SIGTERM), 0);
	return 0;
}

TEST(default_after_the_runtime)
{
	if (T_TSAN)
		t_skip("the handler does not ask then");
	EQ(ends_by(notify_term, true), SIGTERM);
}

/* The child has died of it, and only what is sent to the parent is in c. */
static void
child_has_died(pid_t pid, weft_chan *c)
{
	int status = 0;

	EQ(waitpid(pid, &status, 0), pid);
	OK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	send(SIGTERM);
	EQ(next(c), SIGTERM);
	EQ(now_in(c), 0);
	EQ(weft_signal_stop(c, 0), 0);
	weft_chan_release(c);
}

/* A child of a fork dies of what the parent gets on a channel. */
GTEST(default_in_the_child_of_a_fork, 2)
{
	weft_chan *c = chan(1);
	pid_t pid;

	EQ(weft_signal_notify(c, SIGTERM), 0);
	pid = fork();
	if (pid == 0) {
		raise(SIGTERM);
		_exit(0);
	}
	child_has_died(pid, c);
}

/* Nor does what a child of a vfork gets, which has our memory, come to us. */
GTEST(default_in_the_child_of_a_vfork, 1)
{
	weft_chan *c = chan(1);
	pid_t pid;

	EQ(weft_signal_notify(c, SIGTERM), 0);
	pid = vfork();
	if (pid == 0) {
		syscall(SYS_kill, syscall(SYS_getpid), SIGTERM);
		_exit(0);
	}
	child_has_died(pid, c);
}

/* When no channel wants any more, nothing can wake this one. */
DIES(deadlock_after_stop, 1, "deadlock")
{
	weft_chan *c = chan(1);

	if (t_emulated())
		t_skip("no deadlock report under an emulator");
	EQ(weft_signal_notify(c, SIGUSR1), 0);
	EQ(weft_signal_stop(c, SIGUSR1), 0);
	weft_recv(c, int);
}

/* ---- owners, and several at once ---- */

GTEST(keeps_the_channel, 1)
{
	weft_chan *c = chan(1);

	EQ(weft_signal_notify(c, SIGUSR1), 0);
	weft_chan_release(c);
	send(SIGUSR1);
	EQ(next(c), SIGUSR1);
	EQ(weft_signal_stop(c, 0), 0);
}

static void
comes_and_goes(weft_waitgroup *wg)
{
	for (long i = 0; i < t_scale(2000); i++) {
		weft_chan *c = chan(1);
		int sig = i % 3 ? SIGUSR1 : SIGUSR2;

		EQ(weft_signal_notify(c, sig), 0);
		if (i % 5 == 0)
			EQ(next(c), sig);
		EQ(weft_signal_stop(c, i % 2 ? sig : 0), 0);
		weft_chan_release(c);
	}
	weft_waitgroup_done(wg);
}

static void
sends(const long *stop)
{
	while (!get(stop)) {
		send(SIGUSR1);
		send(SIGUSR2);
		weft_yield();
	}
}

/* They are ignored when no channel has them; SIGUSR2 always is had. */
GTEST(coming_and_going, 4)
{
	weft_chan *all = chan(1);
	weft_waitgroup wg = {0};
	long stop = 0;

	signal(SIGUSR1, ignored());
	signal(SIGUSR2, ignored());
	EQ(weft_signal_notify(all, SIGUSR2), 0);
	weft_waitgroup_add(&wg, 4);
	for (int i = 0; i < 4; i++)
		weft_go(comes_and_goes, &wg);
	weft_go(sends, &stop);
	weft_waitgroup_wait(&wg);
	bump(&stop);
	OK(action(SIGUSR1) == ignored());
	while (now_in(all))
		;
	send(SIGUSR2);
	EQ(next(all), SIGUSR2);
	EQ(weft_signal_stop(all, 0), 0);
	OK(action(SIGUSR2) == ignored());
	weft_chan_release(all);
}

/* ---- refused ---- */

GTEST(refused, 1)
{
	weft_chan *c = chan(1), *wide = weft_chan_make(8, 1);
	static const int bad[] = { -1, 65, 1000, SIGKILL, SIGSTOP, SIGSEGV,
	    SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		EQ(weft_signal_notify(c, bad[i]), -EINVAL);
		EQ(weft_signal_stop(c, bad[i]), -EINVAL);
	}
	for (int sig = SIGSYS + 1; sig < SIGRTMIN; sig++)
		EQ(weft_signal_notify(c, sig), -EINVAL);
	EQ(weft_signal_notify(c, 0), -EINVAL);
	EQ(weft_signal_notify(wide, SIGUSR1), -EINVAL);
	EQ(weft_signal_notify(NULL, SIGUSR1), -EINVAL);
	EQ(weft_signal_stop(NULL, 0), -EINVAL);
	EQ(weft_signal_stop(c, 0), 0);
	EQ(weft_signal_stop(c, SIGUSR1), 0);
	OK(action(SIGUSR1) == SIG_DFL);
	weft_chan_release(c);
	weft_chan_release(wide);
}

/* The one that preempts, whichever it is. */
ETEST(preempting_one_refused, 1, "WEFT_PREEMPT_SIGNAL=12")
{
	weft_chan *c = chan(1);

#if !T_SANITIZED
	EQ(weft_signal_notify(c, 12), -EINVAL);
#endif
	EQ(weft_signal_notify(c, SIGURG), 0);
	send(SIGURG);
	EQ(next(c), SIGURG);
	EQ(weft_signal_stop(c, 0), 0);
	weft_chan_release(c);
}

TEST(without_a_runtime)
{
	weft_chan *c = chan(1);

	EQ(weft_signal_notify(c, SIGUSR1), -EPERM);
	EQ(weft_signal_stop(c, SIGUSR1), -EPERM);
	OK(action(SIGUSR1) == SIG_DFL);
	weft_chan_release(c);
}
