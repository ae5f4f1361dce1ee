/* SPDX-License-Identifier: MIT */
/*
 * Threads and time slices; part of weft.h.
 *
 * Nothing a goroutine does stops the others. One that has run for 10 ms while
 * others wait (0.5 ms if a timer woke them) is asked to let them run, and does
 * so at its next call of this library. If there is none:
 *
 *   - it is *preempted*, by a signal, if that is provably safe: every register
 *     is saved, and it goes on later, maybe on another thread. Provably safe
 *     is only code of a program that keeps no state in its threads (see
 *     weft_preempt_explain), and never code of libc or another library. It
 *     must not be more than 65536 calls or 4 MiB of stack deep;
 *   - or else its processor is *taken*: the goroutine goes on where it is, on
 *     its own thread, under the kernel's scheduler, and another thread runs
 *     the others. At its next call of this library it waits for a processor.
 *
 * A goroutine that sleeps in a system call loses its processor the same way,
 * and no signal is sent.
 */
#ifndef WEFT_THREADS_H
#define WEFT_THREADS_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- calls that may block ---------------------------------------------- */

/*
 * Not needed for anything to work, but cheaper and sooner than being noticed:
 * calls fn(arg) and says before that it may block its thread. What the call
 * costs more is some nanoseconds; once calls of this fn were seen to take long
 * the processor is given away at once. Between enter and leave, and in fn,
 * nothing of this library but weft_self_id and weft_self_name may be called.
 * They do not nest; on another thread they do nothing. errno is kept.
 *
 * A C++ exception may leave fn, and leaves the call. A goroutine that leaves fn
 * by longjmp has to call weft_blocking_leave; what waits is fatal before that.
 */
void *weft_blocking(void *(*fn)(void *arg), void *arg);
void weft_blocking_enter(void);
void weft_blocking_leave(void);

/* ---- staying on one thread --------------------------------------------- */

/*
 * From pin to unpin the goroutine stays on its thread, which runs no other:
 * for libraries that keep state in threads, and for what the kernel keeps
 * there. They nest. A goroutine that ends pinned takes its thread with it. On
 * another thread they do nothing; an unpin too many is fatal.
 */
void weft_pin(void);
void weft_unpin(void);

/* ---- preemption -------------------------------------------------------- */

extern uint32_t weft_attention_;
void weft_checkpoint_(void);
void weft_check_(void);

/*
 * For a hot loop: lets others run if it is time. One load and a branch.
 * (Compiling with `pkg-config --cflags weft-checks` puts one into every
 * function and loop. That one does nothing in a signal handler. Compile only
 * those handlers without it that have SA_NODEFER, block nothing and run on the
 * stack of what they interrupt: they cannot be told from other code.) Not to be
 * called in signal handlers.
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
 * may be taken, which it does not notice.) They nest; on another thread they
 * do nothing; an on too many is fatal.
 */
void weft_preempt_off(void);
void weft_preempt_on(void);

/*
 * Lets code of the shared library that this address is in be preempted, too,
 * if it passes the same examination as the program. It must stay loaded. A
 * library that the program is linked with is in the program's way until it is
 * allowed; what a library needs itself is allowed before it.
 *
 * 0, also if signals are off or the runtime has not started yet; -EACCES if
 * the library does not pass (the explanation says why); -EPERM if it passes
 * and the program does not, even with this library: then nothing is preempted,
 * unless other libraries that are allowed later change that; -ENOENT if there
 * is no such library; -ENOSPC if there are too many (more than 16).
 */
int weft_preempt_allow(const void *address);

/*
 * What was found out about the program, line by line: whether it can be
 * preempted by signals, and if not, what it has or imports that ties state to
 * a thread; and how goroutines that compute elsewhere are stopped. Writes at
 * most cap bytes with a NUL; returns the length that it has (may be more).
 * WEFT_EXPLAIN=1 in the environment prints it at the start.
 */
size_t weft_preempt_explain(char *buf, size_t cap);

