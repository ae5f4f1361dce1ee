/* SPDX-License-Identifier: MIT */
/*
 * A goroutine that cannot be moved to another thread is paused with the thread
 * that it runs on: the handler of the preemption signal gives the P to another
 * M and sleeps, in the handler, until its M has a P again. Nothing need be
 * known about the code that was interrupted: the kernel does the same when it
 * takes the CPU away. So at most as many threads compute as there are Ps.
 *
 * A paused goroutine is RUNNABLE, in the global queue like one that was
 * preempted, and bound to its M like one that is pinned (pin.c): an M that
 * finds it there hands its own P over. Its M is on the list sched.paused.
 *
 *	          the handler, under sched.lock
 *	running -------------------------------> paused
 *	   ^                                       |
 *	   +---------------------------------------+
 *	   |  the M itself, woken with a P (hand_p_to, p_hand_off, idle_wake)
 *	   |
 *	   +-- without a P, detached: the runtime has ended (pause_end)
 *
 * On entry of the handler the M is outside, on exit, too. In between it is
 * inside, so its P is not retaken; the pause gives it away in one step under
 * the lock.
 *
 * What could go wrong, and why it does not (models/pause.pml):
 *
 *   - The thread may hold a lock of libc, of malloc, or of the loader. It is
 *     not paused in their code (elf/critical.h), but a constructor that dlopen
 *     calls, or code between flockfile and funlockfile, is elsewhere. So the
 *     path by which a paused goroutine gets a P needs no such lock: neither
 *     the monitor, nor this handler, nor an M between two goroutines makes
 *     threads or calls malloc (m.h). A goroutine that waits for such a lock is
 *     blocked in the kernel and loses its P.
 *   - It may be in the middle of this library's code, but outside: it is not
 *     paused there. Or in a signal handler of the program that interrupted
 *     us: locks that we hold are counted (os/lock.h), and the goroutine must
 *     be RUNNING.
 *   - There may be no M to go on with the P. Then it is not paused.
 *   - All threads may be paused, at the limit of their number. So twice as
 *     many as there are Ps are reserved: for those that compute meanwhile, and
 *     for goroutines that can be moved. Urgent ones may use these. At the limit
 *     paused goroutines take turns among themselves. (If as many goroutines
 *     loop in such code as there may be threads, others wait for ever.)
 *   - A thread with a real-time policy would wait for one of ours with a lower
 *     priority. It is not paused.
 *
 * Only raw system calls are made here: no function of libc is safe.
 */
#include "pause.h"

#include "critical.h"
#include "events.h"
#include "expire.h"
#include "fatal.h"
#include "hard.h"
#include "idle.h"
#include "next.h"
#include "pin.h"
#include "preempt.h"
#include "preempt_counts.h"
#include "sched.h"
#include "text.h"
#include "world.h"

/* Written at boot, then constant. */
static struct {
	bool on;
	struct critical critical;
} config;

void
pause_init(bool on)
{
	config.on = on;
	if (on)
		critical_find(&config.critical);
}

const char *
pause_impossible(void)
{
	return config.on ? config.critical.all : "it is switched off";
}

bool
pause_possible(void)
{
	return !pause_impossible();
}

/* ---- in the handler: inside ---- */

/* The reason not to pause it here and now, or -1. */
static int
why_not_pause(struct m *mp, uintptr_t pc)
{
	if (!config.on)
		return WEFT_RETAKE_OFF;
	if (self()->locks || text_is_ours(pc) ||
	    a_load_relaxed(&m_g(mp)->state) != G_RUNNING)
		return WEFT_RETAKE_RUNTIME;
	if (critical_has(&config.critical, pc))
		return WEFT_RETAKE_LIBC;
	if (preempt_disabled(m_g(mp)) || a_load_relaxed(&mp->in_call))
		return WEFT_RETAKE_REGION;
	return os_thread_realtime() ? WEFT_RETAKE_REALTIME : -1;
}

/*
 * sched.lock held: the M that gets P pp. The one whose goroutine is first in
 * the global queue, if that is bound and pp has no work of its own; else an
 * idle one, which searches. If none is idle, or if too many threads are
 * paused, another one that is bound, wherever it is in the queue; or NULL.
 */
static struct m *
successor(struct p *pp)
{
	uint32_t kept = 2 * a_load_relaxed(&sched.procs);
	struct m *mp = NULL;

	if (pin_is_first() && runq_empty(&pp->q))
		return pin_take_any();
	if (a_load_relaxed(&sched.n_paused) + kept <= sched.max_m ||
	    globq_urgent(&sched.globq))
		mp = m_idle_get();
	if (!mp)
		mp = pin_take_any();
	/* Only if the P is given away: that of a pinned M has global_at 0. */
	if (mp)
		next_alternate(pp);
	return mp;
}

