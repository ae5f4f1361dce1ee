/* SPDX-License-Identifier: MIT */
/*
 * What a channel of each capacity from 0 to 199 does: which calls wait, what
 * the forms that do not wait say, in which order things come out, how many
 * there are.
 *
 * That a goroutine waits is shown by a handshake: it raises `started` right
 * before the operation and `ended` after it. On one P, one that has seen the
 * first knows that the operation has begun to wait or is over.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <weft.h>

#include "flag.h"
#include "stats_now.h"
#include "t.h"

enum { CAPS = 200, FEW_YIELDS = 30 };

struct party {
	weft_chan *c;
	int value;
	int result;
	bool started, ended;
};

static void
let_others_run(void)
{
	for (int i = 0; i < FEW_YIELDS; i++)
		weft_yield();
}

/* Where everything is slow not all capacities are tried, but 0 and 1 are. */
static size_t
next_cap(size_t cap)
{
	size_t step = CAPS / (size_t)t_scale(CAPS);

	return cap < 1 ? 1 : cap + step;
}

static void
each_cap(void (*fn)(size_t cap))
{
	for (size_t cap = 0; cap < CAPS; cap = next_cap(cap))
		fn(cap);
}

static void
receives(struct party *p)
{
	raise_flag(&p->started);
	p->result = weft_chan_recv(p->c, &p->value);
	raise_flag(&p->ended);
}

static void
sends(struct party *p)
{
	raise_flag(&p->started);
	weft_chan_send(p->c, &p->value);
	raise_flag(&p->ended);
}

static void
put(weft_chan *c, int value)
{
	weft_chan_send(c, &value);
}

static int
get(weft_chan *c)
{
	int value = -1;

	OK(weft_chan_recv(c, &value));
	return value;
}

/* ---- calls that wait ---- */

static void
empty_receive(size_t cap)
{
	struct party p = { .c = weft_chan_make(sizeof(int), cap) };

	OK(weft_try_go(receives, &p) > 0);
	until_up(&p.started);
	let_others_run();
	OK(!is_up(&p.ended));
	put(p.c, 41);
	until_up(&p.ended);
	EQ(p.result, true);
	EQ(p.value, 41);
	weft_chan_release(p.c);
}

static void
full_send(size_t cap)
{
	struct party p = {
		.c = weft_chan_make(sizeof(int), cap), .value = (int)cap
	};

	for (int i = 0; i < (int)cap; i++)
		put(p.c, i);
	OK(weft_try_go(sends, &p) > 0);
	until_up(&p.started);
	let_others_run();
	OK(!is_up(&p.ended));
	EQ(weft_chan_len(p.c), cap);
	EQ(get(p.c), 0);
	until_up(&p.ended);
	EQ(weft_chan_len(p.c), cap);
	for (int i = 1; i <= (int)cap; i++)
		EQ(get(p.c), i);
	EQ(weft_chan_len(p.c), 0);
	weft_chan_release(p.c);
}

GTEST(empty_receive_waits, 1) { each_cap(empty_receive); }
GTEST(empty_receive_waits_on_4, 4) { each_cap(empty_receive); }
GTEST(full_send_waits, 1) { each_cap(full_send); }
GTEST(full_send_waits_on_4, 4) { each_cap(full_send); }

/* ---- calls that do not ---- */

static void
filled_and_drained(size_t cap)
{
	weft_chan *c = weft_chan_make(sizeof(int), cap);
	int v = 77;

	for (int round = 0; round < 3; round++) {
		EQ(weft_chan_try_recv(c, &v), false);
		for (int i = 0; i < (int)cap; i++) {
			EQ(weft_chan_len(c), i);
			EQ(weft_chan_try_send(c, &i), true);
		}
		EQ(weft_chan_try_send(c, &v), false);
		EQ(weft_chan_len(c), cap);
		for (int i = 0; i < (int)cap; i++) {
			EQ(weft_chan_try_recv(c, &v), true);
			EQ(v, i);
			EQ(weft_chan_len(c), (int)cap - i - 1);
		}
		EQ(weft_chan_try_recv(c, &v), false);
		/* nothing received, nothing written */
		EQ(v, cap ? (int)cap - 1 : 77);
	}
	EQ(weft_chan_cap(c), cap);
	weft_chan_release(c);
}

