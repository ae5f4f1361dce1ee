/* SPDX-License-Identifier: MIT */
/*
 * M, a thread that runs goroutines. It needs a P to run one. Its own stack
 * and context, on which it searches for work, are called g0.
 *
 * An M is in one of these states:
 *
 *	running		has a P and a curg
 *	detached	has a curg that runs on without a P, which was retaken
 *			or given up: see retake.h; at a call that needs one it
 *			becomes running or idle again
 *	searching	has a P, on g0; `spinning` if it is counted as such
 *	idle		no P, on the idle list, asleep on its note
 *	starting	taken from the idle list (or new) with a P in `nextp`
 *	pinned		asleep until its own goroutine's turn: see pin.c
 *	paused		asleep in the handler of the preemption signal, until
 *			its goroutine has a turn again: see pause.c
 *	halted		asleep for good: the main goroutine has returned
 *
 * idle -> starting by the thread that wakes it, under sched.lock; idle -> gone
 * by itself, under sched.lock, when it has slept for a second and more than
 * `procs` are idle.
 */
#ifndef M_H
#define M_H

#include <ucontext.h>

#include "dwarf.h"
#include "g.h"
#include "list.h"
#include "lock.h"
#include "os.h"
#include "thread_state.h"
#include "tls_self.h"
#include "topology.h"

struct p;
struct slab;
struct stack_request;

enum { DEADLOCK_RETRIES = 3 };

/* How an M that runs a goroutine came to have no P. */
enum detached {
	DETACHED_NOT,		/* it has one, or runs no goroutine */
	DETACHED_CALL,		/* given up or retaken in a blocking call */
	DETACHED_BLOCKED,	/* retaken: blocked in the kernel */
	DETACHED_RUNNING	/* retaken: it computed */
};

/* What the context that follows does with the goroutine that left. */
enum after {
	AFTER_YIELD,		/* queue it */
	AFTER_PREEMPT,		/* queue it behind all others */
	AFTER_DROP,		/* release the lock unlock_arg */
	AFTER_PARK,		/* call unlockf; false: it runs next */
	AFTER_EXIT		/* reap it */
};

struct m {
	/*
	 * Kept when a record is reused for another thread: the monitor may
	 * read it at any time.
	 */

	/* itself only; the monitor reads them, see retake.h */
	APTR(struct p) pp;	/* the P it has, or NULL */
	a32 inside;		/* is in the runtime, and may use its P */
	a32 in_call;		/* is in a blocking call */
	a64 calls;		/* the number of these */
	a32 call_key;		/* which one: see blocking.c */
	a32 place_key;		/* gave its P up at this place, or 0: place.c */
	APTR(struct g) curg;	/* the goroutine it runs, or NULL on g0 */
	abool unmovable;	/* ... was paused: it may be in code that
				 * cannot be moved */
	/* ... from one context to the next across a switch */
	APTR(struct g) prev_g;	/* the goroutine that left, or NULL */

	/* itself and the monitor */
	a32 retake;		/* enum retake: shall it lose its P? */
	a32 preempt_req;	/* shall yield at its next checkpoint */
	a32 verdict;		/* of the preemption signal: see preempt.h */
	/* itself and a thread that dumps: see preempt/stack_request.h */
	APTR(struct stack_request) stack_request;
	a32 paused_gen;		/* odd while its goroutine is paused, ... */
	uintptr_t paused_pc;	/* ... and has these registers */
	uintptr_t paused_regs[DWARF_REGS];
	const ucontext_t *paused_context;	/* ... here */
	/* itself and the thread that records: see preempt/running_mark.h */
	a32 mark_req;
	/* itself and a thread that stops all others: see preempt/halt.h */
	a32 halt;		/* enum halt */
	int64_t halt_cpu;	/* the stopper's: its CPU time when asked */
	const ucontext_t *halt_context;	/* ... if it is halted: what its
				 * handler has interrupted */
	/* itself, in a region without preemption; a collector, if it is halted
	 * or does not run */
	void *collect_cache;	/* kept when the record is reused */
	/* the monitor, before it makes retake TAKEN; then itself */
	uint8_t taken_why;	/* enum weft_retake_reason */
	/* the monitor: CPU time of the thread when it was last seen detached */
	int64_t detached_cpu;
	bool detached_ran;	/* ... and was not asleep when it was read */
	/* itself, when its thread begins and ends; the monitor and reports read
	 * them */
	abool alive;
	abool can_signal;	/* it has a signal stack */
	abool no_sigstack;	/* there was no memory for one */
	a32 tid;
	a32 lock_wait;		/* it sleeps for a lock of ours: os/lock.c */

	/* From here on all is zeroed for a new thread. */

	/* constant while the thread lives */
	struct thread_state_at thread_state;	/* see thread_state.h */

