/* SPDX-License-Identifier: MIT */
/*
 * A pinned goroutine's thread is the last that could do something: start
 * another one, wait for a timer, give a P back, see that all is over.
 */
#include <unistd.h>
#include <sys/wait.h>

#include <weft.h>

#include "t.h"

static void
end_pinned(void)
{
	weft_pin();
}

static void
ends(void)
{
	for (int i = 0; i < 20; i++) {
		weft_go(end_pinned);
		while (weft_goroutines() > 1)
			weft_sleep(WEFT_MS);
	}
}

ON_ALL(ends)

GTEST(sleeps_with_no_other_thread, 1)
{
	weft_pin();
	weft_sleep(WEFT_MS);
	weft_unpin();
}

GTEST(sleeps_with_no_other_thread_on_8, 8)
{
	weft_pin();
	weft_sleep(WEFT_MS);
	weft_unpin();
}

static void
yield_and_end(void)
{
	weft_pin();
	for (int i = 0; i < 3; i++)
		weft_yield();
}

DIES(the_last_one_ends, 1, "all goroutines are asleep")
{
	weft_chan *c = weft_chan_make(sizeof(int), 0);
	int v;

	if (t_emulated())
		t_skip("the emulator has threads of its own");
	weft_go(yield_and_end);
	weft_chan_recv(c, &v);
}

static int stop;

static void
pin_and_park(void)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		weft_pin();
		weft_sleep(50 * WEFT_US);
		weft_yield();
		weft_unpin();
	}
}

/* Its P is being handed off, and no M has it, when the world stops. */
GTEST(world_stops_around_them, 4)
{
	for (int i = 0; i < 8; i++)
		weft_go(pin_and_park);
	for (int i = 0; t_more(3); i++) {
		weft_set_procs(1 + i % 4);
		weft_yield();
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	while (weft_goroutines() > 1)
		weft_yield();
}

/* ---- a fork within an announced call whose P is gone ---- */

static void *
sleep_and_fork(void *arg)
{
	(void)arg;
	usleep(20000);
	return (void *)(intptr_t)fork();
}

static void
yielder(void)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		weft_yield();
}

GTEST(the_child_of_a_call_lives, 1)
{
	int status = -1;
	pid_t pid;

	weft_go(yielder);
	pid = (pid_t)(intptr_t)weft_blocking(sleep_and_fork, NULL);
	if (pid == 0)
		_exit(7);
	while (waitpid(pid, &status, WNOHANG) == 0)
		weft_sleep(WEFT_MS);
	EQ(status, 7 << 8);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
}
