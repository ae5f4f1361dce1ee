/* SPDX-License-Identifier: MIT */
/*
 * Everyone is asleep: report and die, if nobody is left who could wake one.
 *
 * All Ps being idle means that no goroutine runs or can run. A thread that is
 * none of ours still might spawn or wake one, so with any such thread in the
 * process silence is not proof: then we say nothing. Asking the kernel costs
 * some microseconds on each way to sleep, so after it named foreign threads
 * it is not asked again for a while.
 */
#include "sched.h"

#include "fatal.h"
#include "weft.h"

enum {
	ASK_AGAIN_NS = 100 * 1000 * 1000,
	/* ThreadSanitizer keeps a thread of its own. */
#ifdef SAN_THREAD
	SANITIZER_THREADS = 1
#else
	SANITIZER_THREADS = 0
#endif
};

static a64 ask_again_ns;

/* Threads that are neither Ms nor the one that waits in weft_run. */
static bool
foreign_threads(void)
{
	int64_t now = os_now_ns();
	int n;

	if (now < (int64_t)a_load_relaxed(&ask_again_ns))
		return true;
	n = os_thread_count();
	/* Under the lock n_m is exact but for threads on their way out. */
	if (n >= 0 && (uint32_t)n <= sched.n_m + 1 + SANITIZER_THREADS)
		return false;
	a_store_relaxed(&ask_again_ns, (uint64_t)(now + ASK_AGAIN_NS));
	return true;
}

void
deadlock_check(void)
{
	bool dead, ended;

	lock_take(&sched.lock);
	dead = !a_load_relaxed(&sched.stopping) &&
	    a_load_relaxed(&sched.n_idle_p) == a_load_relaxed(&sched.procs) &&
	    sched.globq.list.n == 0 && !foreign_threads();
	ended = sched.main_exited;
	lock_drop(&sched.lock);
	if (!dead)
		return;
	if (ended && spawn_count() == 0)
		fatal("no goroutines left (main called weft_exit): deadlock");
	fatal("all goroutines are asleep: deadlock");
}
