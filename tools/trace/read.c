/* SPDX-License-Identifier: MIT */
/* See read.h. */
#include "read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "idmap.h"

enum {
	PROBLEMS_BYTES = 2000,
	REASONS_MAX = 256,
	MODULES_MAX = 65536,
	PATH_BYTES = 4096
};

#define NS_MAX 3e16		/* a year: what is beyond makes no sense */

void
trace_problem(struct trace *t, const char *fmt, ...)
{
	char line[256];
	va_list ap;

	if (t->walked || t->problems.bytes > PROBLEMS_BYTES)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	text_add(&t->problems, "%s\n", line);
	if (t->problems.bytes > PROBLEMS_BYTES)
		text_add(&t->problems, "further problems are not listed\n");
}

/* ---- strings of a payload ---- */

/* The string at *at, after which *at is; NULL: it does not end before `end`. */
static const char *
string(const uint8_t **at, const uint8_t *end)
{
	const char *s = (const char *)*at;
	const uint8_t *nul = memchr(*at, 0, (size_t)(end - *at));

	if (!nul)
		return NULL;
	*at = nul + 1;
	return s;
}

static uint32_t
u32(const uint8_t *at)
{
	uint32_t n;

	memcpy(&n, at, sizeof n);
	return n;
}

static uint64_t
u64(const uint8_t *at)
{
	uint64_t n;

	memcpy(&n, at, sizeof n);
	return n;
}

/* ---- blocks, by type; false: the block makes no sense ---- */

static bool
read_clock(struct trace *t, const uint8_t *at, size_t bytes)
{
	if (bytes < 16)
		return false;
	t->last_cycles = u64(at);
	t->last_ns = (int64_t)u64(at + 8);
	return true;
}

static bool
read_site(struct trace *t, const uint8_t *at, size_t bytes)
{
	const uint8_t *end = at + bytes, *text = at + 16;
	struct site site;

	if (bytes < 16)
		return false;
	site.address = u64(at);
	site.line = (int32_t)u32(at + 8);
	site.function = string(&text, end);
	site.file = site.function ? string(&text, end) : NULL;
	if (!site.file)
		return false;
	*GROW(t->site, t->sites, t->sites_room) = site;
	t->sites++;
	return true;
}

static bool
read_module(struct trace *t, const uint8_t *at, size_t bytes)
{
	const uint8_t *end = at + bytes, *text;
	struct module m;

	if (bytes < 32)
		return false;
	m.base = u64(at);
	m.lo = u64(at + 8);
	m.hi = u64(at + 16);
	m.build_id_bytes = u32(at + 24);
	m.build_id = at + 32;
	if (m.build_id_bytes > bytes - 32 || m.build_id_bytes > 64)
		return false;
	text = m.build_id + ((m.build_id_bytes + 7) & ~7u);
	if (text > end)
		return false;
	m.path = string(&text, end);
	if (!m.path || strlen(m.path) >= PATH_BYTES || m.lo > m.hi ||
	    t->modules == MODULES_MAX)
		return false;
	*GROW(t->module, t->modules, t->modules_room) = m;
	t->modules++;
	return true;
}

/* The last string may be followed by padding; a reason is never "". */
static bool
read_reasons(struct trace *t, const uint8_t *at, size_t bytes)
{
	const uint8_t *end = at + bytes;
	const char *s;

	t->reasons = 0;
	while (at < end && (s = string(&at, end)) && t->reasons < REASONS_MAX) {
		if (end - at < 8 && !*s)
			break;
		*GROW(t->reason, t->reasons, t->reasons_room) = s;
		t->reasons++;
	}
	return true;
}

/* ---- blocks of events ---- */

static struct ring *
ring_of(struct trace *t, struct idmap *rings, uint32_t id)
{
	uint64_t *index = idmap_put(rings, (uint64_t)id + 1);

	if (!*index) {
		*GROW(t->ring, t->rings, t->rings_room) =
			(struct ring){ .id = id };
		*index = ++t->rings;
	}
	return &t->ring[*index - 1];
}

