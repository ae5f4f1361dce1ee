/* SPDX-License-Identifier: MIT */
/* Trace files made by a test, event by event, in memory. */
#ifndef TRACE_FILE_H
#define TRACE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/trace/trace_format.h"

enum { MADE_RINGS = 16 };

struct made_ring {
	struct trace_block head;
	uint64_t word[4096];
	uint32_t count;
	uint32_t m;
	uint64_t last, g, high, site, thread;
};

struct made_file {
	uint8_t *data;
	size_t bytes, room;
	uint32_t block_words;		/* a block is closed from that on */
	uint32_t drop;			/* blocks of each ring not written */
	uint64_t hz;
	struct made_ring ring[MADE_RINGS + 1];	/* the last: shared */
};

static inline void
made_put(struct made_file *f, const void *data, size_t bytes)
{
	if (f->bytes + bytes > f->room) {
		f->room = 2 * (f->bytes + bytes) + 4096;
		f->data = realloc(f->data, f->room);
		if (!f->data)
			abort();
	}
	memcpy(f->data + f->bytes, data, bytes);
	f->bytes += bytes;
}

static inline void
made_block(struct made_file *f, struct trace_block head, const void *data,
    size_t bytes)
{
	static const uint8_t zero[8];

	head.bytes = (uint32_t)((bytes + 7) & ~(size_t)7);
	made_put(f, &head, sizeof head);
	made_put(f, data, bytes);
	made_put(f, zero, head.bytes - bytes);
}

static inline void
made_begin(struct made_file *f, uint64_t hz)
{
	struct trace_file head = {
		.magic = TRACE_MAGIC, .cycles = 1000000, .mono_ns = 5000000000,
		.wall_ns = 1700000000000000000, .hz = hz, .pid = 42,
		.procs = 4,
	};
	static const char reasons[] =
	    "chan receive\0chan send\0select\0sleep\0mutex";

	memset(f, 0, sizeof *f);
	f->block_words = 60;
	f->hz = hz;
	made_put(f, &head, sizeof head);
	made_block(f, (struct trace_block){ .type = TRACE_BLOCK_REASONS },
	    reasons, sizeof reasons);
	for (uint32_t i = 0; i <= MADE_RINGS; i++)
		f->ring[i].last = head.cycles;
}

/* The events of the ring so far are a block. */
static inline void
made_flush(struct made_file *f, struct made_ring *r)
{
	bool dropped = r->head.number < f->drop;

	if (!r->count)
		return;
	r->head.type = TRACE_BLOCK_EVENTS;
	r->head.ring = r == &f->ring[MADE_RINGS] ? TRACE_RING_SHARED :
	    (uint32_t)(r - f->ring);
	if (!dropped)
		made_block(f, r->head, r->word, r->count * 8);
	r->count = 0;
	r->head.number++;
}

static inline void
made_word(struct made_ring *r, uint64_t word)
{
	r->word[r->count++] = word;
}

/* An event without the words that follow it. */
static inline void
made_first(struct made_ring *r, uint64_t now, uint32_t type, uint32_t arg)
{
	uint64_t dt = now > r->last ? now - r->last : 0;

	r->last += dt;
	if (dt >> TRACE_DT_BITS) {
		made_word(r, TR_TIME);
		made_word(r, r->last);
		dt = 0;
	}
	made_word(r, type | dt << 6 | (uint64_t)arg << 32);
}

/* A new block if it is time; what an event needs (site, thread) is after it. */
static inline void
made_renew(struct made_file *f, uint32_t ring)
{
	struct made_ring *r = &f->ring[ring < MADE_RINGS ? ring : MADE_RINGS];

	if (r->count >= f->block_words)
		made_flush(f, r);
}

