/* SPDX-License-Identifier: MIT */
/*
 * All goroutines are asleep: a fatal error, if nothing can wake one.
 *
 * If all Ps are idle, and no M runs a goroutine without one, no goroutine runs
 * or can run. A foreign thread, one that is not the runtime's, still might
 * spawn or wake one, so with any such thread in the process there is no proof.
 * A thread that ends is seen for a moment after it has been joined, so in doubt
 * the M checks again three times within some tenth of a second (m_sleep), and
 * then no more: an idle program makes no system calls. If such a thread ends
 * later the program sleeps on.
 */
#include "deadlock.h"

#include "sched.h"

#include "expire.h"
#include "fatal.h"
#include "hard.h"
#include "helper.h"
#include "netpoll.h"
#include "spawn.h"
#include "weft.h"

/* ThreadSanitizer has a thread of its own. */
#ifdef SAN_THREAD
enum { SANITIZER_THREADS = 1 };
#else
enum { SANITIZER_THREADS = 0 };
#endif

/* The thread that waits in weft_run, and the monitor. */
enum { OTHERS = 2 };

/*
 * Are there threads that are neither Ms nor helpers nor one of these? Counting
 * takes some ten microseconds, when the last M goes to sleep. sched.lock held:
 * n_m is exact, but for a thread that is being made. That one checks for
 * itself.
 */
static bool
foreign_threads(void)
{
	int n = os_thread_count();

	return n < 0 || sched.n_making ||
	    (uint32_t)n > sched.n_m + OTHERS + SANITIZER_THREADS +
	    helper_count();
}

/* sched.lock held. *gen is how often a P has left the idle list. */
static bool
all_asleep(uint64_t *gen)
{
	*gen = sched.idle_gen;
	return !a_load_relaxed(&sched.stopping) && !sched.resizing &&
	    !sched.collecting &&
	    a_load_relaxed(&sched.n_idle_p) == a_load_relaxed(&sched.procs) &&
	    !a_load_relaxed(&sched.n_detached[DETACHED_NOT]) &&
	    globq_len(&sched.globq) == 0;
}

/*
 * True if all are asleep and no timer or descriptor will change that. Both
 * cannot be read at one instant, as the lock of timers ranks before ours. But
 * if no P left the idle list between two reads, none but a foreign thread has
 * armed a timer meanwhile, or begun to wait for a descriptor.
 * sched.lock held on return. *gen: of both reads. *doubt: a timer is being
 * fired just now, and may or may not wake a goroutine.
 */
static bool
nothing_ahead(uint64_t *gen, bool *doubt)
{
	bool asleep, pending, awaited;
	uint64_t now;

	lock_take(&sched.lock);
	asleep = all_asleep(gen);
	lock_drop(&sched.lock);
	awaited = asleep && netpoll_has_waiters();
	pending = !asleep || awaited || expire_pending();
	*doubt = asleep && pending && !awaited && expire_next() == NEVER_NS;
	hard_pause();
	lock_take(&sched.lock);
	return !pending && all_asleep(&now) && now == *gen;
}

/*
 * A foreign thread may be about to move a timer, which is then in no heap, and
 * have ended when threads are counted. So once there is none all is checked
 * again: a thread that has ended changes nothing, and if no P left the idle
 * list since, no goroutine has made another. sched.lock held on return.
 */
static bool
is_deadlock(bool *doubt)
{
	uint64_t then, now;

	if (!nothing_ahead(&then, doubt))
		return false;
	*doubt = foreign_threads();
	if (*doubt)
		return false;
	lock_drop(&sched.lock);
	return nothing_ahead(&now, doubt) && now == then;
}

bool
deadlock_check(void)
{
	bool doubt, dead = is_deadlock(&doubt), ended = sched.main_exited;

	lock_drop(&sched.lock);
	if (!dead)
		return doubt;
	if (ended && spawn_count() == 0)
		fatal_of(NULL, "no goroutines left (main called "
		    "weft_goexit): deadlock");
	fatal_of(NULL, "all goroutines are asleep: deadlock");
}
