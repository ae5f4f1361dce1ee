/* SPDX-License-Identifier: MIT */
/*
 * Where goroutines block without having announced it.
 *
 * The monitor notices that a thread is blocked in the kernel outside of this
 * library, and retakes its P. That takes some ten microseconds, and on a single
 * P each such thread costs them again. But programs repeat themselves: a
 * handler receives a connection from a channel and asks the database. So
 * places are learned: if goroutines were found blocked twice in a row after a
 * call of this library returned to address A, then the next goroutine that
 * returns to A is expected to block. It gives up its P at once, as in a
 * blocking call (blocking.c), and goes on without one. A goroutine that begins
 * counts as one that returned to its function.
 *
 * If the call did not wait when its place was learned, the P is given up where
 * the call begins: without a P it works as on a plain thread. If it waits, the
 * P is given up when it is resumed.
 *
 * Addresses are kept as keys of a small table; two that share a key at worst
 * cost each other a hand-off. An entry grows when a goroutine is found blocked,
 * is set to its maximum when one was without a P for long, and decays when it
 * was so for a moment only; if it computed, the entry is cleared.
 *
 * All of it happens only while the monitor finds blocked threads, or did within
 * the last second (ATTEND_SLEEPERS): other programs pay for one load of a word
 * that does not change.
 */
#include "place.h"

#include "insn.h"
#include "retake.h"

enum {
	KEYS = 256,
	EXPECTED = 2,		/* found blocked so often: expected */
	MOST = 6,
	QUICK_FEW_US = 8	/* some 20 us, in which a P stays with an M */
};

/* any thread, atomic: guesses */
static struct {
	a8 slept;		/* 0..MOST */
	a8 waits;		/* the call waited the last time */
} places[KEYS];

/* Never 0, which means none. */
static uint8_t
key_of(const void *address)
{
	uint64_t hash = (uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15);

	return (uint8_t)(hash >> 56 ? hash >> 56 : 1);
}

static bool
expected(uint8_t key)
{
	return key && a_load_relaxed(&places[key].slept) >= EXPECTED;
}

/* ---- the goroutine ---- */

/* Inside. If no M is idle the P stays, and the monitor may retake it. */
static cold void
give_up_p(struct m *mp, uint8_t key)
{
	struct p *pp = m_p(mp);
	bool idle, want;

	lock_take(&sched.lock);
	idle = sched.n_idle_m > 0;
	want = !idle && m_can_make();
	if (idle)
		rt_count_detached(DETACHED_BLOCKED);
	lock_drop(&sched.lock);
	if (want)
		m_request();
	if (!idle)
		return;
	m_release(mp);
	mp->old_p = pp;
	mp->detached = DETACHED_BLOCKED;
	mp->call_start = cpu_cycles();
	a_store_relaxed(&mp->place_key, key);
	p_hand_off(pp);
}

void
place_enter(struct m *mp, const void *address)
{
	struct g *gp = m_g(mp);
	uint8_t key = key_of(address);

	a_store_relaxed(&gp->place, key);
	a_store_relaxed(&gp->waited, false);
	if (!expected(key) || a_load_relaxed(&places[key].waits))
		return;
	rt_enter(mp);
	if (m_p(mp))
		give_up_p(mp, key);
	rt_leave_out(mp);
}

void
place_resumed(struct m *mp)
{
	struct g *gp = m_g(mp);
	uint8_t key = a_load_relaxed(&gp->place);

	a_store_relaxed(&gp->waited, true);
	if (!expected(key))
		return;
	a_store_relaxed(&places[key].waits, 1);
	if (m_p(mp))
		give_up_p(mp, key);
}

void
place_yielded(struct m *mp, const void *address)
{
	a_store_relaxed(&m_g(mp)->place, key_of(address));
	place_resumed(mp);
}

void
place_begun(struct m *mp, struct g *gp)
{
	place_yielded(mp, (const void *)(uintptr_t)gp->fn);
}

void
place_back(struct m *mp)
{
	uint8_t key = (uint8_t)a_load_relaxed(&mp->place_key);
	bool quick = cpu_cycles() - mp->call_start <
	    QUICK_FEW_US * cpu_cycles_few_us();
	uint8_t n = a_load_relaxed(&places[key].slept);

	a_store_relaxed(&mp->place_key, 0);
	if (!quick)
		n = MOST;
	else if (n)
		n--;
	a_store_relaxed(&places[key].slept, n);
}

/* ---- the monitor ---- */

void
place_slept(struct m *mp)
{
	struct g *gp = m_g(mp);
	uint8_t key = gp ? a_load_relaxed(&gp->place) : 0;
	uint8_t n = a_load_relaxed(&places[key].slept);

	if (!key)
		return;
	if (n < MOST)
		a_store_relaxed(&places[key].slept, n + 1);
	if (!a_load_relaxed(&gp->waited))
		a_store_relaxed(&places[key].waits, 0);
}

void
place_computed(struct m *mp)
{
	uint32_t key = a_load_relaxed(&mp->place_key);

	if (key)
		a_store_relaxed(&places[key].slept, 0);
}
