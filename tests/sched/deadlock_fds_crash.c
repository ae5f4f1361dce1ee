/* SPDX-License-Identifier: MIT */
/*
 * All goroutines are asleep, and none waits for the descriptors that are open:
 * those will wake none.
 */
#define _GNU_SOURCE 1
#include <sys/timerfd.h>

#include "fd_pairs.h"

#define ASLEEP "all goroutines are asleep"

static weft_waitgroup never, done;

static void
need_kernel(void)
{
	if (t_emulated())
		t_skip("an emulator does not count threads");
}

static void
park(void)
{
	weft_waitgroup_wait(&never);
}

static void
lock_up(void)
{
	need_kernel();
	weft_waitgroup_add(&never, 1);
	weft_go(park);
	weft_waitgroup_wait(&never);
}

static void
read_one(int fd)
{
	char c;

	weft_read(fd, &c, 1);
	weft_waitgroup_done(&done);
}

/* It was waited for, with success, so that the poller knows it. */
static void
use(int k, int end[2])
{
	wire(k, end);
	weft_waitgroup_add(&done, 1);
	weft_go(read_one, end[0]);
	let_them_wait(1);
	weft_write(end[1], "x", 1);
	weft_waitgroup_wait(&done);
}

DIES(with_an_open_socket, 1, ASLEEP)
{
	int end[2];

	use(TCP4, end);
	lock_up();
}

DIES(with_open_ones_on_four, 4, ASLEEP)
{
	int end[2];

	for (int k = 0; k < WIRES; k++)
		use(k, end);
	lock_up();
}

/* A timer of the kernel that will fire, and no goroutine reads it. */
DIES(with_a_timer_that_is_not_read, 2, ASLEEP)
{
	struct itimerspec in = { .it_value = { 3600, 0 } };
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);

	timerfd_settime(fd, 0, &in, NULL);
	weft_set_read_deadline(fd, weft_deadline(WEFT_MS));
	weft_wait_readable(fd);
	lock_up();
}

/* A deadline that ends no wait any more. */
DIES(with_a_deadline_without_a_waiter, 1, ASLEEP)
{
	int end[2];

	use(STREAM, end);
	weft_set_read_deadline(end[0], weft_deadline(50 * WEFT_MS));
	lock_up();
}

/* One waited, and was ended. */
DIES(after_closing, 2, ASLEEP)
{
	int end[2];

	wire(STREAM, end);
	weft_waitgroup_add(&done, 1);
	weft_go(read_one, end[0]);
	let_them_wait(1);
	weft_close(end[0]);
	weft_waitgroup_wait(&done);
	lock_up();
}

/* One that was to begin has begun, and ended. */
DIES(after_a_beginning, 1, ASLEEP)
{
	int end[2];

	wire(STREAM, end);
	weft_waitgroup_add(&done, 1);
	weft_go_readable(end[0], read_one, end[0]);
	weft_write(end[1], "x", 1);
	weft_waitgroup_wait(&done);
	lock_up();
}

DIES(after_a_poll, 1, ASLEEP)
{
	struct pollfd p = { .events = POLLIN };
	int end[2];

	wire(STREAM, end);
	p.fd = end[0];
	weft_poll(&p, 1, weft_deadline(5 * WEFT_MS));
	lock_up();
}

/* ---- what a report says of the goroutines that wait ---- */

/* Below zero. */
static void
die(void)
{
	weft_waitgroup_done(&never);
}

static void
read_for_ever(int fd)
{
	char c;

	weft_read(fd, &c, 1);
}

DIES(names_what_is_waited_for, 1, "\"listener\" [waiting: ")
{
	int end[2];

	wire(STREAM, end);
	weft_go_opt(WEFT_OPT(.name = "listener"), read_for_ever, end[0]);
	while (wire_waiting() == 0)
		weft_yield();
	die();
}

DIES(names_a_goroutine_that_has_not_begun, 1, "\"patient\" [waiting: ")
{
	int end[2];

	wire(STREAM, end);
	weft_go_readable_opt(WEFT_OPT(.name = "patient"), end[0],
	    read_for_ever, end[0]);
	die();
}
