/* SPDX-License-Identifier: MIT */
/*
 * All that is counted, in one call, as text for Prometheus, and through a
 * socket of the process, which weft-top reads; part of weft.h.
 */
#ifndef WEFT_METRICS_H
#define WEFT_METRICS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Lengths of arrays with room for entries to come. */
enum { WEFT_LATENCY_BUCKETS = 128, WEFT_WAIT_REASONS_MAX = 32 };

/*
 * Counters since the start, and what there is now. The counts of goroutines
 * by state are computed from counters and queues that change meanwhile, so they
 * need not add up exactly; weft_goroutine_counts_read looks at each goroutine.
 */
typedef struct weft_metrics {
	int64_t time;		/* weft_now() when it was read */

	/* goroutines, now */
	int64_t goroutines;	/* that exist; of these */
	int64_t running;	/* have a thread: with a processor, or not */
	int64_t runnable;	/* wait for a processor */
	int64_t in_call;	/* are in an announced blocking call */
	int64_t waiting;	/* wait for something else */
	int64_t detached;	/* of those running: compute without one */
	int64_t blocked;	/* ... are asleep in the kernel without one */
	int64_t paused;		/* of those runnable: with their thread */

	/* since the start, as weft_stats has them */
	uint64_t spawned, ended, switches, parks, yields;
	uint64_t steals, stolen, overflows, wakes;

	/* the same, as weft_preempt_stats has them */
	uint64_t preempt_asked, preempt_signals, preempted;
	uint64_t preempt_interrupted, preempt_capped;
	uint64_t preempt_paused[WEFT_RETAKE_REASONS_MAX];
	uint64_t preempt_refused[WEFT_RETAKE_REASONS_MAX];
	uint64_t preempt_taken[WEFT_RETAKE_REASONS_MAX];

	/* the same, as weft_io_stats has them */
	uint64_t io_registered, io_polls, io_events;
	uint64_t io_stale, io_timeouts, io_repaired;
	int64_t io_open;	/* now */

	/* processors, threads and queues, now */
	int procs, procs_idle;
	int threads, threads_idle;
	int threads_searching;	/* for work */
	int threads_missing;	/* 1: there is work, and no thread for it */
	int64_t queue_global;	/* runnable goroutines in the global queue, */
	int64_t queue_local;	/* ... at all processors, */
	int64_t queue_longest;	/* ... at one of them, at most */

	/* memory, now */
	uint64_t stacks;	/* stacks made, used or free */
	uint64_t stack_bytes;	/* address space of these */
	uint64_t record_bytes;	/* records of goroutines, used or free */

	/* how long goroutines were runnable before they ran, in nanoseconds:
	 * a sample, multiplied to estimate how many there were */
	uint64_t latency[WEFT_LATENCY_BUCKETS];
	uint64_t latency_sum;
} weft_metrics;

/*
 * Any thread; does not block, takes some microseconds (more with hundreds of
 * processors), and not longer with more goroutines. At most `bytes` bytes, the
 * size of *out, are written; members that the library does not have are 0.
 */
void weft_metrics_read(weft_metrics *out, size_t bytes);

/*
 * The histogram. weft_latency_bound: entry `bucket` of weft_metrics.latency
 * counts what is less than so many nanoseconds, and not less than the bound of
 * the one before; INT64_MAX for the last one that is used and all after it.
 * weft_latency_quantile: an upper bound for that part of all, for example 0.99,
 * of what was counted since *before, which may be NULL; 0 if nothing was. Four
 * buckets for each power of two: it is at most a quarter too high.
 */
int64_t weft_latency_bound(int bucket);
int64_t weft_latency_quantile(const weft_metrics *now,
    const weft_metrics *before, double part);

/*
 * Goroutines by state and by what they wait for, one by one: some 5 to 20
 * nanoseconds for each of the goroutines that there were at the same time, when
 * there were most.
 */
typedef struct weft_goroutine_counts {
	int64_t running, runnable, in_call, waiting;
	int64_t paused;		/* of those runnable */
	int64_t not_started;	/* have no stack yet */
	/* of those waiting, by reason */
	int64_t waiting_for[WEFT_WAIT_REASONS_MAX];
} weft_goroutine_counts;

/* Any thread, does not block. `bytes` as for weft_metrics_read. */
void weft_goroutine_counts_read(weft_goroutine_counts *out, size_t bytes);
/* "chan receive", "sleep", ... for 0, 1, ...; NULL after the last. */
const char *weft_wait_reason_name(int reason);

/*
 * All of that in the text format of Prometheus (0.0.4): writes at most cap
 * bytes, the last one a NUL if cap is not 0, and returns the length of the
 * whole text: as snprintf. Any thread, does not block; as fast as
 * weft_goroutine_counts_read.
 */
size_t weft_metrics_text(char *buf, size_t cap);

/*
 * The debug socket: a UNIX socket that only the user of the process, and root,
 * may connect to. A client sends one line, "metrics" (as weft_metrics_text),
 * "dump" (as weft_dump), "profile cpu 5" (of the next five seconds), "trace 1"
 * (of the next second), "top" (for weft-top) or "help", and reads the answer
 * until its end. A thread of its own answers, also when no goroutine runs.
 * WEFT_DEBUG=socket, or socket=PATH, opens it without a change of the program.
 * It is closed when the main goroutine has returned.
 *
 * weft_debug_listen opens it at that path, or, if path is NULL or "", at
 * $XDG_RUNTIME_DIR/weft-PID.sock, where weft-top PID looks for it (without that
 * variable /tmp/weft-UID/weft-PID.sock). 0, -EBUSY if it is open already,
 * -EADDRINUSE if the file exists, -ENAMETOOLONG, or another -errno. The child
 * of a fork does not have it. weft_debug_close removes the file; answers that
 * are being given end by themselves. weft_debug_path: where it is, or NULL.
 * Any thread; before weft_run, too.
 */
int weft_debug_listen(const char *path);
void weft_debug_close(void);
const char *weft_debug_path(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* WEFT_METRICS_H */
