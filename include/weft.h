/* SPDX-License-Identifier: MIT */
/*
 * weft: Go's scheduler as a C library for Linux.
 *
 * Goroutines are cheap threads of control, multiplexed over as many operating
 * system threads as there are processors ("procs"). You write plain blocking
 * code; weft runs it on all cores.
 *
 *	#include <weft.h>
 *
 *	static void hello(int n)
 *	{
 *		printf("hello from goroutine %d\n", n);
 *	}
 *
 *	int weft_main(int argc, char **argv)
 *	{
 *		weft_waitgroup wg = {0};
 *
 *		for (int i = 0; i < 10; i++)
 *			weft_waitgroup_go(&wg, hello, i);
 *		weft_waitgroup_wait(&wg);
 *		return 0;
 *	}
 *	WEFT_MAIN
 *
 * Conventions. A call that hands over, locks or waits for an object of weft
 * returns bool: true if it was done. A call that asks the operating system
 * returns a number that is at least 0, or a negative errno value (-ENOMEM);
 * errno itself is not used. Misuse (a null function, a negative waitgroup) is
 * fatal: a message that says which goroutine did it, the state of every
 * goroutine, and abort().
 *
 * Unless it says otherwise a function may be called from a goroutine and from
 * any other thread of the process alike; where a goroutine would wait, such a
 * thread blocks. Any call of this library may let other goroutines run first
 * and may return on another thread: do not hold a pthread lock, or the address
 * of a thread-local variable, across one, and restore the rounding mode if you
 * changed it (or see weft_opt.fenv).
 *
 * A struct that may grow is passed with its size. Members are only ever added
 * at its end: the library takes what a caller does not have for zero, and
 * writes no more than there is room for.
 *
 * This header has all but pools, maps, flights and limiters, which are in
 * weft/extra.h. A release or free of NULL (channel, context, timer) does
 * nothing. Programs are compiled with -fstack-clash-protection (pkg-config adds
 * it): without it a frame of more than 64 KiB may step over the guard of a
 * stack, and an overflow is then not noticed.
 *
 * Names that end in an underscore are internal.
 */
#ifndef WEFT_H
#define WEFT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. */
#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 2
#define WEFT_VERSION_PATCH 0

/* "0.2.0": the version of the library, which the program may have been linked
 * with later than it was compiled. */
const char *weft_version(void);

/* ---- starting up ------------------------------------------------------- */

/* In C++ what an initialiser leaves out is zero, said so for its warnings. */
#if defined(__cplusplus) && __cplusplus >= 201402L
#define WEFT_ZERO_ = {}
#else
#define WEFT_ZERO_
#endif

/*
 * Zero means default. A member that is zero is read from the environment:
 * WEFT_PROCS, WEFT_MAX_THREADS, WEFT_STACK (bytes), WEFT_PREEMPT_SIGNAL,
 * WEFT_MAX_DETACHED, WEFT_PAUSE, all of them numbers. For tests:
 * WEFT_SLICE_US=n makes a time slice n microseconds long, and ends it whether
 * other goroutines wait or not; WEFT_MIGRATE=1 moves a goroutine to another
 * thread in every call of this library.
 */
typedef struct weft_config {
	/* how many goroutines run at the same time, 1..1024; default: the CPUs
	 * of the affinity mask, or fewer if a cgroup quota says so; the default
	 * follows changes of both, see weft_set_procs */
	int procs WEFT_ZERO_;
	/* threads that weft may create; default 10000 */
	int max_threads WEFT_ZERO_;
	/* usable bytes of a goroutine's stack; default 192 KiB; 4 KiB .. 1 GiB
	 * - 64 KiB */
	size_t stack WEFT_ZERO_;
	/* default SIGURG; -1: no signals are sent */
	int preempt_signal WEFT_ZERO_;
	/* goroutines that may compute without a processor; default
	 * max(64, 4 * procs); -1: none */
	int max_detached WEFT_ZERO_;
	/* goroutines that cannot be preempted are paused with their thread;
	 * -1: they are not, and go on computing without a processor */
	int pause WEFT_ZERO_;
} weft_config;

