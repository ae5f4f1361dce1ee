/* SPDX-License-Identifier: MIT */
/*
 * Profiles: where the program spends CPU time, where goroutines wait and for
 * how long; part of weft.h. docs/debugging.md has a section on them.
 */
#ifndef WEFT_PROFILE_H
#define WEFT_PROFILE_H

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What a profile is of. CPU: what was collected since weft_profile_cpu_start.
 * GOROUTINE: the stacks of all goroutines, now. BLOCK: waits for channels,
 * locks, conditions, groups; MUTEX: of these, waits for mutexes; OFFCPU: all
 * waits, also sleeps and those for descriptors, with the reason as a label.
 */
typedef enum weft_profile {
	WEFT_PROFILE_CPU,
	WEFT_PROFILE_GOROUTINE,
	WEFT_PROFILE_BLOCK,
	WEFT_PROFILE_MUTEX,
	WEFT_PROFILE_OFFCPU
} weft_profile;

/* PPROF: for `go tool pprof` and weft-prof. FOLDED: a line of text for each
 * stack, "main;serve;parse 12", for tools that draw flame graphs. */
typedef enum weft_profile_format {
	WEFT_PROFILE_PPROF,
	WEFT_PROFILE_FOLDED
} weft_profile_format;

/* Also threads that are not of the runtime: see weft_profile_cpu_start. */
enum { WEFT_PROFILE_THREADS = 1 };

/*
 * Begins to sample what the CPUs do: each thread of the runtime is interrupted
 * by SIGPROF hz times for each second of CPU time that it uses (0: 100 times;
 * at most 10000), and its stack is recorded. The kernel checks these clocks at
 * its ticks, 100 to 1000 times a second; a sample counts for all the periods
 * since the last one. What an earlier profile collected is dropped.
 *
 * With WEFT_PROFILE_THREADS in flags the program's other threads are sampled,
 * too, by a clock of the process. Before Linux 6.4 the kernel delivers these
 * signals to the main thread if it can: then they say little.
 *
 * Returns 0, -EINVAL; -EBUSY if a profile runs already, or if the program has a
 * handler for SIGPROF; -EPERM if SIGPROF is blocked in the thread that called
 * weft_run; -ENOTSUP under a sanitizer or valgrind; or -errno. From then on
 * SIGPROF has a handler, for good: one that is sent by a program is ignored.
 * As any signal it may end a system call that the kernel does not restart with
 * EINTR (poll, nanosleep). Any thread; does not block.
 */
int weft_profile_cpu_start(int hz, unsigned flags);

/* Ends it; what it collected is kept. -ESRCH if none runs. Any thread. */
int weft_profile_cpu_stop(void);

/*
 * Which waits are recorded: one of ns or longer always, a shorter one with the
 * probability of its share of ns, and then counted in proportion, so that sums
 * are right on average. 1: all; 0, the default: none. BLOCK and OFFCPU have
 * rates of their own. The duration is until the goroutine runs again. Returns
 * 0, -EINVAL, -ENOMEM. Any thread; does not block.
 */
int weft_profile_block_rate(int64_t ns);
int weft_profile_offcpu_rate(int64_t ns);

/*
 * One of n waits for a mutex is recorded, on average, and counted n times; 1:
 * all; 0, the default: none. The stack is that of the goroutine that waited.
 * The same results.
 */
int weft_profile_mutex_fraction(int n);

/*
 * Writes a profile: to a descriptor, or to a file, which is made or truncated;
 * folded if its name ends in ".folded". Returns 0 or -errno; -ESRCH if nothing
 * was ever collected. May be called while it is being collected. Blocks the
 * thread while it writes. Any thread; not in a signal handler.
 */
int weft_profile_write(weft_profile what, int fd, weft_profile_format format);
int weft_profile_save(weft_profile what, const char *path);

/*
 * Labels of the calling goroutine, which profiles carry: pprof can filter by
 * them and show each by itself. Goroutines that it spawns from then on have
 * them, too. NULL removes a label. There may be 16, keys of up to 63 bytes,
 * values of up to 255; and 65535 different sets of labels in a program, which
 * are kept for ever: for values of which there are few, not the number of a
 * request. Returns 0; -EINVAL; -ENOSPC at these limits; -EPERM if the caller is
 * no goroutine. Does not block. A goroutine that is spawned with labels has its
 * stack from then on, not when it first runs.
 */
int weft_label_set(const char *key, const char *value);

/* The value, or NULL. It stays valid. */
const char *weft_label(const char *key);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* WEFT_PROFILE_H */
