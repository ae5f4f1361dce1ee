/* SPDX-License-Identifier: MIT */
/*
 * Elements of every size arrive whole, and nothing beside them is touched,
 * whichever way they go: through the ring, straight to a waiting receiver, or
 * from a waiting sender through the ring. Absurd sizes are refused.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <weft.h>

#include "bytes.h"
#include "t.h"

enum { LARGEST = 65536, FENCE = 16, PAINT = 0xa5 };

static const size_t sizes[] = {
	0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 63, 64, 65,
	100, 127, 128, 129, 255, 1000, 4095, 4096, 4097, LARGEST - 1, LARGEST
};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* What byte `at` of the `nr`th element must be. */
static unsigned char
pattern(unsigned nr, size_t at)
{
	return (unsigned char)(((nr + 1) * 2654435761u + at * 40503u) >> 7);
}

static void
draw(unsigned char *p, size_t size, unsigned nr)
{
	for (size_t i = 0; i < size; i++)
		p[i] = pattern(nr, i);
}

static bool
is_drawn(const unsigned char *p, size_t size, unsigned nr)
{
	for (size_t i = 0; i < size; i++)
		if (p[i] != pattern(nr, i))
			return false;
	return true;
}

/* A place for an element at an odd address, fenced on both sides. */
struct place {
	unsigned char *memory, *at;
	size_t size;
};

static struct place
place_make(size_t size)
{
	struct place p = { .size = size };

	p.memory = malloc(size + 2 * FENCE + 1);
	p.at = p.memory + FENCE + 1;
	memset(p.memory, PAINT, size + 2 * FENCE + 1);
	return p;
}

static void
place_check(struct place *p)
{
	OK(all_are(p->memory, FENCE + 1, PAINT));
	OK(all_are(p->at + p->size, FENCE, PAINT));
}

static void
place_free(struct place *p)
{
	place_check(p);
	free(p->memory);
}

struct stream {
	weft_chan *c;
	size_t size;
	unsigned n;
	weft_waitgroup ended;
};

static void
send_all(struct stream *s)
{
	struct place p = place_make(s->size);

	for (unsigned i = 0; i < s->n; i++) {
		draw(p.at, s->size, i);
		weft_chan_send(s->c, p.at);
		/* it has been copied: what happens here is of no matter */
		memset(p.at, 0xee, s->size);
	}
	place_free(&p);
	weft_chan_close(s->c);
	weft_waitgroup_done(&s->ended);
}

static void
recv_all(struct stream *s)
{
	struct place p = place_make(s->size);

	for (unsigned i = 0; i < s->n; i++) {
		memset(p.at, 0xcc, s->size);
		OK(weft_chan_recv(s->c, p.at));
		OK(is_drawn(p.at, s->size, i));
		place_check(&p);
	}
	memset(p.at, 0xcc, s->size);
	OK(!weft_chan_recv(s->c, p.at));
	OK(all_are(p.at, s->size, 0));
	place_check(&p);
	memset(p.at, 0xcc, s->size);
	EQ(weft_chan_try_recv(s->c, p.at), false);
	OK(all_are(p.at, s->size, 0));
	place_free(&p);
	weft_waitgroup_done(&s->ended);
}

static void
stream(size_t size, size_t cap)
{
	struct stream s = {
		.c = weft_chan_make(size, cap), .size = size,
		.n = size > 10000 ? 10 : 50
	};

	OK(s.c != NULL);
	EQ(weft_chan_cap(s.c), cap);
	weft_waitgroup_add(&s.ended, 2);
	/* one comes first and waits; the next time the other one */
	if ((size + cap) % 2) {
		OK(weft_try_go(send_all, &s) > 0);
		OK(weft_try_go(recv_all, &s) > 0);
	} else {
		OK(weft_try_go(recv_all, &s) > 0);
		OK(weft_try_go(send_all, &s) > 0);
	}
	weft_waitgroup_wait(&s.ended);
	weft_chan_release(s.c);
}

static void
streams(void)
{
	for (int i = 0; i < SIZES; i++)
		for (size_t cap = 0; cap < 5; cap++)
			stream(sizes[i], cap);
}

GTEST(arrive_whole_on_1, 1) { streams(); }
GTEST(arrive_whole_on_4, 4) { streams(); }

static void
each_size(void (*fn)(size_t size, size_t cap), size_t cap, size_t end)
{
	for (int i = 0; i < SIZES; i++)
		for (size_t c = cap; c < end; c++)
			fn(sizes[i], c);
}

/* ---- through the ring, by one goroutine ---- */

