/* SPDX-License-Identifier: MIT */
/* weft_config and the environment: what concerns preemption. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "raw_syscall.h"
#include "run_env.h"

/* With a sanitizer none are sent, and there is no handler. */
enum { SIGNALS = !T_SANITIZED };

static weft_waitgroup all;
static long stop, got;
static volatile sig_atomic_t handled;

static int
nothing(int argc, char **argv)
{
	(void)argc, (void)argv;
	return 9;
}

static int
run(weft_config c, int (*fn)(int argc, char **argv))
{
	c.procs = c.procs ? c.procs : 1;
	return weft_run_config(&c, sizeof c, fn, 0, NULL);
}

/* ---- out of range ---- */

TEST(absurd_numbers)
{
	EQ(run((weft_config){ .preempt_signal = 1000 }, nothing), -EINVAL);
	EQ(run((weft_config){ .preempt_signal = -2 }, nothing), -EINVAL);
	EQ(run((weft_config){ .max_detached = -2 }, nothing), -EINVAL);
	EQ(run((weft_config){ .max_detached = -1, .preempt_signal = -1 },
	    nothing), 9);
}

/* These cannot be handled. */
TEST(impossible_signals)
{
	if (!SIGNALS)
		t_skip("the sanitizers' programs get no signals");
	EQ(run((weft_config){ .preempt_signal = SIGKILL }, nothing), -EINVAL);
	EQ(run((weft_config){ .preempt_signal = SIGSTOP }, nothing), -EINVAL);
	EQ(run((weft_config){ .preempt_signal = SIGUSR1 }, nothing), 9);
}

static void
refuse(const char *env)
{
	putenv((char *)(uintptr_t)env);
	EQ(run((weft_config){0}, nothing), -EINVAL);
}

TEST(absurd_environment)
{
	refuse("WEFT_PREEMPT_SIGNAL=-2");
	refuse("WEFT_PREEMPT_SIGNAL=0");
	refuse("WEFT_PREEMPT_SIGNAL=1000");
	refuse("WEFT_PREEMPT_SIGNAL=urg");
	putenv((char *)(uintptr_t)"WEFT_PREEMPT_SIGNAL=23");
	refuse("WEFT_MAX_DETACHED=many");
	refuse("WEFT_MAX_DETACHED=-2");
	putenv((char *)(uintptr_t)"WEFT_MAX_DETACHED=10");
	refuse("WEFT_SLICE_US=-1");
	refuse("WEFT_SLICE_US=x");
	putenv((char *)(uintptr_t)"WEFT_SLICE_US=1000");
	refuse("WEFT_MIGRATE=2");
	putenv((char *)(uintptr_t)"WEFT_MIGRATE=1");
	EQ(run((weft_config){0}, nothing), 9);
}

/* What the program says comes first. */
TEST(the_struct_comes_first)
{
	putenv((char *)(uintptr_t)"WEFT_PREEMPT_SIGNAL=1000");
	putenv((char *)(uintptr_t)"WEFT_MAX_DETACHED=-7");
	EQ(run((weft_config){ .preempt_signal = SIGUSR2, .max_detached = 5 },
	    nothing), 9);
}

/* ---- another signal ---- */

static void
hog(void)
{
	compute(&stop);
	weft_waitgroup_done(&all);
}

static int
is_preempted(int argc, char **argv)
{
	(void)argc, (void)argv;
	weft_waitgroup_add(&all, 1);
	weft_go(hog);
	while (can_preempt() ? !stalls_now().preempted : !stalls_now().detached)
		weft_yield();
	bump(&stop);
	weft_waitgroup_wait(&all);
	return 3;
}

TEST(sigusr1)
{
	EQ(run((weft_config){ .preempt_signal = SIGUSR1 }, is_preempted), 3);
}

TEST(a_real_time_signal)
{
	if (t_emulated())
		t_skip("the emulator keeps some of them to itself");
	EQ(run((weft_config){ .preempt_signal = SIGRTMAX }, is_preempted), 3);
}

TEST(from_the_environment)
{
	putenv((char *)(uintptr_t)"WEFT_PREEMPT_SIGNAL=12");
	EQ(run((weft_config){0}, is_preempted), 3);
}

