/* SPDX-License-Identifier: MIT */
/*
 * Select: one of several channel operations.
 *
 *	1. look	without locks, at every case. If some can go on, one of them is
 *		chosen at random and tried under its own lock.
 *	2. lock	all channels, in the order of their addresses, each once, and
 *		look again: this is the one instant that a default, a deadline
 *		and the ordered forms speak of.
 *	3. wait	in the queue of every case, all locks held until the sleeper is
 *		parked. One sleeper, multi-wait by all.
 *	4. leave the queues it still stands in, one lock at a time.
 *
 * Choosing needs no permutation: the k-th case found ready replaces the choice
 * with probability 1/k, so each of them is as likely as any other.
 *
 * In step 3 the context that follows a parking goroutine releases the locks in
 * order, reading our records, while somebody who got the first one may wake us
 * already. Step 4 takes the locks in that order, too, so we cannot get past it,
 * and give up those records, before the last one was released. Only the lock
 * of the channel that won is not taken again: who claimed us had it, so it had
 * been released, with all before it; and he may have freed the channel since.
 * All other places pin their channels until step 4 (chan.c), those of the same
 * channel in other cases, too.
 *
 * Everything is linear in the number of cases: sorting is by digits.
 */
#include <errno.h>
#include <stdlib.h>

#include "chan.h"
#include "fatal.h"
#include "os.h"
#include "preempt.h"
#include "sched.h"

enum { OP_SEND = 1, OP_RECV = 2, OP_DEFAULT = 3 };

enum {
	FEW = 16,		/* cases whose records fit on the stack */
	SORT_FEW = 48,
	CASES_MAX = 65536,
	LOOKS = 2		/* at choices that were gone when tried */
};

#define NONE SIZE_MAX

struct select {
	/* constant */
	weft_case *cases;
	size_t n;
	bool ordered;
	size_t other;		/* the default, or NONE */

	/* one for each case with a channel, sorted by channel */
	size_t n_live;
	struct waiter *waiters;
	struct entry *order;
	struct sleeper who;
};

struct entry {
	struct weft_chan *c;
	uint32_t index;		/* of the case */
	uint32_t elem_bytes;
};

/* ---- choosing ---- */

static uint32_t
random_below(uint32_t n)
{
	static a64 others = { 1 };
	struct m *mp = m_self();
	uint32_t was = mp ? rt_enter(mp) : 0, r;
	struct rand own;

	if (mp && m_p(mp)) {
		r = rand_below(&m_p(mp)->rand, n);
	} else {
		rand_seed(&own, a_add_relaxed(&others, 1));
		r = rand_below(&own, n);
	}
	if (mp)
		rt_leave(mp, was);
	return r;
}

static bool
can_go_on(weft_case *k)
{
	if (!k->chan)
		return false;
	return k->op_ == OP_SEND ? chan_can_send(k->chan) :
	    chan_can_recv(k->chan);
}

/*
 * One that can go on, or NONE. Exact if all locks are held; else a hint. A
 * single look is enough for the ordered form only if nothing comes before.
 */
static size_t
choose(struct select *s, bool locked)
{
	size_t choice = NONE;
	uint32_t found = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (!can_go_on(&s->cases[i])) {
			if (s->ordered && !locked && s->cases[i].chan)
				return NONE;
			continue;
		}
		if (s->ordered)
			return i;
		if (++found == 1 || random_below(found) == 0)
			choice = i;
	}
	return choice;
}

/* Its lock held. True if it was done; *wake is who it was done with. */
static bool
perform(weft_case *k, struct waiter **wake)
{
	k->ok = k->op_ == OP_SEND;
	if (k->op_ == OP_SEND)
		return chan_send_locked(k->chan, k->elem, wake);
	return chan_recv_locked(k->chan, k->elem, &k->ok, wake);
}

static bool
try_one(weft_case *k)
{
	struct weft_chan *c = k->chan;
	struct waiter *wake;
	bool done;

	lock_take(&c->lock);
	done = perform(k, &wake);
	lock_drop(&c->lock);
	if (done && wake)
		sleeper_wake(wake->who);
	return done;
}

/* ---- all locks, in order ---- */

