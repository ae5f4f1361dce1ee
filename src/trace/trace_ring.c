/* SPDX-License-Identifier: MIT */
/* See trace_ring.h. */
#include "trace_ring.h"

#include <errno.h>

#include "fatal.h"
#include "observed.h"
#include "os.h"

enum { LOST_RETRY = 64 };	/* events lost between two tries for memory */

struct trace trace = { .lock = LOCK_INIT(RANK_TRACE) };

/* ---- chunks: trace.lock held ---- */

static void
put(struct trace_chunks *l, struct trace_chunk *c)
{
	c->next = NULL;
	if (l->tail)
		l->tail->next = c;
	else
		l->head = c;
	l->tail = c;
}

static struct trace_chunk *
take(struct trace_chunks *l)
{
	struct trace_chunk *c = l->head;

	if (c) {
		l->head = c->next;
		if (!l->head)
			l->tail = NULL;
	}
	return c;
}

struct trace_chunk *
trace_take_full(void)
{
	check(lock_held(&trace.lock));
	return take(&trace.full);
}

void
trace_put_free(struct trace_chunk *c)
{
	check(lock_held(&trace.lock));
	/* In front: its memory is in a cache. */
	c->next = trace.free.head;
	trace.free.head = c;
	if (!trace.free.tail)
		trace.free.tail = c;
}

static struct trace_chunk *
map_chunk(void)
{
	struct trace_chunk *c = os_map(TRACE_CHUNK_BYTES);

	if (c)
		trace.bytes += TRACE_CHUNK_BYTES;
	return c;
}

/*
 * A chunk to write into, or NULL: no memory. In a flight recorder each ring
 * gets one, so it may have more memory than allowed if that is very little.
 */
static struct trace_chunk *
get_chunk(void)
{
	bool flight = trace.mode == TRACE_FLIGHT;
	struct trace_chunk *c = take(&trace.free);

	if (!c && trace.bytes + TRACE_CHUNK_BYTES <= trace.limit)
		c = map_chunk();
	if (!c && flight)
		c = take(&trace.full);
	if (!c && flight)
		c = map_chunk();
	return c;
}

void
trace_trim(void)
{
	struct trace_chunk *c;

	lock_take(&trace.lock);
	while (!a_load_relaxed(&trace.on) && (c = take(&trace.free))) {
		os_unmap(c, TRACE_CHUNK_BYTES);
		trace.bytes -= TRACE_CHUNK_BYTES;
	}
	lock_drop(&trace.lock);
}

struct trace_chunks
trace_take_all(void)
{
	struct trace_chunks l = trace.full;

	check(lock_held(&trace.lock));
	trace.full = (struct trace_chunks){0};
	for (struct trace_chunk *c = l.head; c; c = c->next)
		trace.bytes -= TRACE_CHUNK_BYTES;
	return l;
}

void
trace_put_back(struct trace_chunks *l)
{
	struct trace_chunk *c;

	lock_take(&trace.lock);
	if (l->head) {
		l->tail->next = trace.full.head;
		trace.full.head = l->head;
		if (!trace.full.tail)
			trace.full.tail = l->tail;
	}
	for (c = l->head; c; c = c == l->tail ? NULL : c->next)
		trace.bytes += TRACE_CHUNK_BYTES;
	while (trace.bytes > trace.limit && (c = take(&trace.full))) {
		os_unmap(c, TRACE_CHUNK_BYTES);
		trace.bytes -= TRACE_CHUNK_BYTES;
	}
	lock_drop(&trace.lock);
}

/* ---- recording ---- */

int
trace_begin(enum trace_mode mode, size_t limit, uint64_t stack_every)
{
	bool busy;

	lock_take(&trace.lock);
	busy = a_load_relaxed(&trace.on) != 0;
	if (!busy) {
		struct trace_chunk *c;

		while ((c = take(&trace.full)))
			put(&trace.free, c);
		trace.mode = mode;
		trace.limit = limit;
		a_store_relaxed(&trace.stack_every, stack_every);
		if (++trace.numbers == 0)
			trace.numbers = 1;
		/* pairs with trace_refill, by the lock */
		a_store_relaxed(&trace.on, trace.numbers);
		a_or_relaxed(&observed_.by, OBSERVED_TRACE);
	}
	lock_drop(&trace.lock);
	return busy ? -EBUSY : 0;
}

