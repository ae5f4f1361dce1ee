/* SPDX-License-Identifier: MIT */
/*
 * Rings of trace events, and the chunks of memory that they are made of.
 *
 * Each P has a ring, which the M that holds the P writes, inside, without a
 * lock. Threads without a P share one ring, under its lock. An event is a word
 * or a few (trace_format.h).
 *
 * A ring writes into one chunk. When it is full the ring puts it on the list
 * of full chunks and gets another, under trace.lock. What happens to full
 * chunks depends on the mode:
 *
 *	stream	a thread writes them to a file and frees them; if it does not
 *		keep up, and as much memory is in use as is allowed, events are
 *		lost, and counted
 *	flight	the oldest full chunk is used again: the last events are kept
 *
 * Chunks are read while they are written: `used` is stored with release after
 * the words that it counts, and a chunk leaves its ring, or is used again, only
 * under trace.lock, which a reader holds. So a reader may copy, at any time,
 * the words that `used` counts.
 *
 * trace.on is 0, or the number of the trace that is being recorded. A writer
 * that reads another number than its ring has begins anew (trace_refill). So
 * nothing is stopped when a trace begins or ends: what a writer that has read
 * the old number writes still goes to the old chunk, which stays with the ring
 * until its next event.
 *
 * When no trace is recorded, an event costs a load of trace.on, which is in a
 * cache line that nothing else writes, and a branch.
 */
#ifndef TRACE_RING_H
#define TRACE_RING_H

#include "atomic.h"
#include "defs.h"
#include "insn.h"
#include "lock.h"
#include "trace_format.h"

enum {
	TRACE_CHUNK_BYTES = 64 * 1024,
	TRACE_EVENT_WORDS = 4 + TRACE_STACK_MAX + TRACE_TEXT_MAX / 8,
	/* Beside the words of a few events: each may come after a gap in time,
	 * and one after the upper half of an id. */
	TRACE_SLACK = 16
};

struct trace_chunk {
	/* the ring, before `used` is not 0; but for `bytes`: the file's */
	struct trace_block head;
	/* the ring, with release; any thread under trace.lock reads it */
	a32 used;		/* words */
	/* under trace.lock */
	uint32_t on;		/* the trace it belongs to */
	struct trace_chunk *next;
	uint64_t end;		/* cycles of its last event, if it is full */

	a64 word[];
};

enum {
	TRACE_WORDS = (TRACE_CHUNK_BYTES - sizeof(struct trace_chunk)) / 8
};

/* All but the first: the writer of the ring only. */
struct trace_ring {
	/* under trace.lock; the writer reads it without */
	APTR(struct trace_chunk) chunk;
	a32 on;			/* trace.on when it last got a chunk, or tried
				 * to; others read it */
	a32 lost;		/* events since the last chunk; the same */
	uint32_t retry;		/* events lost since it last tried */
	uint32_t number;	/* of the next chunk */
	a64 *next, *end;	/* where the next word goes, and the last + 1 */
	uint64_t last;		/* cycles of the last event */
	uint32_t high;		/* upper half of the last id */
	uint32_t id;
	uint32_t m;		/* what a new chunk begins with */
	uint64_t g;
	bool has_thread;	/* shared ring: these are of the last event */
	uint32_t thread_m;
	uint64_t thread_word;
	const void *site;	/* the last one */
	uint64_t stack_at;	/* cycles when the last stack was taken */
};

enum trace_mode { TRACE_STREAM, TRACE_FLIGHT };

struct trace_chunks { struct trace_chunk *head, *tail; };	/* FIFO */

struct trace {
	/* any thread, atomic; written under lock: 0, or the trace's number */
	a32 on cache_aligned;
	/* the same: cycles between two stacks of a ring; 0: none is taken */
	a64 stack_every;

	struct lock lock cache_aligned;
	/* under lock */
	enum trace_mode mode;
	uint32_t numbers;	/* traces begun */
	size_t bytes, limit;	/* memory in use, allowed */
	struct trace_chunks full, free;

	/* registered before main: called when a chunk is full, with no lock of
	 * this room held */
	void (*on_full)(void);
};

extern struct trace trace;

