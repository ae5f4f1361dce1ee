/* SPDX-License-Identifier: MIT */
/*
 * The one scheduler, and what the rooms above call to wait and to wake.
 *
 * Three sentences: *work* makes goroutines runnable, *sched* runs them, *sync*
 * parks them.
 */
#ifndef SCHED_H
#define SCHED_H

#include "g.h"
#include "lock.h"
#include "m.h"
#include "p.h"
#include "retake.h"
#include "steal_order.h"
#include "weft.h"

enum {
	PROCS_MAX = 1024,
	THREADS_DEFAULT = 10000,
	MASK_WORDS = PROCS_MAX / 64
};

_Static_assert((int)PROCS_MAX <= (int)STEAL_ORDER_MAX, "an order has all Ps");

/* Why no M may run goroutines now: bits of sched.stopping. */
enum {
	STOP_WORLD = 1,		/* for a moment: world.c */
	STOP_ENDED = 2		/* for good: the main goroutine returned */
};

/*
 * Words that are read in every switch or wake-up, and hardly ever written, do
 * not share a cache line with those that are written whenever a P becomes idle
 * or the lock is taken: docs/design.md, "Shared words".
 */
struct sched {
	/* read in every switch; any thread, atomic; written under lock */
	a32 stopping cache_aligned;
	a32 procs;			/* changed with the world stopped */

	/* read in every wake-up; any thread, atomic; written under lock, when
	 * an M parks or is woken */
	a32 n_idle_p cache_aligned;
	/* ... and, not under lock: Ms that search for work; see idle.c */
	a32 n_spinning;
	/* until when the watcher sleeps; see expire.c */
	a64 watch_until;

	/* the same, read by thieves */
	a64 idle_mask[MASK_WORDS] cache_aligned;	/* which Ps are IDLE */

	/* read in every search; see runq.h */
	struct globq globq cache_aligned;

	struct lock lock cache_aligned;

	/* under lock */
	struct list idle_m;
	uint32_t n_idle_m;
	uint32_t n_m;			/* threads made and not ended */
	uint32_t n_making;		/* ... of these, not begun yet */
	struct m *free_m;		/* records of Ms that ended */
	struct list paused;		/* Ms: see pause.c */
	struct m *watcher;		/* idle M that waits for timers */
	int next_m_id;
	uint32_t stop_wait;		/* Ps still to stop */
	uint32_t collecting;		/* not 0: a collector works, and will
					 * wake those that wait for it */
	bool resizing;			/* a helper changes procs, which no
					 * foreign thread needs to end */
	uint64_t idle_gen;		/* times a P left the idle list */
	/* atomic; written under lock: Ms that run a goroutine without a P, by
	 * enum detached; DETACHED_NOT: all of them */
	a32 n_detached[DETACHED_RUNNING + 1];
	a32 n_paused;			/* atomic; the same: see pause.c */
	/* any thread, atomic: goroutines that are bound to their M */
	a32 n_bound;
	a32 no_thread;			/* a P has work, and no M was
					 * available: the monitor tries again */
	bool main_exited;		/* by weft_goexit */

	/* changed with the world stopped, read by Ms that have a P */
	struct steal_order_table steal_order cache_aligned;

	/* any thread, atomic: filled from the front, never emptied */
	APTR(struct p) allp[PROCS_MAX];

	/* where each P was last seen, if the machine is not flat. The M that
	 * has the P writes it if it has changed; any thread, atomic */
	a32 position[PROCS_MAX] cache_aligned;

	/* constant after boot */
	uint32_t max_m;
	uint32_t max_detached;
	uint64_t seed;
	uint64_t sigmask;		/* of all Ms: see start_watch */

	/* any thread, atomic: called when the main goroutine has returned */
	struct { void (*v_)(void); } on_end;

	struct note stop_note cache_aligned;
	struct note run_note;		/* the thread in weft_run sleeps: woken
					 * at the end, poked by m_request */
	struct pstats no_p_stats;	/* of threads without a P: added to
					 * atomically */
};

extern struct sched sched;

/*
 * Not 0 if a checkpoint has something to do: the word behind
 * weft_checkpoint(). Each bit is set and cleared, atomically, by one owner:
 * the monitor, world.c, boot, the monitor.
 */
enum {
	ATTEND_MONITOR = 1,	/* some M shall yield, or has no P */
	ATTEND_STOP = 2,	/* the world stops */
	ATTEND_MIGRATE = 4,	/* for good: a debugging aid */
	ATTEND_SLEEPERS = 8	/* blocked threads were found: place.c */
};
#define attention (*(a32 *)(void *)&weft_attention_)

/* The P of that number; NULL if there never was one. */
static inline struct p *
p_at(uint32_t id)
{
	return a_load_acq(&sched.allp[id]);	/* pairs with world_make_ps */
}

/* ---- sched.c ---- */

/*
 * Parks the calling goroutine. It is WAITING before unlockf is called, by the
 * context that follows, to release what guards it; from then on any thread may
 * wake it. If unlockf returns false the park is cancelled and the goroutine
 * runs next. unlockf may be NULL and must not touch the goroutine after
 * releasing it. On entry: on a goroutine; may hold the one lock that unlockf
 * releases.
 */
void sched_park(bool (*unlockf)(struct g *gp, void *arg), void *arg,
    enum wait_reason reason);

/* Unconditional park that releases a lock: the common case. */
void sched_park_drop(struct lock *l, enum wait_reason reason);

/* Makes a WAITING goroutine runnable, next on this P. Any thread. */
void sched_ready(struct g *gp);
/* The same for a list, in order, with one lock and one wake-up. */
void sched_ready_list(struct glist *l);

/*
 * The same for goroutines that a timer or the network woke, by a thread
 * without a P: all Ps are busy, so they are urgent. The next search of any P
 * takes them first, and the monitor preempts a goroutine if there is none.
 */
void sched_ready_urgent(struct glist *l);

/*
 * Queues a goroutine that was just made, and is RUNNABLE. pp is the P of the
 * caller, which is inside, or NULL.
 */
void sched_submit(struct p *pp, struct g *gp);

/*
 * A goroutine gets a stack when it first runs (the main one at boot, one with
 * labels when it is spawned). False on allocation failure. Owner of the cache.
 */
bool sched_give_stack(struct stack_cache *cache, struct g *gp);

/* Yields to the end of the own queue. On a goroutine. */
void sched_yield_now(void);
/* Yields to the end of the global queue. Inside; returns inside. */
void sched_yield_global(void);

/* Ends the calling goroutine, whose deferred calls have run. */
noreturn void sched_exit(void);

/* The loop of an M: finds goroutines and runs them until the M shall end. */
void sched_loop(struct m *mp);

#endif
