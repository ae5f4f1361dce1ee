/* SPDX-License-Identifier: MIT */
/* How long goroutines are runnable before they run: see the header. */
#include "latency.h"

#include "next.h"
#include "os.h"
#include "sched.h"

enum {
	SLOTS = 256,
	SHARDS = 8,
	FROM_MIN = 64,		/* about; see the header */
	RATE_MAX = 3
};

static const int64_t too_often_ns = 50000, too_rare_ns = 400000;

/* Since when a timed goroutine is runnable. */
static struct slot {
	APTR(struct g) owner;	/* NULL: free */
	a64 since;		/* the owner's, in ns */
} slots[SLOTS];

/* Ps count in different cache lines, unless there are more than shards. */
static struct shard {
	a64 buckets[LATENCY_BUCKETS];
	a64 sum_ns;
} cache_aligned shards[SHARDS];

/* ---- buckets ---- */

/* Four for each power of two: the two bits after the first one say which. */
uint32_t
latency_bucket(int64_t ns)
{
	uint32_t bits, sub;

	if (ns < INT64_C(1) << LATENCY_MIN_BITS)
		return 0;
	if (ns >= INT64_C(1) << LATENCY_MAX_BITS)
		return LATENCY_BUCKETS - 1;
	bits = 63 - (uint32_t)__builtin_clzll((uint64_t)ns);
	sub = (uint32_t)(ns >> (bits - 2)) & (LATENCY_SUB - 1);
	return 1 + (bits - LATENCY_MIN_BITS) * LATENCY_SUB + sub;
}

int64_t
latency_bound_ns(uint32_t bucket)
{
	uint32_t bits = LATENCY_MIN_BITS + bucket / LATENCY_SUB;
	uint32_t sub = bucket % LATENCY_SUB;

	if (bucket >= LATENCY_BUCKETS - 1)
		return INT64_MAX;
	return (INT64_C(1) << bits) + (INT64_C(1) << (bits - 2)) * sub;
}

/* ---- choosing ---- */

/* How many chances pass until the next choice: 4 ^ rate on average. Random,
 * so that no rhythm of the program decides which goroutines are chosen. */
static uint32_t
distance(struct p *pp)
{
	return 1 + rand_below(&pp->rand, (2u << 2 * pp->latency.rate) - 1);
}

/* What a goroutine that is chosen at this rate is marked with. */
static uint8_t
mark(const struct p *pp)
{
	return (uint8_t)(HOLD_TIMED | pp->latency.rate << HOLD_RATE_SHIFT);
}

static uint64_t
weight(uint8_t hold)
{
	return (uint64_t)FROM_MIN << 2 * (hold >> HOLD_RATE_SHIFT);
}

static void
rearm_newborn(struct p *pp)
{
	pp->gs.timed_in = distance(pp);
	pp->gs.timed_hold = mark(pp);
}

void
latency_init(struct p *pp)
{
	rearm_newborn(pp);
	pp->latency.skip = distance(pp);
	pp->latency.mark = mark(pp);
}

/* A turn of the global queue may come sooner than after 61 switches. */
static uint8_t
chance(struct p *pp)
{
	uint64_t switches = a_load_relaxed(&pp->stats.switches);
	uint8_t was;

	if (switches - pp->latency.at < GLOBAL_EVERY)
		return 0;
	pp->latency.at = switches;
	if (--pp->latency.skip)
		return 0;
	was = pp->latency.mark;
	pp->latency.skip = distance(pp);
	pp->latency.mark = mark(pp);
	return was;
}

static void
choose(struct p *pp, struct g *gp)
{
	uint8_t bits = chance(pp);

	if (bits)
		a_or_relaxed(&gp->hold, bits);
}

void
latency_choose(struct p *pp)
{
	struct g *gp = m_g(m_self());

	if (gp && a_load_relaxed(&gp->state) == G_WAITING)
		choose(pp, gp);
}

void
latency_choose_preempted(struct p *pp, struct g *gp)
{
	choose(pp, gp);
}

/* ---- samples ---- */

static struct slot *
slot_of(const struct g *gp)
{
	uint64_t x = (uintptr_t)gp / sizeof *gp * 0x9e3779b97f4a7c15u;

	return &slots[x >> 56];
}

/* To have a sample every 50 to 400 us. */
static void
adapt(struct p_latency *l, int64_t now)
{
	int64_t gap = now - l->last;

	if (gap < too_often_ns && l->rate < RATE_MAX)
		l->rate++;
	else if (gap > too_rare_ns && l->rate > 0)
		l->rate--;
	l->last = now;
}

/* The P of the calling thread, if it may use one now. */
static struct p *
own_p(void)
{
	struct m *mp = m_self();

	return mp && a_load_relaxed(&mp->inside) ? m_p(mp) : NULL;
}

static void
unmark(struct g *gp)
{
	a_and_relaxed(&gp->hold, (uint8_t)~HOLD_TIMED_BITS);
}

static void
take_time(struct p *pp, struct g *gp)
{
	struct slot *s = slot_of(gp);
	int64_t now;

	/* pairs with latency_sample: the last owner has read its time */
	if (!a_cas_acq(&s->owner, NULL, gp)) {
		unmark(gp);
		return;
	}
	now = os_now_ns();
	a_store_relaxed(&s->since, (uint64_t)now);
	if (pp)
		adapt(&pp->latency, now);
}

/* It has a hold, or is not in that state. */
void
make_runnable_slow(struct g *gp, enum gstate from)
{
	struct p *pp = own_p();

	if (a_load_relaxed(&gp->hold) & HOLD_TIMED)
		take_time(pp, gp);
	if (pp && !pp->gs.timed_in)
		rearm_newborn(pp);
	g_set(gp, from, G_RUNNABLE);
}

/* gp got here through a queue, from the thread that took the time. */
void
latency_sample(struct p *pp, struct g *gp)
{
	struct slot *s = slot_of(gp);
	struct shard *h = &shards[pp->id % SHARDS];
	uint64_t n = weight(a_load_relaxed(&gp->hold));
	int64_t ns;

	unmark(gp);
	if (a_load_relaxed(&s->owner) != gp)
		return;
	ns = os_now_ns() - (int64_t)a_load_relaxed(&s->since);
	a_store_rel(&s->owner, NULL);	/* pairs with take_time */
	a_add_relaxed(&h->buckets[latency_bucket(ns)], n);
	a_add_relaxed(&h->sum_ns, n * (uint64_t)ns);
}

void
latency_read(struct latency *out)
{
	*out = (struct latency){0};
	for (uint32_t i = 0; i < SHARDS; i++) {
		out->sum_ns += a_load_relaxed(&shards[i].sum_ns);
		for (uint32_t b = 0; b < LATENCY_BUCKETS; b++)
			out->buckets[b] +=
			    a_load_relaxed(&shards[i].buckets[b]);
	}
}