/*
 * Runs fn(argc, argv) as the main goroutine and returns its result, on the
 * calling thread, as soon as it returns. Goroutines that are left are not
 * waited for: those that run go on until they next yield, the others never run
 * again. So returning the result from main() ends the program.
 *
 * A process has one runtime, once. Returns -EBUSY while it runs (also from a
 * goroutine), -EALREADY after it ended, -EINVAL for a configuration that is
 * out of range, -ENOMEM if memory and -EAGAIN if a thread is refused (with
 * whatever error), -ENOTSUP on a kernel whose pages are not 4 KiB, -ENOSYS on
 * one without membarrier(2). If it could not start it may be called again.
 * Its threads have the signal mask of the calling one, but never block the
 * signals of faults. The main goroutine's stack is that of a C main, nearly
 * 8 MiB, or what weft_config.stack says if that is more.
 *
 * weft_run_with(fn, argc, argv, .procs = 2) is weft_run_config with a
 * weft_config of these members.
 */
int weft_run(int (*fn)(int argc, char **argv), int argc, char **argv);
int weft_run_config(const weft_config *config, size_t config_bytes,
    int (*fn)(int argc, char **argv), int argc, char **argv);
#ifdef __cplusplus
#define weft_run_with(fn, argc, argv, ...) __extension__ ({		\
	const weft_config weft_o_{__VA_ARGS__};				\
	weft_run_config(&weft_o_, sizeof weft_o_, fn, argc, argv); })
#else
#define weft_run_with(fn, argc, argv, ...)				\
	weft_run_config(&(weft_config){__VA_ARGS__}, sizeof(weft_config),\
	    fn, argc, argv)
#endif

/*
 * Defines main(): write a weft_main, and this after it. If the runtime cannot
 * start, main() says why and returns 1.
 */
int weft_main(int argc, char **argv);
int weft_main_(int (*fn)(int argc, char **argv), int argc, char **argv);
#define WEFT_MAIN							\
	int main(int argc, char **argv)					\
	{								\
		return weft_main_(weft_main, argc, argv);		\
	}

/* ---- goroutines -------------------------------------------------------- */

/* Options of one goroutine; zero means default. */
typedef struct weft_opt {
	/* for dumps; copied, at most 23 bytes kept */
	const char *name WEFT_ZERO_;
	/* usable bytes, rounded up to a size class */
	size_t stack WEFT_ZERO_;
	/* keep its floating-point control bits (fesetround) to itself */
	bool fenv WEFT_ZERO_;
	int readable_ WEFT_ZERO_;
	int64_t at_ WEFT_ZERO_;
} weft_opt;

/* In a macro's argument: WEFT_OPT(.name = "conn", .stack = 16384) */
#ifdef __cplusplus
#define WEFT_OPT(...) (weft_opt{__VA_ARGS__})
#else
#define WEFT_OPT(...) ((weft_opt){__VA_ARGS__})
#endif

/*
 * weft_go(fn, args...)
 * weft_go_opt(opt, fn, args...)
 *
 * Statements: start fn(args...) as a goroutine. There are 0 to 8 arguments;
 * they are evaluated now, converted to the types of fn's parameters as in any
 * call, and copied. Each parameter is a scalar or a pointer of at most 8
 * bytes, or a struct of that size that is not packed (at most 4 of these), and
 * fn returns void or such a value, which is dropped. fn is a function or a
 * function pointer with a prototype; if it is declared never to return, the
 * arguments must have exactly its parameters' types.
 *
 * It is fatal if fn is null, memory is refused (also for the stack, which the
 * goroutine gets when it first runs), opt.stack is out of range, or no runtime
 * has been started. A goroutine that is started after the main goroutine has
 * returned never runs, as those that are left then.
 *
 * weft_try_go(fn, args...)
 * weft_try_go_opt(opt, fn, args...)
 *
 * As weft_go, but expressions: the goroutine's id (> 0), -ENOMEM if memory for
 * its record is refused, -EINVAL if opt.stack is out of range, -EPERM if no
 * runtime is running.
 */
