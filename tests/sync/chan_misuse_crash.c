/* SPDX-License-Identifier: MIT */
/*
 * What is fatal on channels: sending on a closed one in every form and every
 * state, closing twice or nothing, freeing while a goroutine waits, sizes that
 * do not fit, selects that make no sense; and waiting for ever alone.
 */
#include <pthread.h>
#include <stdlib.h>

#include <weft.h>

#include "plain_thread.h"
#include "t.h"

static weft_chan *c;
static int v = 1;

/* Open, then closed; with room, full, or with none. */
static void
closed(size_t cap, int filled)
{
	c = weft_chan_make(sizeof(int), cap);
	for (int i = 0; i < filled; i++)
		weft_send(c, i);
	weft_chan_close(c);
}

static void
start(void (*fn)(void))
{
	OK(weft_try_go(fn) > 0);
	for (int i = 0; i < 20; i++)
		weft_yield();
}

PLAIN_THREAD(on_thread, (*(void (**)(void))arg)())

static void
plainly(void (*fn)(void))
{
	thread_run(on_thread, &fn);
}

static void send_it(void) { weft_chan_send(c, &v); }
static void recv_it(void) { weft_chan_recv(c, &v); }
static void close_it(void) { weft_chan_close(c); }

/* ---- sending on a closed one ---- */

#define TEXT "send on a closed channel"

