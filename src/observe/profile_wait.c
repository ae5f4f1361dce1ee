/* SPDX-License-Identifier: MIT */
/*
 * Profiles of waits. A goroutine that parks reads the clock before and after,
 * while any of the profiles is on (sched/watch.h), and records its own stack
 * when it runs again, if the wait is one of the sample. It does so inside: it
 * stays on its M.
 *
 * A wait of d is recorded if d is at least the rate, and otherwise with the
 * probability d/rate, and then as rate/d waits that took `rate` together. So
 * short waits, of which there are many, cost little, and sums are right on
 * average. Waits for mutexes are recorded one of n, whatever they took.
 *
 * The stack is that of the goroutine that waited, for mutexes too. (Go blames
 * the one that unlocked. That says who held it; but a mutex of ours does not
 * know its owner, and a mutex that is held for long has its owner in the CPU or
 * the off-CPU profile.)
 *
 * A walk needs more stack than a goroutine need have left, so it uses one of a
 * few records elsewhere. If all are taken the wait is counted as lost.
 */
#include "profile_wait.h"

#include <errno.h>

#include "backtrace.h"
#include "insn.h"
#include "lock.h"
#include "m.h"
#include "module_list.h"
#include "observed.h"
#include "os.h"
#include "profile_stack.h"
#include "watch.h"

enum {
	SCRATCHES = 32,
	CALIBRATE_NS = 1000000,
	SCALE_BITS = 32
};

struct scratch {
	a32 taken;
	struct backtrace walk;
	uintptr_t pcs[PROFILE_DEPTH];
};

struct kind {
	/* any thread, atomic */
	a64 rate;		/* 0: off */
	/* under lock; constant when rate is not 0 */
	struct profile_table table;
	/* under lock */
	int64_t time_ns, start_ns;
};

static struct {
	struct lock lock;
	struct kind kind[WAITS_KINDS];
	/* under lock, constant when waits are observed */
	uint64_t ns_per_cycle;	/* scaled by 2^SCALE_BITS */
	struct scratch *scratch;
} waits = { .lock = LOCK_INIT(RANK_PROFILE) };

/* Which waits are of which kind: sets of reasons. */
#define REASON(r) (UINT32_C(1) << (r))
static const uint32_t reasons[WAITS_KINDS] = {
	[WAITS_MUTEX] = REASON(WAIT_MUTEX) | REASON(WAIT_RWMUTEX_READ) |
	    REASON(WAIT_RWMUTEX_WRITE),
	[WAITS_BLOCK] = REASON(WAIT_MUTEX) | REASON(WAIT_RWMUTEX_READ) |
	    REASON(WAIT_RWMUTEX_WRITE) | REASON(WAIT_WAITGROUP) |
	    REASON(WAIT_SEMA) | REASON(WAIT_SEND) | REASON(WAIT_RECV) |
	    REASON(WAIT_SELECT) | REASON(WAIT_COND) | REASON(WAIT_EVENT) |
	    REASON(WAIT_GROUP),
	[WAITS_OFFCPU] = ~UINT32_C(0)
};
_Static_assert(WAIT_REASONS <= 32, "sets of reasons");

/* ---- the goroutine: inside ---- */

static struct scratch *
scratch_take(void)
{
	unsigned first = (unsigned)(cpu_cycles() >> 6);

	for (unsigned i = 0; i < SCRATCHES; i++) {
		struct scratch *s = &waits.scratch[(first + i) % SCRATCHES];

		/* pairs with scratch_drop */
		if (!a_load_relaxed(&s->taken) && a_cas_acq(&s->taken, 0, 1))
			return s;
	}
	return NULL;
}

static void
scratch_drop(struct scratch *s)
{
	a_store_rel(&s->taken, 0);	/* pairs with scratch_take */
}