	/* itself only, from one context to the next across a switch */
	enum after after;	/* what to do with prev_g */
	bool (*unlockf)(struct g *gp, void *arg);
	void *unlock_arg;
	struct san *prev_san;

	/* itself only */
	struct frame g0;
	struct g *pinned;	/* the only one it may run, or NULL */
	struct g *handoff_g;	/* next, but with a hold: for g0 to resolve */
	uint8_t detached;	/* enum detached: has lost its P, and how */
	bool exits;		/* its pinned goroutine has ended */
	bool must_migrate;	/* its goroutine shall go to another M */
	struct p *old_p;	/* the one it had before it was detached */
	uint64_t call_start;	/* in cycles, if its P was given up */
	bool spinning;		/* counted in sched.n_spinning */
	uint8_t deadlock_retries;	/* deadlock checks still to make */
	uint64_t last_activity;	/* see spin_backoff */

	/* the waker, before it wakes the note; then itself */
	struct p *nextp;
	bool nextspin;
	bool cpus_saved;	/* moved to the waker's CPU: restores, awake, */
	struct os_cpus cpus;	/* ... these */

	/* under sched.lock */
	struct list idle;	/* linked while on the idle list */
	struct list paused;	/* linked while its goroutine is paused */
	uint32_t position;	/* where it ran when it became idle, if the
				 * machine is not flat: os/topology.h */
	struct m *free_link;	/* records of Ms that ended */
	/* atomic; written under sched.lock */
	abool surplus;		/* idle beyond `procs`: ends after a while */

	/* under the lock of observe/profile_cpu.c */
	uint32_t cpu_timer;	/* number of its timer + 1, 0: none */

	/* constant while the thread lives */
	int id;
	struct self *me;
	uintptr_t own_lo, own_hi;	/* the thread's stack and TLS */
	struct os_sigstack sigstack;
	struct san san;

	struct note note;	/* it sleeps here, other threads wake it */
} cache_aligned;

/*
 * Starts the idle M mp with P pp. It begins as spinning if spin says so; the
 * caller has counted that already. If mp is NULL, none was idle: one is
 * requested, and -EAGAIN is returned; otherwise 0. No lock held.
 */
int m_start(struct m *mp, struct p *pp, bool spin);

/*
 * The caller is about to wake mp, and then to sleep itself: moves mp to this
 * CPU, see os_thread_move_here. And mp, awake, undoes it.
 */
void m_move_here(struct m *mp);
void m_restore_cpus(struct m *mp);

/*
 * New threads are made by the thread in weft_run alone, which has no P and
 * holds no lock: making one takes locks of libc, and their owner may be a
 * goroutine that waits for a P. So an M begins idle, without a P, and searches
 * for work when all that it needs is there.
 *
 * Requests one more. Any thread, also in a signal handler.
 */
void m_request(void);
/* sched.lock held: can one be made, as far as is known? */
bool m_can_make(void);
/* The thread in weft_run: makes the one that was requested, if any. */
void m_make_requested(void);
/* The same thread, at boot: the first M, with P pp. 0 or -errno. */
int m_make_first(struct p *pp);

/*
 * Puts this M, which has no P, to sleep until it is given one. On entry it is
 * on the idle list. True with a P; false if the M shall end.
 */
bool m_sleep(struct m *mp);

/* The idle list. sched.lock held. */
void m_idle_put(struct m *mp);
struct m *m_idle_get(void);
/* One that last ran near that position, if there is such a one. */
struct m *m_idle_get_near(uint32_t position);
/* Takes this one off the list; false if another thread already did. */
bool m_idle_remove(struct m *mp);
/* Marks the idle Ms beyond `procs` as surplus. No lock held. */
void m_idle_trim(void);

/* Sleeps for good. */
noreturn void m_halt(void);

/* The goroutine this M runs, or NULL. */
static inline struct g *
m_g(const struct m *mp)
{
	return a_load_relaxed(&mp->curg);
}

/* The kernel's id of its thread, which may have ended. */
static inline int
m_tid(const struct m *mp)
{
	return (int)a_load_relaxed(&mp->tid);
}

/* Calls fn for every M record, also of threads that have ended. */
void m_each(void (*fn)(struct m *mp, void *arg), void *arg);
/* These records, for debuggers: observe/layout.c. */
extern struct slab m_slab;

/* The P this M has, or NULL. */
static inline struct p *
m_p(const struct m *mp)
{
	return a_load_relaxed(&mp->pp);
}

/* This M has P pp, and runs here now: see sched.position. Inside. */
void m_locate_slow(struct p *pp);

static inline void
m_locate(struct p *pp)
{
	if (unlikely(!topology.flat))
		m_locate_slow(pp);
}

/* Gives P pp, which no M has, to this M; and takes it back. Inside. */
void m_acquire(struct m *mp, struct p *pp);
struct p *m_release(struct m *mp);

#endif