/* Stable, by one byte of the address. */
static void
sort_by_byte(const struct entry *from, struct entry *to, size_t n, int shift)
{
	uint32_t start[256] = {0}, sum = 0;

	for (size_t i = 0; i < n; i++)
		start[(uintptr_t)from[i].c >> shift & 255]++;
	for (int b = 0; b < 256; b++) {
		uint32_t count = start[b];

		start[b] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[start[(uintptr_t)from[i].c >> shift & 255]++] = from[i];
}

/*
 * Room for n more entries follows the n. Bytes that are the same in all
 * addresses, most of them, need no pass.
 */
static void
sort_many(struct entry *e, size_t n)
{
	struct entry *from = e, *to = e + n, *swap;
	uintptr_t differ = 0;

	for (size_t i = 1; i < n; i++)
		differ |= (uintptr_t)e[i].c ^ (uintptr_t)e[0].c;
	for (int shift = 0; shift < 64; shift += 8) {
		if (!(differ >> shift & 255))
			continue;
		sort_by_byte(from, to, n, shift);
		swap = from;
		from = to;
		to = swap;
	}
	if (from != e)
		memcpy(e, from, n * sizeof *e);
}

static void
sort_few(struct entry *e, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct entry x = e[i];
		size_t j = i;

		for (; j > 0 && e[j - 1].c > x.c; j--)
			e[j] = e[j - 1];
		e[j] = x;
	}
}

static bool
first_of_its(const struct select *s, size_t i)
{
	return i == 0 || s->order[i - 1].c != s->order[i].c;
}

/*
 * Who comes to a channel takes the first waiter: cases of the same channel
 * must not always stand there in the same order.
 */
static void
mix_equals(struct select *s)
{
	size_t first = 0;

	for (size_t i = 1; i < s->n_live; i++) {
		struct entry *a = &s->order[i], *b, x;

		if (first_of_its(s, i)) {
			first = i;
			continue;
		}
		b = &s->order[first + random_below((uint32_t)(i - first + 1))];
		x = *a;
		*a = *b;
		*b = x;
	}
}

static void
lock_all(struct select *s)
{
	for (size_t i = 0; i < s->n_live; i++) {
		if (i == 0)
			lock_take(&s->order[0].c->lock);
		else if (first_of_its(s, i))
			lock_take_peer(&s->order[i].c->lock);
	}
}

/*
 * The last one's release may be the end of *s: its sleeper may be on its way.
 */
static void
unlock_all(void *arg)
{
	struct select *s = arg;
	struct weft_chan *c = NULL;

	for (size_t i = 0, n = s->n_live; i < n; i++) {
		struct weft_chan *next = s->order[i].c;

		if (c && next != c)
			lock_drop_peer(&c->lock);
		c = next;
	}
	if (c)
		lock_drop(&c->lock);
}

/* With no locks nothing keeps the sleeper from having left. */
static void
no_locks(void *gone)
{
	(void)gone;
}

/* ---- waiting ---- */

static struct waitq *
queue_of(const weft_case *k)
{
	return k->op_ == OP_SEND ? &k->chan->senders : &k->chan->receivers;
}

/* All locks held. */
static void
enqueue(struct select *s)
{
	for (size_t i = 0; i < s->n_live; i++) {
		weft_case *k = &s->cases[s->order[i].index];
		struct waiter *w = &s->waiters[i];

		w->who = &s->who;
		w->elem = k->elem;
		waitq_push(queue_of(k), w);
		chan_pin(k->chan);
	}
}

static bool
last_of_its(const struct select *s, size_t i)
{
	return i + 1 == s->n_live || first_of_its(s, i + 1);
}

/*
 * No lock held. Leaves all queues but that of `won`, if its channel stands in
 * no other case: see the head.
 */
static void
dequeue(struct select *s, const struct waiter *won)
{
	for (size_t i = 0; i < s->n_live; i++) {
		struct waiter *w = &s->waiters[i];
		struct weft_chan *c = s->order[i].c;

		if (w == won && first_of_its(s, i) && last_of_its(s, i))
			continue;
		if (first_of_its(s, i))
			lock_take(&c->lock);
		if (w->queued)
			waitq_remove(queue_of(&s->cases[s->order[i].index]),
			    w);
		if (w != won)
			chan_unpin(c);
		if (last_of_its(s, i))
			chan_unlock(c);
	}
}

/* All locks held, released on return. The index, or NONE: the time is up. */
static size_t
wait_for_one(struct select *s)
{
	struct waiter *w = NULL;
	size_t index = NONE;

	enqueue(s);
	if (sleeper_sleep_with(&s->who, s->n_live ? unlock_all : no_locks, s,
	    WAIT_SELECT) == RACE_CLAIMED)
		w = s->who.won;
	dequeue(s, w);
	if (w) {
		struct entry *e = &s->order[w - s->waiters];
		weft_case *k = &s->cases[e->index];

		index = e->index;
		k->ok = w->ok;
		if (!w->ok && k->op_ == OP_SEND)
			chan_fatal_closed();
		if (!w->ok)
			elem_put(k->elem, NULL, e->elem_bytes);
	}
	return index;
}

/*
 * Steps 2 to 4. NONE if none could go on at that instant and there is a
 * default, or until the sleeper's time is up.
 */
