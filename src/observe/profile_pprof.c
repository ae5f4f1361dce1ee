/* SPDX-License-Identifier: MIT */
/*
 * The format of pprof: one protocol-buffer message, Profile of profile.proto,
 * whose fields may come in any order. So it is written in one pass: a string
 * is written before the first message that names it, by its position among the
 * strings. It is not compressed: pprof reads it as it is.
 *
 * Addresses are written raw, with the file that each is of and that file's
 * build id, so that tools can find names and lines of source. The names that
 * we know are there, too: the file may be elsewhere by then, and Go's own pprof
 * finds no name for a function that a compiler has also inlined or cloned. A
 * file that names were found in is marked, and then pprof looks for its lines
 * only if it is told to (-symbolize=force).
 */
#include "profile_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fatal.h"
#include "labels.h"
#include "os.h"
#include "profile_maps.h"
#include "sink.h"
#include "symbols.h"

/* Fields of the messages. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME = 9,
	PROFILE_DURATION = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_TYPE = 14,
	TYPE_TYPE = 1,
	TYPE_UNIT = 2,
	SAMPLE_LOCATIONS = 1,
	SAMPLE_VALUES = 2,
	SAMPLE_LABEL = 3,
	LABEL_KEY = 1,
	LABEL_STR = 2,
	LABEL_NUM = 3,
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_OFFSET = 4,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	LOCATION_ID = 1,
	LOCATION_MAPPING = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
	LINE_FUNCTION = 1,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	WIRE_VARINT = 0,
	WIRE_BYTES = 2
};

/* A message that is put together before its length is known. */
enum { MSG_BYTES = 4096, VARINT_BYTES = 10, NAMES = 256, SINK_BYTES = 1 << 16 };
struct msg {
	size_t n;
	uint8_t b[MSG_BYTES];
};

struct name_slot {
	uint64_t name[G_NAME_WORDS];
	uint32_t string;	/* 0: none */
};

/* All that is needed while writing; too large for a goroutine's stack. */
struct writer {
	const struct profile_file *f;
	struct fd_sink out;
	char buf[SINK_BYTES];
	struct profile_maps maps;
	uint32_t strings;	/* written so far */
	uint32_t functions;	/* the same */
	uintptr_t function_at;	/* where the last of them begins */
	bool has_functions[PROFILE_MAPS + 1];	/* of each map */
	uint32_t key_goroutine, key_name, key_reason;
	uint32_t reason[WAIT_REASONS];
	struct name_slot names[NAMES];
	uint32_t label_string[LABEL_SETS][2];	/* key, value; 0: not yet */
	struct msg msg, sub;
};

/* Addresses of all entries, sorted; the position + 1 is the location's id. */
struct addresses {
	uintptr_t *pcs;
	size_t n, bytes;
};

/* ---- protocol buffers ---- */

static void
varint(struct msg *m, uint64_t v)
{
	must(m->n + VARINT_BYTES <= sizeof m->b);
	for (; v >= 0x80; v >>= 7)
		m->b[m->n++] = (uint8_t)(v | 0x80);
	m->b[m->n++] = (uint8_t)v;
}

static void
field(struct msg *m, unsigned number, uint64_t v)
{
	varint(m, number << 3 | WIRE_VARINT);
	varint(m, v);
}

/* A message or packed numbers inside another. */
static void
field_msg(struct msg *m, unsigned number, const struct msg *inner)
{
	varint(m, number << 3 | WIRE_BYTES);
	varint(m, inner->n);
	must(m->n + inner->n <= sizeof m->b);
	memcpy(m->b + m->n, inner->b, inner->n);
	m->n += inner->n;
}

static void
put_bytes(struct writer *w, const void *bytes, size_t n)
{
	sink_write(&w->out.sink, bytes, n);
}

/* The start of a field of the profile itself that has so many bytes. */
static void
put_head(struct writer *w, unsigned number, size_t bytes)
{
	struct msg *head = &w->sub;

	head->n = 0;
	varint(head, number << 3 | WIRE_BYTES);
	varint(head, bytes);
	put_bytes(w, head->b, head->n);
}

static void
put_msg(struct writer *w, unsigned number)
{
	put_head(w, number, w->msg.n);
	put_bytes(w, w->msg.b, w->msg.n);
}

static void
put_number(struct writer *w, unsigned number, int64_t v)
{
	w->msg.n = 0;
	field(&w->msg, number, (uint64_t)v);
	put_bytes(w, w->msg.b, w->msg.n);
}

/* One more string: its number. Not while w->msg is put together. */
static uint32_t
put_string(struct writer *w, const char *s, size_t bytes)
{
	put_head(w, PROFILE_STRING, bytes);
	put_bytes(w, s, bytes);
	return w->strings++;
}

static uint32_t
put_text(struct writer *w, const char *s)
{
	return put_string(w, s, strlen(s));
}