#define weft_go(...) \
	WEFT_START_(__VA_ARGS__)(weft_go_, , __VA_ARGS__)
#define weft_go_opt(opt, ...) \
	WEFT_START_(__VA_ARGS__)(weft_go_opt_, opt, __VA_ARGS__)
#define weft_try_go(...) \
	WEFT_START_(__VA_ARGS__)(weft_try_, , __VA_ARGS__)
#define weft_try_go_opt(opt, ...) \
	WEFT_START_(__VA_ARGS__)(weft_try_opt_, opt, __VA_ARGS__)

/*
 * weft_try_go_opt without macros: starts fn(copy), where copy holds the size
 * bytes at arg, 16-aligned, for as long as the goroutine lives; at most
 * WEFT_ARG_BYTES. With size 0 fn gets arg itself. opt may be NULL; opt_bytes is
 * sizeof *opt. Returns as weft_try_go, -E2BIG if size is too large.
 */
enum { WEFT_ARG_BYTES = 128 };
int64_t weft_spawn(const weft_opt *opt, size_t opt_bytes,
    void (*fn)(void *arg), const void *arg, size_t size);

/* Lets other goroutines run. On another thread: sched_yield(). */
void weft_yield(void);

/*
 * Ends the calling goroutine after its deferred calls. Ending the main
 * goroutine this way leaves the others running; when all have ended, and the
 * process has no other threads, it aborts with a message. Fatal outside of a
 * goroutine.
 */
#ifdef __cplusplus
[[noreturn]] void weft_goexit(void);
#else
_Noreturn void weft_goexit(void);
#endif

/*
 * Calls fn(arg) when the calling goroutine ends, by return or by weft_goexit;
 * the call that was deferred last comes first. 0 or -ENOMEM. Fatal outside of
 * a goroutine.
 */
int weft_defer(void (*fn)(void *arg), void *arg);

/* The calling goroutine's id, 0 outside of one. Ids are never reused. */
int64_t weft_self_id(void);
/* The calling goroutine's name, "" if it has none or outside of one. */
const char *weft_self_name(void);

/* ---- processors and threads -------------------------------------------- */

/* How many goroutines can run at the same time; 0 if nothing runs. */
int weft_procs(void);

/*
 * Changes weft_procs() while everything runs, up or down; nothing is lost.
 * Stops all goroutines for a moment, each when it next lets others run
 * (weft_yield, weft_go, a wait), and waits for that. Returns the old number,
 * -EINVAL unless 1 <= n <= 1024, -ENOMEM (then nothing has changed), -EPERM if
 * no runtime is running.
 *
 * A number that the program has not set (here, by weft_config.procs or
 * WEFT_PROCS) follows the affinity mask of the thread in weft_run and the
 * cgroup quota, which are read about once a second while goroutines run.
 * weft_set_procs(weft_procs()) ends that: for a program that forbids itself
 * system calls which open files.
 */
int weft_set_procs(int n);

/* ---- waiting for goroutines to finish ---------------------------------- */

/*
 * A counter, and waits for it to reach zero: add adds n, done subtracts one.
 * The zero value is ready; it must not be copied or freed while a call waits. A
 * counter below zero, an add that races with the first wait, and a new round
 * before all waits of the last one have returned, are fatal.
 *
 * wait_until waits until a time (0: no limit), wait_context until ctx is
 * cancelled or its deadline is over (NULL: never). True if the counter was
 * zero; if it is zero at once that is true whatever the limit.
 */
typedef struct weft_waitgroup {
	uint64_t state_;
	uint32_t sema_, unused_;
} weft_waitgroup;

