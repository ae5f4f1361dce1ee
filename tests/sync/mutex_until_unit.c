/* SPDX-License-Identifier: MIT */
/*
 * The word of a mutex when a waiter gives up, step by step on one processor. A
 * goroutine whose context is cancelled cannot be claimed from then on, but
 * gives up only when it runs: at the next yield of main.
 */
#include "mutex.h"

#include <errno.h>

#include "t.h"

struct waiting {
	weft_mutex m;
	weft_context *ctx;
	int got, gave_up;
};

static void
lock_limited(struct waiting *w)
{
	if (weft_mutex_lock_context(&w->m, w->ctx))
		w->got++;
	else
		w->gave_up++;
}

static void
lock_plain(struct waiting *w)
{
	weft_mutex_lock(&w->m);
	w->got++;
}

static void
yields(int n)
{
	while (n-- > 0)
		weft_yield();
}

static void
await_state(struct waiting *w, uint32_t state)
{
	while (w->m.state_ != state)
		weft_yield();
}

static void
let_starve(void)
{
	int64_t end = weft_deadline(2 * WEFT_MS);

	while (weft_now() < end)
		;
}

/* Main has the mutex; the others queue in this order. */
static void
queue_up(struct waiting *w, void (*first)(struct waiting *),
    void (*second)(struct waiting *))
{
	w->ctx = weft_context_make(NULL);
	weft_mutex_lock(&w->m);
	weft_go(first, w);
	await_state(w, MUTEX_LOCKED | MUTEX_ONE);
	if (!second)
		return;
	weft_go(second, w);
	await_state(w, MUTEX_LOCKED | 2 * MUTEX_ONE);
}

/* The first becomes runner-up, loses after a millisecond, and starves. */
static void
make_starve(struct waiting *w, uint32_t queued)
{
	let_starve();
	weft_mutex_unlock(&w->m);
	EQ(w->m.state_, MUTEX_WOKEN | (queued - 1) * MUTEX_ONE);
	OK(weft_mutex_try_lock(&w->m));
	await_state(w, MUTEX_LOCKED | MUTEX_STARVING | queued * MUTEX_ONE);
}

GTEST(alone_in_the_queue, 1)
{
	struct waiting w = {0};

	queue_up(&w, lock_limited, NULL);
	weft_context_cancel(w.ctx, 0);
	yields(10);
	EQ(w.gave_up, 1);
	EQ(w.m.state_, MUTEX_LOCKED);
	weft_mutex_unlock(&w.m);
	EQ(w.m.state_, 0);
	weft_context_release(w.ctx);
}

/* The unlocker finds one that it cannot claim, and none behind it. */
GTEST(unlocked_before_it_leaves, 1)
{
	struct waiting w = {0};

	queue_up(&w, lock_limited, NULL);
	weft_context_cancel(w.ctx, 0);
	EQ(w.m.state_, MUTEX_LOCKED | MUTEX_ONE);
	weft_mutex_unlock(&w.m);
	EQ(w.m.state_, 0);
	yields(10);
	EQ(w.gave_up, 1);
	EQ(w.m.state_, 0);
	weft_context_release(w.ctx);
}

/* The same, and one behind it, which gets the token. */
GTEST(unlocked_for_the_next, 1)
{
	struct waiting w = {0};

	queue_up(&w, lock_limited, lock_plain);
	weft_context_cancel(w.ctx, 0);
	weft_mutex_unlock(&w.m);
	EQ(w.m.state_, MUTEX_WOKEN);
	yields(10);
	EQ(w.gave_up, 1);
	EQ(w.got, 1);
	EQ(w.m.state_, MUTEX_LOCKED);
	weft_context_release(w.ctx);
}

/* One that was claimed before, and finds it free, has it. */
GTEST(woken_and_cancelled, 1)
{
	struct waiting w = {0};

	queue_up(&w, lock_limited, NULL);
	weft_mutex_unlock(&w.m);
	EQ(w.m.state_, MUTEX_WOKEN);
	weft_context_cancel(w.ctx, 0);
	yields(10);
	EQ(w.got, 1);
	EQ(w.m.state_, MUTEX_LOCKED);
	weft_context_release(w.ctx);
}

/* A runner-up that loses and is cancelled passes the token back. */
GTEST(the_runner_up_gives_up, 1)
{
	struct waiting w = {0};

	queue_up(&w, lock_limited, lock_plain);
	weft_mutex_unlock(&w.m);
	OK(weft_mutex_try_lock(&w.m));
	EQ(w.m.state_, MUTEX_LOCKED | MUTEX_WOKEN | MUTEX_ONE);
	weft_context_cancel(w.ctx, 0);
	yields(10);
	EQ(w.gave_up, 1);
	EQ(w.got, 0);
	/* On a slow machine it may have starved before. */
	EQ(w.m.state_ & ~(uint32_t)MUTEX_STARVING, MUTEX_LOCKED | MUTEX_ONE);
	weft_mutex_unlock(&w.m);
	yields(10);
	EQ(w.got, 1);
	EQ(w.m.state_, MUTEX_LOCKED);
	weft_context_release(w.ctx);
}

/* The last of a starving mutex takes STARVING with it. */
GTEST(the_last_that_starves, 1)
{
	struct waiting w = {0};

	queue_up(&w, lock_limited, NULL);
	make_starve(&w, 1);
	weft_context_cancel(w.ctx, 0);
	yields(10);
	EQ(w.gave_up, 1);
	EQ(w.m.state_, MUTEX_LOCKED);
	weft_mutex_unlock(&w.m);
	OK(weft_mutex_try_lock(&w.m));
	weft_context_release(w.ctx);
}

/* The hand-off comes first, to one that cannot be claimed; it is the last. */
GTEST(no_hand_off_to_the_last, 1)
{
	struct waiting w = {0};

	queue_up(&w, lock_limited, NULL);
	make_starve(&w, 1);
	weft_context_cancel(w.ctx, 0);
	weft_mutex_unlock(&w.m);
	EQ(w.m.state_, 0);
	OK(weft_mutex_try_lock(&w.m));
	yields(10);
	EQ(w.gave_up, 1);
	EQ(w.m.state_, MUTEX_LOCKED);
	weft_context_release(w.ctx);
}

/* The same with one behind it, which has starved, too: it has the mutex. */
GTEST(hand_off_to_the_next, 1)
{
	struct waiting w = {0};

	queue_up(&w, lock_limited, lock_plain);
	make_starve(&w, 2);
	weft_context_cancel(w.ctx, 0);
	weft_mutex_unlock(&w.m);	/* and yields to it */
	EQ(w.m.state_, MUTEX_LOCKED);
	yields(10);
	EQ(w.got, 1);
	EQ(w.gave_up, 1);
	EQ(w.m.state_, MUTEX_LOCKED);
	weft_context_release(w.ctx);
}

/* A mutex between two hands: the last in the queue sets it free. */
GTEST(free_between_two_hands, 1)
{
	struct waiting w = {0};

	queue_up(&w, lock_limited, NULL);
	w.m.state_ = MUTEX_STARVING | MUTEX_ONE;
	OK(!weft_mutex_try_lock(&w.m));
	weft_context_cancel(w.ctx, 0);
	yields(10);
	EQ(w.gave_up, 1);
	EQ(w.m.state_, 0);
	OK(weft_mutex_try_lock(&w.m));
	weft_context_release(w.ctx);
}
