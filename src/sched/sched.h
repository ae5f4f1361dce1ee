/* SPDX-License-Identifier: MIT */
/*
 * The one scheduler, and what the rooms above call to wait and to wake.
 *
 * Three sentences: *work* makes goroutines runnable, *sched* runs them, *wait*
 * parks them.
 */
#ifndef SCHED_H
#define SCHED_H

#include "g.h"
#include "lock.h"
#include "m.h"
#include "order.h"
#include "p.h"
#include "retake.h"
#include "weft.h"

enum {
	PROCS_MAX = 1024,
	THREADS_DEFAULT = 10000,
	MASK_WORDS = PROCS_MAX / 64
};

/* Why nobody may run goroutines now: bits of sched.stopping. */
enum {
	STOP_WORLD = 1,		/* for a moment: world.c */
	STOP_ENDED = 2		/* for good: the main goroutine returned */
};

struct sched {
	struct lock lock;

	/* any thread, atomic; written under lock */
	a32 stopping;
	a32 n_idle_p;
	a64 idle_mask[MASK_WORDS];	/* which Ps are IDLE */
	a32 procs;			/* changed with the world stopped */

	/* any thread, atomic: Ms that look for work; see idle.c */
	a32 n_spinning;

	/* see runq.h */
	struct globq globq;

	/* any thread, atomic; written under lock: until when the watcher
	 * sleeps; see alarm.c */
	a64 watch_until;

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
	uint64_t idle_gen;		/* times a P left the idle list */
	/* atomic; written under lock: Ms that run a goroutine without a P, by
	 * enum off; OFF_NOT: all of them */
	a32 n_off[OFF_LOOSE + 1];
	a32 n_paused;			/* atomic; the same: see pause.c */
	/* any thread, atomic: goroutines that are bound to their M */
	a32 n_bound;
	a32 starved;			/* a P has work, and no thread was to
					 * be had: the monitor tries again */
	bool main_exited;		/* by weft_exit */

	/* changed with the world stopped, read by who has a P */
	struct order_table order;

	/* any thread, atomic: filled from the front, never emptied */
	APTR(struct p) allp[PROCS_MAX];

	/* constant after boot */
	uint32_t max_m;
	uint32_t max_loose;
	uint64_t seed;
	uint64_t sigmask;		/* of all Ms: see start_watch */

	/* any thread, atomic: called when the main goroutine has returned */
	struct { void (*v_)(void); } on_end;

	struct note stop_note;
	struct note run_note;		/* the thread in weft_run sleeps: woken
					 * at the end, poked by m_want */
	struct pstats any;		/* of who has no P: added atomically */
};

extern struct sched sched;

/*
 * Not 0 if somebody is asked to look around: the word behind
 * weft_checkpoint(). Bits, set and cleared atomically by whom they belong to.
 */
