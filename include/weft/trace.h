/* SPDX-License-Identifier: MIT */
/*
 * The execution trace: what every processor, thread and goroutine did, event
 * by event; part of weft.h. `weft-trace view FILE` shows it, `weft-trace stats
 * FILE` sums it up, `weft-trace go FILE` converts it for `go tool trace`.
 *
 * One trace at a time is recorded, either to a file while the program runs, or
 * by the flight recorder, which keeps the last events in memory and writes
 * them when it is asked to. Without a change of the program: WEFT_DEBUG=
 *
 *	trace=FILE	records from the start to the end
 *	traceend=MS	... or until so many milliseconds have passed
 *	flight=FILE	runs the flight recorder; it writes FILE when the
 *			process dies of a fatal error or a crash, at a stall,
 *			and on the signal
 *	stall=MS	a stall: a goroutine has been ready to run for so long,
 *			and its processor has run none meanwhile
 *	tracesig=N	the signal; without flight=, it begins a trace to
 *			weft-PID.trace, and ends it
 *	tracebytes=N	memory for events that are not written yet
 *	tracestacks=0	takes no stacks
 *
 * %p in FILE is the id of the process.
 */
#ifndef WEFT_TRACE_H
#define WEFT_TRACE_H

#ifdef __cplusplus
extern "C" {
#endif

/* Zero means default. */
typedef struct weft_trace_options {
	/* memory for events; default 64 MiB for a file, where events are lost
	 * if the disk does not keep up, 16 MiB for the flight recorder, which
	 * that limits */
	size_t buffer WEFT_ZERO_;
	/* the flight recorder writes what happened in so many nanoseconds
	 * before; default: all that is in memory */
	int64_t window WEFT_ZERO_;
	/* stacks of goroutines that begin to wait are taken at most once in so
	 * many nanoseconds on each processor; default 50,000; -1: never */
	int64_t stack_interval WEFT_ZERO_;
} weft_trace_options;

/*
 * Records to this file, which is replaced, until weft_trace_stop. `opt` may be
 * NULL. 0; -EBUSY: a trace or the flight recorder is on; -EAGAIN: the kernel
 * refuses a thread; -errno of the file.
 */
int weft_trace_start(const char *path, const weft_trace_options *opt,
    size_t opt_bytes);
/*
 * Ends the trace, or the flight recorder. 0; -ENOENT: there is none; the
 * -errno of a write that failed (-ENOSPC): then the file ends where it did.
 * *lost, if it is not NULL: events that were lost.
 */
int weft_trace_stop(uint64_t *lost);

/* Runs the flight recorder until weft_trace_stop. As weft_trace_start. */
int weft_trace_flight(const weft_trace_options *opt, size_t opt_bytes);
/*
 * Writes what the flight recorder has to this file, which is replaced; it goes
 * on. 0; -ENOENT: it is not on; -errno of the file.
 */
int weft_trace_write(const char *path);

/* Is a trace recorded? For what is costly to describe. Signal-safe. */
bool weft_trace_is_on(void);

/*
 * What the program says about itself. A task is something that the program
 * does, maybe in many goroutines: a request. Begin returns its number; a parent
 * is one that is part of it, or 0. A region is a part of what one goroutine
 * does; regions nest, and are ended innermost first. A message is shown where
 * it was written; its task may be 0. Texts are cut after 1024 bytes. None of
 * them waits; they cost a nanosecond while no trace is on.
 */
uint64_t weft_trace_task_begin(const char *name, uint64_t parent);
void weft_trace_task_end(uint64_t task);
void weft_trace_region_begin(const char *name, uint64_t task);
void weft_trace_region_end(void);
void weft_trace_log(const char *text, uint64_t task);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* WEFT_TRACE_H */