/* There is no other goroutine, and the plain forms would be a deadlock. */
GTEST(try_does_not_wait, 1)
{
	weft_stats before, after;

	weft_stats_read(&before, sizeof before);
	for (size_t cap = 0; cap < CAPS; cap = next_cap(cap))
		filled_and_drained(cap);
	weft_stats_read(&after, sizeof after);
	EQ(after.parks, before.parks);
}

GTEST(room_is_used_without_waiting, 1)
{
	for (size_t cap = 0; cap < CAPS; cap = next_cap(cap)) {
		weft_chan *c = weft_chan_make(sizeof(int), cap);

		for (int i = 0; i < 3 * (int)cap; i++) {
			put(c, i);
			EQ(get(c), i);
		}
		weft_chan_release(c);
	}
}

/* It never finds room, nor something, for want of the other side's look. */
GTEST(try_finds_a_waiter, 1)
{
	for (size_t cap = 0; cap < CAPS; cap = next_cap(cap)) {
		struct party p = { .c = weft_chan_make(sizeof(int), cap) };
		struct party q = { .c = p.c, .value = 6 };
		int v = 5;

		OK(weft_try_go(receives, &p) > 0);
		until_up(&p.started);
		EQ(weft_chan_try_send(p.c, &v), true);
		EQ(weft_chan_len(p.c), 0);
		until_up(&p.ended);
		EQ(p.value, 5);

		for (size_t i = 0; i < cap; i++)
			put(q.c, 0);
		OK(weft_try_go(sends, &q) > 0);
		until_up(&q.started);
		for (size_t i = 0; i < cap; i++)
			EQ(weft_chan_try_recv(q.c, NULL), true);
		EQ(weft_chan_try_recv(q.c, &v), true);
		EQ(v, 6);
		EQ(weft_chan_try_recv(q.c, &v), false);
		until_up(&q.ended);
		weft_chan_release(p.c);
	}
}

/* ---- order ---- */

static void
send_hundred(weft_chan *c)
{
	for (int i = 0; i < 100; i++)
		put(c, i);
}

static void
hundred(size_t cap)
{
	weft_chan *c = weft_chan_make(sizeof(int), cap);

	OK(weft_try_go(send_hundred, c) > 0);
	for (int i = 0; i < 100; i++)
		EQ(get(c), i);
	EQ(weft_chan_len(c), 0);
	weft_chan_release(c);
}

GTEST(in_order, 1) { each_cap(hundred); }
GTEST(in_order_on_4, 4) { each_cap(hundred); }

/* Has gone to wait, at the latest, when the count of parks has grown. */
static void
start_and_wait(void (*fn)(struct party *), struct party *p)
{
	uint64_t before = stats_now().parks;

	OK(weft_try_go(fn, p) > 0);
	until_up(&p->started);
	while (stats_now().parks == before)
		weft_yield();
}

enum { QUEUE = 50 };

/* Receivers are served in the order in which they came. */
static void
receivers_queue(size_t cap)
{
	struct party p[QUEUE] = {0};
	weft_chan *c = weft_chan_make(sizeof(int), cap);

	for (int i = 0; i < QUEUE; i++) {
		p[i].c = c;
		start_and_wait(receives, &p[i]);
	}
	for (int i = 0; i < QUEUE; i++)
		put(c, i);
	for (int i = 0; i < QUEUE; i++) {
		until_up(&p[i].ended);
		EQ(p[i].value, i);
	}
	weft_chan_release(c);
}

/* And so are senders, after what is in the channel already. */
static void
senders_queue(size_t cap)
{
	struct party p[QUEUE] = {0};
	weft_chan *c = weft_chan_make(sizeof(int), cap);

	for (int i = 0; i < (int)cap; i++)
		put(c, i - (int)cap);
	for (int i = 0; i < QUEUE; i++) {
		p[i].c = c;
		p[i].value = i;
		start_and_wait(sends, &p[i]);
	}
	for (int i = -(int)cap; i < QUEUE; i++)
		EQ(get(c), i);
	for (int i = 0; i < QUEUE; i++)
		until_up(&p[i].ended);
	weft_chan_release(c);
}