static always_inline bool
trace_on(void)
{
	return unlikely(a_load_relaxed(&trace.on) != 0);
}

/* ---- recording: see trace.c in observe ---- */

/* Begins a trace: 0, or -EBUSY. Any thread. */
int trace_begin(enum trace_mode mode, size_t limit, uint64_t stack_every);
/* Ends it. Events may be written for a moment more, and are not seen. */
void trace_end(void);
/* Makes a ring ready, before its first event. */
void trace_ring_init(struct trace_ring *r, uint32_t id);
/* In the child of a fork: no trace. */
void trace_forked(void);

/* trace.lock held: the first full chunk, or NULL; and one that was written. */
struct trace_chunk *trace_take_full(void);
void trace_put_free(struct trace_chunk *c);
/*
 * trace.lock held: all full chunks; meanwhile the rings may use as much memory
 * again. No lock held: they are the oldest again, as far as the memory allows.
 */
struct trace_chunks trace_take_all(void);
void trace_put_back(struct trace_chunks *l);
/* No lock held: frees the memory of free chunks. No trace is on. */
void trace_trim(void);

/* ---- events: by the writer of the ring, while a trace is on ---- */

bool trace_refill(struct trace_ring *r, uint32_t on);
a64 *trace_put_gap(struct trace_ring *r, a64 *at, uint64_t now, uint64_t *dt);

/* Has another trace begun? Then r->m and r->g must be set before trace_open. */
static always_inline bool
trace_is_new(const struct trace_ring *r)
{
	return unlikely(a_load_relaxed(&r->on) != a_load_relaxed(&trace.on));
}

/* Where the next event of up to `words` words goes, or NULL: it is lost. */
static always_inline a64 *
trace_open(struct trace_ring *r, uint32_t words)
{
	uint32_t on = a_load_relaxed(&trace.on);

	if (unlikely(a_load_relaxed(&r->on) != on ||
	    r->end - r->next < words + TRACE_SLACK) && !trace_refill(r, on))
		return NULL;
	return r->next;
}

/* The first word of an event at this time. */
static always_inline a64 *
trace_put_at(struct trace_ring *r, a64 *at, uint64_t now, enum trace_type type,
    uint32_t arg)
{
	uint64_t dt = now - r->last;

	if (unlikely(dt >> TRACE_DT_BITS))
		at = trace_put_gap(r, at, now, &dt);
	else
		r->last = now;
	a_store_relaxed(at, type | dt << 6 | (uint64_t)arg << 32);
	return at + 1;
}

static always_inline a64 *
trace_put(struct trace_ring *r, a64 *at, enum trace_type type, uint32_t arg)
{
	return trace_put_at(r, at, cpu_cycles(), type, arg);
}

static always_inline a64 *
trace_put_word(a64 *at, uint64_t word)
{
	a_store_relaxed(at, word);
	return at + 1;
}

/* The same for an event whose argument is the id of a goroutine. */
static always_inline a64 *
trace_put_id_at(struct trace_ring *r, a64 *at, uint64_t now,
    enum trace_type type, int64_t id)
{
	uint32_t high = (uint32_t)((uint64_t)id >> 32);

	if (unlikely(high != r->high)) {
		at = trace_put_at(r, at, now, TR_HIGH, high);
		r->high = high;
	}
	return trace_put_at(r, at, now, type, (uint32_t)id);
}

static always_inline a64 *
trace_put_id(struct trace_ring *r, a64 *at, enum trace_type type, int64_t id)
{
	return trace_put_id_at(r, at, cpu_cycles(), type, id);
}

/* Publishes what was put up to `at`. */
static always_inline void
trace_close(struct trace_ring *r, a64 *at)
{
	struct trace_chunk *c = a_load_relaxed(&r->chunk);

	r->next = at;
	/* pairs with trace_chunk_words */
	a_store_rel(&c->used, (uint32_t)(at - c->word));
}

/* trace.lock held, or the chunk is full: how many words may be read. */
static inline uint32_t
trace_chunk_words(struct trace_chunk *c)
{
	return a_load_acq(&c->used);	/* pairs with trace_close */
}

#endif
