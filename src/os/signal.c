/* SPDX-License-Identifier: MIT */
/*
 * Signals: an alternate stack for each thread that runs goroutines, since a
 * goroutine that has used up its stack has none to handle the fault on; the
 * fault handler; the preemption signal; masks.
 */
#include "os.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "rawcall.h"
#include "tls_self.h"

enum {
	/* Room for the widest vector state and for a sanitizer's report. */
	SIGSTACK_BYTES = 128 * 1024
};

static void (*on_fault)(void *addr);
static void (*on_crash)(int sig, const siginfo_t *si, const void *uc);
static struct sigaction before_segv, before_bus;	/* set at boot */

int
os_sigstack_install(struct os_sigstack *s)
{
	stack_t st = { .ss_size = SIGSTACK_BYTES };

	s->base = os_map(SIGSTACK_BYTES);
	if (!s->base)
		return -ENOMEM;
	st.ss_sp = s->base;
	syscall6(SYS_sigaltstack, (long)&st, (long)&s->old, 0, 0, 0, 0);
	return 0;
}

void
os_sigstack_get(const struct os_sigstack *s, stack_t *out)
{
	*out = (stack_t){ .ss_sp = s->base, .ss_size = SIGSTACK_BYTES,
	    .ss_flags = s->base ? 0 : SS_DISABLE };
}

bool
os_sigstack_has(const struct os_sigstack *s, const void *p)
{
	return s->base && (uintptr_t)p - (uintptr_t)s->base < SIGSTACK_BYTES;
}

/* Restores the old one: a sanitizer that installed it expects it. */
void
os_sigstack_remove(struct os_sigstack *s)
{
	if (!s->base)
		return;
	syscall6(SYS_sigaltstack, (long)&s->old, 0, 0, 0, 0, 0);
	os_unmap(s->base, SIGSTACK_BYTES);
	s->base = NULL;
}

bool
os_signal_was_sent(const siginfo_t *si)
{
	return si->si_code <= 0;
}

static struct sigaction *
previous(int sig)
{
	return sig == SIGSEGV ? &before_segv : &before_bus;
}

/* A fault with no handler of the program's: it ends the process. */
static bool
is_last(const struct sigaction *old)
{
	return !(old->sa_flags & SA_SIGINFO) &&
	    (old->sa_handler == SIG_DFL || old->sa_handler == SIG_IGN);
}

/*
 * Passes a signal on to the handler that was there before us. With the default
 * action in place again, returning repeats a faulting instruction and ends the
 * process as if we had never been here; one that was sent must be sent again.
 */
static void
call_previous(int sig, siginfo_t *si, void *uc)
{
	struct sigaction *old = previous(sig);

	if (old->sa_flags & SA_SIGINFO) {
		old->sa_sigaction(sig, si, uc);
	} else if (old->sa_handler == SIG_IGN && os_signal_was_sent(si)) {
		return;
	} else if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN) {
		old->sa_handler(sig);
	} else {
		os_signal_default(sig, si);
	}
}

bool
os_signal_is_default(int sig)
{
	struct sigaction now;

	return sigaction(sig, NULL, &now) == 0 &&
	    !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL;
}

void
os_signal_default(int sig, const siginfo_t *si)
{
	signal(sig, SIG_DFL);
	/* Not raise: in the child of a vfork, libc's idea of which thread this
	 * is may be its parent's. */
	if (os_signal_was_sent(si))
		os_signal_thread(os_thread_id(), sig);
}

static void
crash(int sig, siginfo_t *si, void *uc)
{
	const void *outer = self()->fault_context;

	self()->fault_context = uc;
	on_crash(sig, si, uc);
	self()->fault_context = outer;
}

static void
fault(int sig, siginfo_t *si, void *uc)
{
	const void *outer = self()->fault_context;

	self()->fault_context = uc;
	if (!os_signal_was_sent(si))
		on_fault(si->si_addr);
	self()->fault_context = outer;
	if (on_crash && is_last(previous(sig)) &&
	    previous(sig)->sa_handler == SIG_DFL)
		crash(sig, si, uc);
	call_previous(sig, si, uc);
}

/* Of the other signals, which have this handler only if it is the last. */
static void
crash_last(int sig, siginfo_t *si, void *uc)
{
	crash(sig, si, uc);
	os_signal_default(sig, si);
}

void
os_on_crash(void (*fn)(int sig, const siginfo_t *si, const void *uc),
    bool also)
{
	static const int others[] = { SIGFPE, SIGILL, SIGABRT };
	struct sigaction sa = {
		.sa_sigaction = crash_last,
		.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER,
	};

	on_crash = fn;
	for (unsigned i = 0; also && i < countof(others); i++)
		if (os_signal_is_default(others[i]))
			sigaction(others[i], &sa, NULL);
}