/* Blocked where weft_run was called: not on weft's threads. */
TEST(blocked_before)
{
	uint64_t set = UINT64_C(1) << (SIGURG - 1);

	EQ(syscall6(SYS_rt_sigprocmask, SIG_BLOCK, (long)&set, 0, sizeof set,
	    0, 0), 0);
	EQ(run((weft_config){0}, is_preempted), 3);
}

/* ---- the program's own handler of the same signal ---- */

static void
handle(int sig)
{
	EQ(sig, SIGURG);
	handled++;
}

static void
handle_info(int sig, siginfo_t *info, void *context)
{
	OK(sig == SIGURG && info && context);
	if (info->si_code == SI_QUEUE) {
		EQ(info->si_value.sival_int, 77);
		handled++;
	} else {
		handled += 100000;
	}
}

static int
gets_them(int argc, char **argv)
{
	union sigval v = { .sival_int = 77 };

	(void)argc, (void)argv;
	weft_waitgroup_add(&all, 2);
	weft_go(hog);
	weft_go(hog);
	for (int i = 0; i < 20; i++) {
		int before = handled;

		EQ(sigqueue(getpid(), SIGURG, v), 0);
		while (handled == before)
			weft_yield();
		got++;
	}
	bump(&stop);
	weft_waitgroup_wait(&all);
	return 4;
}

static void
install(struct sigaction sa)
{
	if (!SIGNALS)
		t_skip("the sanitizers' programs get no signals");
	EQ(sigaction(SIGURG, &sa, NULL), 0);
}

TEST(its_handler_gets_the_others)
{
	install((struct sigaction){ .sa_handler = handle });
	EQ(run((weft_config){0}, gets_them), 4);
	EQ(got, 20);
	EQ(handled, 20);
}

TEST(with_what_came_along)
{
	install((struct sigaction){ .sa_sigaction = handle_info,
	    .sa_flags = SA_SIGINFO });
	EQ(run((weft_config){0}, gets_them), 4);
	EQ(handled, 20);
}

/* One that was ignored, which is also the default, stays ignored. */
static int
sends(int argc, char **argv)
{
	(void)argc, (void)argv;
	for (int i = 0; i < 20; i++) {
		kill(getpid(), SIGURG);
		weft_yield();
	}
	return is_preempted(0, NULL);
}

TEST(ignored_by_default) { EQ(run((weft_config){0}, sends), 3); }

/* ---- how many may run without a processor ---- */

/* On a plain thread: the processors are all with goroutines that compute. */
static void *
watch(void *arg)
{
	double end;
	weft_preempt_stats s;

	do {
		s = stalls_now();
		OK(s.detached <= 2);
	} while (s.capped == 0 || s.detached < 2);
	for (end = t_now() + 0.1; t_now() < end;)
		OK(stalls_now().detached <= 2);
	bump(&stop);
	return arg;
}

static int
is_capped(int argc, char **argv)
{
	pthread_t t;

	(void)argc, (void)argv;
	EQ(pthread_create(&t, NULL, watch, NULL), 0);
	weft_waitgroup_add(&all, 6);
	for (int i = 0; i < 6; i++)
		weft_go(hog);
	weft_waitgroup_wait(&all);
	pthread_join(t, NULL);
	while (stalls_now().detached)
		weft_sleep(WEFT_MS);
	return (int)stalls_now().capped;
}

TEST(no_more_than_max_loose)
{
	OK(run((weft_config){ .procs = 2, .max_detached = 2,
	    .preempt_signal = -1 }, is_capped) > 0);
}

static int
none_loose(int argc, char **argv)
{
	double end = t_now() + 0.2;

	(void)argc, (void)argv;
	weft_waitgroup_add(&all, 1);
	weft_go(hog);
	while (t_now() < end) {
		EQ(stalls_now().detached, 0);
		weft_checkpoint();
	}
	bump(&stop);
	weft_waitgroup_wait(&all);
	return 5;
}

TEST(none_may)
{
	EQ(run((weft_config){ .procs = 2, .max_detached = -1,
	    .preempt_signal = -1 }, none_loose), 5);
}