typedef struct weft_context weft_context;
void weft_waitgroup_add(weft_waitgroup *wg, int n);
void weft_waitgroup_done(weft_waitgroup *wg);
void weft_waitgroup_wait(weft_waitgroup *wg);
bool weft_waitgroup_wait_until(weft_waitgroup *wg, int64_t when);
bool weft_waitgroup_wait_context(weft_waitgroup *wg, weft_context *ctx);

/*
 * weft_waitgroup_go(wg, fn, args...)
 *
 * A statement: adds one, starts fn(args...) as weft_go does, and subtracts one
 * when that goroutine has ended, by return or by weft_goexit, after its
 * deferred calls. What fn returns is dropped.
 */
#define weft_waitgroup_go(wg, ...) \
	WEFT_START_(__VA_ARGS__)(weft_waitgroup_, wg, __VA_ARGS__)

/* ---- time -------------------------------------------------------------- */

/*
 * Times are nanoseconds: a duration (`ns`), or (`when`) an absolute time of
 * the clock of weft_now(), which is CLOCK_MONOTONIC. A duration of zero or less
 * is over at once, one beyond the end of the clock never is. A `when` of 0 is
 * no limit, as is WEFT_NEVER; one that has passed is over at once.
 */
#define WEFT_US INT64_C(1000)
#define WEFT_MS INT64_C(1000000)
#define WEFT_SECOND INT64_C(1000000000)
#define WEFT_NEVER INT64_MAX

int64_t weft_now(void);
/* The time in ns from now: weft_now() + ns, at least 1, or WEFT_NEVER if that
 * is beyond the clock. A point in time, so a loop that wants a new limit for
 * each round asks for it in each round. */
int64_t weft_deadline(int64_t ns);

typedef struct weft_context weft_context;

/*
 * Sleeps at least that long. A sleep until a time that has passed returns at
 * once; 0 is such a time here, not "no limit". With a context: true if it
 * slept to the end, false if ctx was cancelled before, or its deadline over.
 */
void weft_sleep(int64_t ns);
void weft_sleep_until(int64_t when);
bool weft_sleep_context(int64_t ns, weft_context *ctx);

/* ---- timers ------------------------------------------------------------ */

/* A handle, counted by weft_chan_retain and weft_chan_release. */
typedef struct weft_chan weft_chan;

/*
 * A timer fires once, a ticker every period. It sends the time (int64_t) on
 * its channel, unless the last one has not been received yet, or starts a
 * goroutine fn(arg). The channel buffers one time, but its length and capacity
 * read 0.
 */
typedef struct weft_timer weft_timer;

/*
 * weft_timer_make: fires in ns. weft_ticker_make: every period_ns; zero or less
 * is fatal. weft_after_func: starts the goroutine fn(arg) in ns. NULL if memory
 * is refused. To be freed with weft_timer_free.
 */
weft_timer *weft_timer_make(int64_t ns);
weft_timer *weft_ticker_make(int64_t period_ns);
weft_timer *weft_after_func(int64_t ns, void (*fn)(void *arg), void *arg);

/* Its channel, to receive from only; it lives as long as the timer, or longer
 * if retained. NULL for a function. */
weft_chan *weft_timer_chan(weft_timer *t);

/*
 * stop: it does not fire any more. reset: it fires in ns from now (a ticker:
 * every ns). True if it was pending, or had fired and the time was not yet
 * received: that firing is prevented. No time of before the call is received
 * after it.
 */
bool weft_timer_stop(weft_timer *t);
bool weft_timer_reset(weft_timer *t, int64_t ns);
/* Stops and frees. Fatal while a receiver waits on its channel; NULL is fine.*/
void weft_timer_free(weft_timer *t);

/* A channel that gets the time in ns from now; NULL if memory is refused. To
 * be released, which may be before that. */
weft_chan *weft_after(int64_t ns);

/* ---- locks and conditions ---------------------------------------------- */

/*
 * These are embedded in your data. The zero value is ready; it must not be
 * copied or freed while in use. Where there are such forms: `try` does not
 * wait, `until` waits until a time (0: no limit), `context` until ctx is
 * cancelled or its deadline is over (NULL: never). True if it was done; what
 * can be done at once is done, whatever the limit (but see weft_sem).
 */