void
trace_end(void)
{
	lock_take(&trace.lock);
	a_store_relaxed(&trace.on, 0);
	a_and_relaxed(&observed_.by, ~(uint32_t)OBSERVED_TRACE);
	lock_drop(&trace.lock);
}

void
trace_ring_init(struct trace_ring *r, uint32_t id)
{
	r->id = id;
}

void
trace_forked(void)
{
	a_store_relaxed(&trace.on, 0);
	a_and_relaxed(&observed_.by, ~(uint32_t)OBSERVED_TRACE);
	/* Another thread may have been in the middle of a list. */
	trace.lock = (struct lock)LOCK_INIT(RANK_TRACE);
	trace.full = trace.free = (struct trace_chunks){0};
	trace.bytes = 0;
}

/* ---- the slow paths of a writer ---- */

/* trace.lock held: the chunk leaves the ring. */
static void
retire(struct trace_ring *r)
{
	struct trace_chunk *c = a_load_relaxed(&r->chunk);

	if (!c)
		return;
	c->end = r->last;
	a_store_relaxed(&r->chunk, NULL);
	put(c->on == trace.numbers ? &trace.full : &trace.free, c);
}

/* trace.lock held: the ring begins a chunk. */
static void
renew(struct trace_ring *r, struct trace_chunk *c)
{
	a_store_relaxed(&c->used, 0);
	c->on = a_load_relaxed(&r->on);
	r->last = cpu_cycles();
	r->high = 0;
	r->site = NULL;
	r->has_thread = false;
	c->head = (struct trace_block){
		.type = TRACE_BLOCK_EVENTS, .ring = r->id,
		.number = r->number++, .start = r->last, .m = r->m,
		.lost = a_load_relaxed(&r->lost), .g = r->g,
	};
	a_store_relaxed(&r->lost, 0);
	r->next = c->word;
	r->end = c->word + TRACE_WORDS;
	a_store_relaxed(&r->chunk, c);
}

/* trace.lock held: gives the ring another chunk, if there is one for it. */
static bool
exchange(struct trace_ring *r, uint32_t on)
{
	struct trace_chunk *c = NULL;

	retire(r);
	if (a_load_relaxed(&r->on) != on) {
		a_store_relaxed(&r->on, on);
		a_store_relaxed(&r->lost, 0);
		r->number = 0;
		r->stack_at = 0;
	}
	r->next = r->end = NULL;
	r->retry = 0;
	if (a_load_relaxed(&trace.on) == on)
		c = get_chunk();
	if (c)
		renew(r, c);
	return c != NULL;
}

/*
 * The ring has no room, or another trace is on. False: the event is lost, or
 * the trace has just ended.
 */
noinline bool
trace_refill(struct trace_ring *r, uint32_t on)
{
	bool had = a_load_relaxed(&r->chunk), got = false;

	if (!on)
		return false;
	if (had || a_load_relaxed(&r->on) != on || ++r->retry >= LOST_RETRY) {
		lock_take(&trace.lock);
		got = exchange(r, on);
		lock_drop(&trace.lock);
	}
	if (!got && a_load_relaxed(&trace.on) == on)
		a_bump(&r->lost, 1);
	if (had && trace.on_full)
		trace.on_full();
	return got;
}

/*
 * The time since the last event does not fit: it was long ago, or the clock of
 * another CPU is behind.
 */
noinline a64 *
trace_put_gap(struct trace_ring *r, a64 *at, uint64_t now, uint64_t *dt)
{
	*dt = 0;
	if ((int64_t)(now - r->last) < 0)
		return at;
	r->last = now;
	at = trace_put_word(at, TR_TIME);
	return trace_put_word(at, now);
}
