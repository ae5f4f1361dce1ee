/* SPDX-License-Identifier: MIT */
/*
 * Recordings end with the process: servers are stopped by SIGTERM, programs
 * at a terminal by SIGINT, and what was recorded until then shall not be lost.
 *
 * A handler cannot write files: the thread that it interrupts may hold any
 * lock. So it asks a helper, which finishes the recordings and then has the
 * signal take its default action: the status of the process is what it would
 * be without the recording. A second signal takes the default action at once.
 *
 *	ending = 0	nothing ends
 *	   | the handler (CAS), which then pokes the helper
 *	   +---> the signal: the helper finishes the recordings
 *	   | exit() (CAS), on its thread
 *	   +---> EXITING: exit() finishes them, signals end the process at
 *		 once
 *
 * An exit() that comes after the signal waits for the helper, which ends the
 * process, but no longer than ten seconds.
 *
 * A signal that is ignored or has a handler when the recording begins is left
 * alone, and a handler that the program installs later replaces this one.
 */
#include "end_signal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "helper.h"
#include "os.h"
#include "sanitize.h"
#include "start.h"

enum { FNS = 4, EXITING = 1000, LOOKS = 1000 };

static const int signals[] = { SIGHUP, SIGINT, SIGTERM };
static const int64_t look_ns = 10 * 1000 * 1000;

/* constant after boot */
static void (*fns[FNS])(void);
static unsigned n_fns;
static pid_t owner;		/* 0: there is no helper */

/* any thread, atomic */
static a32 ending;
static struct note note;	/* the helper sleeps here */

static void
helper(void *arg)
{
	uint32_t sig;

	(void)arg;
	do
		note_wait(&note, FOREVER);
	while (!(sig = a_load_acq(&ending)));	/* pairs with end_signal_ask */
	for (unsigned i = 0; i < n_fns; i++)
		fns[i]();
	signal((int)sig, SIG_DFL);
	os_sigmask_set(os_sigmask() & ~os_sigbit((int)sig));
	os_signal_thread(os_thread_id(), (int)sig);
}

bool
end_signal_ask(int sig)
{
	if (!owner || owner != getpid())
		return false;
	/* pairs with the helper */
	if (!a_cas_acqrel(&ending, 0, (uint32_t)sig))
		return a_load_relaxed(&ending) != EXITING;
	note_poke(&note);
	return true;
}

/* Once: SA_RESETHAND has the next one end the process. */
static void
on_signal(int sig, siginfo_t *si, void *uc)
{
	int saved = errno;

	(void)uc;
	if (!end_signal_ask(sig))
		os_signal_default(sig, si);
	errno = saved;
}

static void
at_exit(void)
{
	/* pairs with end_signal_ask: one of the two finishes recordings */
	if (owner != getpid() || a_cas_acqrel(&ending, 0, EXITING))
		return;
	for (int i = 0; i < LOOKS && a_load_relaxed(&ending) != EXITING; i++)
		os_sleep_ns(look_ns);
}

static void
install(void)
{
	struct sigaction sa = {
		.sa_sigaction = on_signal,
		.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART |
		    SA_RESETHAND,
	};

	for (unsigned i = 0; i < countof(signals); i++)
		if (os_signal_is_default(signals[i]))
			sigaction(signals[i], &sa, NULL);
}

/*
 * ThreadSanitizer keeps a signal until its thread calls a function that it
 * knows, which a thread that sleeps in weft never does.
 */
#ifdef SAN_THREAD
enum { DELAYED = true };
#else
enum { DELAYED = false };
#endif

void
end_signal_add(void (*fn)(void))
{
	for (unsigned i = 0; i < n_fns; i++)
		if (fns[i] == fn)
			return;
	if (DELAYED || n_fns == FNS)
		return;
	fns[n_fns++] = fn;
	atexit(at_exit);
	if (owner || helper_start(helper, NULL) != 0)
		return;
	owner = getpid();
	install();
}

/* The child has no helper; its signals are what they were. */
static void
forked(void)
{
	struct sigaction now;

	for (unsigned i = 0; owner && i < countof(signals); i++)
		if (sigaction(signals[i], NULL, &now) == 0 &&
		    now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_signal)
			signal(signals[i], SIG_DFL);
	owner = 0;
}

__attribute__((constructor)) static void
hook(void)
{
	static struct run_hook h = { .forked = forked };

	run_hook_add(&h);
}