void
os_on_fault(void (*fn)(void *addr))
{
	struct sigaction sa = {
		.sa_sigaction = fault,
		.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER,
	};

	/* At a second boot the previous handler would be our own. */
	if (on_fault)
		return;
	on_fault = fn;
	sigaction(SIGSEGV, &sa, &before_segv);
	sigaction(SIGBUS, &sa, &before_bus);
}

/* ---- a signal from thread to thread ---- */

enum { MASK_BYTES = 8 };	/* the kernel's sigset_t; libc's is larger */

static bool (*on_signal)(void *uc);
static struct sigaction before_signal;	/* set at boot */
static int signal_number;

static void
deliver(int sig, siginfo_t *si, void *uc)
{
	struct sigaction *old = &before_signal;

	if (on_signal(uc))
		return;
	if (old->sa_flags & SA_SIGINFO)
		old->sa_sigaction(sig, si, uc);
	else if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN)
		old->sa_handler(sig);
}

/*
 * The handler may run for long (preempt/pause.c), so these are not blocked:
 * faults, and the signals by which libc makes every thread change its identity
 * (setuid), or cancels one.
 */
static uint64_t
open_signals(void)
{
	/* The third is musl's; in glibc it is the program's. */
	const int LIBC_FIRST = 32, LIBC_LAST = SIGRTMIN - 1;
	uint64_t mask = os_sigfaults() | os_sigbit(SIGSYS);

	for (int sig = LIBC_FIRST; sig <= LIBC_LAST; sig++)
		mask |= os_sigbit(sig);
	return mask;
}

int
os_on_signal(int sig, bool (*fn)(void *uc))
{
	struct sigaction sa = {
		.sa_sigaction = deliver,
		.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART,
	};
	uint64_t mask = ~open_signals();

	if (signal_number)
		return 0;		/* a second boot */
	memset(&sa.sa_mask, 0xff, sizeof sa.sa_mask);
	memcpy(&sa.sa_mask, &mask, sizeof mask);
	on_signal = fn;
	if (sigaction(sig, &sa, &before_signal) != 0)
		return -EINVAL;
	signal_number = sig;
	return 0;
}

static void (*on_profile)(siginfo_t *si, void *uc);

static void
profile(int sig, siginfo_t *si, void *uc)
{
	(void)sig;
	on_profile(si, uc);
}

static bool
is_free(const struct sigaction *sa)
{
	if (sa->sa_flags & SA_SIGINFO)
		return sa->sa_sigaction == profile;
	return sa->sa_handler == SIG_DFL || sa->sa_handler == SIG_IGN;
}

int
os_on_profile(void (*fn)(siginfo_t *si, void *uc))
{
	struct sigaction now, sa = {
		.sa_sigaction = profile,
		.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART,
	};
	uint64_t mask = ~open_signals();

	if (sigaction(SIGPROF, NULL, &now) != 0 || !is_free(&now))
		return -EBUSY;
	memset(&sa.sa_mask, 0xff, sizeof sa.sa_mask);
	memcpy(&sa.sa_mask, &mask, sizeof mask);
	on_profile = fn;
	return sigaction(SIGPROF, &sa, NULL) == 0 ? 0 : -EINVAL;
}

int
os_signal_thread(int tid, int sig)
{
	long pid = syscall6(SYS_getpid, 0, 0, 0, 0, 0, 0);

	return (int)syscall6(SYS_tgkill, pid, tid, sig, 0, 0, 0);
}

uint64_t
os_sigbit(int sig)
{
	return UINT64_C(1) << (sig - 1);
}

uint64_t
os_sigfaults(void)
{
	return os_sigbit(SIGSEGV) | os_sigbit(SIGBUS) | os_sigbit(SIGILL) |
	    os_sigbit(SIGFPE) | os_sigbit(SIGTRAP) | os_sigbit(SIGABRT);
}

uint64_t
os_sigmask(void)
{
	uint64_t mask = 0;

	syscall6(SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)&mask, MASK_BYTES, 0,
	    0);
	return mask;
}

void
os_sigmask_set(uint64_t mask)
{
	syscall6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, MASK_BYTES,
	    0, 0);
}

/*
 * setuid and similar calls change all threads: libc sends each an internal
 * signal and waits until it has handled it.
 */
uint64_t
os_sigmask_all(void)
{
	enum { FIRST_OF_LIBC = 32 };
	uint64_t mask = ~UINT64_C(0);

	for (int sig = FIRST_OF_LIBC; sig < SIGRTMIN; sig++)
		mask &= ~os_sigbit(sig);
	return mask;
}
