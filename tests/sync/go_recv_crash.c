/* SPDX-License-Identifier: MIT */
/* Goroutines that were to begin with a receive, in what is fatal. */
#include <weft.h>

#include "t.h"

static void nothing(void) { }

static void
need_kernel(void)
{
	if (t_emulated())
		t_skip("an emulator does not count threads");
}

DIES(deadlock, 1, "all goroutines are asleep")
{
	weft_chan *c = weft_chan_of(int, 0);

	need_kernel();
	weft_go_recv(c, NULL, NULL, nothing);
	weft_recv(c, int);
}

DIES(deadlock_lists_it, 2,
    "[waiting: channel receive, not started]: nothing, spawned at")
{
	weft_chan *c = weft_chan_of(int, 0);

	need_kernel();
	weft_go_recv(c, NULL, NULL, nothing);
	weft_recv(c, int);
}

DIES(released_meanwhile, 1, "while a goroutine or thread waits on it")
{
	weft_chan *c = weft_chan_of(int, 0);

	weft_go_recv(c, NULL, NULL, nothing);
	weft_chan_release(c);
}

DIES(null_function, 1, "weft_go_recv(fn): null function")
{
	weft_chan *c = weft_chan_of(int, 0);
	void (*volatile none)(void) = NULL;
	void (*fn)(void) = none;

	weft_go_recv(c, NULL, NULL, fn);
}

DIES(another_type, 1, "received from")
{
	weft_chan *c = weft_chan_of(int, 0);
	double d;

	weft_go_recv(c, &d, NULL, nothing);
}
