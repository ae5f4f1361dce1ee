/* SPDX-License-Identifier: MIT */
/*
 * Select: one of several channel operations.
 *
 *	1. look	without locks, at every case. If some can proceed, one of them
 *		is chosen at random and tried under its own lock.
 *	2. lock	all channels, in the order of their addresses, each once, and
 *		look again: this is the one instant that a default, a deadline,
 *		a context and the ordered forms are about.
 *	3. wait	in the queue of every case, all locks held until the sleeper is
 *		parked. One sleeper, multi-wait by all.
 *	4. dequeue the entries that are still queued, one lock at a time.
 *
 * A time that is over, or a context that is cancelled, turns the select into
 * one with a default: what can proceed at the instant of step 2 still does.
 * The timer is armed and the context watched before step 2. Either may end the
 * sleep before it begins (RACE_EARLY, waitq.h); step 3 then returns at once.
 *
 * Choosing needs no permutation: the k-th case found ready replaces the choice
 * with probability 1/k, so each of them is as likely as any other.
 *
 * In step 3 the context that follows a parking goroutine releases the locks in
 * order, reading our records, while the next owner of the first one may wake us
 * already. Step 4 takes the locks in the same order, so we cannot get past it,
 * and give up those records, before the last one was released. Only the lock
 * of the channel that won is not taken again: the claimer has had it, so it had
 * been released, with all before it; and the channel may have been freed since.
 * All other entries pin their channels until step 4 (chan.c), those of the same
 * channel in other cases, too.
 *
 * Everything is linear in the number of cases: sorting is by digits.
 */
#include "select.h"

#include <errno.h>
#include <stdlib.h>

#include "chan.h"
#include "chan_type.h"
#include "context.h"
#include "fatal.h"
#include "os.h"
#include "preempt.h"
#include "sched.h"

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
	struct select_limit limit;
	size_t other;		/* the default, or NONE; n: do not wait */

	/* one for each case with a channel, sorted by channel */
	size_t n_live;
	struct waiter *waiters;
	struct entry *order;
	struct sleeper who;
	enum race ended;	/* how the sleep ended, if it returned NONE */
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

/* WEFT_OP_SEND, or WEFT_OP_VALUE_. */
static bool
is_send(const weft_case *k)
{
	return (k->op & 3) == WEFT_OP_SEND;
}

/* The element to send, or the room for one. */
static void *
elem_of(weft_case *k)
{
	return k->op == WEFT_OP_VALUE_ ? k->value_ : k->elem;
}

static bool
can_proceed(weft_case *k)
{
	if (!k->chan)
		return false;
	return is_send(k) ? chan_can_send(k->chan) : chan_can_recv(k->chan);
}

/*
 * One that can proceed, or NONE. Exact if all locks are held; else a hint. The
 * ordered form may take a case without the locks only if all before it have no
 * channel.
 */
