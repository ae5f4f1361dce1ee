/* SPDX-License-Identifier: MIT */
/*
 * A default is chosen only if at one instant none of the other cases could go
 * on. A mover carries elements between two channels so that at every instant
 * one of them has some (or has room); whoever looks at both of them must find
 * it. A select that looks at one after the other does not, when the elements
 * pass behind its back.
 */
#include <errno.h>

#include <weft.h>

#include "t.h"

enum { LOOKERS = 3, LOAD = LOOKERS };

struct stage {
	weft_chan *c[2];
	weft_waitgroup ended;
	bool stop;
	long looks, moves;
	int form;
};

static bool
stopped(struct stage *s)
{
	return __atomic_load_n(&s->stop, __ATOMIC_RELAXED);
}

static int
look(struct stage *s, weft_case *k, size_t n)
{
	switch (s->form) {
	case 0:		return weft_select(k, n);
	case 1:		return weft_select_ordered(k, n);
	case 2:		return weft_select_until(k + 1, n - 1, 0) + 1;
	default:	return weft_select_ordered_until(k + 1, n - 1, 0) + 1;
	}
}

/* ---- one of them has something ---- */

/* Puts all of the load to one side before it takes it from the other. */
static void
carry(struct stage *s)
{
	for (int to = 1; !stopped(s); to = !to) {
		for (int i = 0; i < LOAD; i++)
			weft_chan_send(s->c[to], NULL);
		for (int i = 0; i < LOAD; i++)
			weft_chan_recv(s->c[!to], NULL);
		s->moves++;
	}
	weft_waitgroup_done(&s->ended);
}

/*
 * Each has at most one element in its hands while the others look, so with as
 * much load as there are lookers one is left. It is put back where it was.
 */
static void
find_element(struct stage *s)
{
	long looks = 0;

	while (!stopped(s)) {
		weft_case k[] = {
			WEFT_DEFAULT, WEFT_RECV(s->c[0], NULL),
			WEFT_RECV(s->c[1], NULL), WEFT_RECV(NULL, NULL),
			WEFT_RECV(s->c[0], NULL)
		};
		int r = look(s, k, looks % 2 ? 5 : 3);

		OK(r == 1 || r == 2 || r == 4);
		if (r > 0)
			EQ(weft_chan_try_send(k[r].chan, NULL), 1);
		if (++looks % 64 == 0)
			weft_yield();
	}
	__atomic_add_fetch(&s->looks, looks, __ATOMIC_RELAXED);
	weft_waitgroup_done(&s->ended);
}

/* ---- one of them has room ---- */

/* Takes all from one side before it fills the other. */
static void
carry_room(struct stage *s)
{
	for (int from = 0; !stopped(s); from = !from) {
		for (int i = 0; i < LOAD; i++)
			weft_chan_recv(s->c[from], NULL);
		for (int i = 0; i < LOAD; i++)
			weft_chan_send(s->c[!from], NULL);
		s->moves++;
	}
	weft_waitgroup_done(&s->ended);
}

/* Puts one in and takes one out again at the same place. */
static void
find_room(struct stage *s)
{
	long looks = 0;

	while (!stopped(s)) {
		weft_case k[] = {
			WEFT_DEFAULT, WEFT_SEND(s->c[0], NULL),
			WEFT_SEND(s->c[1], NULL), WEFT_SEND(NULL, NULL),
			WEFT_SEND(s->c[1], NULL)
		};
		int r = look(s, k, looks % 2 ? 5 : 3);

		OK(r == 1 || r == 2 || r == 4);
		if (r > 0)
			weft_chan_recv(k[r].chan, NULL);
		if (++looks % 64 == 0)
			weft_yield();
	}
	__atomic_add_fetch(&s->looks, looks, __ATOMIC_RELAXED);
	weft_waitgroup_done(&s->ended);
}

static void
play(void (*mover)(struct stage *), void (*looker)(struct stage *), int form)
{
	bool room = mover == carry_room;
	struct stage s = { .form = form };

	for (int i = 0; i < 2; i++)
		s.c[i] = weft_chan_make(0, room ? LOAD : 3 * LOAD);
	for (int i = 0; i < LOAD; i++)
		weft_chan_send(s.c[0], NULL);
	weft_waitgroup_add(&s.ended, LOOKERS + 1);
	OK(weft_go(mover, &s) > 0);
	for (int i = 0; i < LOOKERS; i++)
		OK(weft_go(looker, &s) > 0);
	for (double end = t_now() + 0.1; t_more(0) || t_now() < end;)
		weft_yield();
	__atomic_store_n(&s.stop, true, __ATOMIC_RELAXED);
	weft_waitgroup_wait(&s.ended);
	OK(s.looks > 0 && s.moves > 0);
	EQ(weft_chan_len(s.c[0]) + weft_chan_len(s.c[1]), LOAD);
	for (int i = 0; i < 2; i++)
		weft_chan_release(s.c[i]);
}

static void
elements(void)
{
	for (int form = 0; form < 4; form++)
		play(carry, find_element, form);
}

static void
rooms(void)
{
	for (int form = 0; form < 4; form++)
		play(carry_room, find_room, form);
}

GTEST(element_is_found_on_2, 2) { elements(); }
GTEST(element_is_found_on_4, 4) { elements(); }
GTEST(element_is_found_on_8, 8) { elements(); }
GTEST(room_is_found_on_2, 2) { rooms(); }
GTEST(room_is_found_on_4, 4) { rooms(); }
GTEST(room_is_found_on_8, 8) { rooms(); }
