/* SPDX-License-Identifier: MIT */
/*
 * The kernel, as the rest of the library sees it. In the layers below `wait`
 * nobody else calls it: a simulation replaces this room and base/rand.h and
 * has the whole world in its hands.
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
 * Returns 0, -EAGAIN (the word differed), -EINTR or -ETIMEDOUT; may return 0
 * by accident, so callers look at the word again.
 */
long os_futex_wait(a32 *word, uint32_t expect, int64_t timeout_ns);
void os_futex_wake(a32 *word, int n);

/* ---- vm.c: address space ---- */

enum {
	PAGE = 4096		/* the unit we think in; kernels with larger
				 * pages are refused at boot */
};

/* Zeroed memory of whole pages, resident when touched; NULL if refused. */
void *os_map(size_t bytes);
/* The same for stacks: not counted against overcommit, no huge pages. */
void *os_map_stacks(size_t bytes);
void os_unmap(void *p, size_t bytes);
/*
 * Gives the memory of whole pages back; the addresses stay ours. The pages
 * read as zeros after it and are resident again when touched. The kernel may
 * refuse, for pages that somebody locked in memory: these stay as they are, so
 * a caller relies neither on zeros nor on what was there. Guards in the range
 * are not for us to touch: callers leave them out.
 */
void os_release(void *p, size_t bytes);
#ifdef WEFT_DEBUG
extern a32 os_map_fail_after;	/* tests: refuse from the n-th mapping on */
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
/* True if light guards do what they say: an emulator may lie. */
bool os_guard_light_works(void);
/* How many mappings a process may have. */
long os_map_limit(void);

/* ---- clock.c ---- */

int64_t os_now_ns(void);		/* monotonic */
/* How long until then, 0 if it was; any time, also a nonsensical one. */
int64_t os_left_ns(int64_t when);
/* Sleeps about so long; a signal may cut it short. */
void os_sleep_ns(int64_t ns);

/* ---- thread.c ---- */

/*
 * Starts a detached thread with all signals as the caller has them.
 * Returns 0, or -EAGAIN if it is refused: a limit or a filter of system calls
 * may do so with any error, and os_thread_refusal gives the last one of these,
 * as a positive number.
 */
int os_thread_start(void *(*fn)(void *), void *arg, size_t stack_bytes);
int os_thread_refusal(void);
/* Has this thread's sleeps end within a microsecond or so. */
void os_thread_precise_sleep(void);
/* Has the kernel let this thread run soon when it wakes, for a short time. */
void os_thread_short_slice(void);
int os_thread_id(void);
void os_thread_yield(void);
/* Number of threads in this process, or -errno. */
int os_thread_count(void);
/* Where this thread's stack and thread-local memory lie. Empty if unknown. */
void os_thread_bounds(uintptr_t *lo, uintptr_t *hi);
/*
 * Has a thread that sleeps, and is about to be woken by one that will sleep
 * itself, go on on the caller's CPU. Left to itself the kernel often queues it
 * behind another thread that computes, while this CPU goes idle. What CPUs it
 * may use is kept in *keep, and the thread puts that back when it is awake.
 * False if nothing was changed. Signal-safe.
 */
enum { OS_CPU_WORDS = 16 };
struct os_cpus { uint64_t words[OS_CPU_WORDS]; long bytes; };
bool os_thread_move_here(int tid, struct os_cpus *keep);
void os_thread_restore_cpus(const struct os_cpus *keep);
/* Does this thread have a real-time policy? Signal-safe. */
bool os_thread_realtime(void);
/* How long it has had a CPU, in all; or -errno. */
int64_t os_thread_cpu_ns(int tid);

/* ---- thread_blocked.c: for one thread only, the monitor ---- */

/*
 * What a thread of this process does now: 1 it sleeps in the kernel, 0 it runs
 * or is ready to, -errno if that cannot be known. Some microseconds. A
 * descriptor may be kept for it, until it is not asked for any more.
 */
int os_thread_blocked(int tid);
/* Closes those that were not asked for since this was last called; or all. */
void os_thread_blocked_close(bool all);

/* ---- barrier.c ---- */

/* Once, before threads that matter: 0 or -errno. */
int os_barrier_init(void);
/*
 * When it returns every thread of this process that runs has executed a full
 * memory barrier since it was called. Some ten microseconds.
 */
void os_barrier_all(void);

/* ---- signal.c ---- */

struct os_sigstack { void *base; stack_t old; };

/* Gives this thread a signal stack, and takes it back. 0 or -errno. */
int os_sigstack_install(struct os_sigstack *s);
void os_sigstack_remove(struct os_sigstack *s);
/* Does it hold this address? */
bool os_sigstack_has(const struct os_sigstack *s, const void *p);
/* As sigaltstack would describe it. */
void os_sigstack_get(const struct os_sigstack *s, stack_t *out);

/*
 * Calls fn(addr) on SIGSEGV and SIGBUS, on the signal stack. If fn returns,
 * the fault was none of ours and goes to the handler that was there before.
 */
void os_on_fault(void (*fn)(void *addr));

/*
 * Calls fn(uc) when `sig` interrupts a thread because of os_signal_thread, on
 * the signal stack, with all signals blocked but those of faults and libc's
 * own; system calls are restarted. One
 * that was sent by others goes to the handler that was there before. Returns 0
 * or -errno.
 */
int os_on_signal(int sig, bool (*fn)(void *uc));
/* 0 or -errno: that thread has ended. */
int os_signal_thread(int tid, int sig);

/* This thread's mask, as the kernel has it. */
uint64_t os_sigmask(void);
void os_sigmask_set(uint64_t mask);
/* All signals but those with which libc makes all threads do something. */
uint64_t os_sigmask_all(void);
/* The bit of a signal in a mask. */
uint64_t os_sigbit(int sig);
/* Those that an instruction of a thread raises. Where one of them is blocked
 * the kernel ends the process without calling any handler. */
uint64_t os_sigfaults(void);

/* ---- own_fds.c ---- */

enum { FD_HIGH = 32 };		/* from this number on it is */

/*
 * A descriptor that is to stay, under a number that is in nobody's way; closed
 * by exec. The same one if it is there already, or if none is to be had (a low
 * limit). -errno stays what it is.
 */
long os_fd_move_high(long fd);

/* ---- file.c ---- */

/*
 * Reads up to cap - 1 bytes of a file and ends them with a NUL. Returns the
 * length or -errno. A full buffer is a truncated file.
 */
long os_read_file(const char *path, char *buf, size_t cap);
/* Affinity mask of this thread: bytes written or -errno. */
long os_affinity(unsigned long *mask, size_t bytes);
/* 64 bits nobody can guess, or at least nobody did. */
uint64_t os_random_seed(void);
/*
 * A decimal number from the environment: 1 and *v, 0 if it is not set or
 * empty, -EINVAL if it is no number.
 */
int os_env_number(const char *name, int64_t *v);

#endif