static void
round_trip(size_t size, size_t cap)
{
	weft_chan *c = weft_chan_make(size, cap);
	struct place p = place_make(size);
	unsigned in = 0, out = 0;

	for (size_t turn = 0; turn < 3; turn++) {
		for (; in < (turn + 1) * cap; in++) {
			draw(p.at, size, in);
			EQ(weft_chan_try_send(c, p.at), true);
		}
		draw(p.at, size, 12345);
		EQ(weft_chan_try_send(c, p.at), false);
		for (; out < in; out++) {
			EQ(weft_chan_try_recv(c, p.at), true);
			OK(is_drawn(p.at, size, out));
		}
		memset(p.at, 0xcc, size);
		EQ(weft_chan_try_recv(c, p.at), false);
		OK(all_are(p.at, size, 0xcc));
	}
	place_free(&p);
	weft_chan_release(c);
}

GTEST(through_the_ring, 1) { each_size(round_trip, 1, 8); }

/* ---- null values ---- */

static void
send_null(weft_chan *c, int n)
{
	for (int i = 0; i < n; i++)
		weft_chan_send(c, NULL);
}

static void
nulls(size_t size, size_t cap)
{
	weft_chan *c = weft_chan_make(size, cap);
	struct place p = place_make(size);

	OK(weft_try_go(send_null, c, 20) > 0);
	for (int i = 0; i < 20; i++) {
		memset(p.at, 0xcc, size);
		if (i % 3 == 0) {
			OK(weft_chan_recv(c, NULL));
			continue;
		}
		OK(weft_chan_recv(c, p.at));
		OK(all_are(p.at, size, 0));
	}
	EQ(weft_chan_try_recv(c, NULL), false);
	EQ(weft_chan_try_send(c, NULL), cap > 0);
	weft_chan_close(c);
	EQ(weft_chan_recv(c, NULL), cap > 0);
	OK(!weft_chan_recv(c, NULL));
	place_free(&p);
	weft_chan_release(c);
}

GTEST(null_sends_zero_bytes_and_drops, 1) { each_size(nulls, 0, 3); }

/* ---- elements of no size ---- */

static void
count_through(weft_chan *c, long n)
{
	for (long i = 0; i < n; i++)
		weft_chan_send(c, NULL);
	weft_chan_close(c);
}

GTEST(no_size, 2)
{
	for (size_t cap = 0; cap < 10; cap++) {
		weft_chan *c = weft_chan_make(0, cap);
		long n = 0, sent = t_scale(10000);

		OK(weft_try_go(count_through, c, sent) > 0);
		while (weft_chan_recv(c, NULL))
			n++;
		EQ(n, sent);
		weft_chan_release(c);
	}
}

GTEST(no_size_much_room, 1)
{
	weft_chan *c = weft_chan_make(0, 1000000);

	for (int i = 0; i < 1000000; i++)
		EQ(weft_chan_try_send(c, NULL), true);
	EQ(weft_chan_try_send(c, NULL), false);
	EQ(weft_chan_len(c), 1000000);
	for (int i = 0; i < 1000000; i++)
		EQ(weft_chan_try_recv(c, NULL), true);
	EQ(weft_chan_len(c), 0);
	weft_chan_release(c);
}

/* ---- absurd sizes ---- */

TEST(too_large_an_element)
{
	OK(weft_chan_make(LARGEST + 1, 0) == NULL);
	OK(weft_chan_make(LARGEST + 1, 1) == NULL);
	OK(weft_chan_make(SIZE_MAX, 0) == NULL);
	OK(weft_chan_make(SIZE_MAX, SIZE_MAX) == NULL);
	OK(weft_chan_make(SIZE_MAX / 2 + 1, 2) == NULL);
}

/* The products wrap around to little or nothing. */
TEST(too_large_a_room)
{
	OK(weft_chan_make(1, SIZE_MAX) == NULL);
	OK(weft_chan_make(1, SIZE_MAX - 64) == NULL);
	OK(weft_chan_make(1, (size_t)1 << 63) == NULL);
	OK(weft_chan_make(2, (size_t)1 << 63) == NULL);
	OK(weft_chan_make(4, (size_t)1 << 62) == NULL);
	OK(weft_chan_make(8, (size_t)1 << 61) == NULL);
	OK(weft_chan_make(8, ((size_t)1 << 61) + 1) == NULL);
	OK(weft_chan_make(LARGEST, (size_t)1 << 48) == NULL);
	OK(weft_chan_make(LARGEST, ((size_t)1 << 48) + 1) == NULL);
	OK(weft_chan_make(3, SIZE_MAX / 3 + 1) == NULL);
	OK(weft_chan_make(100, SIZE_MAX / 100 + 1) == NULL);
	OK(weft_chan_make(100, SIZE_MAX / 100) == NULL);
}

TEST(largest)
{
	weft_chan *c = weft_chan_make(LARGEST, 3);

	OK(c != NULL);
	EQ(weft_chan_cap(c), 3);
	weft_chan_release(c);
	c = weft_chan_make(LARGEST, 0);
	OK(c != NULL);
	weft_chan_release(c);
}
