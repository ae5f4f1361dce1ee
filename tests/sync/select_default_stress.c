/* SPDX-License-Identifier: MIT */
/*
 * A default is chosen only if at one instant none of the other cases could go
 * on. A mover carries elements between two channels so that at every instant
 * one of them has some (or has room); whoever looks at both of them must find
 * it. A select that looks at one after the other does not, when the elements
 * pass behind its back; other cases between the two give them time to.
 */
#include <errno.h>

#include <weft.h>

#include "t.h"

enum { MOST_LOAD = 3, GAP = 60, CASES = GAP + 3 };

struct stage {
	weft_chan *c[2], *never;
	int load;		/* and as many lookers */
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
	case 2:		return weft_select_until(k + 1, n - 1, 1) + 1;
	default:	return weft_select_ordered_until(k + 1, n - 1, 1) + 1;
	}
}

/* ---- one of them has something ---- */

/* Puts all of the load to one side before it takes it from the other. */
static void
carry(struct stage *s)
{
	int to = 1;

	do {
		for (int i = 0; i < s->load; i++)
			weft_chan_send(s->c[to], NULL);
		for (int i = 0; i < s->load; i++)
			weft_chan_recv(s->c[!to], NULL);
		to = !to;
		s->moves++;
	} while (!stopped(s));
	weft_waitgroup_done(&s->ended);
}

/*
 * Each has at most one element in its hands while the others look, so with as
 * much load as there are lookers one is left. It is put back where it was.
 */
static void
find_element(struct stage *s)
{
	weft_case k[CASES];
	long looks = 0;

	do {
		int at = (int)(looks % 2), r;

		k[0] = WEFT_CASE_DEFAULT;
		k[1] = WEFT_CASE_RECV(s->c[at], NULL);
		for (int i = 2; i < CASES - 1; i++)
			k[i] = WEFT_CASE_RECV(s->never, NULL);
		k[CASES - 1] = WEFT_CASE_RECV(s->c[!at], NULL);
		r = look(s, k, CASES);
		OK(r == 1 || r == CASES - 1);
		if (r > 0)
			EQ(weft_chan_try_send(k[r].chan, NULL), true);
		if (++looks % 64 == 0)
			weft_yield();
	} while (!stopped(s));
	__atomic_add_fetch(&s->looks, looks, __ATOMIC_RELAXED);
	weft_waitgroup_done(&s->ended);
}

/* ---- one of them has room ---- */

/* Takes all from one side before it fills the other. */
static void
carry_room(struct stage *s)
{
	int from = 0;

	do {
		for (int i = 0; i < s->load; i++)
			weft_chan_recv(s->c[from], NULL);
		for (int i = 0; i < s->load; i++)
			weft_chan_send(s->c[!from], NULL);
		from = !from;
		s->moves++;
	} while (!stopped(s));
	weft_waitgroup_done(&s->ended);
}

/* Puts one in and takes one out again at the same place. */
static void
find_room(struct stage *s)
{
	weft_case k[CASES];
	long looks = 0;

	do {
		int at = (int)(looks % 2), r;

		k[0] = WEFT_CASE_DEFAULT;
		k[1] = WEFT_CASE_SEND_FROM(s->c[at], NULL);
		for (int i = 2; i < CASES - 1; i++)
			k[i] = WEFT_CASE_SEND_FROM(s->never, NULL);
		k[CASES - 1] = WEFT_CASE_SEND_FROM(s->c[!at], NULL);
		r = look(s, k, CASES);
		OK(r == 1 || r == CASES - 1);
		if (r > 0)
			weft_chan_recv(k[r].chan, NULL);
		if (++looks % 64 == 0)
			weft_yield();
	} while (!stopped(s));
	__atomic_add_fetch(&s->looks, looks, __ATOMIC_RELAXED);
	weft_waitgroup_done(&s->ended);
}

static void
play(void (*mover)(struct stage *), void (*looker)(struct stage *), int form,
    int load)
{
	struct stage s = { .form = form, .load = load };
	size_t room = (size_t)load * (mover == carry_room ? 1 : 3);

	s.never = weft_chan_make(0, 0);
	for (int i = 0; i < 2; i++)
		s.c[i] = weft_chan_make(0, room);
	for (int i = 0; i < load; i++)
		weft_chan_send(s.c[0], NULL);
	weft_waitgroup_add(&s.ended, load + 1);
	OK(weft_try_go(mover, &s) > 0);
	for (int i = 0; i < load; i++)
		OK(weft_try_go(looker, &s) > 0);
	for (double end = t_now() + t_share(0.08); t_more(0) || t_now() < end;)
		weft_sleep(WEFT_MS);
	__atomic_store_n(&s.stop, true, __ATOMIC_RELAXED);
	weft_waitgroup_wait(&s.ended);
	OK(s.looks > 0 && s.moves > 0);
	EQ(weft_chan_len(s.c[0]) + weft_chan_len(s.c[1]), load);
	for (int i = 0; i < 2; i++)
		weft_chan_release(s.c[i]);
	weft_chan_release(s.never);
}

static void
elements(void)
{
	for (int form = 0; form < 4; form++)
		for (int load = 1; load <= MOST_LOAD; load += 2)
			play(carry, find_element, form, load);
}

static void
rooms(void)
{
	for (int form = 0; form < 4; form++)
		for (int load = 1; load <= MOST_LOAD; load += 2)
			play(carry_room, find_room, form, load);
}

GTEST(element_is_found_on_2, 2) { elements(); }
GTEST(element_is_found_on_4, 4) { elements(); }
GTEST(room_is_found_on_2, 2) { rooms(); }
GTEST(room_is_found_on_4, 4) { rooms(); }