/* sched.lock held: queues the goroutine, bound to its M. */
static void
queue(struct m *mp)
{
	struct g *gp = m_g(mp);

	pin_bind(mp, gp);
	a_store_relaxed(&gp->paused, true);
	g_set(gp, G_RUNNING, G_RUNNABLE);
	globq_put_one(&sched.globq, gp);
	rt_uncount_detached(mp);
	list_push(&sched.paused, &mp->paused);
	a_add_relaxed(&sched.n_paused, 1);
	/* The request and the signal are served. */
	a_store_relaxed(&mp->preempt_req, 0);
	/* pairs with on_verdict */
	a_store_rel(&mp->verdict, VERDICT_IDLE);
}

/*
 * Gives the P up and queues the goroutine. False if that is not possible; else
 * *to gets the P, or, if that is NULL, the world stops, or there was no P.
 */
static bool
release_p(struct m *mp, struct p **pp, struct m **to, bool *last)
{
	uint32_t stopping;
	bool want, can;

	*pp = m_p(mp);
	*to = NULL;
	*last = false;
	lock_take(&sched.lock);
	stopping = a_load_relaxed(&sched.stopping);
	can = !(stopping & STOP_ENDED) &&
	    (!*pp || stopping || (*to = successor(*pp)));
	/* Else paused goroutines would pass the P to each other, and leave
	 * none for those that need an M. */
	want = !sched.n_idle_m && !sched.n_making && m_can_make();
	if (can && *pp) {
		m_release(mp);
		*last = stopping && world_stopped(*pp);
	}
	if (can) {
		events_pause(mp, TR_PAUSE);
		queue(mp);
	}
	lock_drop(&sched.lock);
	if (want)
		m_request();
	return can;
}

/*
 * Under the lock under which pause_end pokes: an M whose note was poked
 * already, for another reason, reads it after that.
 */
static bool
has_ended(void)
{
	bool ended;

	lock_take(&sched.lock);
	ended = a_load_relaxed(&sched.stopping) & STOP_ENDED;
	lock_drop(&sched.lock);
	return ended;
}

/* Sleeps until the M is given a P. False if the runtime has ended. */
static bool
sleep_paused(struct m *mp)
{
	while (note_wait(&mp->note, FOREVER) != NOTE_WOKEN)
		if (has_ended())
			return false;
	return true;
}

/* It runs again: with a P, or detached, since the runtime has ended. */
static void
resume(struct m *mp, bool with_p)
{
	struct g *gp = m_g(mp);

	lock_take(&sched.lock);
	list_remove(&mp->paused);
	a_add_relaxed(&sched.n_paused, -1u);
	if (!with_p) {
		rt_count_detached(DETACHED_RUNNING);
		mp->detached = DETACHED_RUNNING;
	}
	lock_drop(&sched.lock);
	if (with_p) {
		note_clear(&mp->note);
		m_restore_cpus(mp);
		m_acquire(mp, mp->nextp);
		mp->nextp = NULL;
		a_bump(&m_p(mp)->stats.switches, 1);
	}
	events_pause(mp, TR_RESUME);
	a_store_relaxed(&gp->paused, false);
	g_set(gp, G_RUNNABLE, G_RUNNING);
	/* If the runtime has ended another M may have taken it from the queue,
	 * and must still find that it is bound. */
	if (with_p)
		pin_unbind(mp, gp);
	a_store_relaxed(&mp->unmovable, true);
}

int
pause_here(struct m *mp, uintptr_t pc, int why)
{
	int not = why_not_pause(mp, pc);
	struct p *pp;
	struct m *to;
	bool last;

	if (not >= 0)
		return not;
	if (!release_p(mp, &pp, &to, &last))
		return WEFT_RETAKE_NO_THREAD;
	preempt_stats_inc(&preempt_stats.pauses);
	preempt_stats_inc(&preempt_stats.paused[why]);
	hard_pause();
	if (last)
		note_wake(&sched.stop_note);
	if (to) {
		m_move_here(to);
		m_start(to, pp, false);
	}
	idle_wake();		/* a goroutine was queued: see idle.c */
	/* The P may have been the last in use that checked timers. */
	expire_notify(expire_next());
	expire_need_watcher();
	resume(mp, sleep_paused(mp));
	return -1;
}

/* ---- the end ---- */

void
pause_end(void)
{
	lock_take(&sched.lock);
	list_each(it, &sched.paused)
		note_poke(&container_of(it, struct m, paused)->note);
	lock_drop(&sched.lock);
}
