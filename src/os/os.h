/* SPDX-License-Identifier: MIT */
/*
 * The kernel, as the rest of the library sees it. In layers 0 to 4 no other
 * room calls it: a simulation that replaces this room and base/rand.h controls
 * everything that is not deterministic.
 *
 * Errors are returned as -errno; the thread's errno is never touched (but by
 * libc, if it fails to start a thread). No function here allocates with malloc
 * or takes a lock of ours.
 */
#ifndef OS_H
#define OS_H

#include <signal.h>

#include "atomic.h"
#include "defs.h"

/* ---- futex.c: sleep and wake on a word ---- */

enum { FOREVER = -1 };

/*
 * Sleeps while *word == expect, at most timeout_ns (FOREVER: no limit).
 * Returns 0, -EAGAIN (the word differed), -EINTR or -ETIMEDOUT; 0 may be a
 * spurious wake-up, so callers look at the word again.
 */
long os_futex_wait(a32 *word, uint32_t expect, int64_t timeout_ns);
void os_futex_wake(a32 *word, int n);

/* ---- vm.c: address space ---- */

enum {
	PAGE = 4096		/* kernels with larger pages are refused at
				 * boot */
};

/* Zeroed memory of whole pages, resident when touched; NULL: no memory. */
void *os_map(size_t bytes);
/* The same for stacks: not counted against overcommit, no huge pages. */
void *os_map_stacks(size_t bytes);
void os_unmap(void *p, size_t bytes);
/*
 * Gives the memory of whole pages back to the kernel; they stay mapped, read
 * as zeros after it and are resident again when touched. The kernel may refuse
 * for pages that are locked in memory (mlock): these keep their contents, so a
 * caller relies neither on zeros nor on what was there. The range must not
 * include guards.
 */
void os_release(void *p, size_t bytes);
#ifdef WEFT_DEBUG
extern a32 os_map_fail_after;	/* tests: fail from the n-th mapping on */
#endif
/* Page size of the running kernel. */
size_t os_page_bytes(void);

/*
 * Makes a range fault on any access, from now on. `light` guards cost no
 * mapping (kernel 6.13), `split` ones cost two each (mprotect).
 * Returns 0 or -errno.
 */
int os_guard_light(void *p, size_t bytes);
int os_guard_split(void *p, size_t bytes);
/* The same, light, for n ranges whose starts are `stride` apart, at most
 * OS_GUARDS_MAX: how many it has made, which may be none (tried on kernel
 * 6.18). */
enum { OS_GUARDS_MAX = 16 };
uint32_t os_guard_light_many(char *p, size_t stride, size_t bytes,
    uint32_t n);
/* True if light guards work: an emulator may accept them without effect. */
bool os_guard_light_works(void);
/* How many mappings a process may have. */
long os_map_limit(void);
/* Could one read a word there? In doubt, false. */
bool os_readable(const void *p);

/* ---- clock.c ---- */

int64_t os_now_ns(void);		/* monotonic */
/* How long until then, 0 if it is past; for any value of when. */
int64_t os_left_ns(int64_t when);
/* Sleeps about so long; a signal may interrupt it. */
void os_sleep_ns(int64_t ns);

/* ---- thread.c ---- */

/*
 * Starts a detached thread with the caller's signal mask.
 * Returns 0, or -EAGAIN if it cannot be started: a limit or a filter of system
 * calls may refuse with any error, and os_thread_refusal returns the last one
 * of these, as a positive number.
 */
int os_thread_start(void *(*fn)(void *), void *arg, size_t stack_bytes);
int os_thread_refusal(void);
/* Makes this thread's sleeps end within a microsecond or so. */
void os_thread_precise_sleep(void);
/* Makes the kernel run this thread soon when it wakes, for a short time. */
void os_thread_short_slice(void);
int os_thread_id(void);
void os_thread_yield(void);
/* Number of threads in this process, or -errno. */
int os_thread_count(void);
/* Where this thread's stack and thread-local memory lie. Empty if unknown. */
void os_thread_bounds(uintptr_t *lo, uintptr_t *hi);
/*
 * Moves a sleeping thread, which the caller is about to wake before it sleeps
 * itself, to the caller's CPU. Otherwise the kernel often queues it behind
 * another thread that computes, while this CPU goes idle. Its affinity mask is
 * saved in *keep, and the thread restores it when it is awake. False if
 * nothing was changed. Signal-safe.
 */
enum { OS_CPU_WORDS = 16 };
struct os_cpus { uint64_t words[OS_CPU_WORDS]; long bytes; };
bool os_thread_move_here(int tid, struct os_cpus *keep);
void os_thread_restore_cpus(const struct os_cpus *keep);
/* Does this thread have a real-time policy? Signal-safe. */
bool os_thread_realtime(void);
/* Its CPU time in all, or -errno. */
int64_t os_thread_cpu_ns(int tid);

/* ---- thread_blocked.c: but for the last, for the monitor only ---- */

/*
 * What a thread of this process does now: 1 it sleeps in the kernel, 0 it runs
 * or is ready to, -errno if that cannot be known. Takes some microseconds. A
 * descriptor may be kept open for the thread.
 */
int os_thread_blocked(int tid);
/* Closes those of threads not asked for since it was last called; or all. */
void os_thread_blocked_close(bool all);
/* The same question by any thread; its file is opened and closed again. */
int os_thread_blocked_once(int tid);