#define SENDS_ON(name, cap, filled)					\
	DIES(send_##name, 1, TEXT)					\
	{								\
		closed(cap, filled);					\
		weft_chan_send(c, &v);					\
	}								\
	DIES(checked_send_##name, 1, TEXT)				\
	{								\
		closed(cap, filled);					\
		weft_send(c, v);					\
	}								\
	DIES(try_send_##name, 1, TEXT)					\
	{								\
		closed(cap, filled);					\
		weft_chan_try_send(c, &v);				\
	}								\
	DIES(late_send_##name, 1, TEXT)					\
	{								\
		closed(cap, filled);					\
		weft_chan_send_until(c, &v, 1);				\
	}								\
	DIES(send_until_##name, 1, TEXT)				\
	{								\
		closed(cap, filled);					\
		weft_chan_send_until(c, &v, WEFT_NEVER);		\
	}								\
	DIES(select_##name, 1, TEXT)					\
	{								\
		closed(cap, filled);					\
		weft_case k[] = { WEFT_CASE_RECV(NULL, NULL),		\
			WEFT_CASE_SEND_FROM(c, &v) };			\
		weft_select(k, 2);					\
	}								\
	DIES(select_one_##name, 1, TEXT)				\
	{								\
		closed(cap, filled);					\
		weft_case k = WEFT_CASE_SEND_FROM(c, &v);		\
		weft_select(&k, 1);					\
	}								\
	DIES(select_default_##name, 1, TEXT)				\
	{								\
		closed(cap, filled);					\
		weft_case k[] = {					\
			WEFT_CASE_DEFAULT, WEFT_CASE_SEND_FROM(c, &v)	\
		};							\
		weft_select(k, 2);					\
	}								\
	DIES(select_ordered_##name, 1, TEXT)				\
	{								\
		closed(cap, filled);					\
		weft_case k[] = {					\
			WEFT_CASE_SEND_FROM(c, &v), WEFT_CASE_RECV(c, &v) \
		};							\
		weft_select_ordered(k, 2);				\
	}								\
	DIES(select_late_##name, 1, TEXT)				\
	{								\
		closed(cap, filled);					\
		weft_case k[] = {					\
			WEFT_CASE_SEND_FROM(c, &v), WEFT_CASE_SEND_FROM(c, &v) \
		};							\
		weft_select_until(k, 2, 1);				\
	}								\
	DIES(send_on_thread_##name, 1, TEXT)				\
	{								\
		closed(cap, filled);					\
		plainly(send_it);					\
	}

SENDS_ON(unbuffered, 0, 0)
SENDS_ON(empty, 2, 0)
SENDS_ON(half, 2, 1)
SENDS_ON(full, 2, 2)

DIES(send_without_runtime, 0, TEXT)
{
	closed(1, 0);
	weft_chan_send(c, &v);
}

/* ---- closed while a sender waits ---- */

DIES(close_under_sender, 1, TEXT)
{
	c = weft_chan_make(sizeof(int), 0);
	start(send_it);
	weft_chan_close(c);
	weft_chan_recv(NULL, NULL);
}

DIES(close_under_sender_when_full, 2, TEXT)
{
	c = weft_chan_make(sizeof(int), 1);
	weft_send(c, 1);
	start(send_it);
	weft_chan_close(c);
	weft_chan_recv(NULL, NULL);
}

DIES(closed_under_main, 1, TEXT)
{
	c = weft_chan_make(sizeof(int), 0);
	weft_go(close_it);
	weft_send(c, 1);
}

static void
send_until_later(void)
{
	weft_chan_send_until(c, &v, weft_deadline(WEFT_SECOND * 3600));
}

DIES(close_under_sender_with_limit, 1, TEXT)
{
	c = weft_chan_make(sizeof(int), 0);
	start(send_until_later);
	weft_chan_close(c);
	weft_chan_recv(NULL, NULL);
}

static void
select_send(void)
{
	weft_case k[] = {
		WEFT_CASE_RECV(NULL, NULL), WEFT_CASE_SEND_FROM(c, &v)
	};

	weft_select(k, 2);
}

DIES(close_under_select, 1, TEXT)
{
	c = weft_chan_make(sizeof(int), 0);
	start(select_send);
	weft_chan_close(c);
	weft_chan_recv(NULL, NULL);
}

static void
select_ordered_send(void)
{
	weft_case k[] = {
		WEFT_CASE_RECV(NULL, NULL), WEFT_CASE_SEND_FROM(c, &v)
	};

	weft_select_ordered_until(k, 2, weft_deadline(WEFT_SECOND * 3600));
}

DIES(close_under_select_with_limit, 1, TEXT)
{
	c = weft_chan_make(sizeof(int), 0);
	start(select_ordered_send);
	weft_chan_close(c);
	weft_chan_recv(NULL, NULL);
}

DIES(close_under_thread, 0, TEXT)
{
	pthread_t t;
	void (*fn)(void) = send_it;

	c = weft_chan_make(sizeof(int), 0);
	EQ(pthread_create(&t, NULL, on_thread, &fn), 0);
	weft_chan_close(c);
	pthread_join(t, NULL);
}

/* ---- closing ---- */

DIES(close_closed, 1, "close of a closed channel")
{
	closed(0, 0);
	weft_chan_close(c);
}

DIES(close_closed_with_elements, 1, "close of a closed channel")
{
	closed(3, 2);
	weft_chan_close(c);
}

DIES(close_closed_on_thread, 1, "close of a closed channel")
{
	closed(3, 2);
	plainly(close_it);
}

DIES(close_twice_at_once, 4, "close of a closed channel")
{
	for (;;) {
		c = weft_chan_make(sizeof(int), 0);
		weft_go(close_it);
		weft_go(close_it);
		while (weft_goroutines() > 1)
			weft_yield();
	}
}

DIES(close_null, 1, "close of a NULL channel")
{
	weft_chan_close(NULL);
}

DIES(close_null_without_runtime, 0, "close of a NULL channel")
{
	weft_chan_close(NULL);
}

/* ---- freeing ---- */

#define WAITS "while a goroutine or thread waits"

static void
release_under(void (*waiter)(void))
{
	c = weft_chan_make(sizeof(int), 0);
	start(waiter);
	weft_chan_release(c);
}

DIES(release_under_receiver, 1, WAITS) { release_under(recv_it); }

DIES(release_under_sender, 1, WAITS) { release_under(send_it); }

DIES(release_under_sender_when_full, 1, WAITS)
{
	c = weft_chan_make(sizeof(int), 1);
	weft_send(c, 1);
	start(send_it);
	weft_chan_release(c);
}

DIES(release_under_select, 1, WAITS) { release_under(select_send); }

static void
select_both_ways(void)
{
	weft_case k[] = { WEFT_CASE_RECV(c, &v), WEFT_CASE_SEND_FROM(c, &v) };

	weft_select(k, 2);
}

/* Also if it stands in two cases. */
DIES(release_under_select_of_both, 1, WAITS)
{
	release_under(select_both_ways);
}

DIES(release_under_limit, 1, WAITS) { release_under(send_until_later); }

/* Not the first release, the last one. */
DIES(last_release_under_receiver, 1, WAITS)
{
	c = weft_chan_make(sizeof(int), 0);
	weft_chan_retain(c);
	start(recv_it);
	weft_chan_release(c);
	for (int i = 0; i < 20; i++)
		weft_yield();
	weft_chan_release(c);
}

/* ---- sizes ---- */

#define SIZE "its elements have 4 bytes, not 8"

static weft_chan *of_four(void) { return weft_chan_make(4, 2); }

DIES(send_of_wrong_size, 1, SIZE) { weft_send(of_four(), INT64_C(1)); }
DIES(send_of_pointer, 1, SIZE) { weft_send(of_four(), "text"); }
DIES(send_of_char, 1, "its elements have 4 bytes, not 1")
{
	weft_send(of_four(), (char)'a');
}

DIES(receive_of_wrong_size, 1, SIZE) { weft_recv(of_four(), int64_t); }
DIES(receive_into_wrong_size, 1, SIZE)
{
	int64_t wide;

	weft_recv_ok(of_four(), &wide);
}

/* Also where nothing would be written. */
DIES(receive_of_wrong_size_closed, 1, SIZE)
{
	c = of_four();
	weft_chan_close(c);
	weft_recv(c, int64_t);
}

DIES(select_of_wrong_size, 1, SIZE)
{
	int64_t wide;
	weft_case k[] = { WEFT_CASE_DEFAULT, WEFT_CASE_RECV(of_four(), &wide) };

	weft_select(k, 2);
}

DIES(select_send_of_wrong_size, 1, SIZE)
{
	int64_t wide = 1;
	weft_case k[] = {
		WEFT_CASE_SEND_FROM(of_four(), &wide), WEFT_CASE_DEFAULT
	};

	weft_select(k, 2);
}

/* Even if another case can go on. */
DIES(select_of_wrong_size_beside, 1, SIZE)
{
	int64_t wide;
	weft_chan *ready = weft_chan_make(0, 0);
	weft_case k[] = {
		WEFT_CASE_RECV(ready, NULL), WEFT_CASE_RECV(of_four(), &wide)
	};

	weft_chan_close(ready);
	weft_select_ordered(k, 2);
}

/* ---- selects ---- */

static weft_case *
cases(size_t n)
{
	weft_case *k = calloc(n, sizeof *k);

	for (size_t i = 0; i < n; i++)
		k[i] = WEFT_CASE_RECV(NULL, NULL);
	k[0] = WEFT_CASE_DEFAULT;
	return k;
}

DIES(too_many_cases, 1, "65537 cases") { weft_select(cases(65537), 65537); }
DIES(far_too_many_cases, 1, "cases")
{
	weft_select(cases(1), SIZE_MAX / sizeof(weft_case) + 2);
}

DIES(too_many_cases_ordered, 1, "65537 cases")
{
	weft_select_ordered_until(cases(65537), 65537, 1);
}

DIES(two_defaults, 1, "two defaults")
{
	weft_case k[] = { WEFT_CASE_DEFAULT, WEFT_CASE_DEFAULT };

	weft_select(k, 2);
}

/* ---- waiting for ever ---- */

#define ASLEEP "all goroutines are asleep"

/* Only a kernel knows that no other thread is there to wake a goroutine. */
static void
need_kernel(void)
{
	if (t_emulated())
		t_skip("an emulator does not count threads");
}

DIES(send_null_channel, 1, ASLEEP)
{
	need_kernel();
	weft_chan_send(NULL, &v);
}

DIES(receive_null_channel, 1, ASLEEP)
{
	need_kernel();
	weft_chan_recv(NULL, &v);
}

DIES(checked_send_null_channel, 1, ASLEEP)
{
	need_kernel();
	weft_send((weft_chan *)NULL, v);
}

DIES(checked_receive_null_channel, 1, ASLEEP)
{
	need_kernel();
	weft_recv((weft_chan *)NULL, int);
}

DIES(send_until_never_null_channel, 1, ASLEEP)
{
	need_kernel();
	weft_chan_send_until(NULL, &v, WEFT_NEVER);
}

DIES(receive_alone, 1, ASLEEP)
{
	need_kernel();
	weft_recv(weft_chan_make(4, 1), int);
}

DIES(send_alone, 2, ASLEEP)
{
	need_kernel();
	weft_send(weft_chan_make(4, 0), 1);
}

DIES(receive_until_never_alone, 2, ASLEEP)
{
	need_kernel();
	weft_chan_recv_until(weft_chan_make(4, 0), &v, WEFT_NEVER);
}

DIES(empty_select, 1, ASLEEP)
{
	need_kernel();
	weft_select(NULL, 0);
}

DIES(empty_ordered_select, 1, ASLEEP)
{
	need_kernel();
	weft_select_ordered(NULL, 0);
}

DIES(empty_select_until_never, 1, ASLEEP)
{
	need_kernel();
	weft_select_until(NULL, 0, WEFT_NEVER);
}

DIES(select_null_channels, 1, ASLEEP)
{
	need_kernel();
	weft_case k[] = {
		WEFT_CASE_SEND_FROM(NULL, &v), WEFT_CASE_RECV(NULL, &v)
	};

	weft_select(k, 2);
}

/* The two cases are no pair. */
DIES(select_with_itself, 1, ASLEEP)
{
	need_kernel();
	c = weft_chan_make(4, 0);
	weft_case k[] = { WEFT_CASE_SEND_FROM(c, &v), WEFT_CASE_RECV(c, &v) };

	weft_select(k, 2);
}

/* What each waits for is in the list. */
DIES(list_tells_receive, 1, "waiting: channel receive")
{
	need_kernel();
	c = weft_chan_make(4, 0);
	recv_it();
}

DIES(list_tells_send, 1, "waiting: channel send")
{
	need_kernel();
	c = weft_chan_make(4, 0);
	send_it();
}

DIES(list_tells_select, 1, "waiting: select")
{
	need_kernel();
	weft_select(NULL, 0);
}
