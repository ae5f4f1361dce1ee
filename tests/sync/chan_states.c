/* SPDX-License-Identifier: MIT */
/*
 * The table of what every operation does on a channel in every state: it goes
 * on, finds it closed, or has to wait; and then the forms that do not wait
 * say so. All forms of an operation are tried in each field. Where a field
 * says that it is fatal, tests/sync/chan_misuse_crash.c looks.
 */
#include <errno.h>
#include <stdio.h>

#include <weft.h>

#include "stats_now.h"
#include "t.h"

/* What can be: W waits, G goes on, C is told that it is closed, X dies. */
struct state {
	const char *name;
	int cap, filled;	/* cap -1: NULL */
	int closed, receiver, sender;
	char send, recv;
};

static const struct state states[] = {
	{ "null",		-1, 0, 0, 0, 0, 'W', 'W' },
	{ "unbuffered",		0, 0, 0, 0, 0, 'W', 'W' },
	{ "receiver waits",	0, 0, 0, 1, 0, 'G', 'W' },
	{ "sender waits",	0, 0, 0, 0, 1, 'W', 'G' },
	{ "empty",		3, 0, 0, 0, 0, 'G', 'W' },
	{ "empty, one waits",	3, 0, 0, 1, 0, 'G', 'W' },
	{ "half",		3, 2, 0, 0, 0, 'G', 'G' },
	{ "full",		3, 3, 0, 0, 0, 'W', 'G' },
	{ "full, one waits",	3, 3, 0, 0, 1, 'W', 'G' },
	{ "closed",		0, 0, 1, 0, 0, 'X', 'C' },
	{ "closed, empty",	3, 0, 1, 0, 0, 'X', 'C' },
	{ "closed, half",	3, 2, 1, 0, 0, 'X', 'G' },
	{ "closed, full",	3, 3, 1, 0, 0, 'X', 'G' },
};
enum { STATES = sizeof states / sizeof *states };

static void put_one(weft_chan *c) { weft_send(c, 1); }
static void get_one(weft_chan *c) { weft_recv(c, int); }

static weft_chan *
make_state(const struct state *s)
{
	uint64_t before = stats_now().parks;
	weft_chan *c;

	if (s->cap < 0)
		return NULL;
	c = weft_chan_make(sizeof(int), (size_t)s->cap);
	for (int i = 0; i < s->filled; i++)
		weft_send(c, 1);
	if (s->closed)
		weft_chan_close(c);
	if (s->receiver)
		OK(weft_try_go(get_one, c) > 0);
	if (s->sender)
		OK(weft_try_go(put_one, c) > 0);
	/* No other goroutine is awake: so it is that one that waits now. */
	while ((s->receiver || s->sender) && stats_now().parks == before)
		weft_yield();
	return c;
}

/* ---- the forms: each gives G, C, or W if it says that it had to wait ---- */

/* Of a select: index 0 is the case, 1 something that never can. */
static char
chosen(int index, weft_case *k, bool recv)
{
	if (index == -ETIMEDOUT)
		return 'W';
	if (index != 0)
		return k[index].chan || index != 1 ? '?' : 'W';
	return !recv || k[0].ok ? 'G' : 'C';
}

/* Of a send; and of a receive into v, which was 9. */
static char
sent(bool done)
{
	return done ? 'G' : 'W';
}

static char
told(bool done, const int *v, weft_chan *c)
{
	if (done)
		return 'G';
	EQ(weft_chan_is_closed(c), *v == 0);
	return *v == 0 ? 'C' : 'W';
}

enum form {
	PLAIN, CHECKED, LATE, CHOICE, CHOICE_OF_TWO, ORDERED, CHOICE_LATE,
	ORDERED_LATE, WAITING,
	TRY = WAITING, PAST, DEFAULT, DEFAULT_ORDERED, CHOICE_PAST,
	ORDERED_PAST, FORMS
};

static char
do_select(enum form f, weft_case *k, bool recv)
{
	int64_t late = weft_deadline(WEFT_SECOND * 3600);

	k[1] = f == DEFAULT || f == DEFAULT_ORDERED ? WEFT_CASE_DEFAULT :
	    WEFT_CASE_RECV(NULL, NULL);
	switch (f) {
	case CHOICE:		return chosen(weft_select(k, 1), k, recv);
	case CHOICE_OF_TWO:	return chosen(weft_select(k, 2), k, recv);
	case ORDERED:	return chosen(weft_select_ordered(k, 2), k, recv);
	case CHOICE_LATE:
		return chosen(weft_select_until(k, 2, late), k, recv);
	case ORDERED_LATE:
		return chosen(weft_select_ordered_until(k, 2, late), k, recv);
	case DEFAULT:		return chosen(weft_select(k, 2), k, recv);
	case DEFAULT_ORDERED:
		return chosen(weft_select_ordered(k, 2), k, recv);
	case CHOICE_PAST:
		return chosen(weft_select_until(k, 2, 1), k, recv);
	default:
		return chosen(weft_select_ordered_until(k, 2, 1), k, recv);
	}
}

