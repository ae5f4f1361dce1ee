/* SPDX-License-Identifier: MIT */
/*
 * Plain threads and goroutines on the same channels: in each role, with and
 * without a runtime. What a goroutine would wait for, a thread blocks for.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <weft.h>

#include "plain_thread.h"
#include "t.h"

enum { MOST = 16 };

/*
 * An actor with a role: as a goroutine if `thread` is false. `sum` and
 * `count` are what it sent or received.
 */
struct actor {
	weft_chan *c, *other;
	long n;
	int64_t sum, count;
	weft_waitgroup *ended;
	bool thread;
	pthread_t id;
	void (*role)(struct actor *a);
};

static void
act(struct actor *a)
{
	EQ(weft_self_id() == 0, a->thread);
	a->role(a);
	EQ(weft_self_id() == 0, a->thread);
	weft_waitgroup_done(a->ended);
}

PLAIN_THREAD(act_plainly, act(arg))

static void
actor_start(struct actor *a)
{
	weft_waitgroup_add(a->ended, 1);
	if (a->thread)
		EQ(pthread_create(&a->id, NULL, act_plainly, a), 0);
	else
		OK(weft_try_go(act, a) > 0);
}

static void
actors_join(struct actor *a, int n)
{
	for (int i = 0; i < n; i++)
		if (a[i].thread)
			pthread_join(a[i].id, NULL);
}

/* ---- roles ---- */

static void
count_in(struct actor *a, int64_t v)
{
	a->sum += v;
	a->count++;
}

static void
sender(struct actor *a)
{
	for (int64_t i = 1; i <= a->n; i++) {
		weft_chan_send(a->c, &i);
		count_in(a, i);
	}
}

static void
receiver(struct actor *a)
{
	int64_t v;

	while (weft_chan_recv(a->c, &v)) {
		count_in(a, v);
	}
	EQ(v, 0);
}

static void
try_sender(struct actor *a)
{
	for (int64_t i = 1; i <= a->n; i++) {
		while (!weft_chan_try_send(a->c, &i))
			weft_yield();
		count_in(a, i);
	}
}

static void
try_receiver(struct actor *a)
{
	int64_t v;

	while (!weft_chan_is_closed(a->c)) {
		if (weft_chan_try_recv(a->c, &v)) {
			count_in(a, v);
		} else {
			weft_yield();
		}
	}
}

static void
select_sender(struct actor *a)
{
	weft_chan *never = weft_chan_make(8, 0);

	for (int64_t i = 1; i <= a->n; i++) {
		weft_case k[] = {
			WEFT_CASE_RECV(never, NULL),
			WEFT_CASE_SEND_FROM(a->c, &i),
			WEFT_CASE_SEND_FROM(NULL, &i)
		};

		EQ(weft_select(k, 3), 1);
		count_in(a, i);
	}
	weft_chan_release(never);
}

static void
select_receiver(struct actor *a)
{
	weft_chan *never = weft_chan_make(8, 0);
	int64_t v;

	for (;;) {
		weft_case k[] = {
			WEFT_CASE_RECV(a->c, &v), WEFT_CASE_RECV(never, NULL),
			WEFT_CASE_RECV(a->c, &v)
		};
		int i = weft_select(k, 3);

		OK(i == 0 || i == 2);
		if (!k[i].ok)
			break;
		count_in(a, v);
	}
	weft_chan_release(never);
}

static void
until_sender(struct actor *a)
{
	for (int64_t i = 1; i <= a->n; i++) {
		while (!weft_chan_send_until(a->c, &i,
		    weft_deadline((i % 3 + 1) * 20 * WEFT_US)))
			;
		count_in(a, i);
	}
}

static void
until_receiver(struct actor *a)
{
	int64_t v;

	while (!weft_chan_is_closed(a->c)) {
		if (weft_chan_recv_until(a->c, &v,
		    weft_deadline((a->count % 3 + 1) * 20 * WEFT_US)))
			count_in(a, v);
	}
}

