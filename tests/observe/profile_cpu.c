/* SPDX-License-Identifier: MIT */
/* The CPU profile: who is in it, what refuses it, starting and stopping. */
#include "profile_text.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "child_process.h"

static volatile unsigned long sink;

T_NOT_INLINED static void
burn_here(void)
{
	for (unsigned i = 0; i < 100000; i++)
		sink += i;
}

T_NOT_INLINED static void
calls_burn(void)
{
	burn_here();
	sink++;
}

GTEST(names_the_function_that_burns, 2)
{
	cpu_profile(0, 0);
	OK(is_sampled("calls_burn;burn_here ", calls_burn));
	EQ(weft_profile_cpu_stop(), 0);
	/* Kept after the end, and gone with the next. */
	OK(folded_sum(WEFT_PROFILE_CPU, "burn_here") > 0);
	EQ(weft_profile_cpu_start(1, 0), 0);
	EQ(weft_profile_cpu_stop(), 0);
	EQ(folded_sum(WEFT_PROFILE_CPU, "burn_here"), 0);
}

static long stop;

static void
burner(void)
{
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
		burn_here();
}

static void nap(void) { weft_sleep(WEFT_MS); }

/* On a thread that began before the profile, and on one after it. */
GTEST(threads_before_and_after, 2)
{
	weft_waitgroup wg = {0};

	weft_waitgroup_go(&wg, burner);
	nap();
	cpu_profile(1000, 0);
	OK(is_sampled("burner;burn_here ", nap));
	weft_profile_cpu_stop();
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	weft_waitgroup_wait(&wg);

	__atomic_store_n(&stop, 0, __ATOMIC_RELEASE);
	cpu_profile(1000, 0);
	weft_set_procs(4);
	for (int i = 0; i < 4; i++)
		weft_waitgroup_go(&wg, burner);
	OK(is_sampled("burner;burn_here ", nap));
	weft_profile_cpu_stop();
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	weft_waitgroup_wait(&wg);
}

static void *
plain_burner(void *arg)
{
	burner();
	return arg;
}

GTEST(plain_threads_on_request, 1)
{
	pthread_t t;

	cpu_profile(1000, WEFT_PROFILE_THREADS);
	EQ(pthread_create(&t, NULL, plain_burner, NULL), 0);
	/* Older kernels signal the main thread, which does nothing. */
	for (double end = t_now() + 10; t_now() < end; weft_sleep(WEFT_MS))
		if (folded_sum(WEFT_PROFILE_CPU, "plain_burner") > 0)
			break;
	if (folded_sum(WEFT_PROFILE_CPU, "plain_burner") == 0)
		t_skip("this kernel signals the main thread");
	weft_profile_cpu_stop();
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
}

static void handler(int sig) { (void)sig; }

GTEST(refused, 1)
{
	EQ(weft_profile_cpu_start(-1, 0), -EINVAL);
	EQ(weft_profile_cpu_start(10001, 0), -EINVAL);
	EQ(weft_profile_cpu_start(100, 2), -EINVAL);
	EQ(weft_profile_cpu_stop(), -ESRCH);
	EQ(weft_profile_write(WEFT_PROFILE_CPU, 1, WEFT_PROFILE_PPROF),
	    -ESRCH);
	if (T_SANITIZED)
		EQ(weft_profile_cpu_start(100, 0), -ENOTSUP);
	cpu_profile(100, 0);
	EQ(weft_profile_cpu_start(100, 0), -EBUSY);
	EQ(weft_profile_cpu_stop(), 0);
	EQ(weft_profile_cpu_stop(), -ESRCH);
	signal(SIGPROF, handler);
	EQ(weft_profile_cpu_start(100, 0), -EBUSY);
	signal(SIGPROF, SIG_DFL);
	EQ(weft_profile_cpu_start(100, 0), 0);
	EQ(weft_profile_cpu_stop(), 0);
}

/* A signal of the program's is none of ours, and does no harm. */
GTEST(signal_that_was_sent, 1)
{
	cpu_profile(1, 0);
	raise(SIGPROF);
	EQ(weft_profile_cpu_stop(), 0);
	raise(SIGPROF);
	EQ(folded_sum(WEFT_PROFILE_CPU, ""), 0);
}

