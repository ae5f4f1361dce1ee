/* SPDX-License-Identifier: MIT */
/*
 * Compiled with checks (see checks/checks.c), a handler of signals too. It
 * comes wherever a goroutine is, and must not change goroutines.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run_env.h"

enum { LOOPS = 3, TURNS = 20000 };

static long count[LOOPS], tid, stop, handled, moved;
static weft_chan *ball;

/* Long enough to be asked; no call that is not a check. */
static void
handler(int sig)
{
	long id = syscall(SYS_gettid);

	(void)sig;
	for (volatile int i = 0; i < TURNS; i++)
		;
	if (syscall(SYS_gettid) != id)
		bump(&moved);
	bump(&handled);
}

static void
endless(int i)
{
	for (;;) {
		__atomic_store_n(&tid, syscall(SYS_gettid), __ATOMIC_RELAXED);
		for (int k = 0; k < 1000; k++)
			bump(&count[i]);
		weft_chan_try_send(ball, &i);
		weft_chan_try_recv(ball, &i);
	}
}

/* One after the other, or they would fill the stack. */
static void *
shoots(void *arg)
{
	long sent = 0;

	while (!get(&stop)) {
		if (get(&handled) == sent && get(&tid) &&
		    syscall(SYS_tgkill, getpid(), get(&tid), SIGUSR1) == 0)
			sent++;
		usleep(300);
	}
	return arg;
}

static void
handle_for_a_while(int flags)
{
	struct sigaction sa = { .sa_handler = handler,
	    .sa_flags = flags | SA_RESTART };
	pthread_t thread;

	EQ(sigaction(SIGUSR1, &sa, NULL), 0);
	ball = weft_chan_make(sizeof(int), 1);
	for (int i = 0; i < LOOPS; i++)
		OK(weft_try_go(endless, i) > 0);
	EQ(pthread_create(&thread, NULL, shoots, NULL), 0);
	for (double end = t_now() + t_share(2); t_now() < end; )
		weft_sleep(WEFT_MS);
	await(&handled, 3);
	bump(&stop);
	pthread_join(thread, NULL);
	for (int i = 0; i < LOOPS; i++)
		await(&count[i], 1);
	EQ(moved, 0);
}

static void own_stack(void) { handle_for_a_while(SA_ONSTACK); }
static void same_stack(void) { handle_for_a_while(0); }
static void nested(void) { handle_for_a_while(SA_ONSTACK | SA_NODEFER); }

#define SLICES "WEFT_SLICE_US=50"

TEST(on_a_stack_of_its_own) { run_env(1, SLICES, own_stack); }
TEST(on_the_goroutines_stack) { run_env(1, SLICES, same_stack); }
TEST(that_blocks_nothing) { run_env(1, SLICES, nested); }
TEST(on_two) { run_env(2, SLICES, own_stack); }
TEST(on_two_migrating) { run_env(2, "WEFT_MIGRATE=1", same_stack); }
