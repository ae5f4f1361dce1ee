/* SPDX-License-Identifier: MIT */
/*
 * Signals as channels.
 *
 * The handler does what is async-signal-safe: it sets the signal's bit in
 * `caught` and wakes one goroutine, through an eventfd, which takes the bits
 * and sends on the channels. The goroutine exists as long as there is any
 * subscription, and ends with the last one, so that deadlocks are reported
 * again.
 *
 *	handler			the goroutine, or stop
 *	  set the bit		  read the eventfd (stop: does not)
 *	  write the eventfd	  take all bits
 *
 * A bit that is set after they were taken is followed by its write, which the
 * goroutine has not read yet: no signal is lost. Signals of one number that
 * arrive close together are coalesced, as in the kernel.
 *
 * The table, and which signals have the handler, change under a mutex, under
 * which the channels are also sent to: when stop has returned the channel
 * receives no more. A signal has the handler if and only if there is a
 * subscription. A handler may still be running when the previous action is
 * restored; then the signal is sent again, by the handler if it finds that the
 * signal is not `ours`, else by stop, which takes the bits after it has cleared
 * `ours`:
 *
 *	handler			stop
 *	  set the bit		  restore; not ours
 *	  is it ours?		  take all bits
 *
 * Both write first and read second, so one of the two sees the other.
 *
 * Where no goroutine will take the bits, in the child of a fork or a vfork and
 * after the end of the runtime, the handler restores the previous action and
 * sends the signal again. It recognises a child by its process id. A child
 * shares the eventfd, but writes to it only if it has the same id, in another
 * namespace; even then the goroutine only wakes up once for nothing.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "chan.h"
#include "desc.h"
#include "fatal.h"
#include "fdio.h"
#include "hard.h"
#include "netpoll.h"
#include "os.h"
#include "preempt.h"
#include "sanitize.h"
#include "sched.h"
#include "start.h"
#include "weft.h"

enum {
	SIGNALS = 64,
	LIBC_FIRST = 32,	/* up to SIGRTMIN: libc's own */
	RETRY_MS = 10
};

/* A channel, and its signals. */
struct subscription {
	struct subscription *next;
	weft_chan *chan;	/* retained */
	uint64_t signals;	/* bits; never none */
};

static struct {
	/* set by the first notify, before any handler is there; constant */
	long pid;
	int fd;
	bool open;

	/* under mutex */
	weft_mutex mutex;
	struct subscription *wants;
	bool served;		/* the goroutine is there */
	/* of `ours`, written before the handler is there */
	struct sigaction before[SIGNALS + 1];

	/* any thread, also in handlers, atomic */
	a64 ours;		/* signals that have our handler; written under
				 * mutex */
	a64 caught;		/* signals that arrived */
} table;

static always_inline uint64_t
bit_of(int sig)
{
	return UINT64_C(1) << (sig - 1);
}

/* ---- the handler ---- */