/*
 * A mutual-exclusion lock. A new locker may overtake waiters; once one has
 * waited for a millisecond, the lock is handed on in order of arrival.
 * Unlocking one that is not locked is fatal; another goroutine may unlock it.
 */
typedef struct weft_mutex {
	uint32_t state_, unused_;
} weft_mutex;

void weft_mutex_lock(weft_mutex *m);
bool weft_mutex_try_lock(weft_mutex *m);
bool weft_mutex_lock_until(weft_mutex *m, int64_t when);
bool weft_mutex_lock_context(weft_mutex *m, weft_context *ctx);
void weft_mutex_unlock(weft_mutex *m);

/*
 * A readers-writer lock: one writer (lock, unlock) or fewer than 2^30 readers
 * (rlock, runlock). Not recursive: a waiting writer keeps readers out, so a
 * second rlock can deadlock. An unlock without its lock is fatal.
 */
typedef struct weft_rwmutex {
	weft_mutex writers_;
	uint64_t word_;
	uint32_t drained_, unused_;
} weft_rwmutex;

void weft_rwmutex_lock(weft_rwmutex *rw);
bool weft_rwmutex_try_lock(weft_rwmutex *rw);
bool weft_rwmutex_lock_until(weft_rwmutex *rw, int64_t when);
bool weft_rwmutex_lock_context(weft_rwmutex *rw, weft_context *ctx);
void weft_rwmutex_unlock(weft_rwmutex *rw);
void weft_rwmutex_rlock(weft_rwmutex *rw);
bool weft_rwmutex_try_rlock(weft_rwmutex *rw);
bool weft_rwmutex_rlock_until(weft_rwmutex *rw, int64_t when);
bool weft_rwmutex_rlock_context(weft_rwmutex *rw, weft_context *ctx);
void weft_rwmutex_runlock(weft_rwmutex *rw);

/*
 * A condition variable. Wait unlocks m, waits for a signal or broadcast, and
 * locks m again, without a limit; then check your condition again. True if it
 * was signalled. Signal wakes the longest waiter.
 */
typedef struct weft_cond {
	uint32_t waiters_;
} weft_cond;

void weft_cond_wait(weft_cond *c, weft_mutex *m);
bool weft_cond_wait_until(weft_cond *c, weft_mutex *m, int64_t when);
bool weft_cond_wait_context(weft_cond *c, weft_mutex *m, weft_context *ctx);
void weft_cond_signal(weft_cond *c);
void weft_cond_broadcast(weft_cond *c);

/*
 * Calls fn(arg) the first time; returns when that call has returned, or has
 * ended its goroutine. A C++ exception that leaves fn counts as its return,
 * and goes on to the caller. Do not leave fn by longjmp: that counts when the
 * goroutine ends; if it calls again before that it would wait for itself,
 * which is fatal.
 */
typedef struct weft_once {
	uint32_t state_;
} weft_once;

void weft_once_do(weft_once *o, void (*fn)(void *arg), void *arg);

/*
 * A weighted semaphore: acquire takes n units, and waits until they are there;
 * release adds n. First come, first served: a request for many units is not
 * overtaken by one for few. For a context that is cancelled none are taken,
 * even if they are there.
 *
 * `WEFT_SEM(n)` is the initialiser of one with n units; to assign it:
 * s = (weft_sem)WEFT_SEM(n).
 */
typedef struct weft_sem {
	uint64_t units_;
} weft_sem;
#define WEFT_SEM(n) { (n) }

void weft_sem_acquire(weft_sem *s, uint64_t n);
bool weft_sem_try_acquire(weft_sem *s, uint64_t n);
bool weft_sem_acquire_until(weft_sem *s, uint64_t n, int64_t when);
bool weft_sem_acquire_context(weft_sem *s, uint64_t n, weft_context *ctx);
void weft_sem_release(weft_sem *s, uint64_t n);

