/* SPDX-License-Identifier: MIT */
/*
 * M, a thread that runs goroutines. It needs a P to run one. Its own stack
 * and context, on which it looks for work, are called g0.
 *
 * An M is in one of these places:
 *
 *	running		has a P and a curg
 *	looking		has a P, on g0; `spinning` if it is counted as such
 *	idle		no P, on the idle list, asleep on its note
 *	starting	taken from the idle list (or new) with a P in `nextp`
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
#include "self.h"

struct p;

enum { DOUBTS = 3 };

/* What the context that follows does with the goroutine that left. */
enum after {
	AFTER_YIELD,		/* queue it */
	AFTER_DROP,		/* drop the lock unlock_arg */
	AFTER_PARK,		/* call unlockf; false: it is next */
	AFTER_EXIT		/* bury it */
};

struct m {
	/* itself only */
	struct frame g0;
	struct p *pp;		/* the P it has, or NULL */
	struct g *curg;		/* the goroutine it runs, or NULL on g0 */
	bool spinning;		/* counted in sched.n_spinning */
	uint8_t doubts;		/* times to ask for a deadlock again */
	uint64_t active;	/* see nap */

	/* itself only, from one context to the next across a switch */
	struct g *left;		/* who left, NULL if nobody */
	enum after after;
	bool (*unlockf)(struct g *gp, void *arg);
	void *unlock_arg;
	struct san *left_san;

	/* the waker, before it wakes the note; then itself */
	struct p *nextp;
	bool nextspin;

	/* under sched.lock */
	struct list idle;	/* linked while on the idle list */
	struct m *free_link;	/* records of Ms that ended */
	/* atomic; written under sched.lock */
	abool surplus;		/* idle as one too many: leaves in time */

	/* constant while the thread lives */
	int id;
	struct os_sigstack sigstack;
	struct san san;

	struct note note;	/* it sleeps, others wake */
} cache_aligned;

/*
 * Starts an M that has P pp: the idle one mp, or a new thread if mp is NULL.
 * It begins as spinning if spin says so, and that was counted already.
 * 0, or -errno if no thread is to be had; then nothing has changed.
 * No lock held.
 */
int m_start(struct m *mp, struct p *pp, bool spin);

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

/* Gives P pp, which nobody has, to this M. */
void m_acquire(struct m *mp, struct p *pp);

#endif
