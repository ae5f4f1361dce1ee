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
	bool room;		/* is looked for, not elements */
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

/* ---- one of them has elements, or one of them has room ---- */

static void
put_all(struct stage *s, int side)
{
	for (int i = 0; i < s->load; i++)
		weft_chan_send(s->c[side], NULL);
}

static void
take_all(struct stage *s, int side)
{
	for (int i = 0; i < s->load; i++)
		weft_chan_recv(s->c[side], NULL);
}

/*
 * Elements: puts all of the load to one side before it takes it from the
 * other. Room: takes all from one side before it fills the other.
 */
static void
carry(struct stage *s)
{
	int from = 0;

	do {
		if (!s->room)
			put_all(s, !from);
		take_all(s, from);
		if (s->room)
			put_all(s, !from);
		from = !from;
		s->moves++;
	} while (!stopped(s));
	weft_waitgroup_done(&s->ended);
}

static weft_case
case_for(struct stage *s, weft_chan *c)
{
	if (s->room)
		return WEFT_CASE_SEND_FROM(c, NULL);
	return WEFT_CASE_RECV(c, NULL);
}

static void
undo(struct stage *s, weft_chan *c)
{
	if (s->room)
		weft_chan_recv(c, NULL);
	else
		EQ(weft_chan_try_send(c, NULL), true);
}

/*
 * Elements: each looker has at most one in its hands while the others look, so
 * with as much load as there are lookers one is left. It is put back where it
 * was. Room: puts one in and takes one out again at the same place.
 */
static void
find(struct stage *s)
{
	weft_case k[CASES];
	long looks = 0;

	do {
		int at = (int)(looks % 2), r;

		k[0] = WEFT_CASE_DEFAULT;
		k[1] = case_for(s, s->c[at]);
		for (int i = 2; i < CASES - 1; i++)
			k[i] = case_for(s, s->never);
		k[CASES - 1] = case_for(s, s->c[!at]);
		r = look(s, k, CASES);
		OK(r == 1 || r == CASES - 1);
		if (r > 0)
			undo(s, k[r].chan);
		if (++looks % 64 == 0)
			weft_yield();
	} while (!stopped(s));
	__atomic_add_fetch(&s->looks, looks, __ATOMIC_RELAXED);
	weft_waitgroup_done(&s->ended);
}

static void
play(bool room, int form, int load)
{
	struct stage s = { .room = room, .form = form, .load = load };
	size_t cap = (size_t)load * (room ? 1 : 3);

	s.never = weft_chan_make(0, 0);
	for (int i = 0; i < 2; i++)
		s.c[i] = weft_chan_make(0, cap);
	for (int i = 0; i < load; i++)
		weft_chan_send(s.c[0], NULL);
	weft_waitgroup_add(&s.ended, load + 1);
	OK(weft_try_go(carry, &s) > 0);
	for (int i = 0; i < load; i++)
		OK(weft_try_go(find, &s) > 0);
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
play_all(bool room)
{
	for (int form = 0; form < 4; form++)
		for (int load = 1; load <= MOST_LOAD; load += 2)
			play(room, form, load);
}

GTEST(element_is_found_on_2, 2) { play_all(false); }
GTEST(element_is_found_on_4, 4) { play_all(false); }
GTEST(room_is_found_on_2, 2) { play_all(true); }
GTEST(room_is_found_on_4, 4) { play_all(true); }
