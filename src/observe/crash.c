/* SPDX-License-Identifier: MIT */
/*
 * What is printed when a signal ends the process, and on the signal that asks
 * for a dump.
 *
 * Crash signals: one line that says which goroutine it was, its stack and those
 * of all others; then the default action, at the instruction that raised it,
 * so that a core file shows that. A handler that the program has, or installs
 * later, replaces all of this. If the report itself crashes, the default action
 * comes at once.
 *
 * All of it runs in the handler, on the thread that the signal has
 * interrupted, which may hold any lock: dump_now takes none.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "debug_env.h"
#include "dump_text.h"
#include "dump_write.h"
#include "end_signal.h"
#include "fatal.h"
#include "os.h"
#include "preempt.h"
#include "sanitize.h"
#include "sched.h"
#include "start.h"

enum { SIGNALS = 64 };

/* ---- crash signals ---- */

static const char *
signal_name(int sig)
{
	return sig == SIGSEGV ? "SIGSEGV" : sig == SIGBUS ? "SIGBUS" :
	    sig == SIGFPE ? "SIGFPE" : sig == SIGILL ? "SIGILL" : "SIGABRT";
}

/* `SIGSEGV at address 0x10 in goroutine 7 (...)`; si_addr of the other signals
 * is that of the instruction. */
static void
say_crash(int sig, const siginfo_t *si, const char *subject)
{
	const char *name = signal_name(sig);

	if (!os_signal_was_sent(si) && sig != SIGABRT)
		say("weft: %s at address %p in %s\n", name, si->si_addr,
		    subject);
	else if (si->si_pid != getpid())
		say("weft: %s sent by process %d, in %s\n", name, si->si_pid,
		    subject);
	else
		say("weft: %s in %s\n", name, subject);
}

/* A thread that runs no goroutine is in no dump. */
static void
say_thread(const void *uc)
{
	static struct backtrace b;
	static uintptr_t pcs[BACKTRACE_MAX];
	static bool named[DUMP_MODULES];
	char buf[512];
	struct fd_sink out;

	fd_sink_init(&out, STDERR_FILENO, buf, sizeof buf);
	dump_text_stack(&out.sink, named, pcs,
	    goroutine_stacks_own(&b, uc, pcs, BACKTRACE_MAX));
	sink_flush(&out.sink);
}

static pid_t booted;		/* the process, constant after boot */

/*
 * The thread that ends the process, if the report does not crash itself. The
 * child of a fork has no goroutines to report; that of a vfork has its parent's
 * memory, which must not say that it dies.
 */
static void
crash(int sig, const siginfo_t *si, const void *uc)
{
	struct m *mp = m_self();
	struct g *gp = mp ? m_g(mp) : NULL;
	char subject[G_DESCRIBE_BYTES];

	if (getpid() != booted || !fatal_claim())
		return;
	if (gp)
		g_describe(gp, subject, sizeof subject);
	else
		format(subject, sizeof subject, "%s %d",
		    mp ? "a thread of weft," : "thread", os_thread_id());
	say_crash(sig, si, subject);
	if (!gp)
		say_thread(uc);
	dump_now(uc, true);
	if (fatal_last)
		fatal_last();
}

/* ---- the signal that asks for a dump ---- */

static struct {
	/* any thread, atomic: bits, one a signal */
	a64 ours, ends;
	abool forked;
	struct sigaction before[SIGNALS + 1];	/* of `ours` */
} asked;

static void
dump_asked(int sig, siginfo_t *si, void *uc)
{
	bool ends = a_load_relaxed(&asked.ends) & os_sigbit(sig);
	int saved = errno;

	if (a_load_relaxed(&asked.forked)) {
		os_signal_default(sig, si);
		return;
	}
	say("weft: signal %d: %ld goroutines\n", sig, (long)weft_goroutines());
	dump_now(uc, ends);
	errno = saved;
	if (!ends || end_signal_ask(sig))
		return;
	if (fatal_last)
		fatal_last();
	os_signal_default(sig, si);
}

static bool
is_ours(int sig)
{
	struct sigaction now;

	return sigaction(sig, NULL, &now) == 0 &&
	    now.sa_flags & SA_SIGINFO && now.sa_sigaction == dump_asked;
}

static void
turn_off(int sig)
{
	if (is_ours(sig))
		sigaction(sig, &asked.before[sig], NULL);
	a_and_relaxed(&asked.ours, ~os_sigbit(sig));
}

static int
turn_on(int sig, bool ends)
{
	struct sigaction sa = {
		.sa_sigaction = dump_asked,
		.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART,
	}, old;

	if (ends)
		a_or_relaxed(&asked.ends, os_sigbit(sig));
	else
		a_and_relaxed(&asked.ends, ~os_sigbit(sig));
	if (is_ours(sig))
		return 0;
	if (sigaction(sig, &sa, &old) != 0)
		return -EINVAL;
	asked.before[sig] = old;
	a_or_relaxed(&asked.ours, os_sigbit(sig));
	return 0;
}

public int
weft_dump_on_signal(int sig, unsigned flags)
{
	if (sig < 1 || sig > SIGNALS || os_sigbit(sig) & os_sigfaults() ||
	    sig == preempt_signal())
		return -EINVAL;
	if (!(flags & WEFT_DUMP_OFF))
		return turn_on(sig, !(flags & WEFT_DUMP_CONTINUE));
	turn_off(sig);
	return 0;
}

/* ---- at boot ---- */

/*
 * ThreadSanitizer keeps a signal until its thread calls a function that it
 * knows, which a thread that sleeps in weft never does: only on request.
 */
#ifdef SAN_THREAD
enum { DEFAULT_SIGNAL = 0 };
#else
enum { DEFAULT_SIGNAL = SIGQUIT };
#endif

static void
boot(void)
{
	int64_t sig = debug_env_num("dumpsig", run_by_macro() ?
	    DEFAULT_SIGNAL : 0);
	bool ends = debug_env_num("dumpend", 1) != 0;

	booted = getpid();
	if (debug_env_num("crash", 1))
		os_on_crash(crash, true);
	/* If there is no room for it, exit() may cut a report short. */
	atexit(fatal_let_die);
	if (sig && (sig < 1 || sig > SIGNALS ||
	    (os_signal_is_default((int)sig) && weft_dump_on_signal((int)sig,
	    ends ? 0 : WEFT_DUMP_CONTINUE) != 0)))
		say("weft: WEFT_DEBUG: dumpsig=%ld cannot be used\n",
		    (long)sig);
}

static void
forked(void)
{
	a_store_relaxed(&asked.forked, true);
	fatal_forked();
}

__attribute__((constructor)) static void
hook(void)
{
	static struct run_hook h = { .boot = boot, .forked = forked };

	run_hook_add(&h);
}