/* ---- barrier.c ---- */

/* Once, before the threads that it is for: 0 or -errno. */
int os_barrier_init(void);
/*
 * When it returns every running thread of this process has executed a full
 * memory barrier since it was called. Takes some ten microseconds.
 */
void os_barrier_all(void);

/* ---- signal.c ---- */

struct os_sigstack { void *base; stack_t old; };

/* Gives this thread a signal stack, and removes it. 0 or -errno. */
int os_sigstack_install(struct os_sigstack *s);
void os_sigstack_remove(struct os_sigstack *s);
/* Is this address in it? */
bool os_sigstack_has(const struct os_sigstack *s, const void *p);
/* As sigaltstack would describe it. */
void os_sigstack_get(const struct os_sigstack *s, stack_t *out);

/*
 * Calls fn when an access to memory raises SIGSEGV or SIGBUS, on the signal
 * stack. If fn returns, the fault was none of ours and goes to the handler that
 * was there before. While fn runs, self()->fault_context is what was
 * interrupted.
 */
void os_on_fault(void (*fn)(void *addr));
/*
 * Calls fn on SIGSEGV, SIGBUS, and, from os_on_crash on, SIGFPE, SIGILL and
 * SIGABRT, if there is no other handler and the process dies of it when fn
 * returns. A signal that is ignored, or has a handler when this is called, is
 * left alone. `also`: the last three as well.
 */
void os_on_crash(void (*fn)(int sig, const siginfo_t *si, const void *uc),
    bool also);
/* It has no handler, and is not ignored. */
bool os_signal_is_default(int sig);
/* A signal with a code of 0 or less was sent: si_addr is not valid. */
bool os_signal_was_sent(const siginfo_t *si);
/* Its default action, from a handler of it, when that returns. */
void os_signal_default(int sig, const siginfo_t *si);

/*
 * Calls fn(uc) when `sig` interrupts a thread, on the signal stack, with all
 * signals blocked but those of faults and libc's own; system calls are
 * restarted. If fn returns false the signal was not sent by os_signal_thread
 * and goes to the previous handler. Returns 0 or -errno.
 */
int os_on_signal(int sig, bool (*fn)(void *uc));
/* 0, or -errno if that thread has ended. */
int os_signal_thread(int tid, int sig);

/*
 * Calls fn when SIGPROF interrupts a thread, on its signal stack if it has one,
 * with the same signals blocked; system calls are restarted. 0, or -EBUSY if
 * the program has a handler of its own. The handler is never removed: a signal
 * that is still pending would end the process.
 */
int os_on_profile(void (*fn)(siginfo_t *si, void *uc));

/* This thread's mask, as the kernel has it. */
uint64_t os_sigmask(void);
void os_sigmask_set(uint64_t mask);
/* All signals but those by which libc makes every thread do something. */
uint64_t os_sigmask_all(void);
/* The bit of a signal in a mask. */
uint64_t os_sigbit(int sig);
/* The signals that an instruction raises (and abort). If such a signal is
 * blocked when it is raised the kernel kills the process: no handler runs. */
uint64_t os_sigfaults(void);

/* ---- cpu_timer.c ---- */

/*
 * Sends SIGPROF, with that value, each time a thread has used so much CPU time
 * more: to the thread, or, if tid is 0 and the time that of the process, to
 * any. The timer's number or -errno. A thread that has ended keeps its timer,
 * and gets no signal.
 */
long os_cpu_timer_start(int tid, int64_t period_ns, uintptr_t value);
void os_cpu_timer_stop(long id);

/* ---- own_fds.c ---- */

enum { FD_HIGH = 32 };		/* numbers from this on are high */

/*
 * Moves a descriptor that stays open to a high number, which the program does
 * not expect to get; it is closed by exec. Returns fd itself if it is high
 * already, if no high number is available (a low limit), or if it is -errno.
 */
long os_fd_move_high(long fd);
/*
 * Gives this thread an empty table of descriptors of its own: what it opens
 * takes no number from the program, and what the program closes is closed.
 * -errno if the kernel cannot (before Linux 5.9).
 */
int os_fds_unshare(void);

/* ---- machine.c ---- */

/*
 * Reads up to cap - 1 bytes of a file and ends them with a NUL. Returns the
 * length or -errno. A full buffer is a truncated file.
 */
long os_read_file(const char *path, char *buf, size_t cap);
/* The program's file, "" if it is not known or does not fit. */
void os_program_path(char *buf, size_t cap);
/* A file that has a size: a descriptor for reading it, or -errno. */
long os_file_open(const char *path, uint64_t *bytes);
/* True if all of these bytes could be read. */
bool os_file_read(long fd, void *buf, size_t bytes, uint64_t offset);
void os_file_close(long fd);
/* Affinity mask of a thread (0: this one): bytes written or -errno. */
long os_affinity(int tid, unsigned long *mask, size_t bytes);
/* 64 random bits. */
uint64_t os_random_seed(void);
/* A decimal number: 1 and *v, 0 if the text is empty, -EINVAL: no number. */
int os_number(const char *s, int64_t *v);
/* The same of a variable of the environment; 0 also if it is not set. */
int os_env_number(const char *name, int64_t *v);

#endif
