/* SPDX-License-Identifier: MIT */
/*
 * Many short goroutines that answer one request each, by a plain send or by a
 * select that would also take a cancellation; the asker's memory for the
 * answer is on its stack, and the channel is gone soon after. What is
 * answered must be what was asked, untouched.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <weft.h>

#include "t.h"

enum { WORDS = 16 };

struct answer {
	int64_t words[WORDS];
};

enum how { PLAIN, SELECT, CANCELLED, HOWS };

struct request {
	weft_chan *reply, *done;
	int64_t nr;
	enum how how;
};

static void
respond(struct request *r)
{
	struct answer a;
	weft_case k[] = {
		WEFT_CASE_SEND_FROM(r->reply, &a), WEFT_CASE_RECV(r->done, NULL)
	};

	for (int i = 0; i < WORDS; i++)
		a.words[i] = r->nr * WORDS + i;
	if (r->how == PLAIN)
		weft_send(r->reply, a);
	else
		weft_select(k, 2);
	/* it holds its own: the asker may be gone */
	weft_chan_release(r->reply);
	weft_chan_release(r->done);
	free(r);
}

static struct request *
ask(weft_chan *reply, weft_chan *done, int64_t nr, enum how how)
{
	struct request *r = malloc(sizeof *r);

	*r = (struct request){
		weft_chan_retain(reply), weft_chan_retain(done), nr, how
	};
	OK(weft_try_go(respond, r) > 0);
	return r;
}

static void
check_answer(struct answer *a, int64_t nr)
{
	for (int i = 0; i < WORDS; i++)
		EQ(a->words[i], nr * WORDS + i);
}

static void
one_request(int64_t nr, enum how how, size_t cap)
{
	weft_chan *reply = weft_chan_make(sizeof(struct answer), cap);
	weft_chan *done = weft_chan_make(0, 0);
	struct answer a;

	memset(&a, 0xee, sizeof a);
	ask(reply, done, nr, how);
	if (how == CANCELLED) {
		if (nr % 2)
			weft_yield();
		weft_chan_close(done);
		if (weft_chan_try_recv(reply, &a))
			check_answer(&a, nr);
	} else {
		OK(weft_recv_ok(reply, &a));
		check_answer(&a, nr);
	}
	weft_chan_release(reply);
	weft_chan_release(done);
}

static void
asker(int64_t first, long n, weft_waitgroup *ended)
{
	for (int64_t i = first; i < first + n; i++)
		one_request(i, (enum how)(i % HOWS), (size_t)i / 5 % 2);
	weft_waitgroup_done(ended);
}

static void
conversation(int askers)
{
	weft_waitgroup ended = {0};
	long each = t_scale(60000) / askers + 1;

	weft_waitgroup_add(&ended, askers);
	for (int i = 0; i < askers; i++)
		OK(weft_try_go(asker, i * (int64_t)each, each, &ended) > 0);
	weft_waitgroup_wait(&ended);
	/* no goroutine is left behind, whichever was cancelled */
	while (weft_goroutines() > 1)
		weft_yield();
}

GTEST(conversation_on_1, 1) { conversation(100); }
GTEST(conversation_on_2, 2) { conversation(100); }
GTEST(conversation_on_4, 4) { conversation(10); }
GTEST(conversation_on_8, 8) { conversation(100); }

/* ---- the first of several answers is taken, the others are cancelled ---- */

static void
race_of_answers(int64_t nr)
{
	weft_chan *reply = weft_chan_make(sizeof(struct answer), 0);
	weft_chan *done = weft_chan_make(0, 0);
	struct answer a;
	int64_t got;

	for (int i = 0; i < 5; i++)
		ask(reply, done, nr * 5 + i, SELECT);
	OK(weft_recv_ok(reply, &a));
	got = a.words[0] / WORDS;
	OK(got >= nr * 5 && got < nr * 5 + 5);
	check_answer(&a, got);
	weft_chan_close(done);
	weft_chan_release(reply);
	weft_chan_release(done);
}

static void
races(void)
{
	for (long i = t_scale(8000); i > 0; i--)
		race_of_answers(i);
	while (weft_goroutines() > 1)
		weft_yield();
}

GTEST(first_answer_on_1, 1) { races(); }
GTEST(first_answer_on_2, 2) { races(); }
GTEST(first_answer_on_4, 4) { races(); }