static void (*const senders[])(struct actor *) = {
	sender, select_sender, until_sender, try_sender
};
static void (*const receivers[])(struct actor *) = {
	receiver, select_receiver, until_receiver, try_receiver
};
enum { TRIES = 3, ROLES };

/* ---- one of each ---- */

static void
pair(int from, int to, bool from_thread, bool to_thread, size_t cap)
{
	weft_waitgroup sent = {0}, received = {0};
	weft_chan *c = weft_chan_make(sizeof(int64_t), cap);
	struct actor a[2] = {
		{ .c = c, .n = t_scale(50), .ended = &sent,
		  .thread = from_thread, .role = senders[from] },
		{ .c = c, .ended = &received,
		  .thread = to_thread, .role = receivers[to] },
	};

	actor_start(&a[1]);
	actor_start(&a[0]);
	weft_waitgroup_wait(&sent);
	weft_chan_close(c);
	weft_waitgroup_wait(&received);
	EQ(a[0].count, a[0].n);
	EQ(a[0].count, a[1].count);
	EQ(a[0].sum, a[1].sum);
	actors_join(a, 2);
	weft_chan_release(c);
}

/*
 * Every role with every other, on every kind of side. Two that never wait do
 * not meet where there is no room.
 */
static void
pairs(void)
{
	for (int from = 0; from < ROLES; from++)
		for (int to = 0; to < ROLES; to++)
			for (int kind = 0; kind < 4; kind++) {
				if (from != TRIES || to != TRIES)
					pair(from, to, kind & 1, kind & 2, 0);
				pair(from, to, kind & 1, kind & 2, 1);
			}
}

GTEST(every_role_on_1, 1) { pairs(); }
GTEST(every_role_on_4, 4) { pairs(); }

/* ---- many of each ---- */

static void
crowd(bool goroutines, size_t cap, int n, long each)
{
	weft_waitgroup sent = {0}, received = {0};
	weft_chan *c = weft_chan_make(sizeof(int64_t), cap);
	struct actor a[2 * MOST] = {0};
	int64_t sum = 0, count = 0;

	for (int i = 0; i < 2 * n; i++) {
		bool sends = i % 2;

		a[i] = (struct actor){
			.c = c, .n = each, .ended = sends ? &sent : &received,
			.thread = !goroutines || i / 2 % 2,
			.role = sends ? senders[i / 4 % ROLES] :
			    receivers[i / 4 % ROLES]
		};
		actor_start(&a[i]);
	}
	weft_waitgroup_wait(&sent);
	weft_chan_close(c);
	weft_waitgroup_wait(&received);
	for (int i = 0; i < 2 * n; i++) {
		sum += i % 2 ? a[i].sum : -a[i].sum;
		count += i % 2 ? a[i].count : -a[i].count;
	}
	EQ(sum, 0);
	EQ(count, 0);
	actors_join(a, 2 * n);
	weft_chan_release(c);
}

static void
crowds(bool goroutines)
{
	for (size_t cap = 0; cap < 6; cap++)
		crowd(goroutines, cap, MOST, t_scale(200));
	/* no goroutine is left behind */
	while (weft_goroutines() > 1)
		weft_yield();
}

GTEST(mixed_crowd_on_1, 1) { crowds(true); }
GTEST(mixed_crowd_on_2, 2) { crowds(true); }
GTEST(mixed_crowd_on_8, 8) { crowds(true); }
TEST(threads_without_a_runtime) { crowds(false); }

/* ---- closed by a thread ---- */

static void
closer(struct actor *a)
{
	weft_chan_close(a->c);
}

static void
close_for(bool closer_is_thread)
{
	weft_waitgroup received = {0}, closed = {0};
	weft_chan *c = weft_chan_make(sizeof(int64_t), 0);
	struct actor a[MOST + 1] = {0};

	for (int i = 0; i < MOST; i++) {
		a[i] = (struct actor){
			.c = c, .ended = &received, .thread = i % 2,
			.role = receivers[i / 2 % ROLES]
		};
		actor_start(&a[i]);
	}
	a[MOST] = (struct actor){
		.c = c, .ended = &closed, .thread = closer_is_thread,
		.role = closer
	};
	actor_start(&a[MOST]);
	weft_waitgroup_wait(&received);
	weft_waitgroup_wait(&closed);
	for (int i = 0; i < MOST; i++)
		EQ(a[i].count, 0);
	actors_join(a, MOST + 1);
	weft_chan_release(c);
}

