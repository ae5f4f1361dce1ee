/* SPDX-License-Identifier: MIT */
/*
 * Every goroutine with its stack, on demand, on a signal and when the process
 * dies; goroutines that are blocked for long or left behind. Part of weft.h.
 * docs/debugging.md shows what it looks like.
 */
#ifndef WEFT_DUMP_H
#define WEFT_DUMP_H

#ifdef __cplusplus
extern "C" {
#endif

/* For weft_dump_options.flags and weft_dump_on_signal. */
enum {
	/* goroutines that run, and those in calls, are shown without stacks:
	 * their threads are not sent a signal */
	WEFT_DUMP_NO_SIGNALS = 1,
	/* one entry for each goroutine, also for equal stacks */
	WEFT_DUMP_EACH = 2,
	/* all of the library's own frames, not only the called function's */
	WEFT_DUMP_INTERNALS = 4,
	/* weft_dump_on_signal: the process goes on after the dump */
	WEFT_DUMP_CONTINUE = 8,
	/* weft_dump_on_signal: no dumps on this signal any more */
	WEFT_DUMP_OFF = 16
};

/* What is shown; zero means default. */
typedef struct weft_dump_options {
	unsigned flags WEFT_ZERO_;
	unsigned max_groups WEFT_ZERO_;	/* entries; default: all */
	unsigned max_ids WEFT_ZERO_;	/* listed of a group; default: 20 */
	unsigned max_frames WEFT_ZERO_;	/* of a stack, at most 64: default */
	/* only goroutines that are known to have waited so many nanoseconds */
	int64_t min_wait WEFT_ZERO_;
} weft_dump_options;

/*
 * Writes every goroutine to a descriptor: its id, name and state, what it waits
 * for and for how long at least, the function it was started with and where,
 * and its stack. Goroutines with the same stack and origin are one entry. The
 * caller's own comes first. opt may be NULL; bytes is the size of *opt.
 *
 * No thread is stopped for longer than a moment. A thread that runs a goroutine
 * is sent the preemption signal so that it reads its own stack: a system call
 * that it is in may fail with EINTR, if it is one that is not restarted. From
 * a goroutine or any other thread; blocks the thread while it writes. Returns
 * 0 or -errno: that of write, -EBUSY if another dump does not come to an end.
 */
int weft_dump(int fd, const weft_dump_options *opt, size_t bytes);

/* As weft_dump to standard error, with the defaults. */
void weft_dump_goroutines(void);

/*
 * A dump on standard error when this signal arrives. Then SIGQUIT ends the
 * process with its default action, and so do other signals, unless flags has
 * WEFT_DUMP_CONTINUE. In programs with WEFT_MAIN it is in effect for SIGQUIT
 * from the start, if that has its default action; WEFT_DEBUG=dumpsig=N makes
 * it another signal, 0 none, and WEFT_DEBUG=dumpend=0 lets the process go on.
 * A handler that the program installs for the signal replaces it. 0 or -errno.
 */
int weft_dump_on_signal(int sig, unsigned flags);

/*
 * Goroutines that are known to have waited for min_wait nanoseconds or more:
 * how many, or -errno. If fd is not negative they are written to it, as by
 * weft_dump. Waits are seen when the runtime looks: in a program with fewer
 * than 256 stacks once a second, else every ten seconds. For a min_wait of 0
 * all that wait count. From any thread.
 */
int64_t weft_leaks(int64_t min_wait, int fd);

/*
 * For tests: remembers which goroutines exist; and tells which others are left.
 * weft_leak_end waits at most grace nanoseconds for them to end, writes those
 * that remain to fd, if it is not negative, and returns how many. It frees the
 * mark, which weft_leak_begin has allocated (NULL: out of memory; for which
 * weft_leak_end returns -ENOMEM). From a goroutine or any other thread.
 */
typedef struct weft_leak_mark weft_leak_mark;
weft_leak_mark *weft_leak_begin(void);
int64_t weft_leak_end(weft_leak_mark *mark, int64_t grace, int fd);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* WEFT_DUMP_H */