static always_inline long
process_id(void)
{
	return syscall6(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

static always_inline void
wake(void)
{
	uint64_t one = 1;

	fd_write(table.fd, &one, sizeof one);
}

/* The signal is still blocked: it comes when the handler has returned. */
static always_inline void
resend_signal(int sig)
{
	long tid = syscall6(SYS_gettid, 0, 0, 0, 0, 0, 0);

	syscall6(SYS_tgkill, process_id(), tid, sig, 0, 0, 0);
}

/*
 * ThreadSanitizer keeps signals until the thread calls a function that it
 * knows, which a thread asleep in one of our futexes never does. So there the
 * kernel calls the handler itself, whose code must then be without checks, as
 * it may interrupt the sanitizer's own; it does not ask whether the runtime
 * has ended.
 */
#ifdef SAN_THREAD
#define unchecked __attribute__((__no_sanitize__("thread")))

static always_inline bool
no_receiver(void)
{
	return process_id() != table.pid;
}

struct kernel_sigaction {
	void (*handler)(int);
	unsigned long flags;
	void *restorer;
	uint64_t mask;
};

/* Past the sanitizer, which has filled in the rest. */
static void
call_directly(int sig, void (*handler)(int))
{
	struct kernel_sigaction k;

	syscall6(SYS_rt_sigaction, sig, 0, (long)&k, sizeof k.mask, 0, 0);
	k.handler = handler;
	k.flags &= ~(unsigned long)SA_SIGINFO;
	syscall6(SYS_rt_sigaction, sig, (long)&k, 0, sizeof k.mask, 0, 0);
}
#else
#define unchecked

static always_inline bool
no_receiver(void)
{
	return !sched_is_up() || process_id() != table.pid;
}

static void
call_directly(int sig, void (*handler)(int))
{
	(void)sig, (void)handler;
}
#endif

static void caught(int sig);

/* If the program has installed another handler since, that stays. */
static void
restore(int sig)
{
	struct sigaction now;

	sigaction(sig, NULL, &now);
	if (!(now.sa_flags & SA_SIGINFO) && now.sa_handler == caught)
		sigaction(sig, &table.before[sig], NULL);
}

/* On any thread, on its signal stack if it has one, all signals blocked. */
unchecked static void
caught(int sig)
{
	uint64_t bit = bit_of(sig);

	if (unlikely(no_receiver())) {
		restore(sig);
		resend_signal(sig);
		return;
	}
	hard_pause();
	/* sc: pairs with dispatch_signals: the bit is there before the write */
	a_or_sc(&table.caught, bit);
	hard_pause();
	/* sc: pairs with remove_handler, and the dispatch_signals after it */
	if (unlikely(!(a_load_sc(&table.ours) & bit))) {
		if (a_and_sc(&table.caught, ~bit) & bit)	/* sc: same */
			resend_signal(sig);
		return;
	}
	wake();
}

/* Mutex held. */
static void
install_handler(int sig)
{
	struct sigaction sa = { .sa_flags = SA_ONSTACK | SA_RESTART };

	sa.sa_handler = caught;
	memset(&sa.sa_mask, 0xff, sizeof sa.sa_mask);
	sigaction(sig, NULL, &table.before[sig]);
	a_or_sc(&table.ours, bit_of(sig));	/* sc: pairs with caught */
	sigaction(sig, &sa, NULL);
	call_directly(sig, caught);
}

/* Mutex held. */
static void
remove_handler(int sig)
{
	restore(sig);
	hard_pause();
	a_and_sc(&table.ours, ~bit_of(sig));	/* sc: pairs with caught */
}

static always_inline bool
is_ours(int sig)
{
	return a_load_relaxed(&table.ours) & bit_of(sig);
}

/* ---- handing out ---- */

/* Mutex held. True if there is a subscription. */
static bool
send_all(int sig)
{
	bool wanted = false;

	for (struct subscription *w = table.wants; w; w = w->next) {
		if (w->signals & bit_of(sig)) {
			weft_chan_try_send(w->chan, &sig);
			wanted = true;
		}
	}
	return wanted;
}

/* Mutex held. */
static void
dispatch_signals(void)
{
	/* sc: pairs with caught */
	uint64_t bits = a_xchg_sc(&table.caught, 0);

	for (int sig = 1; bits; sig++) {
		if (bits & bit_of(sig) && !send_all(sig))
			syscall6(SYS_kill, table.pid, sig, 0, 0, 0, 0);
		bits &= ~bit_of(sig);
	}
}

/* True as long as there are subscriptions. */
static bool
go_on(void)
{
	bool served;

	weft_mutex_lock(&table.mutex);
	dispatch_signals();
	served = table.served = table.wants != NULL;
	weft_mutex_unlock(&table.mutex);
	return served;
}

static long
try_read(struct desc *d, void *times)
{
	return fd_read(d->fd, times, sizeof(uint64_t));
}

/* Waits until a handler has written: 0 or -errno. */
static long
wait_signal(void)
{
	struct desc *d;
	uint64_t times;
	long n = desc_enter_own(table.fd, &d);

	if (n)
		return n;
	n = fdio_loop(d, DIR_IN, try_read, &times, 0);
	desc_leave(d);
	return n < 0 ? n : 0;
}

/*
 * The goroutine. If there is no descriptor for the poller, or no memory, for a
 * while, signals are late.
 */
static void
serve(void *arg)
{
	(void)arg;
	do {
		long err = wait_signal();

		if (err == -EBADF || err == -EINVAL)
			fatal("descriptor %d is weft's own, for signals, and "
			    "the program has closed it", table.fd);
		if (err)
			weft_sleep(RETRY_MS * WEFT_MS);
	} while (go_on());
}

/* ---- subscriptions ---- */

static bool
of_a_fault(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE ||
	    sig == SIGILL || sig == SIGTRAP || sig == SIGSYS;
}

static bool
may_be_caught(int sig)
{
	return sig >= 1 && sig <= SIGNALS &&
	    !(sig >= LIBC_FIRST && sig < SIGRTMIN) &&
	    sig != SIGKILL && sig != SIGSTOP && !of_a_fault(sig) &&
	    sig != preempt_signal();
}

/* Mutex held. The place in the list of the channel's entry, or its end. */
static struct subscription **
find(weft_chan *c)
{
	struct subscription **at = &table.wants;

	while (*at && (*at)->chan != c)
		at = &(*at)->next;
	return at;
}

/* Mutex held. 0 or -errno. */
static int
open_table(void)
{
	long fd;
	int err;

	if (table.open)
		return 0;
	fd = os_fd_move_high(syscall6(SYS_eventfd2, 0,
	    EFD_CLOEXEC | EFD_NONBLOCK, 0, 0, 0, 0));
	if (fd < 0)
		return (int)fd;
	err = desc_own((int)fd);
	if (err) {
		fd_close((int)fd);
		return err;
	}
	table.fd = (int)fd;
	table.pid = process_id();
	table.open = true;
	return 0;
}

/* Mutex held: the goroutine takes the bits only after it is released. */
static int
start_serving(void)
{
	static const weft_opt opt = { .name = "signals" };
	int64_t id = table.served ? 1 : weft_spawn(&opt, sizeof opt,
	    serve, NULL, 0);

	if (id < 0)
		return (int)id;
	table.served = true;
	return 0;
}

/* Mutex held. The entry of the channel, without signals if it is new. */
static int
add(weft_chan *c, struct subscription **out)
{
	struct subscription **at = find(c);
	int err = open_table();

	if (!err && !*at) {
		*at = calloc(1, sizeof **at);
		if (!*at)
			return -ENOMEM;
		(*at)->chan = weft_chan_retain(c);
	}
	*out = *at;
	return err;
}

/* Mutex held. Frees an entry without signals: its channel, or NULL. */
static weft_chan *
forget(struct subscription **at)
{
	struct subscription *w = *at;
	weft_chan *c = w->chan;

	if (w->signals)
		return NULL;
	*at = w->next;
	free(w);
	return c;
}

public int
weft_signal_notify(weft_chan *c, int sig)
{
	weft_chan *gone = NULL;
	struct subscription *w;
	int err;

	if (!c || c->elem_bytes != sizeof(int) || !may_be_caught(sig))
		return -EINVAL;
	if (!sched_is_up())
		return -EPERM;
	weft_mutex_lock(&table.mutex);
	err = add(c, &w);
	if (!err) {
		err = start_serving();
		if (!err)
			w->signals |= bit_of(sig);
		else
			gone = forget(find(c));
	}
	if (!err && !is_ours(sig))
		install_handler(sig);
	weft_mutex_unlock(&table.mutex);
	if (gone)
		weft_chan_release(gone);
	return err;
}

static uint64_t
all_wanted(void)
{
	uint64_t signals = 0;

	for (struct subscription *w = table.wants; w; w = w->next)
		signals |= w->signals;
	return signals;
}

/*
 * Mutex held. What arrived before is sent first. A signal that is caught while
 * its handler is removed has its previous action.
 */
static weft_chan *
stop(struct subscription **at, uint64_t signals)
{
	weft_chan *gone;
	uint64_t rest;

	dispatch_signals();
	(*at)->signals &= ~signals;
	gone = forget(at);
	rest = a_load_relaxed(&table.ours) & ~all_wanted();
	for (int sig = 1; sig <= SIGNALS; sig++)
		if (rest & bit_of(sig))
			remove_handler(sig);
	dispatch_signals();
	if (!table.wants)
		wake();		/* the goroutine, to end */
	return gone;
}

public int
weft_signal_stop(weft_chan *c, int sig)
{
	weft_chan *gone = NULL;
	struct subscription **at;

	if (!c || (sig != 0 && !may_be_caught(sig)))
		return -EINVAL;
	if (!sched_is_up())
		return -EPERM;
	weft_mutex_lock(&table.mutex);
	at = find(c);
	if (*at)
		gone = stop(at, sig ? bit_of(sig) : ~UINT64_C(0));
	weft_mutex_unlock(&table.mutex);
	if (gone)
		weft_chan_release(gone);
	return 0;
}