GTEST(close_reaches_all, 2)
{
	for (long i = t_scale(50); i > 0; i--)
		close_for(i % 2);
}

/* ---- back and forth ---- */

static void
echo(struct actor *a)
{
	int64_t v;

	while (weft_chan_recv(a->c, &v)) {
		v++;
		weft_chan_send(a->other, &v);
		a->count++;
	}
}

static void
ping(struct actor *a)
{
	int64_t v = 0, w;

	for (long i = 0; i < a->n; i++) {
		weft_chan_send(a->other, &v);
		w = v;
		OK(weft_chan_recv(a->c, &v));
		EQ(v, w + 1);
	}
	weft_chan_close(a->other);
	a->sum = v;
}

static void
ping_pong(bool one, bool two, size_t cap)
{
	weft_waitgroup ended = {0};
	weft_chan *there = weft_chan_make(8, cap);
	weft_chan *back = weft_chan_make(8, cap);
	struct actor a[2] = {
		{ .c = back, .other = there, .n = t_scale(2000),
		  .ended = &ended, .thread = one, .role = ping },
		{ .c = there, .other = back, .ended = &ended, .thread = two,
		  .role = echo },
	};

	actor_start(&a[0]);
	actor_start(&a[1]);
	weft_waitgroup_wait(&ended);
	EQ(a[0].sum, a[0].n);
	EQ(a[1].count, a[0].n);
	actors_join(a, 2);
	weft_chan_release(there);
	weft_chan_release(back);
}

GTEST(back_and_forth, 2)
{
	for (int kind = 0; kind < 4; kind++)
		for (size_t cap = 0; cap < 2; cap++)
			ping_pong(kind & 1, kind & 2, cap);
}

TEST(back_and_forth_without_a_runtime)
{
	ping_pong(true, true, 0);
	ping_pong(true, true, 1);
}

/* ---- one thread by itself ---- */

TEST(alone)
{
	weft_chan *c = weft_chan_make(sizeof(int), 2);
	int v = 1;
	weft_case k[] = { WEFT_CASE_RECV(c, &v), WEFT_CASE_DEFAULT };

	EQ(weft_select(k, 2), 1);
	weft_chan_send(c, &v);
	v = 2;
	EQ(weft_chan_try_send(c, &v), true);
	EQ(weft_chan_try_send(c, &v), false);
	EQ(weft_select(k, 2), 0);
	EQ(v, 1);
	weft_chan_close(c);
	OK(weft_chan_recv(c, &v));
	EQ(v, 2);
	OK(!weft_chan_recv(c, &v));
	EQ(weft_select(k, 2), 0);
	OK(!k[0].ok);
	weft_chan_release(c);
}

/* Main first, which is a goroutine too, and then another one. */
GTEST(goroutines_feed_a_thread, 1)
{
	weft_waitgroup ended = {0};
	weft_chan *c = weft_chan_make(sizeof(int64_t), 0);
	struct actor a[2] = {
		{ .c = c, .n = 100, .ended = &ended, .role = sender },
		{ .c = c, .ended = &ended, .thread = true, .role = receiver },
	};

	weft_waitgroup_add(&ended, 1);
	actor_start(&a[1]);
	for (int i = 0; i < 100; i++) {
		int64_t v = i + 1;

		weft_chan_send(c, &v);
	}
	actor_start(&a[0]);
	while (__atomic_load_n(&a[0].count, __ATOMIC_RELAXED) < 100)
		weft_yield();
	weft_chan_close(c);
	weft_waitgroup_done(&ended);
	weft_waitgroup_wait(&ended);
	EQ(a[1].sum, 2 * 5050);
	actors_join(a, 2);
	weft_chan_release(c);
}
