/* SPDX-License-Identifier: MIT */
/* A deadlock is found with many more processors than CPUs, too. */
#include <weft.h>

#include "t.h"

#define ASLEEP "all goroutines are asleep"

static weft_chan *never;

static void
wait_for_ever(void)
{
	weft_chan_recv(never, NULL);
}

/* After work that had many threads started. */
static void
lock_up(void)
{
	if (t_emulated())
		t_skip("an emulator does not count threads");
	never = weft_chan_make(0, 0);
	for (int i = 0; i < 200; i++)
		weft_go(wait_for_ever);
	for (int i = 0; i < 20; i++)
		weft_yield();
	weft_chan_recv(never, NULL);
}

DIES(deadlock_on_64, 64, ASLEEP) { lock_up(); }
DIES(deadlock_on_1024, 1024, ASLEEP) { lock_up(); }

DIES(deadlock_after_resize, 1, ASLEEP)
{
	OK(weft_set_procs(1024) == 1);
	OK(weft_set_procs(64) == 1024);
	lock_up();
}