/* ---- head and mappings ---- */

static uint32_t
put_type(struct writer *w, unsigned number, struct profile_type t)
{
	uint32_t name = put_text(w, t.name), unit = put_text(w, t.unit);

	w->msg.n = 0;
	field(&w->msg, TYPE_TYPE, name);
	field(&w->msg, TYPE_UNIT, unit);
	put_msg(w, number);
	return name;
}

/* Samples that were lost are told in a comment, which pprof shows. */
static void
put_lost(struct writer *w)
{
	uint64_t lost = a_load_relaxed(&w->f->table->lost);
	char text[96];

	if (!lost)
		return;
	format(text, sizeof text, "%lu samples were lost: the table of stacks "
	    "was full", (unsigned long)lost);
	put_number(w, PROFILE_COMMENT, put_text(w, text));
}

static void
put_start(struct writer *w)
{
	const struct profile_file *f = w->f;
	uint32_t last = 0;

	put_text(w, "");	/* string 0 */
	for (unsigned i = 0; i < f->n_types; i++)
		last = put_type(w, PROFILE_SAMPLE_TYPE, f->types[i]);
	put_type(w, PROFILE_PERIOD_TYPE, f->period_type);
	put_number(w, PROFILE_PERIOD, f->period);
	put_number(w, PROFILE_TIME, f->time_ns);
	put_number(w, PROFILE_DURATION, f->duration_ns);
	put_number(w, PROFILE_DEFAULT_TYPE, last);
	if (f->what)
		put_number(w, PROFILE_COMMENT, put_text(w, f->what));
	put_lost(w);
	w->key_goroutine = put_text(w, "goroutine");
	w->key_name = put_text(w, "name");
	w->key_reason = put_text(w, "reason");
	for (int i = 0; f->reasons && i < WAIT_REASONS; i++)
		w->reason[i] = put_text(w, g_reason_name(i));
}

static void
put_mapping(struct writer *w, unsigned i)
{
	const struct profile_map *m = &w->maps.map[i];
	uint32_t path = put_text(w, m->path);
	uint32_t id = put_text(w, m->build_id);

	w->msg.n = 0;
	field(&w->msg, MAPPING_ID, i + 1);
	field(&w->msg, MAPPING_START, m->lo);
	field(&w->msg, MAPPING_LIMIT, m->hi);
	field(&w->msg, MAPPING_OFFSET, m->offset);
	field(&w->msg, MAPPING_FILE, path);
	field(&w->msg, MAPPING_BUILD_ID, id);
	field(&w->msg, MAPPING_HAS_FUNCTIONS, w->has_functions[i + 1]);
	put_msg(w, PROFILE_MAPPING);
}

/* ---- locations ---- */

static int
compare(const void *a, const void *b)
{
	uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;

	return x < y ? -1 : x > y;
}

/* More may be added to the table meanwhile: what has no room is left out. */
static int
collect(struct profile_table *t, struct addresses *a)
{
	struct profile_entry *e;
	size_t cap = 0;

	for (uint32_t at = 0; (e = profile_table_next(t, &at)); )
		cap += e->key.depth;
	a->n = 0;
	a->bytes = round_up((cap + 1) * sizeof *a->pcs, PAGE);
	a->pcs = os_map(a->bytes);
	if (!a->pcs)
		return -ENOMEM;
	for (uint32_t at = 0; (e = profile_table_next(t, &at)); )
		for (unsigned i = 0; i < e->key.depth && a->n < cap; i++)
			a->pcs[a->n++] = e->pcs[i];
	return 0;
}

static void
sort_unique(struct addresses *a)
{
	size_t kept = 0;

	qsort(a->pcs, a->n, sizeof *a->pcs, compare);
	for (size_t i = 0; i < a->n; i++)
		if (!kept || a->pcs[kept - 1] != a->pcs[i])
			a->pcs[kept++] = a->pcs[i];
	a->n = kept;
}