static bool
read_events(struct trace *t, struct idmap *rings, const struct trace_block *b,
    const uint8_t *at, size_t bytes)
{
	struct ring *r;

	if (b->ring > TRACE_RING_SHARED)
		return false;
	r = ring_of(t, rings, b->ring);
	*GROW(r->block, r->count, r->room) = (struct block){
		.words = (const uint64_t *)(const void *)at,
		.count = (uint32_t)(bytes / 8), .start = b->start, .g = b->g,
		.number = b->number, .m = b->m, .lost = b->lost,
	};
	r->count++;
	return true;
}

static bool
read_block(struct trace *t, struct idmap *rings, const struct trace_block *b,
    const uint8_t *at, size_t bytes)
{
	switch (b->type) {
	case TRACE_BLOCK_EVENTS:
		return read_events(t, rings, b, at, bytes);
	case TRACE_BLOCK_CLOCK:
		return read_clock(t, at, bytes);
	case TRACE_BLOCK_SITE:
		return read_site(t, at, bytes);
	case TRACE_BLOCK_MODULE:
		return read_module(t, at, bytes);
	case TRACE_BLOCK_REASONS:
		return read_reasons(t, at, bytes);
	case TRACE_BLOCK_END:
		t->ended = true;
		return true;
	default:
		return false;
	}
}

/*
 * A block that goes beyond the end is the last one; of events, those that are
 * there are read.
 */
static void
read_blocks(struct trace *t, struct idmap *rings)
{
	size_t at = sizeof(struct trace_file);
	struct trace_block b;

	while (t->bytes - at >= sizeof b && !t->ended) {
		size_t left = t->bytes - at - sizeof b, use;

		memcpy(&b, t->data + at, sizeof b);
		if (b.bytes % 8) {
			trace_problem(t, "damaged at byte %zu (a block of %u "
			    "bytes): the rest is left out", at, b.bytes);
			t->bad_blocks++;
			return;
		}
		use = b.bytes <= left ? b.bytes : left & ~(size_t)7;
		if ((use == b.bytes || b.type == TRACE_BLOCK_EVENTS) &&
		    !read_block(t, rings, &b, t->data + at + sizeof b, use)) {
			trace_problem(t, "damaged at byte %zu: a block of type"
			    " %u is left out", at, b.type);
			t->bad_blocks++;
		}
		if (use != b.bytes) {
			trace_problem(t, "truncated: the block at byte %zu has"
			    " %zu of %u bytes", at, left, b.bytes);
			return;
		}
		at += sizeof b + b.bytes;
	}
	if (!t->ended)
		trace_problem(t, "it has no end: truncated at byte %zu, or "
		    "still being written", t->bytes);
}

/* ---- what follows from all blocks ---- */

