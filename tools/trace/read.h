/* SPDX-License-Identifier: MIT */
/*
 * A trace file: its head, its tables, and where the blocks of each ring are.
 * Everything that the file says is checked here or in cursor.c; nothing else
 * reads it. A file that is truncated or damaged is read as far as it goes, and
 * `problems` says what was left out.
 */
#ifndef READ_H
#define READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"
#include "grow.h"

/* The payload of a block of events, and what its head says. */
struct block {
	const uint64_t *words;
	uint64_t start, g;
	uint32_t count;		/* of words */
	uint32_t number, m, lost;
};

struct ring {
	uint32_t id;
	struct block *block;	/* by number, each once */
	size_t count, room;
};

struct site {
	uint64_t address;
	const char *function, *file;
	int32_t line;
};

struct module {
	uint64_t base, lo, hi;
	const uint8_t *build_id;
	uint32_t build_id_bytes;
	const char *path;
};

struct trace {
	const char *path;
	const uint8_t *data;
	size_t bytes;
	bool mapped;
	struct trace_file head;

	struct ring *ring;
	size_t rings, rings_room;
	struct site *site;		/* by address */
	size_t sites, sites_room;
	struct module *module;
	size_t modules, modules_room;
	const char **reason;		/* by number */
	size_t reasons, reasons_room;

	uint64_t start, last;		/* cycles: first block, last clock */
	double ns_per_cycle;
	int64_t wall_ns;		/* CLOCK_REALTIME at the start */
	uint64_t last_cycles;		/* the last clock pair */
	int64_t last_ns;

	bool ended;			/* it was stopped properly */
	bool flight;			/* older blocks were dropped */
	uint64_t lost_events, lost_blocks;
	uint64_t bad_blocks;		/* left out, or left in their middle */
	bool walked;			/* order.c has counted those */
	struct text problems;		/* a line each */
};

/* NULL: `why` says so in one line. */
struct trace *trace_open(const char *path, struct text *why);
/* The same out of memory, which stays the caller's; aligned to 8. */
struct trace *trace_open_memory(const void *data, size_t bytes,
    struct text *why);
void trace_close(struct trace *t);

int64_t trace_ns(const struct trace *t, uint64_t cycles);
/* The spawn site with this address, or NULL. */
const struct site *trace_site(const struct trace *t, uint64_t address);
/* The name of a reason; "reason 12" if the file has none. */
const char *trace_reason(const struct trace *t, uint32_t reason);
/* Adds a line to the problems, at most some dozens. */
__attribute__((format(printf, 2, 3)))
void trace_problem(struct trace *t, const char *fmt, ...);

#endif
