/* SPDX-License-Identifier: MIT */
/*
 * What happens between a try and the wait: a reader asks the kernel and there
 * is nothing, and before it has said so there is. The filter of inject.h keeps
 * it in the kernel meanwhile, and then has it say what was true before.
 */
#define _GNU_SOURCE 1
#include "run_env.h"
#include "syscall_inject.h"

#include <poll.h>

static int end[2];
static long begun, done;

/* ---- an event that weft has taken note of ---- */

static void
readable(void)
{
	bump(&begun);
}

/* Returns when the event is where it belongs: it starts a goroutine. */
static void
send_and_await(void)
{
	EQ(write(end[1], "x", 1), 1);
	await(&begun, 1);
}

/*
 * A pair whose end is known to the poller, not drained, and empty. From then
 * on only the goroutine that is to be held asks for it.
 */
static void
prepare(void)
{
	char c;

	unix_pair(end);
	begun = done = 0;
	EQ(weft_set_read_deadline(end[0], weft_deadline(WEFT_MS)), 0);
	EQ(weft_read(end[0], &c, 1), -ETIMEDOUT);
	EQ(weft_set_read_deadline(end[0], WEFT_NEVER), 0);
	EQ(weft_write(end[1], "x", 1), 1);
	EQ(weft_read(end[0], &c, 1), 1);
}

static void
close_both(void)
{
	EQ(weft_close(end[0]), 0);
	EQ(weft_close(end[1]), 0);
}

/* ---- reading ---- */

static ssize_t result;

static void
read_one(void)
{
	char c = 0;

	result = weft_read(end[0], &c, 1);
	bump(&done);
}

/* A reader is in the kernel. */
static void
hold_reader(void)
{
	inject_hold(SYS_recvfrom);
	weft_go(read_one);
	await_held(SYS_recvfrom);
	inject(SYS_recvfrom, EAGAIN, 1);
}

static ssize_t
release_reader(void)
{
	inject_release(SYS_recvfrom);
	await_injected(SYS_recvfrom);
	await(&done, 1);
	return result;
}

/*
 * A goroutine that begins when it is readable must not ask in vain first, or
 * none would try: so the reader is in the kernel already.
 */
static void
data_while_reading(void)
{
	prepare();
	hold_reader();
	OK(weft_go_readable(end[0], readable) > 0);
	send_and_await();
	EQ(release_reader(), 1);
	close_both();
}

static void
closed_while_reading(void)
{
	prepare();
	hold_reader();
	EQ(weft_close(end[0]), 0);
	EQ(release_reader(), -EBADF);
	EQ(weft_close(end[1]), 0);
}

static void
deadline_while_reading(void)
{
	prepare();
	hold_reader();
	EQ(weft_set_read_deadline(end[0], weft_now()), 0);
	EQ(release_reader(), -ETIMEDOUT);
	close_both();
}

/* All of them, again and again: the word has been through more then. */
static void
while_reading(void)
{
	for (int i = 0; i < 5; i++) {
		data_while_reading();
		closed_while_reading();
		deadline_while_reading();
	}
}

TEST(something_comes_while_reading)
{
	inject_run(SYS_recvfrom, 4, while_reading);
}

/* ---- polling ---- */

static void
poll_one(void)
{
	struct pollfd p = { .fd = end[0], .events = POLLIN };

	result = weft_poll(&p, 1, WEFT_NEVER);
	EQ(p.revents, POLLIN);
	bump(&done);
}

/* A goroutine polls, and is in the kernel. */
static void
hold_poller(void)
{
	inject_hold(SYS_ppoll);
	weft_go(poll_one);
	await_held(SYS_ppoll);
	inject(SYS_ppoll, 0, 1);
}

static void
while_polling(void)
{
	for (int i = 0; i < 5; i++) {
		prepare();
		OK(weft_go_readable(end[0], readable) > 0);
		hold_poller();
		send_and_await();
		inject_release(SYS_ppoll);
		await_injected(SYS_ppoll);
		await(&done, 1);
		EQ(result, 1);
		close_both();
	}
}

TEST(something_comes_while_polling)
{
	inject_run(SYS_ppoll, 4, while_polling);
}

/*
 * The number is closed by hand and comes back from one of weft's calls: it is
 * another one, which has not been made known to the poller yet.
 */
static void
replaced_while_polling(void)
{
	int listener = plain_listen(1, 16);
	int peer = plain_connect(1, port_of(listener));

	prepare();
	hold_poller();
	NEED(close(end[0]));
	if (weft_accept(listener, NULL, NULL) != end[0])
		t_skip("the number was given to another user");
	inject_release(SYS_ppoll);
	await_injected(SYS_ppoll);
	/* it sleeps, mostly: what comes now is an event */
	weft_sleep(20 * WEFT_MS);
	EQ(write(peer, "x", 1), 1);
	await(&done, 1);
	EQ(result, 1);
	close_both();
	EQ(weft_close(listener), 0);
	NEED(close(peer));
}

TEST(another_one_comes_while_polling)
{
	inject_run(SYS_ppoll, 4, replaced_while_polling);
}

/* ---- about to wait ---- */

/*
 * The first wait of a process makes the poller, if it could not be made when
 * the descriptor was first used: there a reader can be held that has looked at
 * the deadline and does not wait yet.
 */
static void
hold_before_wait(void)
{
	unix_pair(end);
	inject(SYS_epoll_create1, EMFILE, 1);
	EQ(weft_set_read_deadline(end[0], WEFT_NEVER), 0);
	await_injected(SYS_epoll_create1);
	inject_hold(SYS_epoll_create1);
	weft_go(read_one);
	await_held(SYS_epoll_create1);
}

static ssize_t
release_before_wait(void)
{
	inject_release(SYS_epoll_create1);
	await(&done, 1);
	return result;
}

static void
deadline_while_about_to_wait(void)
{
	hold_before_wait();
	EQ(weft_set_read_deadline(end[0], weft_now()), 0);
	EQ(release_before_wait(), -ETIMEDOUT);
	close_both();
}

TEST(deadline_comes_before_the_first_wait)
{
	inject_run(SYS_epoll_create1, 4, deadline_while_about_to_wait);
}

static void
close_while_about_to_wait(void)
{
	hold_before_wait();
	EQ(weft_close(end[0]), 0);
	EQ(release_before_wait(), -EBADF);
	EQ(close(end[1]), 0);
}

TEST(close_comes_before_the_first_wait)
{
	inject_run(SYS_epoll_create1, 4, close_while_about_to_wait);
}