/* The location of an address, 0 if it is none of those collected. */
static uint64_t
location(const struct addresses *a, uintptr_t pc)
{
	size_t lo = 0, hi = a->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (a->pcs[mid] < pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < a->n && a->pcs[lo] == pc ? lo + 1 : 0;
}

/* The function of an address, 0 if it has no name. In ascending order. */
static uint32_t
put_function(struct writer *w, uintptr_t pc)
{
	struct symbol sym;
	uint32_t name;

	symbol_find(pc, &sym);
	if (!sym.name || !*sym.name)
		return 0;
	if (w->functions && pc - sym.offset == w->function_at)
		return w->functions;
	w->function_at = pc - sym.offset;
	name = put_text(w, sym.name);
	w->msg.n = 0;
	field(&w->msg, FUNCTION_ID, ++w->functions);
	field(&w->msg, FUNCTION_NAME, name);
	field(&w->msg, FUNCTION_SYSTEM_NAME, name);
	put_msg(w, PROFILE_FUNCTION);
	return w->functions;
}

static void
put_location(struct writer *w, size_t i, uintptr_t pc)
{
	unsigned map = profile_maps_find(&w->maps, pc);
	uint32_t function = put_function(w, pc);

	w->has_functions[map] |= function != 0;
	w->msg.n = w->sub.n = 0;
	field(&w->msg, LOCATION_ID, i + 1);
	if (map)
		field(&w->msg, LOCATION_MAPPING, map);
	field(&w->msg, LOCATION_ADDRESS, pc);
	if (function) {
		field(&w->sub, LINE_FUNCTION, function);
		field_msg(&w->msg, LOCATION_LINE, &w->sub);
	}
	put_msg(w, PROFILE_LOCATION);
}

/* ---- samples ---- */

/* The string of a goroutine's name; written again if another took its slot. */
static uint32_t
name_string(struct writer *w, const uint64_t name[G_NAME_WORDS])
{
	uint64_t h = (name[0] ^ name[1] * 31 ^ name[2] * 961) *
	    UINT64_C(0x9e3779b97f4a7c15);
	struct name_slot *s = &w->names[h >> 56];
	size_t bytes = sizeof s->name;

	if (s->string && memcmp(s->name, name, bytes) == 0)
		return s->string;
	memcpy(s->name, name, bytes);
	s->string = put_string(w, (const char *)name,
	    strnlen((const char *)name, bytes));
	return s->string;
}

static void
write_label_strings(struct writer *w, uint32_t set)
{
	for (; set && !w->label_string[set][0]; set = label_at(set)->rest) {
		w->label_string[set][0] = put_text(w, label_at(set)->key);
		w->label_string[set][1] = put_text(w, label_at(set)->value);
	}
}

static void
add_label(struct writer *w, uint32_t key, unsigned kind, uint64_t v)
{
	w->sub.n = 0;
	field(&w->sub, LABEL_KEY, key);
	field(&w->sub, kind, v);
	field_msg(&w->msg, SAMPLE_LABEL, &w->sub);
}

/* name: string of the goroutine's, or 0. */
static void
add_labels(struct writer *w, const struct profile_key *k, uint32_t name)
{
	if (k->goroutine)
		add_label(w, w->key_goroutine, LABEL_NUM,
		    (uint64_t)k->goroutine);
	if (name)
		add_label(w, w->key_name, LABEL_STR, name);
	if (k->reason != WAIT_NONE && k->reason < WAIT_REASONS)
		add_label(w, w->key_reason, LABEL_STR, w->reason[k->reason]);
	for (uint32_t s = k->labels; s; s = label_at(s)->rest)
		add_label(w, w->label_string[s][0], LABEL_STR,
		    w->label_string[s][1]);
}

static void
put_sample(struct writer *w, const struct profile_entry *e,
    const struct addresses *a)
{
	const struct profile_key *k = &e->key;
	uint64_t count = a_load_relaxed(&e->count), id;
	uint32_t name = k->name[0] ? name_string(w, k->name) : 0;

	if (!count)
		return;
	write_label_strings(w, k->labels);
	w->msg.n = w->sub.n = 0;
	for (unsigned i = 0; i < k->depth; i++)
		if ((id = location(a, e->pcs[i])) != 0)
			varint(&w->sub, id);
	field_msg(&w->msg, SAMPLE_LOCATIONS, &w->sub);
	w->sub.n = 0;
	varint(&w->sub, count);
	if (w->f->n_types > 1)
		varint(&w->sub, a_load_relaxed(&e->sum));
	field_msg(&w->msg, SAMPLE_VALUES, &w->sub);
	add_labels(w, k, name);
	put_msg(w, PROFILE_SAMPLE);
}

static void
put_all(struct writer *w, const struct addresses *a)
{
	struct profile_entry *e;

	put_start(w);
	for (size_t i = 0; i < a->n; i++)
		put_location(w, i, a->pcs[i]);
	for (unsigned i = 0; i < w->maps.n; i++)
		put_mapping(w, i);
	for (uint32_t at = 0; (e = profile_table_next(w->f->table, &at)); )
		put_sample(w, e, a);
}

int
profile_write_pprof(const struct profile_file *f, int fd)
{
	size_t bytes = round_up(sizeof(struct writer), PAGE);
	struct writer *w = os_map(bytes);
	struct addresses a;
	int err;

	if (!w)
		return -ENOMEM;
	err = collect(f->table, &a);
	if (!err) {
		sort_unique(&a);
		w->f = f;
		profile_maps_read(&w->maps);
		module_list_refresh();
		fd_sink_init(&w->out, fd, w->buf, sizeof w->buf);
		put_all(w, &a);
		err = sink_flush(&w->out.sink);
		os_unmap(a.pcs, a.bytes);
	}
	os_unmap(w, bytes);
	return err;
}
