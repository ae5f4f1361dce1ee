/* SPDX-License-Identifier: MIT */
/*
 * Threads and time slices; part of weft.h.
 *
 * Nothing a goroutine does stops the others. One that has run for 10 ms while
 * others wait (0.5 ms if a timer woke them) is asked to yield, and does so at
 * its next call of this library. If it makes none:
 *
 *   - it is *preempted*, by a signal, if that is provably safe: every register
 *     is saved, and the goroutine is resumed later, maybe on another thread.
 *     Provably safe is only code of a program that keeps no state in its
 *     threads (see weft_preempt_explain), and never code of libc or another
 *     library. Its stack must not be deeper than 65536 calls or 4 MiB;
 *   - or it is *paused*, with its thread, in any other code: that sleeps in the
 *     handler of the signal until the goroutine's next turn, and another thread
 *     runs the others. Not in libc, the loader or malloc, whose locks it may
 *     hold;
 *   - or else its processor is *retaken*: the goroutine goes on running on its
 *     own thread, under the kernel's scheduler, and another thread runs the
 *     others. At its next call of this library it waits for a processor.
 *
 * The processor of a goroutine that sleeps in a system call is retaken in the
 * same way, and no signal is sent.
 */
#ifndef WEFT_THREADS_H
#define WEFT_THREADS_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- calls that may block ---------------------------------------------- */

/*
 * Calls fn(arg) and announces that it may block its thread. Nothing needs that
 * to work: a goroutine that blocks without it is noticed, but later and at a
 * higher price. It costs some nanoseconds; once calls of this fn were seen to
 * take long the processor is handed off at once. Between enter and leave, and
 * in fn, nothing of this library but weft_self_id and weft_self_name may be
 * called. They do not nest; on another thread they do nothing. errno is kept.
 *
 * A C++ exception may leave fn, and leaves the call. A goroutine that leaves fn
 * by longjmp has to call weft_blocking_leave; a call that waits is fatal before
 * that.
 */
void *weft_blocking(void *(*fn)(void *arg), void *arg);
void weft_blocking_enter(void);
void weft_blocking_leave(void);

/* ---- staying on one thread --------------------------------------------- */

/*
 * From pin to unpin the goroutine stays on its thread, which runs no other:
 * for libraries that keep state in threads, and for state that the kernel keeps
 * there. They nest. If a goroutine ends while it is pinned its thread ends,
 * too. On another thread they do nothing; an unpin without a pin is fatal.
 */
void weft_pin(void);
void weft_unpin(void);

/*
 * From hold to release a goroutine that parks or yields comes back on the same
 * thread, which runs no other goroutine until then: for what belongs to the
 * thread and is held over calls of this library, as a recursive pthread mutex
 * is. A weft_pin makes every switch slower; a hold costs nothing unless the
 * goroutine waits. They nest; 65,535 deep the thread is held until the
 * goroutine ends. A release without a hold does nothing, and neither do both
 * on another thread, where hold is false. Legal between weft_blocking_enter and
 * _leave, and in a signal handler if both are. The hold of a goroutine ends
 * with it.
 */
bool weft_thread_hold(void);
void weft_thread_release(void);
extern void (*weft_held_park_)(void);

/*
 * May the caller park now? It is on a goroutine, on its stack, not in a signal
 * handler (or with another signal mask than the runtime's), not in an announced
 * call, and the runtime has not ended. For libraries that wait in the kernel
 * where this is false. A system call: ask on the way to a wait only.
 */
bool weft_can_park(void);

/* ---- preemption -------------------------------------------------------- */

extern uint32_t weft_attention_;
void weft_checkpoint_(void);
void weft_check_(void);

/*
 * For a hot loop: yields if the goroutine was asked to. One load and a branch.
 * Must not be called in signal handlers. (Compiling with `pkg-config --cflags
 * weft-checks` puts a check into every function and loop. That one does nothing
 * in a signal handler, unless the handler has SA_NODEFER, blocks no signals and
 * runs on the stack of what it interrupts: such a handler cannot be told from
 * other code and must be compiled without checks.)
 */
static inline void
weft_checkpoint(void)
{
	if (__builtin_expect(__atomic_load_n(&weft_attention_,
	    __ATOMIC_RELAXED) != 0, 0))
		weft_checkpoint_();
}

/*
 * From off to on the goroutine is not preempted by a signal. (Its processor
 * may be retaken, which it does not notice.) They nest; on another thread they
 * do nothing; an on without an off is fatal.
 */
void weft_preempt_off(void);
void weft_preempt_on(void);

/*
 * Allows preemption in the code of the shared library that contains this
 * address, if the library passes the same audit as the program. It must stay
 * loaded. A library that the program is linked with keeps the program from
 * passing until it is allowed; allow what a library needs itself before it.
 *
 * 0, also if signals are off or the runtime has not started yet; -EACCES if
 * the library does not pass (the explanation says why); -EPERM if it passes
 * and the program does not, even with this library: then nothing is preempted,
 * unless other libraries that are allowed later change that; -ENOENT if there
 * is no such library; -ENOSPC if there are too many (more than 16).
 */
int weft_preempt_allow(const void *address);

/*
 * The result of the audit, as text: whether the program can be preempted by
 * signals, and if not, what it has or imports that ties state to a thread; and
 * how goroutines that compute in other code are stopped. Writes at most cap
 * bytes with a NUL; returns the length of the text (may be more).
 * WEFT_EXPLAIN=1 in the environment prints it at the start.
 */
size_t weft_preempt_explain(char *buf, size_t cap);