/* The ring for the next event, of up to 300 words. */
static inline struct made_ring *
made_ring_at(struct made_file *f, uint32_t ring, uint64_t now)
{
	struct made_ring *r = &f->ring[ring < MADE_RINGS ? ring : MADE_RINGS];

	if (!r->count) {
		r->last = now > r->last ? now : r->last;
		r->head.start = r->last;
		r->head.m = r->m;
		r->head.g = r->g;
		r->high = r->site = 0;
		r->thread = ~(uint64_t)0;
	}
	return r;
}

/* On the shared ring: as M m that runs g, or as the thread with that id. */
static inline void
made_thread(struct made_file *f, uint64_t now, uint32_t m, uint64_t word)
{
	struct made_ring *r;

	made_renew(f, MADE_RINGS);
	r = made_ring_at(f, MADE_RINGS, now);
	if (r->thread != (word << 8 | m)) {
		r->thread = word << 8 | m;
		made_first(r, now, TR_THREAD, m);
		made_word(r, word);
	}
}

static inline void
made_id(struct made_file *f, uint32_t ring, uint64_t now, uint32_t type,
    uint64_t id)
{
	struct made_ring *r = made_ring_at(f, ring, now);

	if (id >> 32 != r->high) {
		r->high = id >> 32;
		made_first(r, now, TR_HIGH, (uint32_t)r->high);
	}
	made_first(r, now, type, (uint32_t)id);
}

static inline void
made_event(struct made_file *f, uint32_t ring, uint64_t now, uint32_t type,
    uint32_t arg)
{
	made_first(made_ring_at(f, ring, now), now, type, arg);
}

static inline void
made_event1(struct made_file *f, uint32_t ring, uint64_t now, uint32_t type,
    uint32_t arg, uint64_t word)
{
	struct made_ring *r = made_ring_at(f, ring, now);

	made_first(r, now, type, arg);
	made_word(r, word);
}

static inline void
made_text(struct made_ring *r, const char *text)
{
	char padded[TRACE_TEXT_MAX + 8] = {0};
	size_t n = strlen(text);

	memcpy(padded, text, n);
	for (size_t i = 0; i < (n + 7) / 8; i++) {
		uint64_t word;

		memcpy(&word, padded + 8 * i, 8);
		made_word(r, word);
	}
}

static inline void
made_site(struct made_file *f, uint32_t ring, uint64_t now, uint64_t site)
{
	struct made_ring *r = made_ring_at(f, ring, now);

	if (r->site != site) {
		r->site = site;
		made_first(r, now, TR_SITE, 0);
		made_word(r, site);
	}
}

static inline void
made_stack(struct made_file *f, uint32_t ring, uint64_t now, uint32_t n,
    uint64_t pc)
{
	struct made_ring *r = &f->ring[ring < MADE_RINGS ? ring : MADE_RINGS];

	made_first(r, now, TR_STACK, n);
	while (n--)
		made_word(r, pc += 16);
}

static inline void
made_end(struct made_file *f, uint64_t now)
{
	uint64_t clock[2] = { now, 5000000000 +
	    (uint64_t)((double)(now - 1000000) * 1e9 / (double)f->hz) };
	struct { uint64_t address; int32_t line; uint32_t zero;
		char text[32]; } site = { 0x1000, 12, 0, "spawner\0file.c" };

	for (uint32_t i = 0; i <= MADE_RINGS; i++)
		made_flush(f, &f->ring[i]);
	for (uint32_t i = 0; i < 4; i++) {
		site.address = 0x1000 + 0x100 * i;
		site.line = 12 + (int32_t)i;
		site.text[6] = (char)('0' + i);
		made_block(f, (struct trace_block){ .type = TRACE_BLOCK_SITE },
		    &site, sizeof site);
	}
	made_block(f, (struct trace_block){ .type = TRACE_BLOCK_CLOCK }, clock,
	    sizeof clock);
	made_block(f, (struct trace_block){ .type = TRACE_BLOCK_END }, clock,
	    0);
}

static inline void
made_free(struct made_file *f)
{
	free(f->data);
	f->data = NULL;
}

#endif
