/* SPDX-License-Identifier: MIT */
/*
 * The token bucket, as one word: `full`, the time at which the bucket is full
 * if nothing more is taken. (The generic cell rate algorithm of ATM.) With d
 * as the time in which a token comes,
 *
 *	tokens in it at time t = burst - max(0, full - t) / d
 *
 * which may be negative: tokens are taken before they are there. Zero, the
 * beginning of the clock, is a full bucket.
 *
 * A caller that takes n tokens at time t moves `full` to
 *
 *	end = max(full, t) + n * d
 *
 * by compare-and-swap, and may use them from end - burst * d on, when the
 * bucket has no debt any more. `full` only grows, but for what is given back,
 * so of two callers the one whose step came first has the earlier time: that
 * is the queue, and there is no other. A caller that sleeps just sleeps; it is
 * in nobody's way, and nobody wakes it.
 *
 * A caller that gives up before its time gives its tokens back by moving
 * `full` from its own end to where it was, if it is still at that end. If
 * another caller came after it the tokens are lost: that one's time is settled,
 * and a newcomer that was given the same time would exceed the burst. So a
 * caller that cannot wait for its time takes nothing in the first place.
 *
 * Rejected: a queue in which only the first sleeps until its tokens are there.
 * It loses no tokens, but reserve would have to overtake it, or to wait.
 *
 * Times are in units of 1/64 ns, so that d is precise for high rates; 64 bits
 * hold nine years of uptime. Times of more than two years are taken for that
 * long: a token that comes later than that does not come. All is relaxed: the
 * word guards no other memory.
 */
#include "atomic.h"
#include "defs.h"
#include "fatal.h"
#include "hard.h"
#include "os.h"
#include "preempt.h"
#include "weft/extra.h"

enum { UNITS = 64 };			/* of time, a nanosecond */
#define LONGEST ((double)(UINT64_C(1) << 62))	/* that is reckoned with */
#define FULL_MAX (UINT64_C(1) << 63)

struct limiter {
	/* constant */
	double rate;
	uint64_t burst;
	/* any thread, atomic */
	a64 full;
};
_Static_assert(sizeof(struct limiter) == sizeof(weft_limiter), "extra.h");
_Static_assert(_Alignof(struct limiter) == _Alignof(weft_limiter), "extra.h");

/* What a caller was given. */
struct grant {
	int64_t when;		/* it may go on; WEFT_NEVER: nothing taken */
	uint64_t end, cost;	/* in units: `full` after it, and its part */
};

static struct limiter *
inner(weft_limiter *l)
{
	return (struct limiter *)(void *)l;
}

/* The time in which n tokens come, in units, or LONGEST. */
static uint64_t
time_of(const struct limiter *l, uint64_t n)
{
	double t = (double)n * ((double)UNITS * 1e9 / l->rate) + 0.5;

	return (uint64_t)(t < LONGEST ? t : LONGEST);
}

static uint64_t
burst_of(const struct limiter *l)
{
	return l->burst ? l->burst : 1;
}

/* When the tokens up to that end are there, in ns, rounded up. */
static int64_t
ready_at(const struct limiter *l, uint64_t end)
{
	uint64_t depth = time_of(l, burst_of(l));

	return end > depth ? (int64_t)((end - depth + UNITS - 1) / UNITS) : 0;
}

static void
check_rate(const struct limiter *l)
{
	if (!(l->rate >= 0))
		fatal("limiter: the rate is negative or not a number");
}

/*
 * Takes n tokens if they are there now, or at `latest`. False, and nothing is
 * taken, if not.
 */
static bool
take(struct limiter *l, uint64_t n, int64_t latest, struct grant *g)
{
	int64_t now = os_now_ns();
	uint64_t full, from;

	check_rate(l);
	*g = (struct grant){ .when = now };
	if (l->rate == 0 || n == 0)
		return true;
	g->cost = time_of(l, n);
	do {
		hard_pause();
		full = a_load_relaxed(&l->full);
		from = full > (uint64_t)now * UNITS ? full :
		    (uint64_t)now * UNITS;
		g->end = from + g->cost;
		g->when = ready_at(l, g->end);
		if (g->end > FULL_MAX || (g->cost >= (uint64_t)LONGEST &&
		    (g->when > now || n > burst_of(l))))
			g->when = WEFT_NEVER;
		if (g->when == WEFT_NEVER ||
		    (g->when > now && g->when > latest))
			return false;
	} while (!a_cas_relaxed(&l->full, full, g->end));
	return true;
}

static void
give_back(struct limiter *l, const struct grant *g)
{
	a_cas_relaxed(&l->full, g->end, g->end - g->cost);
}

public void
weft_limiter_wait(weft_limiter *l, uint64_t n)
{
	struct grant g;

	checkpoint();
	take(inner(l), n, WEFT_NEVER, &g);
	weft_sleep_until(g.when);
}

public bool
weft_limiter_try_wait(weft_limiter *l, uint64_t n)
{
	struct grant g;

	checkpoint();
	return take(inner(l), n, INT64_MIN, &g);
}

public bool
weft_limiter_wait_until(weft_limiter *l, uint64_t n, int64_t when)
{
	struct grant g;

	checkpoint();
	if (when == 0)
		when = WEFT_NEVER;
	if (!take(inner(l), n, when, &g) && when != WEFT_NEVER)
		return false;
	weft_sleep_until(g.when);
	return true;
}

/*
 * The channel of a context that is cancelled is closed, which ends the wait. A
 * caller whose time has come by then has its tokens, whichever came first.
 */
public bool
weft_limiter_wait_context(weft_limiter *l, uint64_t n, weft_context *ctx)
{
	int64_t latest = weft_context_error(ctx) ? INT64_MIN :
	    weft_context_deadline(ctx);
	struct grant g;

	checkpoint();
	if (!take(inner(l), n, latest, &g) && latest != WEFT_NEVER)
		return false;
	if (g.when <= os_now_ns())
		return true;
	weft_chan_recv_until(weft_context_done(ctx), NULL, g.when);
	if (g.when <= os_now_ns())
		return true;
	if (g.when != WEFT_NEVER)
		give_back(inner(l), &g);
	return false;
}

public int64_t
weft_limiter_reserve(weft_limiter *l, uint64_t n)
{
	struct grant g;

	checkpoint();
	take(inner(l), n, WEFT_NEVER, &g);
	return g.when;
}