enum {
	ATTEND_MONITOR = 1,	/* some M is asked, or has no P */
	ATTEND_STOP = 2,	/* the world stops */
	ATTEND_MIGRATE = 4,	/* for good: a debugging aid */
	ATTEND_SLEEPERS = 8	/* the monitor found threads asleep: place.c */
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
 * context that follows, to release what guards it; from then on anybody may
 * wake it. If unlockf says false the park is off and the goroutine runs next.
 * unlockf may be NULL and must not touch the goroutine after releasing it.
 * On entry: on a goroutine; may hold the one lock that unlockf releases.
 */
void sched_park(bool (*unlockf)(struct g *gp, void *arg), void *arg,
    enum wait_reason reason);

/* The same with a lock to release, and no second thought: the usual case. */
void sched_park_drop(struct lock *l, enum wait_reason reason);

/* Makes a WAITING goroutine runnable, next on this P. Any thread. */
void sched_ready(struct g *gp);
/* The same for a list of them, in order, at the price of one. */
void sched_ready_list(struct glist *l);

/*
 * The same for those a timer or the network woke, by a thread without a P: all
 * Ps are busy, so they are next for the first that has time, and the monitor
 * sees to it that one has.
 */
void sched_ready_urgent(struct glist *l);

/*
 * Queues a goroutine that was just made, and is RUNNABLE. pp is the caller's,
 * who is inside, or NULL.
 */
void sched_submit(struct p *pp, struct g *gp);

/*
 * A goroutine gets a stack when it first runs (the main one at boot). False if
 * memory is refused. P held.
 */
bool sched_give_stack(struct p *pp, struct g *gp);

/* Lets others run. On a goroutine. */
void sched_yield_now(void);
/* The same, behind everybody else's. Inside; returns inside. */
void sched_step_back(void);

/* Ends the calling goroutine, whose deferred calls have run. */
noreturn void sched_exit(void);

/* An M's life: looks for goroutines and runs them until told to end. */
void sched_loop(struct m *mp);

/* ---- idle.c: see there for the protocol ---- */

/* After work was queued: wakes a P for it if one sleeps and nobody looks. */
void idle_wake_slow(void);
/* Is anything on any queue? And the same if so. */
bool work_anywhere(void);
void idle_wake_if_work(void);
/* A P was put back since no thread was to be had: the monitor tries again.
 * sched.lock held. */
void idle_starved(void);

static inline void
idle_wake(void)
{
	/* sc: pairs with idle_rest; the work was queued with sc before */
	if (a_load_sc(&sched.n_idle_p) && !a_load_sc(&sched.n_spinning))
		idle_wake_slow();
}

/* May this M start to look in other Ps' queues? Then it is spinning. */
bool idle_start_spinning(struct m *mp);
/* It found something. */
void idle_stop_spinning(struct m *mp);
/*
 * This M's P has nothing to do: gives it up, looks once more, sleeps. True
 * with a P again (and maybe nothing to do), false if the M shall end.
 */
bool idle_rest(struct m *mp);
/*
 * There is work after all: this M, on the idle list, gets a P again and spins.
 * False if none is idle, or another one is on its way.
 */
bool idle_take_back(struct m *mp);

/* On g0, without a P: rests as above. */
bool idle_rest_loose(struct m *mp);
/* The same for an M that has just been made. */
bool idle_born(struct m *mp);

/* sched.lock held. */
void p_idle_put(struct p *pp);
struct p *p_idle_get(void);
/* This one if it is idle, else any. */
struct p *p_idle_get_near(struct p *near);
bool p_is_idle(uint32_t id);

/* ---- world.c ---- */

/*
 * Stops all goroutines but the caller and returns when nobody runs one. Only
 * one at a time may do this (wait/procs.c sees to that). world_start undoes
 * it. The caller is a goroutine, inside, which keeps its P, or a plain thread.
 * False if the runtime has ended: then there is nothing to undo.
 */
bool world_stop(void);
/* The main goroutine returns: stops the world for good, without waiting. */
void world_end(void);
/* sched.lock held, a stop asked for: P is stopped. True if it is the last,
 * and stop_note must be woken. */
bool world_stopped(struct p *pp);
void world_start(void);
/* Starts it for the first time: queues gp and returns a P for the first M. In
 * one step: others may set timers already, and find work or no P. */
struct p *world_boot(struct g *gp);
/* World stopped: makes procs Ps the ones in use. May change the caller's P. */
void world_resize(uint32_t procs);
/* Makes sure that so many P records exist. 0 or -ENOMEM. One at a time. */
int world_make_ps(uint32_t procs);
/* On g0, with a P, sched.stopping seen: gives the P up and sleeps. */
bool world_rest(struct m *mp);
/* P pp has work and no thread is to be had for it: others take the work. */
void world_no_thread(struct p *pp);

/* ---- preempt.c ---- */

void checkpoint_at(const void *address);

/*
 * At the start of every call that a goroutine may make again and again without
 * waiting: lets others run, or gets it a P again, if that is due. Outside, no
 * lock held. May return on another M.
 */
static always_inline void
checkpoint(void)
{
	if (unlikely(a_load_relaxed(&attention) != 0))
		checkpoint_at(__builtin_return_address(0));
}

/* ---- call.c ---- */

/* Around a call that may block, of the kind that the address stands for; on
 * another thread than a goroutine's they do nothing. Outside. */
void call_enter(const void *address);
void call_leave(void);

/* The monitor took the P of an M in an announced call: others of its kind are
 * expected to be slow, too. */
void call_was_slow(struct m *mp);

/* ---- pin.c ---- */

/* On g0 of an M whose goroutine is pinned: that, when its turn has come. */
struct g *pin_wait(struct m *mp);
/*
 * Is there anything against running gp on this M now? If it belongs to another
 * M that gets our P.
 */
bool hold_resolve(struct m *mp, struct g *gp);
/* The goroutine waits for its turn on its own M. Inside; returns inside. */
void pin_step_back(struct m *mp);
/* Inside: binds it to its M for as long as it waits; and no longer. */
void pin_bind(struct m *mp, struct g *gp);
void pin_unbind(struct m *mp, struct g *gp);
/* sched.lock held: is a goroutine that is bound to an M first in the global
 * queue? */
bool pin_is_first(void);
/*
 * sched.lock held, and no M is idle for a P: is there such a goroutine anywhere
 * in the global queue? And takes it from there: the M that it waits on.
 */
bool pin_is_any(void);
struct m *pin_take_any(void);
/* It ends. True if its M ends with it. */
bool pin_end(struct m *mp, struct g *gp);

/* ---- deadlock.c ---- */

/*
 * All Ps are idle: dies if nobody is left who could change that. True if all
 * sleep but there are threads that might.
 */
bool deadlock_check(void);

/* ---- spawn.c ---- */

/* A goroutine for fn(arg), not queued yet. NULL if memory is refused. */
struct g *spawn_make(int stack_class, const struct weft_site *site,
    void (*fn)(void *), void *arg);

/* The same, WAITING: to be woken with others by sched_ready_list. */
struct g *spawn_waiting(const struct weft_site *site, void (*fn)(void *),
    void *arg);

/* Goroutines that exist. */
int64_t spawn_count(void);

/*
 * io/readable.c, by name: goroutines that begin when a descriptor is readable.
 * claim: 0 or -errno; then, maybe on another thread, either attach gives it a
 * WAITING one, or drop undoes it. No lock held.
 */
int when_claim(int fd);
void when_attach(int fd, struct g *gp);
void when_drop(int fd);

/* ---- defer.c ---- */

void defer_run(struct g *gp);
/* In the child of a fork: others may have held the lock. */
void defer_forked(void);

/* ---- local.c ---- */

/*
 * What is left to do when a goroutine's deferred calls have run. The newest
 * comes first: its step is called, on the goroutine, until it says true. The
 * record is its owner's, and lives until then.
 */
struct ending {
	struct ending *next;
	bool (*step)(struct ending *e);
};

/* On the goroutine. */
void ending_push(struct g *gp, struct ending *e);
/* On the goroutine, which ends: deferred calls and endings, all of them. */
void ending_run(struct g *gp);

/* ---- fork.c ---- */

/* Once at boot. 0 or -errno. */
int fork_init(void);
/* In the child of a fork: the goroutine that forked, or NULL. */
struct g *fork_child_g(void);
/* The child of a fork has come to the end of its goroutine. */
noreturn void fork_child_exit(int result);

/* ---- start.c ---- */

/* In the child of a fork: there is no runtime any more. */
void sched_forked(void);

/* True between the start of weft_run and the return of the main goroutine. */
bool sched_is_up(void);

#endif
