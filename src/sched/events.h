/* SPDX-License-Identifier: MIT */
/*
 * The scheduler's events for the execution trace: which ring an event goes to,
 * and what it says. trace_format.h has the meaning of each.
 *
 * Every function is called inside (retake.h) if the thread has a P, whose ring
 * it writes. A thread without a P writes the shared ring. An event is written
 * before its effect can be seen by other threads, so on any ring it comes
 * before what follows from it: a goroutine's TR_UNBLOCK before it is queued,
 * its TR_BLOCK before the lock of what it waits for is released.
 *
 * The inline functions are all that the scheduler pays while no trace is on.
 */
#ifndef EVENTS_H
#define EVENTS_H

#include "g.h"
#include "trace_ring.h"

struct m;
struct p;

void events_create_slow(struct m *mp, struct g *gp, bool waiting);
void events_start_slow(struct p *pp, struct g *gp, bool at_once);
void events_block_slow(struct m *mp, enum wait_reason why, const void *object);
void events_self_slow(struct m *mp, enum trace_type type, uint32_t arg);
void events_ready_slow(struct m *mp, const struct g *gp);
void events_ready_list_slow(struct m *mp, const struct glist *l);
void events_p_start_slow(struct m *mp, struct p *pp);
void events_p_stop_slow(struct m *mp);
/* In a signal handler of mp: what mp runs, if it has a P and may write. */
void events_running(struct m *mp);
void events_count_slow(enum trace_type type, uint32_t n);
void events_pause_slow(struct m *mp, enum trace_type type);

/* A goroutine was made; it is not queued yet. mp may be NULL. */
static always_inline void
events_create(struct m *mp, struct g *gp, bool waiting)
{
	if (trace_on())
		events_create_slow(mp, gp, waiting);
}

/*
 * It runs on P pp, with the M of the caller. at_once: in the same step in
 * which the one before it stopped, whose time it gets: to read the clock is
 * most of what an event costs.
 */
static always_inline void
events_start(struct p *pp, struct g *gp, bool at_once)
{
	if (trace_on())
		events_start_slow(pp, gp, at_once);
}

/* The goroutine of mp begins to wait, on this object if it is known. */
static always_inline void
events_block(struct m *mp, enum wait_reason why, const void *object)
{
	if (trace_on())
		events_block_slow(mp, why, object);
}

/* It yields; it has ended. */
static always_inline void
events_yield(struct m *mp, enum trace_yield why)
{
	if (trace_on())
		events_self_slow(mp, TR_YIELD, why);
}

static always_inline void
events_end(struct m *mp)
{
	if (trace_on())
		events_self_slow(mp, TR_END, 0);
}

/* It enters a blocking call, or has returned from it. */
static always_inline void
events_call(struct m *mp, enum trace_type type)
{
	if (trace_on())
		events_self_slow(mp, type, 0);
}

/* A waiting goroutine is RUNNABLE now, and not queued yet. mp may be NULL. */
static always_inline void
events_ready(struct m *mp, const struct g *gp)
{
	if (trace_on())
		events_ready_slow(mp, gp);
}

static always_inline void
events_ready_list(struct m *mp, const struct glist *l)
{
	if (trace_on())
		events_ready_list_slow(mp, l);
}

/* mp has just got P pp; it is about to give its P up. */
static always_inline void
events_p_start(struct m *mp, struct p *pp)
{
	if (trace_on())
		events_p_start_slow(mp, pp);
}

static always_inline void
events_p_stop(struct m *mp)
{
	if (trace_on())
		events_p_stop_slow(mp);
}

/*
 * The monitor, around the step that retakes a P: the shared ring is locked, so
 * that the M, which has no P from that step on, writes to it after us. False:
 * no trace is on. pp NULL: the step failed.
 */
bool events_taken_open(void);
void events_taken_close(const struct p *pp, const struct m *mp, int why);

/* The calling thread did something n times, or to P n. Also from outside. */
static always_inline void
events_count(enum trace_type type, uint32_t n)
{
	if (trace_on())
		events_count_slow(type, n);
}

/* The goroutine of mp is paused (it has no P any more), or runs again. */
static always_inline void
events_pause(struct m *mp, enum trace_type type)
{
	if (trace_on())
		events_pause_slow(mp, type);
}

/* ---- for observe/trace.c ---- */

/* What a user says: up to four words, and a text of up to TRACE_TEXT_MAX
 * bytes. Any thread, outside. */
void events_user(enum trace_type type, const uint64_t *words, unsigned n,
    const char *text);
/* The state of every goroutine, on the shared ring. No lock held. */
void events_status(void);
/* A CPU sample: M, or 0; P, or -1; goroutine, or 0. In a signal handler of any
 * thread; left out if a lock is not free. */
void events_sample(uint64_t cycles, uint32_t m, uint32_t p, uint64_t g,
    const uintptr_t *pcs, unsigned n);
/* The i-th ring, or NULL: there are not so many. Only `chunk` is for others
 * than its writer, under trace.lock, and `lost`. */
struct trace_ring *events_ring(uint32_t i);
/* In the child of a fork. */
void events_forked(void);

#endif
