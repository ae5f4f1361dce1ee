/* SPDX-License-Identifier: MIT */
/*
 * Blocking calls: calls that may block their thread, announced by the
 * goroutine.
 *
 * Usually such a call returns soon, so its M keeps its P, and only sets
 * m->in_call: the monitor retakes the P without checking the thread if others
 * wait for it in its second round, 20 us later or more.
 *
 * A call that took so long before is expected to do so again: its M gives the
 * P up before the call. Such calls are remembered by the address of the
 * function, or of the place that announced it, in a small table; two calls
 * that share an entry at worst cost each other some microseconds. An entry is
 * set when a call loses its P, and decays when a call that gave it up was
 * quick after all.
 *
 * After the call, a goroutine whose P is gone takes an idle one, its old one
 * if it can, or else goes to the end of the global queue, and its M parks.
 */
#include "blocking.h"

#include "events.h"
#include "fatal.h"
#include "insn.h"
#include "monitor.h"
#include "pin.h"
#include "sched.h"
#include "unwinder.h"

enum {
	KEYS = 256,
	KNOWN_SLOW = 4,		/* so many quick calls clear an entry */
	QUICK_FEW_US = 8	/* some 20 us, in which a P stays with an M */
};

static a8 slow_calls[KEYS];

static uint32_t
key_of(const void *address)
{
	return (uint32_t)((uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15) >>
	    56);
}

/* The P was retaken, or given up: will the next call be slow, too? */
static void
learn(struct m *mp)
{
	a8 *slow = &slow_calls[a_load_relaxed(&mp->call_key)];
	uint8_t n = a_load_relaxed(slow);

	if (!mp->call_start || cpu_cycles() - mp->call_start >
	    QUICK_FEW_US * cpu_cycles_few_us())
		n = KNOWN_SLOW;
	else if (n)
		n--;
	a_store_relaxed(slow, n);
}

/*
 * The call will take long: hands the P off. If no M is idle the P stays: the
 * monitor retakes it when one has been made. Inside.
 */
static cold void
give_up_p(struct m *mp)
{
	bool idle, want;
	struct p *pp;

	lock_take(&sched.lock);
	idle = sched.n_idle_m > 0;
	want = !idle && m_can_make();
	if (idle)
		rt_count_detached(DETACHED_CALL);
	lock_drop(&sched.lock);
	if (want)
		m_request();
	if (!idle)
		return;
	pp = m_release(mp);
	mp->old_p = pp;
	mp->detached = DETACHED_CALL;
	mp->call_start = cpu_cycles();
	p_hand_off(pp);
}

/* Does a goroutine wait for this P? A guess: it may not be ours any more. */
static bool
others_wait(struct p *pp)
{
	return pp && (!runq_empty(&pp->q) || globq_len(&sched.globq));
}

void
blocking_was_slow(struct m *mp)
{
	uint32_t key = a_load_relaxed(&mp->call_key);

	a_store_relaxed(&slow_calls[key], KNOWN_SLOW);
}

/* The P, if it is not gone, is ours for the moment in which that is said. */
static cold void
trace_enter(struct m *mp)
{
	rt_enter(mp);
	events_call(mp, TR_CALL_BEGIN);
	rt_leave_out(mp);
}

static always_inline void
enter(struct m *mp, const void *address)
{
	uint32_t key = key_of(address);

	if (trace_on())
		trace_enter(mp);
	g_set(m_g(mp), G_RUNNING, G_CALL);
	a_store_relaxed(&mp->call_key, key);
	mp->call_start = 0;
	a_bump(&mp->calls, 1);
	a_store_relaxed(&mp->in_call, 1);
	if (unlikely(a_load_relaxed(&slow_calls[key]) != 0)) {
		rt_enter(mp);
		if (m_p(mp))
			give_up_p(mp);
		rt_leave_out(mp);
	} else if (a_load_relaxed(&monitor_state.slow) &&
	    others_wait(m_p(mp))) {
		monitor_hint();
	}
}

/* Inside. The P is gone, or it shall yield. Returns inside, with a P. */
static cold void
come_back(struct m *mp)
{
	a_store_relaxed(&mp->preempt_req, 0);
	if (!m_p(mp)) {
		learn(mp);
		if (rt_take_idle_p(mp))
			return;
	}
	if (mp->pinned)
		pin_yield_global(mp);
	else
		pin_yield_asked(mp);
}

static always_inline void
leave(struct m *mp)
{
	rt_enter(mp);
	a_store_relaxed(&mp->in_call, 0);
	g_set(m_g(mp), G_CALL, G_RUNNING);
	events_call(mp, TR_CALL_END);
	if (unlikely(!m_p(mp) || a_load_relaxed(&mp->preempt_req))) {
		come_back(mp);
		mp = m_self();
	}
	rt_leave_out(mp);
}

unwinder_answer blocking_thrown(UNWINDER_ASKS);

/*
 * fn has thrown an exception: the code that catches it needs a P. (In the child
 * of a fork in fn there is no M.)
 */
unwinder_answer
blocking_thrown(UNWINDER_ASKS)
{
	struct m *mp = m_self();

	(void)version, (void)language, (void)exception, (void)frame;
	if (unwinder_leaves(actions) && mp && m_g(mp) &&
	    a_load_relaxed(&mp->in_call))
		leave(mp);
	return UNWINDER_GO_ON;
}

public void *
weft_blocking(void *(*fn)(void *arg), void *arg)
{
	struct m *mp = m_self();
	void *result;

	if (!fn)
		fatal("weft_blocking: null function");
	if (unlikely(!mp || !m_g(mp)))
		return fn(arg);
	enter(mp, (const void *)(uintptr_t)fn);
	unwinder_asks(blocking_thrown);
	result = fn(arg);
	if (likely(m_self() != NULL))	/* not the child of a fork in fn */
		leave(mp);
	return result;
}

void
blocking_enter(const void *address)
{
	struct m *mp = m_self();

	if (mp && m_g(mp))
		enter(mp, address);
}

void
blocking_leave(void)
{
	struct m *mp = m_self();

	if (mp && m_g(mp))
		leave(mp);
}

public void
weft_blocking_enter(void)
{
	blocking_enter(__builtin_return_address(0));
}

public void
weft_blocking_leave(void)
{
	blocking_leave();
}
