/* SPDX-License-Identifier: MIT */
/*
 * M, a thread that runs goroutines. It needs a P to run one. Its own stack
 * and context, on which it looks for work, are called g0.
 *
 * An M is in one of these places:
 *
 *	running		has a P and a curg
 *	loose		has a curg that runs on without a P, which was taken
 *			or given up: see retake.h; at a call that needs one it
 *			becomes running or idle again
 *	looking		has a P, on g0; `spinning` if it is counted as such
 *	idle		no P, on the idle list, asleep on its note
 *	starting	taken from the idle list (or new) with a P in `nextp`
 *	pinned		asleep for its own goroutine alone: see pin.c
 *	paused		asleep in the handler of the preemption signal, until
 *			its goroutine has a turn again: see pause.c
 *	halted		asleep for good: the main goroutine has returned
 *
 * idle -> starting by whoever wakes it, under sched.lock; idle -> gone by
 * itself, under sched.lock, when it has slept long and is one too many.
 */
#ifndef M_H
#define M_H

#include "g.h"
#include "list.h"
#include "lock.h"
#include "os.h"
#include "thread_state.h"
#include "tls_self.h"

struct p;

enum { DEADLOCK_RETRIES = 3 };

/* How an M that runs a goroutine came to have no P. */
enum detached {
	DETACHED_NOT,		/* it has one, or runs none */
	DETACHED_CALL,		/* given up or taken in an announced call */
	DETACHED_BLOCKED,		/* taken: it slept in the kernel */
	DETACHED_RUNNING		/* taken: it computed */
};

/* What the context that follows does with the goroutine that left. */
enum after {
	AFTER_YIELD,		/* queue it */
	AFTER_PREEMPT,		/* queue it behind all others */
	AFTER_DROP,		/* drop the lock unlock_arg */
	AFTER_PARK,		/* call unlockf; false: it is next */
	AFTER_EXIT		/* reap it */
};

struct m {
	/*
	 * Kept when a record is used for another thread: the monitor may look
	 * at it at any time.
	 */

	/* itself only; the monitor reads them, see retake.h */
	APTR(struct p) pp;	/* the P it has, or NULL */
	a32 inside;		/* is in the runtime, and may use its P */
	a32 in_call;		/* announced a call that may block */
	a64 calls;		/* so many in all */
	a32 call_key;		/* which one: see blocking.c */
	a32 place_key;		/* gave its P up at this place, or 0: place.c */
	APTR(struct g) curg;	/* the goroutine it runs, or NULL on g0 */
	abool unmovable;	/* ... was paused: it may be in code that
				 * cannot be moved */
	/* ... from one context to the next across a switch */
	APTR(struct g) prev_g;	/* who left, NULL if nobody */

	/* itself and the monitor */
	a32 retake;		/* enum retake: shall it lose its P? */
	a32 preempt_req;		/* shall let others run */
	a32 verdict;		/* of the preemption signal: see preempt.c */
	/* the monitor, before it makes retake TAKEN; then itself */
	uint8_t taken_why;	/* enum weft_retake_reason */
	/* the monitor: when it has no P, how much its thread had run */
	int64_t detached_cpu;
	/* itself, when its thread begins and ends; the monitor reads them */
	abool can_signal;	/* can be: has a signal stack */
	a32 tid;
	a32 lock_wait;		/* it sleeps for a lock of ours: os/lock.c */

	/* From here on all is new for a new thread. */

	/* constant while the thread lives */
	struct thread_state_at thread_state;	/* see thread_state.h */

	/* itself only, from one context to the next across a switch */
	enum after after;	/* what to do with who left */
	bool (*unlockf)(struct g *gp, void *arg);
	void *unlock_arg;
	struct san *prev_san;

	/* itself only */
	struct frame g0;
	struct g *pinned;	/* the only one it may run, or NULL */
	struct g *handoff_g;		/* next, but one that is held: for g0 */
	uint8_t detached;		/* enum detached: has lost its P, and how */
	bool exits;		/* its pinned goroutine has ended */
	bool must_migrate;		/* its goroutine shall go to another M */
	struct p *old_p;	/* the one it had before the call */
	uint64_t call_start;	/* in cycles, if its P was given up */
	bool spinning;		/* counted in sched.n_spinning */
	uint8_t deadlock_retries;		/* times to ask for a deadlock again */
	uint64_t last_activity;	/* see spin_backoff */

	/* the waker, before it wakes the note; then itself */
	struct p *nextp;
	bool nextspin;
	bool cpus_saved;		/* to the waker's CPU: puts back, when awake, */
	struct os_cpus cpus;	/* ... these */

	/* under sched.lock */
	struct list idle;	/* linked while on the idle list */
	struct list paused;	/* linked while its goroutine is paused */
	struct m *free_link;	/* records of Ms that ended */
	/* atomic; written under sched.lock */
	abool surplus;		/* idle as one too many: leaves in time */

	/* constant while the thread lives */
	int id;
	uintptr_t own_lo, own_hi;	/* the thread's stack and locals */
	struct os_sigstack sigstack;
	struct san san;

	struct note note;	/* it sleeps, others wake */
} cache_aligned;

/*
 * Starts the idle M mp with P pp. It begins as spinning if spin says so, and
 * that was counted already. If mp is NULL, none was idle: one is wanted, and
 * -EAGAIN is returned; otherwise 0. No lock held.
 */
int m_start(struct m *mp, struct p *pp, bool spin);

/*
 * The caller is about to wake mp, and then to sleep itself: see os_thread_move_here.
 * And mp is awake.
 */
void m_move_here(struct m *mp);
void m_restore_cpus(struct m *mp);

/*
 * New threads are made by the thread in weft_run alone, which has no P and
 * holds nothing: making one takes locks of libc, and what holds these may be
 * a goroutine that waits for a P. So an M is born idle, without a P, and looks
 * for work when all that it needs is there.
 *
 * One more shall be made. Any thread, also in a signal handler.
 */
void m_request(void);
/* sched.lock held: can one be made, as far as is known? */
bool m_can_make(void);
/* The thread in weft_run: makes the one that is wanted, if any. */
void m_make_requested(void);
/* The same thread, at boot: the first M, with P pp. 0 or -errno. */
int m_make_first(struct p *pp);

/*
 * Puts this M, which has no P, to sleep until somebody gives it one. On entry
 * it is on the idle list. True with a P; false if the M shall end.
 */
bool m_sleep(struct m *mp);

/* The idle list. sched.lock held. */
void m_idle_put(struct m *mp);
struct m *m_idle_get(void);
/* Takes this one off the list; false if somebody else already did. */
bool m_idle_remove(struct m *mp);
/* Tells those beyond `procs` that they are too many. No lock held. */
void m_idle_trim(void);

/* Sleeps for good. */
noreturn void m_halt(void);

/* The goroutine this M runs, or NULL. */
static inline struct g *
m_g(const struct m *mp)
{
	return a_load_relaxed(&mp->curg);
}

/* The kernel's name of its thread, which may have ended. */
static inline int
m_tid(const struct m *mp)
{
	return (int)a_load_relaxed(&mp->tid);
}

/* Calls fn for every M there ever was, those that ended too. */
void m_each(void (*fn)(struct m *mp, void *arg), void *arg);

/* The P this M has, or NULL. */
static inline struct p *
m_p(const struct m *mp)
{
	return a_load_relaxed(&mp->pp);
}

/* Gives P pp, which nobody has, to this M; and takes it back. */
void m_acquire(struct m *mp, struct p *pp);
struct p *m_release(struct m *mp);

#endif