/* Why a processor was taken from a goroutine that had it. */
enum weft_retake_reason {
	WEFT_RETAKE_CALL,	/* it was in an announced call */
	WEFT_RETAKE_ASLEEP,	/* it slept in the kernel, unannounced */
	/* it computed, and could not be preempted, because: */
	WEFT_RETAKE_OFF,		/* preemption by signals is off, or refused */
	WEFT_RETAKE_REGION,	/* pinned, or between preempt_off and _on */
	WEFT_RETAKE_LATE,	/* the signal was not handled in time */
	WEFT_RETAKE_RUNTIME,	/* in this library */
	WEFT_RETAKE_FOREIGN,	/* in a library, libc say */
	WEFT_RETAKE_FRAME,	/* called back by a library */
	WEFT_RETAKE_UNKNOWN,	/* its callers could not be made out */
	WEFT_RETAKE_TIED,	/* it had a pointer to its thread's memory */
	WEFT_RETAKE_STACK,	/* no room on its stack, or not on its stack */
	/* it could not be paused either, because: */
	WEFT_RETAKE_LIBC,	/* it was in libc, the loader or malloc */
	WEFT_RETAKE_NO_THREAD,	/* there was no thread to go on with */
	WEFT_RETAKE_REALTIME,	/* its thread has a real-time policy */
	WEFT_RETAKE_REASONS
};
const char *weft_retake_reason_name(enum weft_retake_reason why);

/* What was counted of goroutines that did not let others run. */
typedef struct weft_preempt_stats {
	uint64_t asked;		/* goroutines asked to let others run */
	uint64_t signals;	/* sent to preempt one */
	uint64_t preempted;	/* times that was safe, and done */
	uint64_t paused[WEFT_RETAKE_REASONS];	/* times a goroutine was paused
				 * with its thread instead, and why */
	uint64_t refused[WEFT_RETAKE_REASONS];	/* ... and not, and why */
	uint64_t taken[WEFT_RETAKE_REASONS];	/* processors taken, and why */
	uint64_t interrupted;	/* system calls that failed with EINTR by it */
	uint64_t capped;	/* times too many ran without a processor */
	int paused_now;		/* goroutines that are paused */
	int detached;	/* goroutines that have none now, and compute */
	int blocked;		/* ... and are in a call, or were asleep */
} weft_preempt_stats;

void weft_preempt_stats_read(weft_preempt_stats *out);

/* ---- what libc keeps in threads ---------------------------------------- */

/*
 * A goroutine keeps its errno when it moves to another thread. Compilers keep
 * errno's address, which is the thread's, so in files that include this header
 * it is asked for each time. A goroutine that has it at hand is not preempted
 * by a signal. But compilers may ask for it before they compute the value that
 * is assigned: do not write errno = f() if f calls this library; assign a
 * variable.
 */
int *weft_errno_(void);
#undef errno
#define errno (*weft_errno_())

/*
 * So does the state of C++ exceptions. A program in C that loads C++ by dlopen
 * while goroutines run calls this when it has, before they use it. Not needed
 * if the library includes this header, or if it is the first one that is loaded
 * and those who use it are spawned after that. The runtime of C++ stays loaded.
 * Exceptions of more than one such runtime in a process get mixed up.
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
 * The same for texts that libc keeps in the thread: in files of C that include
 * this header the text is the goroutine's, until it calls the same function
 * again. (Programs that use libc's own are not preempted by signals.) Define
 * WEFT_KEEP_LIBC before to have these names left alone.
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
 * only thread, and the runtime has ended in it: weft_go gives -EPERM, what
 * would wait blocks for ever unless another thread of the child helps. When
 * its function returns, or it calls weft_goexit, deferred calls run and the child
 * exits, with the result of the main goroutine, or 0. Objects that others were
 * using at that time must not be touched; but descriptors may be used, and
 * closed, whoever waited for them: they have no deadlines at first.
 *
 * A signal handler may fork, too. Its child must call exec or _exit and not
 * return from the handler: it may have interrupted this library.
 */

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* WEFT_THREADS_H */
