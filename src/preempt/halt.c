/* SPDX-License-Identifier: MIT */
#include "halt.h"

#include <errno.h>

#include "pause.h"
#include "preempt.h"
#include "sched.h"
#include "sigframe.h"

static a32 answers;		/* changes when one is halted */
/* How long to wait before all that have not answered are asked again: they had
 * a lock, or are paused by now. */
static const int64_t look_ns = 50 * 1000;
/* How long to wait without any answer for one that cannot give it; and the CPU
 * time after which one that computes will not. */
static const int64_t give_up_ns = 50 * 1000 * 1000;
static const int64_t give_up_cpu_ns = 10 * 1000 * 1000;

/* One look at all Ms. */
struct round {
	bool stopped;		/* as in halt_all */
	bool failed;		/* one cannot be signalled */
	bool again;		/* others are to be asked once more */
	bool late;		/* is one of them stuck? */
	bool stuck;
	uint32_t waiting;	/* asked, or not ready to be asked */
};

/* ---- the handler ---- */

bool
halt_serve(struct m *mp, const ucontext_t *uc)
{
	/* pairs with ask */
	if (a_load_acq(&mp->halt) != HALT_ASKED)
		return false;
	if (self()->locks)
		return true;
	mp->halt_context = uc;
	/* pairs with look_at; fails if the stopper has given up */
	if (!a_cas_acqrel(&mp->halt, HALT_ASKED, HALT_HALTED))
		return true;
	a_add_relaxed(&answers, 1);
	os_futex_wake(&answers, 1);
	/* pairs with release: what it wrote is seen when it is released */
	while (a_load_acq(&mp->halt) == HALT_HALTED)
		os_futex_wait(&mp->halt, HALT_HALTED, -1);
	return true;
}

/* ---- the stopper ---- */

/*
 * It runs one, or is about to leave one. Read in the opposite order of the
 * writes: see claim.c.
 */
static bool
runs(struct m *mp)
{
	/* pairs with make_current and switch_from */
	return a_load_acq(&mp->curg) ||
	    a_load_acq(&mp->prev_g);	/* pairs with finish_switch */
}

/* With a stopped world only those that run one, and are not paused, can
 * compute; else any may begin to. */
static bool
must_halt(const struct round *r, struct m *mp)
{
	return a_load_relaxed(&mp->alive) && !(r->stopped &&
	    (!runs(mp) || halt_is_paused(mp)));
}

static void
signal_it(struct m *mp)
{
	/* If it fails its thread has just ended. */
	os_signal_thread(m_tid(mp), preempt_signal());
}

/*
 * It is asleep, or had a CPU and did not answer: it blocks the signal, has a
 * handler of its own for it, or is in a system call that goes on for long. If
 * its state cannot be read it counts as asleep; else it is without a CPU.
 */
static bool
is_stuck(struct m *mp, bool asked)
{
	int blocked = os_thread_blocked_once(m_tid(mp));

	if (blocked == -ENOENT || blocked == -ESRCH)
		return false;	/* it has ended */
	return blocked != 0 || (asked && os_thread_cpu_ns(m_tid(mp)) -
	    mp->halt_cpu > give_up_cpu_ns);
}

static void
look_at(struct m *mp, void *arg)
{
	struct round *r = arg;
	/* pairs with halt_serve */
	uint32_t halt = a_load_acq(&mp->halt);

	if (halt == HALT_HALTED || !must_halt(r, mp))
		return;
	r->failed |= !preempt_signal() || a_load_relaxed(&mp->no_sigstack);
	r->waiting++;
	if (r->late && !r->stuck)
		r->stuck = is_stuck(mp, halt == HALT_ASKED);
	/* Else it begins just now, or ends. */
	if (r->failed || !a_load_relaxed(&mp->can_signal))
		return;
	if (halt == HALT_NONE) {
		mp->halt_cpu = os_thread_cpu_ns(m_tid(mp));
		a_store_rel(&mp->halt, HALT_ASKED);	/* pairs with
							 * halt_serve */
		signal_it(mp);
	} else if (r->again) {
		signal_it(mp);
	}
}

static void
release(struct m *mp, void *arg)
{
	(void)arg;
	/* pairs with halt_serve */
	if (a_load_relaxed(&mp->halt) != HALT_NONE &&
	    a_xchg_acqrel(&mp->halt, HALT_NONE) == HALT_HALTED)
		os_futex_wake(&mp->halt, 1);
}

void
halt_release(void)
{
	m_each(release, NULL);
}

static bool
is_stopped(bool stopped)
{
	return stopped && !(a_load_relaxed(&sched.stopping) & STOP_ENDED);
}

/*
 * The main goroutine may return until its thread is halted. Then those that are
 * paused go on, and all are asked.
 */
static void
look_at_all(struct round *r, bool stopped, bool again, bool late)
{
	*r = (struct round){ .again = again, .late = late,
	    .stopped = is_stopped(stopped) };
	if (!r->stopped)
		pause_end();
	m_each(look_at, r);
}

/* Until all are halted: 0, or -errno with some of them halted. */
static int
halt_each(bool stopped)
{
	uint32_t seen, before = a_load_relaxed(&answers);
	int64_t until = os_now_ns() + give_up_ns;
	bool again = false, late;
	struct round r;

	for (;; before = seen) {
		seen = a_load_relaxed(&answers);
		late = again && seen == before && os_now_ns() > until;
		look_at_all(&r, stopped, again, late);
		if (r.failed)
			return -ENOTSUP;
		/* If main returned meanwhile, paused ones go on by now. */
		if (!r.waiting && r.stopped == is_stopped(stopped))
			return 0;
		if (r.stuck)
			return -EBUSY;
		if (seen != before || late)
			until = os_now_ns() + give_up_ns;
		again = os_futex_wait(&answers, seen, look_ns) == -ETIMEDOUT;
	}
}

int
halt_all(bool stopped)
{
	int err = halt_each(stopped);

	if (err)
		halt_release();
	return err;
}
