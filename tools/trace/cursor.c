/* SPDX-License-Identifier: MIT */
/* See cursor.h. */
#include "cursor.h"

#include <string.h>

enum { TYPE_BITS = 6, ARG_SHIFT = 32, TEXT_SHIFT = 16 };

/* What follows the first word of an event, and what its argument is. */
enum {
	WORDS = 7,		/* so many words */
	TEXT = 8,		/* and a text, of `arg >> 16` bytes */
	COUNT = 16,		/* and as many words as arg says */
	ID = 32,		/* arg is the lower half of an id */
	SELF = 64		/* it is about the goroutine that runs */
};

static const uint8_t shape[TR_TYPES] = {
	[TR_TIME] = 1, [TR_P_START] = 1, [TR_P_TAKEN] = 1,
	[TR_CREATE] = ID, [TR_CREATE_WAITING] = ID, [TR_SITE] = 1,
	[TR_NAME] = 3 | ID, [TR_START] = ID, [TR_BLOCK] = 1 | SELF,
	[TR_YIELD] = SELF, [TR_END] = SELF, [TR_UNBLOCK] = ID,
	[TR_CALL_BEGIN] = SELF, [TR_CALL_END] = SELF, [TR_PAUSE] = ID,
	[TR_RESUME] = ID, [TR_STATUS] = 1 | ID, [TR_THREAD] = 1,
	[TR_WORLD_STOP] = SELF, [TR_WORLD_START] = SELF,
	[TR_TASK_BEGIN] = 2 | TEXT | SELF, [TR_TASK_END] = 1 | SELF,
	[TR_REGION_BEGIN] = 1 | TEXT | SELF, [TR_REGION_END] = SELF,
	[TR_LOG] = 1 | TEXT | SELF, [TR_STACK] = COUNT,
	[TR_SAMPLE] = 3 | COUNT, [TR_RUNNING] = SELF,
};

void
cursor_init(struct cursor *c, struct trace *t, const struct ring *ring,
    struct stacks *stacks)
{
	*c = (struct cursor){ .trace = t, .ring = ring, .stacks = stacks };
}

static void
begin_block(struct cursor *c)
{
	const struct block *b = &c->ring->block[c->block++];

	c->at = b->words;
	c->end = b->words + b->count;
	if (c->block == 1 || (int64_t)(b->start - c->cycles) > 0)
		c->cycles = b->start;
	c->high = c->site = 0;
	c->tid = 0;
	c->monitor = false;
	if (b->lost || (c->block > 1 && b[-1].number + 1 != b->number))
		c->lost = true;
	if (c->lost || c->block == 1) {
		c->gap = true;
		c->gap_m = b->m;
		c->gap_g = b->g;
	}
	c->m = b->m;
	c->g = b->g;
}

/* The rest of the block makes no sense. */
static void
damaged(struct cursor *c, const uint64_t *at)
{
	if (!c->trace->walked)
		c->trace->bad_blocks++;
	trace_problem(c->trace, "damaged at byte %zu: the rest of this block "
	    "of ring %u is left out",
	    (size_t)((const uint8_t *)at - c->trace->data), c->ring->id);
	c->at = c->end;
	c->lost = true;
}

/* How many words follow this one; -1: it is no event. */
static int
following(uint64_t word)
{
	uint32_t type = word & ((1u << TYPE_BITS) - 1), arg = word >> ARG_SHIFT;
	uint32_t bytes = arg >> TEXT_SHIFT;
	int n;

	if (type == TR_NONE || type >= TR_TYPES)
		return -1;
	n = shape[type] & WORDS;
	if (shape[type] & TEXT) {
		if (bytes > TRACE_TEXT_MAX)
			return -1;
		n += (int)((bytes + 7) / 8);
	}
	if (shape[type] & COUNT) {
		if (arg > TRACE_STACK_MAX)
			return -1;
		n += (int)arg;
	}
	return n;
}

static void
set_thread(struct cursor *c, uint32_t m, uint64_t word)
{
	c->m = m;
	c->g = m ? word : 0;
	c->tid = m ? 0 : (uint32_t)word;
	c->monitor = !m && word >> 32 == 1;
}

/* True: the word was one of those that only carry over. */
static bool
carry(struct cursor *c, uint32_t type, uint32_t arg, const uint64_t *words)
{
	switch (type) {
	case TR_TIME:
		if ((int64_t)(words[0] - c->cycles) > 0)
			c->cycles = words[0];
		return true;
	case TR_HIGH:
		c->high = (uint64_t)arg << 32;
		return true;
	case TR_SITE:
		c->site = words[0];
		return true;
	case TR_THREAD:
		set_thread(c, arg, words[0]);
		return true;
	default:
		return type == TR_STACK;
	}
}

