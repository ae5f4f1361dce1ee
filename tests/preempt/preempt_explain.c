/* SPDX-License-Identifier: MIT */
/*
 * What the runtime says about preemption: the explanation, the names of the
 * reasons, the counters at rest. This program has a thread-local variable and
 * uses a lock of threads; see allowed.c for one that passes.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "run_env.h"

enum { AUDITED = !T_SANITIZED };

static __thread volatile int mine;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void
says_why(void)
{
	char text[4096];
	size_t n;

	mine++;
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	n = weft_preempt_explain(text, sizeof text);
	if (!AUDITED)
		t_skip("the sanitizers' programs are not looked at");
	EQ(strlen(text), n);
	OK(strstr(text,
	    "preempt_explain: cannot be preempted by signals:\n"));
	OK(strstr(text, "thread-local"));
	OK(strstr(text, "  uses pthread_mutex_lock: a thread owns the lock"));
	OK(!strstr(text, "can be preempted"));
}

GTEST(names_what_is_in_the_way, 1) { says_why(); }

/* As snprintf: cut, with a NUL, and the length that it would have had. */
GTEST(small_buffers, 1)
{
	char text[4096], small[4096];
	size_t n = weft_preempt_explain(text, sizeof text);

	EQ(weft_preempt_explain(NULL, 0), n);
	for (size_t cap = 1; cap < 300 && cap <= n + 2; cap++) {
		size_t len = cap - 1 < n ? cap - 1 : n;

		memset(small, 'x', sizeof small);
		EQ(weft_preempt_explain(small, cap), n);
		EQ(strlen(small), len);
		OK(!memcmp(small, text, len));
		EQ(small[cap], 'x');
	}
}

/* ---- WEFT_EXPLAIN ---- */

static void
said(const char *env, const char *signal, char *text, size_t cap)
{
	int fd[2], saved = dup(2);
	ssize_t n;

	EQ(pipe(fd), 0);
	dup2(fd[1], 2);
	if (signal)
		putenv((char *)(uintptr_t)signal);
	run_env(1, env, says_why);
	dup2(saved, 2);
	close(fd[1]);
	n = read(fd[0], text, cap - 1);
	text[n > 0 ? n : 0] = 0;
}

TEST(printed_at_the_start)
{
	char text[4096];

	if (!AUDITED)
		t_skip("the sanitizers' programs are not looked at");
	said("WEFT_EXPLAIN=1", NULL, text, sizeof text);
	OK(strstr(text, "cannot be preempted by signals"));
}

TEST(printed_only_if_asked_for)
{
	char text[4096];

	if (!AUDITED)
		t_skip("the sanitizers' programs are not looked at");
	said("WEFT_EXPLAIN=0", NULL, text, sizeof text);
	EQ(strlen(text), 0);
}

/* ---- names and numbers ---- */

static const char *
reason(int i)
{
	return weft_retake_reason_name((enum weft_retake_reason)i);
}

TEST(every_reason_has_a_name)
{
	for (int i = 0; i < WEFT_RETAKE_REASONS; i++) {
		const char *a = reason(i);

		OK(a && strlen(a) > 3);
		for (int k = 0; k < i; k++)
			OK(strcmp(a, reason(k)));
	}
	OK(weft_retake_reason_name(WEFT_RETAKE_REASONS) != NULL);
}

static bool
all_zero(void)
{
	static const weft_preempt_stats zero;
	weft_preempt_stats s;

	memset(&s, 0xff, sizeof s);
	weft_preempt_stats_read(&s, sizeof s);
	return !memcmp(&s, &zero, sizeof s);
}

/* Before the start, and while no goroutine stalls. */
TEST(nothing_before_the_start)
{
	OK(all_zero());
}

GTEST(nothing_at_first, 1)
{
	OK(all_zero());
}

/* Counted here are reasons of what happened, and no others. */
static void
hog(long *stop)
{
	compute(stop);
}

GTEST(what_happened_is_counted, 1)
{
	static long stop;
	weft_preempt_stats s;

	weft_go(hog, &stop);
	weft_yield();
	s = stalls_now();
	OK(s.asked >= 1);
	if (s.signals) {
		/* Or it lost its processor: the kernel had no CPU for its
		 * thread, which could not answer in time. */
		OK(s.paused[WEFT_RETAKE_OFF] + s.taken[WEFT_RETAKE_LATE] >= 1);
		/* It is neither for a moment when it is paused after that. */
		while (s.paused_now + s.detached != 1)
			s = stalls_now();
	} else {
		EQ(s.taken[WEFT_RETAKE_OFF], 1);
		EQ(s.detached, 1);
	}
	EQ(s.blocked, 0);
	EQ(s.taken[WEFT_RETAKE_CALL], 0);
	EQ(s.taken[WEFT_RETAKE_REGION], 0);
	bump(&stop);
	while (weft_goroutines() > 1)
		weft_sleep(WEFT_MS);
	while (stalls_now().detached)
		weft_sleep(WEFT_MS);
}
