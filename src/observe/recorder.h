/* SPDX-License-Identifier: MIT */
/*
 * What records a trace: trace.c, which has its states and its lock, and
 * trace_env.c, which serves those that do not call it: the environment, a
 * signal, a stall, a crash.
 */
#ifndef RECORDER_H
#define RECORDER_H

#include "os.h"
#include "trace_file.h"
#include "weft.h"

enum recorder_mode { OFF, STREAM, FLIGHT };

/* Where a trace goes: a file, or a socket if path is NULL. */
struct trace_target {
	const char *path;
	int socket;
};

/* What the helper is asked for: bits of recorder.asked. */
enum { ASK_WRITE = 1, ASK_TOGGLE = 2, ASK_END = 4 };

struct recorder {
	struct lock lock;

	/* under lock */
	enum recorder_mode mode;
	struct trace_file_out out;	/* STREAM */
	struct trace_clock began;
	int64_t window;			/* ns; 0: all */
	bool has_helper;

	/* any thread, atomic */
	a32 waiting;			/* threads that want the lock */
	a32 asked;
	a64 tasks;			/* the number of the last one */
	struct note note;		/* the helper sleeps here */
};

extern struct recorder recorder;
/*
 * The process dies, and the thread that has set this has recorder.lock and
 * trace.lock, for good. Others may hold locks of libc.
 */
extern abool recorder_dying;

static inline bool
recorder_is_dying(void)
{
	return a_load_relaxed(&recorder_dying);
}

/* Takes the lock, as a blocking call of a goroutine; returns its argument. */
void recorder_lock(void);
int recorder_unlock(int result);
/* Lock held: what goroutines exist, if that leaves room for other events. */
void recorder_add_status(void);

/* Lock held. 0 or -errno, as those of weft/trace.h. */
int recorder_begin_stream(const struct trace_target *to,
    const weft_trace_options *opt);
int recorder_end(uint64_t *lost);
/* The number of the trace that goes to a file or a socket now, or 0. */
uint32_t recorder_number(void);
int recorder_write_flight(const struct trace_target *to);
int recorder_start_helper(void);

/* The helper looks at recorder.asked. Signal-safe. */
void recorder_poke(void);

/* ---- trace_env.c, called by the helper ---- */

/* Lock held: does what was asked for. */
void recorder_serve(uint32_t asked);
/* No lock held: watches for stalls and for the end of a trace, and says in how
 * many nanoseconds to call it again. */
int64_t recorder_watch(void);

#endif