/* A stack that follows at once is the event's. */
static void
take_stack(struct cursor *c)
{
	uint64_t word;
	int n;

	if (c->at == c->end)
		return;
	word = *c->at;
	n = following(word);
	if ((word & ((1u << TYPE_BITS) - 1)) != TR_STACK || n < 0 ||
	    c->end - c->at <= n)
		return;
	c->event.stack = stacks_add(c->stacks, c->at + 1, (uint32_t)n);
	c->cycles += (uint32_t)word >> TYPE_BITS;
	c->at += 1 + n;
}

static void
set_sample(struct cursor *c, uint32_t arg, const uint64_t *words)
{
	struct event *e = &c->event;

	e->ns = trace_ns(c->trace, words[0]);
	e->m = (uint32_t)words[1];
	e->p = (uint32_t)(words[1] >> 32);
	e->g = e->self = words[2];
	e->stack = stacks_add(c->stacks, words + 3, arg);
}

static void
set_event(struct cursor *c, uint32_t type, uint32_t arg, const uint64_t *words)
{
	struct event *e = &c->event;
	bool shared = c->ring->id == TRACE_RING_SHARED;

	*e = (struct event){
		.ns = trace_ns(c->trace, c->cycles), .self = c->g,
		.words = shape[type] & (WORDS | TEXT) ? words : NULL,
		.arg = arg, .m = c->m, .tid = c->tid, .type = (uint8_t)type,
		.p = shared ? NO_P : c->ring->id,
		.flags = c->monitor ? EVENT_MONITOR : 0,
	};
	if (shape[type] & ID)
		e->g = c->high | arg;
	else if (shape[type] & SELF)
		e->g = c->g;
	if (shape[type] & TEXT)
		e->text = (uint16_t)(arg >> TEXT_SHIFT);
	else if (type == TR_NAME)
		e->text = (uint16_t)strnlen((const char *)words, 24);
	if (shape[type] & WORDS)
		e->extra = words[0];
	if (type == TR_CREATE || type == TR_CREATE_WAITING)
		e->extra = c->site;
	if (type == TR_STATUS) {
		e->arg = (uint32_t)words[0];
		e->extra = c->site;
	}
	if (type == TR_P_START)
		e->g = words[0];
	if (type == TR_SAMPLE)
		set_sample(c, arg, words);
}

/* What runs on this ring after the event; only TR_THREAD says it on the one
 * that is shared. */
static void
follow(struct cursor *c)
{
	struct event *e = &c->event;

	if (c->ring->id == TRACE_RING_SHARED)
		return;
	switch (e->type) {
	case TR_P_START:
		c->m = e->m = e->arg;
		c->g = e->g;
		break;
	case TR_P_STOP:
		c->m = 0;
		c->g = 0;
		break;
	case TR_START:
	case TR_RESUME:
		c->g = e->g;
		break;
	case TR_PAUSE:
		c->g = c->g == e->g ? 0 : c->g;
		break;
	case TR_BLOCK:
	case TR_YIELD:
	case TR_END:
		c->g = 0;
		break;
	default:
		break;
	}
}

void
cursor_next(struct cursor *c)
{
	c->valid = c->gap = c->lost = false;
	for (;;) {
		const uint64_t *word = c->at;
		uint32_t type, arg;
		int n;

		if (word == c->end) {
			if (c->block == c->ring->count)
				return;
			begin_block(c);
			continue;
		}
		n = following(*word);
		if (n < 0 || c->end - word <= n) {
			damaged(c, word);
			continue;
		}
		type = *word & ((1u << TYPE_BITS) - 1);
		arg = (uint32_t)(*word >> ARG_SHIFT);
		c->at += 1 + n;
		c->cycles += (uint32_t)*word >> TYPE_BITS;
		if (carry(c, type, arg, word + 1))
			continue;
		set_event(c, type, arg, word + 1);
		take_stack(c);
		follow(c);
		c->valid = true;
		return;
	}
}

/* As cursor_next, but only for what a scan is about. */
static void
scan_block(const struct block *b, void (*fn)(void *, const struct event *),
    void *context)
{
	const uint64_t *at = b->words, *end = at + b->count;
	uint64_t high = 0, site = 0;
	int n;

	for (; at < end && (n = following(*at)) >= 0 && n < end - at;
	    at += 1 + n) {
		uint32_t type = *at & ((1u << TYPE_BITS) - 1);
		uint32_t arg = (uint32_t)(*at >> ARG_SHIFT);

		if (type == TR_HIGH)
			high = (uint64_t)arg << 32;
		else if (type == TR_SITE)
			site = at[1];
		else if (type == TR_CREATE || type == TR_CREATE_WAITING ||
		    type == TR_STATUS)
			fn(context, &(struct event){
				.type = (uint8_t)type, .g = high | arg,
				.arg = n ? (uint32_t)at[1] : arg,
				.extra = site,
			});
	}
}

void
cursor_scan(struct trace *t, void (*fn)(void *, const struct event *),
    void *context)
{
	for (size_t i = 0; i < t->rings; i++)
		for (size_t j = 0; j < t->ring[i].count; j++)
			scan_block(&t->ring[i].block[j], fn, context);
}
