/* SPDX-License-Identifier: MIT */
/*
 * What the scheduler counted; part of weft.h.
 * Preemption and descriptors have counters of their own: weft_preempt_stats
 * and weft_io_stats.
 */
#ifndef WEFT_STATS_H
#define WEFT_STATS_H

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Goroutines that exist: running, runnable or waiting. What a goroutine did
 * before it ended happens before a call that no longer counts it.
 */
int64_t weft_goroutines(void);

/* Since the start. */
typedef struct weft_stats {
	uint64_t spawned;	/* goroutines spawned */
	uint64_t ended;		/* goroutines that ended */
	uint64_t switches;	/* times a goroutine was given a processor */
	uint64_t parks;		/* times one began to wait */
	uint64_t yields;	/* times one asked to let others run */
	uint64_t steals;	/* times a processor stole from another */
	uint64_t stolen;	/* goroutines stolen that way */
	uint64_t overflows;	/* times a full local queue was halved */
	uint64_t wakes;		/* threads woken or created for new work */
	int procs;
	int threads;		/* threads created that have not ended */
	int threads_idle;	/* of these, asleep for want of work */
} weft_stats;

/*
 * All processors together, or one of them (0 .. weft_procs() - 1, otherwise
 * -EINVAL). As every read of counters: at most `bytes` bytes, the size of *out,
 * are written, and members that the library does not have are 0.
 */
void weft_stats_read(weft_stats *out, size_t bytes);
int weft_stats_read_proc(int proc, weft_stats *out, size_t bytes);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* WEFT_STATS_H */