/*
 * A manual-reset event: set wakes all waiters, and it stays set until reset.
 * wait returns at once if it is set.
 */
typedef struct weft_event {
	uint32_t state_;
} weft_event;

void weft_event_set(weft_event *e);
void weft_event_reset(weft_event *e);
bool weft_event_is_set(weft_event *e);
void weft_event_wait(weft_event *e);
bool weft_event_wait_until(weft_event *e, int64_t when);
bool weft_event_wait_context(weft_event *e, weft_context *ctx);

/* ---- contexts: cancellation, deadlines, values -------------------------- */

/*
 * A node of a tree that carries cancellation, a deadline and values. NULL is
 * the root: never cancelled, no values. A child is cancelled with its parent,
 * and retains it. Deadlines are enforced by a timer, and re-checked by
 * weft_context_error. A NULL key is fatal.
 */

/*
 * make: a child of parent (NULL: of the root), or NULL if memory is refused. It
 * has one owner, the caller; retain adds one, and returns ctx. `until` adds a
 * deadline (0: none); if that is what cancels it its cause is `cause` (0:
 * -ETIMEDOUT). `value`: the key is compared as a pointer, and neither it nor
 * the value is copied. `without_cancel` has the values of its parent, but
 * neither its cancellation nor its deadline.
 */
weft_context *weft_context_make(weft_context *parent);
weft_context *weft_context_make_until(weft_context *parent, int64_t when);
weft_context *weft_context_make_until_cause(weft_context *parent, int64_t when,
    int cause);
weft_context *weft_context_make_value(weft_context *parent,
    const void *key, void *value);
weft_context *weft_context_without_cancel(weft_context *parent);
weft_context *weft_context_retain(weft_context *ctx);
/* Removes an owner. The last release frees it; that cancels neither it nor its
 * children. NULL is fine. */
void weft_context_release(weft_context *ctx);

/* Cancels ctx and all its descendants; only the first call counts. Cause 0:
 * -ECANCELED. Fatal for NULL, the root. */
void weft_context_cancel(weft_context *ctx, int cause);
/* 0: not cancelled; -ECANCELED; -ETIMEDOUT if its deadline, or an ancestor's,
 * was over. */
int weft_context_error(weft_context *ctx);
/* The cause given to weft_context_cancel, or with the deadline; 0 if it is not
 * cancelled. */
int weft_context_cause(weft_context *ctx);
/* A channel that is closed when ctx is cancelled; it lives as long as ctx, and
 * the caller does not release it. The root's is NULL. */
weft_chan *weft_context_done(weft_context *ctx);
/* The earliest deadline, its own or an ancestor's; WEFT_NEVER if none. */
int64_t weft_context_deadline(weft_context *ctx);
/* The value of the nearest node with that key, from ctx upwards; NULL if
 * none. */
void *weft_context_value(weft_context *ctx, const void *key);

/*
 * after_func: starts a goroutine fn(arg) when ctx is cancelled (at once, if it
 * is). NULL if memory is refused. The handle retains ctx. Every handle must be
 * stopped, once, which frees it: true if fn will not run; false if its
 * goroutine was started, which may still run, or for NULL.
 */
typedef struct weft_context_func weft_context_func;
weft_context_func *weft_context_after_func(weft_context *ctx,
    void (*fn)(void *arg), void *arg);
bool weft_context_func_stop(weft_context_func *f);

#ifdef __cplusplus
} /* extern "C" */
#endif

#include "weft/group.h"
#include "weft/future.h"
#include "weft/go.h"
#include "weft/channel.h"
#include "weft/begin.h"
#include "weft/threads.h"
#include "weft/stats.h"
#include "weft/dump.h"
#include "weft/trace.h"
#include "weft/metrics.h"
#include "weft/profile.h"
#include "weft/io.h"
#include "weft/net.h"
#include "weft/process.h"

#endif /* WEFT_H */