/* Why a processor was retaken from a goroutine. */
enum weft_retake_reason {
	WEFT_RETAKE_CALL,	/* it was in an announced blocking call */
	WEFT_RETAKE_ASLEEP,	/* it slept in the kernel, unannounced */
	/* it computed, and could not be preempted, because: */
	WEFT_RETAKE_OFF,	/* preemption by signals is off, or refused */
	WEFT_RETAKE_REGION,	/* pinned, or between preempt_off and _on */
	WEFT_RETAKE_LATE,	/* the signal was not handled in time */
	WEFT_RETAKE_RUNTIME,	/* in this library */
	WEFT_RETAKE_FOREIGN,	/* in a library, for example libc */
	WEFT_RETAKE_FRAME,	/* called back by a library */
	WEFT_RETAKE_UNKNOWN,	/* its stack could not be unwound */
	WEFT_RETAKE_TIED,	/* it had a pointer to its thread's memory */
	WEFT_RETAKE_STACK,	/* no room on its stack, or not on its stack */
	/* it could not be paused either, because: */
	WEFT_RETAKE_LIBC,	/* it was in libc, the loader or malloc */
	WEFT_RETAKE_NO_THREAD,	/* no thread was left to run others */
	WEFT_RETAKE_REALTIME,	/* its thread has a real-time policy */
	WEFT_RETAKE_REASONS
};
/* The length of arrays with an entry for each; reasons may be added. */
enum { WEFT_RETAKE_REASONS_MAX = 32 };
/* "?" for a reason that the library does not know. */
const char *weft_retake_reason_name(enum weft_retake_reason why);

/* What was counted of goroutines that did not let others run. */
typedef struct weft_preempt_stats {
	uint64_t asked;		/* goroutines asked to yield */
	uint64_t signals;	/* signals sent to preempt one */
	uint64_t preempted;	/* times that was safe, and done */
	/* by enum weft_retake_reason: times a goroutine was paused with its
	 * thread instead; times it was not; processors retaken */
	uint64_t paused[WEFT_RETAKE_REASONS_MAX];
	uint64_t refused[WEFT_RETAKE_REASONS_MAX];
	uint64_t taken[WEFT_RETAKE_REASONS_MAX];
	uint64_t interrupted;	/* system calls that failed with EINTR by it */
	uint64_t capped;	/* times too many ran without a processor */
	int paused_now;		/* goroutines that are paused */
	int detached;		/* goroutines that compute without a processor
				 * now */
	int blocked;		/* ... that have none and are in a call, or
				 * were asleep */
} weft_preempt_stats;

/* As weft_stats_read. */
void weft_preempt_stats_read(weft_preempt_stats *out, size_t bytes);

/* ---- what libc keeps in threads ---------------------------------------- */

/*
 * A goroutine keeps its errno when it moves to another thread. Compilers cache
 * errno's address, which is the thread's, so in files that include this header
 * it is looked up each time. A goroutine that has the address in a register is
 * not preempted by a signal. But compilers may look it up before they compute
 * the value that is assigned: do not write errno = f() if f calls this library;
 * assign a variable first.
 */
int *weft_errno_(void);
#undef errno
#define errno (*weft_errno_())

/*
 * A goroutine keeps the state of its C++ exceptions, too. A program in C that
 * loads a C++ library by dlopen while goroutines run calls weft_cxx_loaded
 * after that, before they use it. Not needed if the library includes this
 * header, or if it is the first one that is loaded and the goroutines that use
 * it are spawned after that. The runtime of C++ stays loaded. Exceptions of
 * more than one such runtime in a process are not kept apart.
 */
void weft_cxx_loaded(void);

#if defined(__cplusplus) && defined(__EXCEPTIONS)
extern void weft_cxx_(void *(*globals)(void)) __attribute__((__weak__));
extern void *weft_cxx_globals_(void) __asm__("__cxa_get_globals")
    __attribute__((__weak__));

__attribute__((__constructor__)) static void
weft_cxx_here_(void)
{
	if (weft_cxx_ && weft_cxx_globals_)
		weft_cxx_(weft_cxx_globals_);
}
#else
void weft_cxx_(void *(*globals)(void));
#endif

/*
 * The text of an error, as strerror(3) has it: of an errno value, or of -errno
 * as these calls return it. It is libc's, or the goroutine's until it asks for
 * the next one. Does not keep the program from being preempted by signals.
 */
const char *weft_strerror(int error);

/*
 * Other texts that libc keeps in the thread: in files of C that include this
 * header the text is the goroutine's, until it calls the same function
 * again. (Programs that use libc's own are not preempted by signals.) Define
 * WEFT_KEEP_LIBC before including this header to leave these names alone.
 */
struct in_addr;
char *weft_strerror_(int error);
char *weft_strsignal_(int sig);
#ifndef __cplusplus
char *weft_inet_ntoa_(struct in_addr addr);
#ifndef WEFT_KEEP_LIBC
#define strerror weft_strerror_
#define strsignal weft_strsignal_
#define inet_ntoa weft_inet_ntoa_
#endif
#endif

/*
 * fork() from a goroutine: the child is that goroutine alone, on the child's
 * only thread, and has no runtime: weft_go is fatal, weft_try_go gives -EPERM,
 * and what would wait blocks for ever unless another thread of the child
 * helps. When its function returns, or it calls weft_goexit, deferred calls run
 * and the child exits, with the result of the main goroutine, or 0. Objects
 * that others were using at that time must not be touched; but descriptors may
 * be used, and closed, even if others waited for them: they have no deadlines
 * at first.
 *
 * A signal handler may fork, too. Its child must call exec or _exit and not
 * return from the handler: it may have interrupted this library.
 */

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* WEFT_THREADS_H */