/* Below n, from the low bits of the clock: of no use to a gambler. */
static uint64_t
chance(uint64_t seed, uint64_t n)
{
	seed = (seed ^ seed >> 31) * UINT64_C(0x9e3779b97f4a7c15);
	seed = (seed ^ seed >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	return (seed >> 32) * (n < UINT32_MAX ? n : UINT32_MAX) >> 32;
}

/* How often a wait of ns counts, and for how long; false: it does not. */
static bool
weigh(enum profile_wait kind, uint64_t rate, uint64_t ns, uint64_t seed,
    uint64_t *count, uint64_t *sum)
{
	*count = 1;
	*sum = ns;
	if (kind == WAITS_MUTEX) {
		*count = rate;
		*sum = ns * rate;
		return chance(seed, rate) == 0;
	}
	if (ns >= rate)
		return true;
	if (!ns || chance(seed, rate) >= ns)
		return false;
	*count = rate / ns + (chance(~seed, ns) < rate % ns);
	*sum = rate;
	return true;
}

/* The goroutine's stack from the call of the user's on. */
static bool
walk(struct scratch *s, const struct g *gp, struct profile_key *key)
{
	struct stack *stack = g_stack(gp);
	struct unwind_stack st = { (uintptr_t)stack->lo,
	    (uintptr_t)stack_top(stack) };
	unsigned n = backtrace_here(&s->walk, &st, 0, s->pcs, PROFILE_DEPTH);

	n = profile_stack_cut_outer(s->pcs, n);
	key->depth = (uint16_t)profile_stack_cut_inner(s->pcs, n, true);
	key->pcs = s->pcs;
	profile_key_goroutine(key, gp);
	return true;
}

static noinline void
record(struct g *gp, struct kind *k, enum wait_reason reason, uint64_t count,
    uint64_t sum)
{
	struct profile_key key = { .reason = (uint16_t)reason };
	struct scratch *s = scratch_take();

	if (!s) {
		a_add_relaxed(&k->table.lost, count);
		return;
	}
	walk(s, gp, &key);
	profile_table_add(&k->table, &key, count, sum);
	scratch_drop(s);
}

static void
on_waited(struct g *gp, enum wait_reason reason, uint64_t since)
{
	uint64_t now = cpu_cycles(), count, sum;
	/* Clocks of CPUs may differ by a few cycles. */
	uint64_t cycles = now > since ? now - since : 0;
	uint64_t ns = (uint64_t)((unsigned __int128)cycles *
	    waits.ns_per_cycle >> SCALE_BITS);

	for (int i = 0; i < WAITS_KINDS; i++) {
		struct kind *k = &waits.kind[i];
		/* pairs with profile_wait_set */
		uint64_t rate = a_load_acq(&k->rate);

		if (rate && reasons[i] >> reason & 1 &&
		    weigh(i, rate, ns, now + (uint64_t)i, &count, &sum))
			record(gp, k, reason, count, sum);
	}
}

/* ---- settings: lock held ---- */

/* How fast the counter of cycles runs: a millisecond of trying. */
static void
calibrate(void)
{
	int64_t start_ns = os_now_ns(), end_ns;
	uint64_t start = cpu_cycles(), cycles;

	do
		end_ns = os_now_ns();
	while (end_ns - start_ns < CALIBRATE_NS);
	cycles = cpu_cycles() - start;
	waits.ns_per_cycle = (uint64_t)(((unsigned __int128)(uint64_t)
	    (end_ns - start_ns) << SCALE_BITS) / (cycles ? cycles : 1));
}

static int
make_ready(struct kind *k)
{
	int err = k->table.buckets ? 0 : profile_table_make(&k->table);

	if (!waits.scratch)
		waits.scratch = os_map(round_up(SCRATCHES *
		    sizeof *waits.scratch, PAGE));
	if (err || !waits.scratch)
		return -ENOMEM;
	if (!waits.ns_per_cycle)
		calibrate();
	if (!k->start_ns) {
		k->time_ns = profile_time_of_day();
		k->start_ns = os_now_ns();
	}
	return 0;
}

static bool
any_on(void)
{
	for (int i = 0; i < WAITS_KINDS; i++)
		if (a_load_relaxed(&waits.kind[i].rate))
			return true;
	return false;
}

int
profile_wait_set(enum profile_wait kind, int64_t rate)
{
	struct kind *k = &waits.kind[kind];
	int err;

	if (rate < 0)
		return -EINVAL;
	module_list_refresh();
	lock_take(&waits.lock);
	err = rate ? make_ready(k) : 0;
	if (!err) {
		/* pairs with on_waited */
		a_store_rel(&k->rate, (uint64_t)rate);
		if (any_on())
			a_or_relaxed(&observed_.by, OBSERVED_WAITS);
		else
			a_and_relaxed(&observed_.by, ~(uint32_t)OBSERVED_WAITS);
	}
	lock_drop(&waits.lock);
	return err;
}

int
profile_wait_file(enum profile_wait kind, struct profile_file *f)
{
	static const char *const what[WAITS_KINDS] = {
		[WAITS_BLOCK] = "block: waits for channels and locks",
		[WAITS_MUTEX] = "mutex: waits for mutexes",
		[WAITS_OFFCPU] = "off-CPU: all waits"
	};
	struct kind *k = &waits.kind[kind];
	bool made;

	lock_take(&waits.lock);
	made = k->table.buckets != NULL;
	*f = (struct profile_file){
		.what = what[kind],
		.types = { { "contentions", "count" },
		    { "delay", "nanoseconds" } },
		.n_types = 2,
		.period_type = { "contentions", "count" },
		.period = 1,
		.time_ns = k->time_ns,
		.duration_ns = os_now_ns() - k->start_ns,
		.reasons = true,
		.table = &k->table,
	};
	lock_drop(&waits.lock);
	return made ? 0 : -ESRCH;
}

__attribute__((constructor)) static void
hook(void)
{
	watch_waited = on_waited;
}