static int
by_number(const void *a, const void *b)
{
	const struct block *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static void
sort_blocks(struct trace *t, struct ring *r)
{
	size_t n = 0;

	qsort(r->block, r->count, sizeof *r->block, by_number);
	for (size_t i = 0; i < r->count; i++) {
		if (n && r->block[n - 1].number == r->block[i].number) {
			t->bad_blocks++;
			trace_problem(t, "ring %u has two blocks %u", r->id,
			    r->block[i].number);
			continue;
		}
		if (n)
			t->lost_blocks += r->block[i].number -
			    r->block[n - 1].number - 1;
		t->lost_events += r->block[i].lost;
		r->block[n++] = r->block[i];
	}
	r->count = n;
	t->flight |= r->block[0].number != 0;
}

static int
by_address(const void *a, const void *b)
{
	const struct site *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* Cycles as a number that can be compared with another near it. */
static bool
before(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b) < 0;
}

static bool
set_clock(struct trace *t, struct text *why)
{
	double cycles = (double)(int64_t)(t->last_cycles - t->head.cycles);
	double ns = (double)(t->last_ns - t->head.mono_ns);

	bool known = t->head.hz >= 1000000 && t->head.hz <= 1000000000000;

	/* A pair that is near, or makes no sense, says less than the head. */
	t->ns_per_cycle = 1e9 / (double)t->head.hz;
	if (ns > (known ? 1e6 : 0) && cycles / ns > 1e-3 && cycles / ns < 1e3) {
		t->ns_per_cycle = ns / cycles;
	} else if (!known) {
		text_add(why, "its clock has %llu cycles a second",
		    (unsigned long long)t->head.hz);
		return false;
	}
	t->start = t->head.cycles;
	for (size_t i = 0, first = 1; i < t->rings; i++) {
		uint64_t start = t->ring[i].block[0].start;

		if (first || before(start, t->start))
			t->start = start;
		first = 0;
	}
	t->wall_ns = t->head.wall_ns - trace_ns(t, t->head.cycles);
	return true;
}

int64_t
trace_ns(const struct trace *t, uint64_t cycles)
{
	double ns = (double)(int64_t)(cycles - t->start) * t->ns_per_cycle;

	return ns > NS_MAX ? (int64_t)NS_MAX : ns < -NS_MAX ?
	    -(int64_t)NS_MAX : (int64_t)ns;
}

const struct site *
trace_site(const struct trace *t, uint64_t address)
{
	struct site key = { .address = address };

	return t->sites && address ? bsearch(&key, t->site, t->sites,
	    sizeof key, by_address) : NULL;
}

const char *
trace_reason(const struct trace *t, uint32_t reason)
{
	static char other[32];

	if (reason < t->reasons)
		return t->reason[reason];
	snprintf(other, sizeof other, "reason %u", reason);
	return other;
}

/* ---- opening ---- */

static bool
read_all(struct trace *t, struct text *why)
{
	struct idmap rings = {0};

	if (t->bytes < sizeof t->head ||
	    memcmp(t->data, TRACE_MAGIC, sizeof t->head.magic) != 0) {
		text_add(why, t->bytes && t->bytes < sizeof t->head ?
		    "no trace of weft: it has %zu bytes" :
		    t->bytes ? "no trace of weft" : "it is empty", t->bytes);
		return false;
	}
	memcpy(&t->head, t->data, sizeof t->head);
	read_blocks(t, &rings);
	idmap_free(&rings);
	for (size_t i = 0; i < t->rings; i++)
		sort_blocks(t, &t->ring[i]);
	if (t->sites)
		qsort(t->site, t->sites, sizeof *t->site, by_address);
	if (!t->rings) {
		text_add(why, "it has no events%s", t->ended ? "" :
		    ": truncated, or still being written");
		return false;
	}
	return set_clock(t, why);
}

struct trace *
trace_open_memory(const void *data, size_t bytes, struct text *why)
{
	struct trace *t = zeroed(1, sizeof *t);

	t->path = "";
	t->data = data;
	t->bytes = bytes;
	if (!read_all(t, why)) {
		trace_close(t);
		return NULL;
	}
	return t;
}

/* The file's bytes, or NULL. */
static const void *
map_file(const char *path, size_t *bytes, struct text *why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const void *data = NULL;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		text_add(why, "%s", strerror(errno));
	else if (!S_ISREG(st.st_mode))
		text_add(why, "it is no regular file");
	else if (st.st_size == 0)
		text_add(why, "it is empty");
	else {
		*bytes = (size_t)st.st_size;
		data = mmap(NULL, *bytes, PROT_READ, MAP_PRIVATE, fd, 0);
		if (data == MAP_FAILED) {
			text_add(why, "%s", strerror(errno));
			data = NULL;
		}
	}
	if (fd >= 0)
		close(fd);
	return data;
}

struct trace *
trace_open(const char *path, struct text *why)
{
	size_t bytes = 0;
	const void *data = map_file(path, &bytes, why);
	struct trace *t = data ? trace_open_memory(data, bytes, why) : NULL;

	if (t) {
		t->mapped = true;
		t->path = path;
	} else if (data) {
		munmap((void *)(uintptr_t)data, bytes);
	}
	return t;
}

void
trace_close(struct trace *t)
{
	for (size_t i = 0; i < t->rings; i++)
		free(t->ring[i].block);
	free(t->ring);
	free(t->site);
	free(t->module);
	free(t->reason);
	text_free(&t->problems);
	if (t->mapped)
		munmap((void *)(uintptr_t)t->data, t->bytes);
	free(t);
}
