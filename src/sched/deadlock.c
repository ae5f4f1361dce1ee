/* SPDX-License-Identifier: MIT */
/*
 * Everyone is asleep: report and die, if nobody is left who could wake one.
 *
 * All Ps being idle means that no goroutine runs or can run. A thread that is
 * none of ours still might spawn or wake one, so with any such thread in the
 * process silence is not proof. A thread that ends is seen for a moment after
 * it has been joined, so who is in doubt asks again a few times within a tenth
 * of a second (m_sleep), and then lets it be: an idle program makes no system
 * calls. If such a thread ends later the program sleeps on.
 */
#include "sched.h"

#include "fatal.h"
#include "weft.h"

/* ThreadSanitizer keeps a thread of its own. */
#ifdef SAN_THREAD
enum { SANITIZER_THREADS = 1 };
#else
enum { SANITIZER_THREADS = 0 };
#endif

/*
 * Threads that are neither Ms nor the one that waits in weft_run. Asking takes
 * some ten microseconds, on the way to sleep when all are asleep. sched.lock
 * held: n_m is exact.
 */
static bool
foreign_threads(void)
{
	int n = os_thread_count();

	return n < 0 || (uint32_t)n > sched.n_m + 1 + SANITIZER_THREADS;
}

bool
deadlock_check(void)
{
	bool asleep, doubt = false, ended;

	lock_take(&sched.lock);
	asleep = !a_load_relaxed(&sched.stopping) &&
	    a_load_relaxed(&sched.n_idle_p) == a_load_relaxed(&sched.procs) &&
	    sched.globq.list.n == 0;
	if (asleep)
		doubt = foreign_threads();
	ended = sched.main_exited;
	lock_drop(&sched.lock);
	if (!asleep || doubt)
		return doubt;
	if (ended && spawn_count() == 0)
		fatal("no goroutines left (main called weft_exit): deadlock");
	fatal("all goroutines are asleep: deadlock");
}