static char
do_send(enum form f, weft_chan *c)
{
	int v = 1;
	weft_case k[2] = { WEFT_CASE_SEND_FROM(c, &v) };

	switch (f) {
	case PLAIN:	weft_chan_send(c, &v); return 'G';
	case CHECKED:	weft_send(c, v); return 'G';
	case LATE:
		return sent(weft_chan_send_until(c, &v, WEFT_NEVER - 1));
	case TRY:	return sent(weft_chan_try_send(c, &v));
	case PAST:	return sent(weft_chan_send_until(c, &v, 1));
	default:	return do_select(f, k, false);
	}
}

/* A value, when there is one, is 1; without, nothing or zero is written. */
static char
do_recv(enum form f, weft_chan *c)
{
	int v = 9;
	weft_case k[2] = { WEFT_CASE_RECV(c, &v) };
	char r;

	switch (f) {
	case PLAIN:	r = weft_chan_recv(c, &v) ? 'G' : 'C'; break;
	case CHECKED:	r = weft_recv_ok(c, &v) ? 'G' : 'C'; break;
	case LATE:
		r = told(weft_chan_recv_until(c, &v, WEFT_NEVER - 1), &v, c);
		break;
	case TRY:	r = told(weft_chan_try_recv(c, &v), &v, c); break;
	case PAST:
		r = told(weft_chan_recv_until(c, &v, 1), &v, c);
		break;
	default:	r = do_select(f, k, true); break;
	}
	EQ(v, r == 'G' ? 1 : r == 'C' ? 0 : 9);
	return r;
}

/* ---- one field ---- */

struct attempt {
	weft_chan *c;
	enum form form;
	bool recv, ended;
	char result;
};

static void
attempt(struct attempt *a)
{
	a->result = a->recv ? do_recv(a->form, a->c) : do_send(a->form, a->c);
	__atomic_store_n(&a->ended, true, __ATOMIC_RELEASE);
}

static void
complain(const struct state *s, struct attempt *a, char want, char got)
{
	char text[128];

	snprintf(text, sizeof text, "%s, %s, form %d: %c, not %c", s->name,
	    a->recv ? "receive" : "send", a->form, got, want);
	t_fail(__FILE__, __LINE__, text);
}

/*
 * A goroutine that has to wait is left behind, waiting: so the record is never
 * on a stack that goes away.
 */
static void
field(const struct state *s, enum form form, bool recv)
{
	static struct attempt attempts[2 * STATES * FORMS];
	static int n;
	struct attempt *a = &attempts[n++];
	char want = recv ? s->recv : s->send, got = 'W';
	uint64_t before;

	if (want == 'X')
		return;
	a->c = make_state(s);
	before = stats_now().parks;
	a->form = form;
	a->recv = recv;
	OK(weft_try_go(attempt, a) > 0);
	/* It ends or it waits, however long it takes to get there. */
	do
		weft_yield();
	while (!__atomic_load_n(&a->ended, __ATOMIC_ACQUIRE) &&
	    (want != 'W' || form >= WAITING || stats_now().parks == before));
	if (__atomic_load_n(&a->ended, __ATOMIC_ACQUIRE)) {
		got = a->result;
		if (form < WAITING && got == 'W')
			got = '?';
	}
	if (got != want)
		complain(s, a, want, got);
}

static void
table(void)
{
	for (int s = 0; s < STATES; s++)
		for (enum form form = 0; form < FORMS; form++) {
			field(&states[s], form, false);
			field(&states[s], form, true);
		}
}

GTEST(table_on_1, 1) { table(); }
GTEST(table_on_4, 4) { table(); }

/* ---- from outside of a goroutine: only what does not wait ---- */

TEST(table_on_a_thread)
{
	for (int i = 0; i < STATES; i++) {
		const struct state *s = &states[i];

		if (s->receiver || s->sender)
			continue;
		for (enum form form = 0; form < FORMS; form++) {
			weft_chan *c;

			if (s->recv != 'W' || form >= WAITING) {
				c = make_state(s);
				EQ(do_recv(form, c), s->recv);
				if (c)
					weft_chan_release(c);
			}
			if (s->send == 'G' ||
			    (s->send == 'W' && form >= WAITING)) {
				c = make_state(s);
				EQ(do_send(form, c), s->send);
				if (c)
					weft_chan_release(c);
			}
		}
	}
}

/* ---- numbers ---- */

TEST(length_and_capacity)
{
	for (int i = 0; i < STATES; i++) {
		const struct state *s = &states[i];
		weft_chan *c;

		if (s->receiver || s->sender || s->cap < 0)
			continue;
		c = make_state(s);
		EQ(weft_chan_len(c), s->filled);
		EQ(weft_chan_cap(c), s->cap);
		weft_chan_release(c);
	}
}
