/* SPDX-License-Identifier: MIT */
/*
 * A program that has a handler of its own for the preemption signal, installed
 * after ours, and passes signals on to us as handlers do: on the goroutine's
 * stack, with its own mask. Goroutines go on unharmed, preempted or not.
 */
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "t.h"
#include "weft.h"

enum { WORKERS = 4, BYTES = 64 };

static struct sigaction before;
static atomic_bool stop;
static atomic_int passed, bad, ended;

static void
pass_on(int sig, siginfo_t *si, void *context)
{
	passed++;
	if (before.sa_flags & SA_SIGINFO)
		before.sa_sigaction(sig, si, context);
}

static void
work(int me)
{
	volatile unsigned char a[BYTES];

	for (int k = me; !stop; k++) {
		for (int i = 0; i < BYTES; i++)
			a[i] = (unsigned char)(i + k);
		for (int i = 0; i < BYTES; i++)
			bad += a[i] != (unsigned char)(i + k);
	}
	ended++;
}

static void
run_chained(int flags)
{
	struct sigaction sa;
	char text[4096];

	weft_preempt_explain(text, sizeof text);
	if (!strstr(text, "can be preempted"))
		t_skip("no signals are sent in this build");
	memset(&sa, 0, sizeof sa);
	sa.sa_sigaction = pass_on;
	sa.sa_flags = SA_SIGINFO | SA_RESTART | flags;
	OK(sigaction(SIGURG, &sa, &before) == 0);
	for (int i = 0; i < WORKERS; i++)
		weft_go(work, i);
	while (passed < 50 && t_more(2))
		weft_sleep(1000000);
	stop = true;
	while (ended < WORKERS)
		weft_sleep(1000000);
	OK(passed > 0);
	EQ(bad, 0);
}

GTEST(on_the_goroutines_stack, 2)
{
	run_chained(0);
}

GTEST(on_the_signal_stack, 2)
{
	run_chained(SA_ONSTACK);
}

GTEST(on_the_signal_stack_not_deferred, 2)
{
	run_chained(SA_ONSTACK | SA_NODEFER);
}