static int
one_run(int argc, char **argv)
{
	(void)argc, (void)argv;
	EQ(weft_profile_cpu_start(100, 0), T_SANITIZED ? -ENOTSUP : -EPERM);
	return 0;
}

TEST(blocked_signal)
{
	sigset_t set;

	if (t_valgrind())
		t_skip("valgrind");
	sigemptyset(&set);
	sigaddset(&set, SIGPROF);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	EQ(weft_run(one_run, 0, NULL), 0);
}

/* Bad files: one error, no crash, nothing left behind. */
GTEST(bad_files, 1)
{
	int full;

	EQ(weft_profile_save(WEFT_PROFILE_GOROUTINE, "/nonexistent/x"),
	    -ENOENT);
	EQ(weft_profile_save(WEFT_PROFILE_GOROUTINE, "/dev/full"), -ENOSPC);
	EQ(weft_profile_save(WEFT_PROFILE_GOROUTINE, ""), -EINVAL);
	EQ(weft_profile_save(WEFT_PROFILE_GOROUTINE, NULL), -EINVAL);
	EQ(weft_profile_write(WEFT_PROFILE_GOROUTINE, -1, WEFT_PROFILE_PPROF),
	    -EBADF);
	EQ(weft_profile_write((weft_profile)77, 1, WEFT_PROFILE_PPROF),
	    -EINVAL);
	EQ(weft_profile_write(WEFT_PROFILE_GOROUTINE, 1,
	    (weft_profile_format)7), -EINVAL);
	full = open("/dev/full", O_WRONLY);
	EQ(weft_profile_write(WEFT_PROFILE_GOROUTINE, full,
	    WEFT_PROFILE_FOLDED), -ENOSPC);
	close(full);
}

/* ---- goroutines that end with labels ---- */

static void
labels_itself(void)
{
	weft_label_set("route", "x");
}

static void
label_many(void)
{
	for (int i = 0; i < 200; i++)
		weft_go(labels_itself);
	weft_yield();
}

/* The next one begins on the stack of one that ends, and has it no more. */
GTEST(labelled_ones_that_end, 2)
{
	cpu_profile(10000, 0);
	while (t_more(1))
		label_many();
	EQ(weft_profile_cpu_stop(), 0);
}

static void *
profile_again_and_again(void *over)
{
	int fd = open("/dev/null", O_WRONLY);

	while (!__atomic_load_n((long *)over, __ATOMIC_ACQUIRE))
		EQ(weft_profile_write(WEFT_PROFILE_GOROUTINE, fd,
		    WEFT_PROFILE_FOLDED), 0);
	close(fd);
	return NULL;
}

GTEST(profile_of_labelled_ones_that_end, 2)
{
	pthread_t t;

	EQ(pthread_create(&t, NULL, profile_again_and_again, &stop), 0);
	while (t_more(1))
		label_many();
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
}

/* ---- the child of a fork ---- */

static int
keeps_its_timer(void)
{
	struct sigevent se = { .sigev_notify = SIGEV_SIGNAL,
	    .sigev_signo = SIGUSR1 };
	struct itimerspec its = { .it_value = { 100, 0 } };
	timer_t t;

	if (timer_create(CLOCK_MONOTONIC, &se, &t) != 0 ||
	    timer_settime(t, 0, &its, NULL) != 0)
		return 1;
	if (weft_profile_cpu_start(0, WEFT_PROFILE_THREADS) == 0)
		weft_profile_cpu_stop();
	return timer_gettime(t, &its) != 0 ? 2 : 0;
}

GTEST(timers_of_a_forked_child, 2)
{
	pid_t pid;

	if (t_emulated())
		t_skip("qemu dies of a thread that is made after a fork");
	cpu_profile(0, 0);
	pid = fork();
	if (pid == 0)
		_exit(keeps_its_timer());
	EQ(exit_status(pid), 0);
	EQ(weft_profile_cpu_stop(), 0);
}