static size_t
lock_and_wait(struct select *s)
{
	struct waiter *wake = NULL;
	size_t i;

	lock_all(s);
	/*
	 * A partner may turn out to be claimed elsewhere, which leaves the
	 * queue shorter: so this ends.
	 */
	do
		i = choose(s, true);
	while (i != NONE && !perform(&s->cases[i], &wake));
	if (i == NONE && s->other == NONE)
		return wait_for_one(s);
	unlock_all(s);
	if (i != NONE && wake)
		sleeper_wake(wake->who);
	return i;
}

/* Fills in the sorted cases, in memory for n of them. */
static size_t
sort_and_wait(struct select *s, struct waiter *waiters, struct entry *order,
    int64_t when)
{
	size_t i;

	s->waiters = waiters;
	s->order = order;
	s->n_live = 0;
	for (i = 0; i < s->n; i++)
		if (s->cases[i].chan)
			s->order[s->n_live++] = (struct entry){
			    s->cases[i].chan, (uint32_t)i,
			    s->cases[i].chan->elem_bytes };
	if (s->n_live <= SORT_FEW)
		sort_few(order, s->n_live);
	else
		sort_many(order, s->n_live);
	if (!s->ordered)
		mix_equals(s);
	sleeper_init(&s->who);
	if (s->other == NONE)
		sleeper_arm(&s->who, when);
	i = lock_and_wait(s);
	sleeper_disarm(&s->who);
	return i;
}

static noinline size_t
settle_few(struct select *s, int64_t when)
{
	struct waiter waiters[FEW];
	struct entry order[FEW];

	return sort_and_wait(s, waiters, order, when);
}

/* -ENOMEM in *err if memory is refused. */
static cold size_t
settle_many(struct select *s, int64_t when, int *err)
{
	struct waiter *waiters = malloc(s->n * sizeof *waiters);
	struct entry *order = malloc(2 * s->n * sizeof *order);
	size_t i = NONE;

	if (waiters && order)
		i = sort_and_wait(s, waiters, order, when);
	else
		*err = -ENOMEM;
	free(waiters);
	free(order);
	return i;
}

/* ---- the public forms ---- */

/* Looks at what the caller wrote. The number of the default, or NONE. */
static size_t
check_cases(weft_case *cases, size_t n)
{
	size_t other = NONE;

	if (n > CASES_MAX)
		fatal("select: %zu cases, more than %d", n, CASES_MAX);
	for (size_t i = 0; i < n; i++) {
		weft_case *k = &cases[i];

		if (k->op_ == OP_DEFAULT) {
			if (other != NONE)
				fatal("select: two defaults");
			other = i;
			k->chan = NULL;
		} else if (k->op_ != OP_SEND && k->op_ != OP_RECV) {
			fatal("select: case %zu is none", i);
		} else if (k->chan) {
			chan_check_size(k->chan, k->bytes_);
		}
	}
	return other;
}

static int
select_any(weft_case *cases, size_t n, bool ordered, int64_t when)
{
	bool poll = when != NEVER_NS && when <= os_now_ns();
	struct select s;
	size_t i;
	int err = -ETIMEDOUT;

	checkpoint();
	s.cases = cases;
	s.n = n;
	s.ordered = ordered;
	s.other = check_cases(cases, n);
	for (int look = 0; look < LOOKS; look++) {
		i = choose(&s, false);
		if (i == NONE)
			break;
		if (try_one(&cases[i]))
			return (int)i;
	}
	if (s.other == NONE && poll)
		s.other = n;		/* a default of our own */
	if (s.other != NONE)
		for (i = 0; i < n; i++)
			if (cases[i].chan && cases[i].op_ == OP_RECV)
				chan_run_timers(cases[i].chan);
	if (n <= FEW)
		i = settle_few(&s, when);
	else
		i = settle_many(&s, when, &err);
	if (i == NONE && s.other < n && err != -ENOMEM)
		i = s.other;
	return i == NONE ? err : (int)i;
}

public int
weft_select(weft_case *cases, size_t n)
{
	return select_any(cases, n, false, NEVER_NS);
}

public int
weft_select_until(weft_case *cases, size_t n, int64_t when)
{
	return select_any(cases, n, false, when);
}

public int
weft_select_ordered(weft_case *cases, size_t n)
{
	return select_any(cases, n, true, NEVER_NS);
}

public int
weft_select_ordered_until(weft_case *cases, size_t n, int64_t when)
{
	return select_any(cases, n, true, when);
}

static int
one_until(weft_case k, int64_t when)
{
	int i = select_any(&k, 1, false, when);

	return i < 0 ? i : k.ok;
}

public int
weft_chan_send_until(weft_chan *c, const void *v, int64_t when)
{
	return one_until((weft_case){ c, (void *)(uintptr_t)v, (size_t)-1,
	    OP_SEND, false }, when);
}

public int
weft_chan_recv_until(weft_chan *c, void *v, int64_t when)
{
	return one_until((weft_case){ c, v, (size_t)-1, OP_RECV, false },
	    when);
}