GTEST(first_come_first_served, 1)
{
	for (size_t cap = 0; cap < 8; cap++) {
		receivers_queue(cap);
		senders_queue(cap);
	}
}

GTEST(first_come_first_served_on_4, 4)
{
	for (size_t cap = 0; cap < 8; cap++) {
		receivers_queue(cap);
		senders_queue(cap);
	}
}

/* ---- many on both sides ---- */

enum { SIDES = 4, EACH = 1000 };

struct crowd {
	weft_chan *c;
	weft_waitgroup sent, received;
	uint8_t seen[SIDES * EACH];
};

static void
produce(struct crowd *w, int from)
{
	for (int i = from; i < from + EACH; i++)
		put(w->c, i);
	weft_waitgroup_done(&w->sent);
}

static void
consume(struct crowd *w)
{
	int v = 0, last[SIDES] = { -1, -1, -1, -1 };

	while (weft_chan_recv(w->c, &v)) {
		OK(v >= 0 && v < SIDES * EACH);
		/* a receiver gets the values of one sender in order */
		OK(v > last[v / EACH]);
		last[v / EACH] = v;
		__atomic_add_fetch(&w->seen[v], 1, __ATOMIC_RELAXED);
	}
	EQ(v, 0);
	weft_waitgroup_done(&w->received);
}

static void
crowd(size_t cap)
{
	struct crowd *w = calloc(1, sizeof *w);

	w->c = weft_chan_make(sizeof(int), cap);
	weft_waitgroup_add(&w->sent, SIDES);
	weft_waitgroup_add(&w->received, SIDES);
	for (int i = 0; i < SIDES; i++) {
		OK(weft_try_go(produce, w, i * EACH) > 0);
		OK(weft_try_go(consume, w) > 0);
	}
	weft_waitgroup_wait(&w->sent);
	weft_chan_close(w->c);
	weft_waitgroup_wait(&w->received);
	for (int i = 0; i < SIDES * EACH; i++)
		EQ(w->seen[i], 1);
	weft_chan_release(w->c);
	free(w);
}

static void
crowds(void)
{
	for (size_t cap = 0; cap < CAPS; cap = next_cap(cap))
		crowd(cap);
}

GTEST(each_exactly_once_on_1, 1) { crowds(); }
GTEST(each_exactly_once_on_2, 2) { crowds(); }
GTEST(each_exactly_once_on_4, 4) { crowds(); }
GTEST(each_exactly_once_on_8, 8) { crowds(); }

/* ---- the ring goes round ---- */

/* Every place of the ring is first and last once, at every filling. */
GTEST(wraps_at_every_place, 1)
{
	for (size_t cap = 1; cap < 20; cap++) {
		weft_chan *c = weft_chan_make(sizeof(int), cap);
		int in = 0, out = 0;

		for (size_t fill = 1; fill <= cap; fill++)
			for (size_t turn = 0; turn <= cap; turn++) {
				for (size_t i = 0; i < fill; i++)
					put(c, in++);
				EQ(weft_chan_len(c), fill);
				for (size_t i = 0; i < fill; i++)
					EQ(get(c), out++);
				put(c, in++);
				EQ(get(c), out++);
			}
		EQ(weft_chan_len(c), 0);
		weft_chan_release(c);
	}
}

GTEST(large, 1)
{
	weft_chan *c = weft_chan_make(sizeof(int), 1 << 20);

	EQ(weft_chan_cap(c), 1 << 20);
	for (int i = 0; i < 1 << 20; i++)
		put(c, i);
	EQ(weft_chan_len(c), 1 << 20);
	EQ(weft_chan_try_send(c, NULL), false);
	for (int i = 0; i < 1 << 20; i++)
		EQ(get(c), i);
	EQ(weft_chan_try_recv(c, NULL), false);
	weft_chan_release(c);
}