static size_t
choose(struct select *s, bool locked)
{
	size_t choice = NONE;
	uint32_t found = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (!can_proceed(&s->cases[i])) {
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

/* Its lock held. True if it was done; *wake is then the partner, or NULL. */
static bool
perform(weft_case *k, struct waiter **wake)
{
	k->ok = is_send(k);
	if (k->ok)
		return chan_send_locked(k->chan, elem_of(k), wake);
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
 * A partner takes the first waiter of the queue: cases of the same channel must
 * not always be queued in the same order.
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

/* After the release of the last lock *s may be gone: its sleeper may run. */
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

/* With no locks nothing keeps the sleeper's record alive. */
static void
no_locks(void *gone)
{
	(void)gone;
}

/* ---- waiting ---- */

static struct waitq *
queue_of(const weft_case *k)
{
	return is_send(k) ? &k->chan->senders : &k->chan->receivers;
}

/* All locks held. */
static void
enqueue(struct select *s)
{
	for (size_t i = 0; i < s->n_live; i++) {
		weft_case *k = &s->cases[s->order[i].index];
		struct waiter *w = &s->waiters[i];

		w->who = &s->who;
		w->elem = elem_of(k);
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
 * No lock held. Removes all entries but `won`, whose channel is not touched if
 * it is in no other case: see the head.
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

/*
 * All locks held, released on return. The index, or NONE: the time or the
 * context ended the sleep.
 */
static size_t
wait_for_one(struct select *s)
{
	struct waiter *w = NULL;
	size_t index = NONE;

	enqueue(s);
	s->ended = sleeper_sleep_with(&s->who,
	    s->n_live ? unlock_all : no_locks, s, WAIT_SELECT);
	if (s->ended == RACE_CLAIMED)
		w = s->who.won;
	dequeue(s, w);
	if (w) {
		struct entry *e = &s->order[w - s->waiters];
		weft_case *k = &s->cases[e->index];

		index = e->index;
		k->ok = w->ok;
		if (!w->ok && is_send(k))
			chan_fatal_closed();
		if (!w->ok)
			elem_put(k->elem, NULL, e->elem_bytes);
	}
	return index;
}

/*
 * Steps 2 to 4. NONE if none could proceed at that instant and there is a
 * default, or until the sleep was ended.
 */
static size_t
lock_and_wait(struct select *s)
{
	struct waiter *wake = NULL;
	size_t i;

	lock_all(s);
	/*
	 * A partner may turn out to be claimed elsewhere; its entry is then
	 * removed from the queue, so this ends.
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

/* Fills in the cases that have a channel, sorted by that. */
static void
sort(struct select *s)
{
	s->n_live = 0;
	for (size_t i = 0; i < s->n; i++)
		if (s->cases[i].chan)
			s->order[s->n_live++] = (struct entry){
			    s->cases[i].chan, (uint32_t)i,
			    s->cases[i].chan->elem_bytes };
	if (s->n_live <= SORT_FEW)
		sort_few(s->order, s->n_live);
	else
		sort_many(s->order, s->n_live);
	if (!s->ordered)
		mix_equals(s);
}

/* In memory for n cases. */
static size_t
sort_and_wait(struct select *s, struct waiter *waiters, struct entry *order)
{
	weft_context *ctx = s->other == NONE ? s->limit.ctx : NULL;
	struct watch watch;
	size_t i;

	s->waiters = waiters;
	s->order = order;
	sort(s);
	sleeper_init(&s->who);
	if (s->other == NONE)
		sleeper_arm(&s->who, s->limit.when);
	if (unlikely(ctx) && context_watch(ctx, &watch, &s->who) != 0) {
		s->ended = RACE_CANCELLED;
		s->other = s->n;
	}
	i = lock_and_wait(s);
	if (unlikely(ctx))
		context_unwatch(ctx, &watch);
	sleeper_disarm(&s->who);
	return i;
}

static noinline size_t
settle_few(struct select *s)
{
	struct waiter waiters[FEW];
	struct entry order[FEW];

	return sort_and_wait(s, waiters, order);
}

/* *enomem: memory is refused. */
static cold size_t
settle_many(struct select *s, bool *enomem)
{
	struct waiter *waiters = malloc(s->n * sizeof *waiters);
	struct entry *order = malloc(2 * s->n * sizeof *order);
	size_t i = NONE;

	if (waiters && order)
		i = sort_and_wait(s, waiters, order);
	else
		*enomem = true;
	free(waiters);
	free(order);
	return i;
}

/* ---- limits ---- */

/*
 * Is the time over, or the context cancelled, before the select has waited?
 * Then it does not wait, and this is the reason if none can proceed.
 */
static bool
over(struct select *s)
{
	s->ended = RACE_OPEN;
	if (s->limit.when != NEVER_NS && s->limit.when <= os_now_ns())
		s->ended = RACE_EXPIRED;
	else if (s->limit.ctx && weft_context_error(s->limit.ctx))
		s->ended = RACE_CANCELLED;
	return s->ended != RACE_OPEN;
}

/*
 * A plain thread sleeps until the earlier of both times itself; whichever it
 * was is the reason.
 */
static int
reason(const struct select *s)
{
	if (s->ended == RACE_CANCELLED ||
	    weft_context_deadline(s->limit.ctx) < s->limit.when)
		return SELECT_CONTEXT;
	return SELECT_TIMEOUT;
}

/* ---- the public forms ---- */

static void
check_type(weft_case *k)
{
	struct converted tmp;

	if (!k->type_ || type_fits(k->chan, k->type_))
		return;
	if (k->op == WEFT_OP_VALUE_) {
		if (type_convert_slow(k->chan, k->value_, k->type_, &tmp) ==
		    &tmp)
			k->value_[0] = tmp.value;
		k->type_ = k->chan->type;
		return;
	}
	type_check_slow(k->chan, k->type_,
	    is_send(k) ? "sent on" : "received from");
}

/* Checks what the caller wrote. The index of the default, or NONE. */
static size_t
check_cases(weft_case *cases, size_t n)
{
	size_t other = NONE;

	if (n > CASES_MAX)
		fatal("select: %zu cases, more than %d", n, CASES_MAX);
	for (size_t i = 0; i < n; i++) {
		weft_case *k = &cases[i];

		if (k->op == WEFT_OP_DEFAULT) {
			if (other != NONE)
				fatal("select: two defaults");
			other = i;
			k->chan = NULL;
		} else if (!is_send(k) && k->op != WEFT_OP_RECV) {
			fatal("select: case %zu has no operation", i);
		} else if (k->chan) {
			check_type(k);
		}
	}
	return other;
}

int
select_case(weft_case *cases, size_t n, bool ordered,
    struct select_limit limit)
{
	struct select s;
	bool enomem = false;
	size_t i;

	checkpoint();
	s.cases = cases;
	s.n = n;
	s.ordered = ordered;
	s.limit.when = limit.when ? limit.when : NEVER_NS;
	s.limit.ctx = limit.ctx;
	s.other = check_cases(cases, n);
	for (int look = 0; look < LOOKS; look++) {
		i = choose(&s, false);
		if (i == NONE)
			break;
		if (try_one(&cases[i]))
			return (int)i;
	}
	if (s.other == NONE && over(&s))
		s.other = n;		/* a default of our own */
	if (s.other != NONE)
		for (i = 0; i < n; i++)
			if (cases[i].chan && cases[i].op == WEFT_OP_RECV)
				chan_run_timers(cases[i].chan);
	i = n <= FEW ? settle_few(&s) : settle_many(&s, &enomem);
	if (i == NONE && enomem)
		return SELECT_ENOMEM;
	if (i == NONE && s.other < n)
		i = s.other;
	return i == NONE ? reason(&s) : (int)i;
}

static int
select_errno(weft_case *cases, size_t n, bool ordered,
    struct select_limit limit)
{
	int i = select_case(cases, n, ordered, limit);

	switch (i) {
	case SELECT_TIMEOUT:
		return -ETIMEDOUT;
	case SELECT_CONTEXT:
		return weft_context_error(limit.ctx);
	case SELECT_ENOMEM:
		return -ENOMEM;
	default:
		return i;
	}
}

public int
weft_select(weft_case *cases, size_t n)
{
	return select_errno(cases, n, false, NO_LIMIT);
}

public int
weft_select_until(weft_case *cases, size_t n, int64_t when)
{
	return select_errno(cases, n, false, UNTIL(when));
}

public int
weft_select_context(weft_case *cases, size_t n, weft_context *ctx)
{
	return select_errno(cases, n, false, CONTEXT(ctx));
}

public int
weft_select_ordered(weft_case *cases, size_t n)
{
	return select_errno(cases, n, true, NO_LIMIT);
}

public int
weft_select_ordered_until(weft_case *cases, size_t n, int64_t when)
{
	return select_errno(cases, n, true, UNTIL(when));
}

public int
weft_select_ordered_context(weft_case *cases, size_t n, weft_context *ctx)
{
	return select_errno(cases, n, true, CONTEXT(ctx));
}
