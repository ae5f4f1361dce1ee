/* SPDX-License-Identifier: MIT */
/* See go_writer.h. */
#include "go_writer.h"

#include <stdlib.h>
#include <string.h>

#include "idmap.h"

enum {
	BATCH = 1, STACKS = 2, STACK = 3, STRINGS = 4, STRING = 5,
	SAMPLES = 6, SAMPLE = 7, FREQUENCY = 8,
	BATCH_FULL = 60000,	/* a batch has at most 65536 bytes */
	STRING_MAX = 1024,
	RUNTIME_SITE = 1	/* no address of one */
};

static const uint64_t no_thread = UINT64_MAX;

/* The batch of one thread. */
struct batch {
	uint64_t m;
	int64_t first, last;	/* ns */
	struct text data;
};

struct string {
	uint32_t at, bytes;	/* in string_text */
	uint32_t next;		/* with the same hash, or 0 */
};

/* stack, or site: the other one is 0. */
struct go_stack { uint32_t stack; uint64_t site; };

struct go_writer {
	FILE *out;
	struct trace *trace;
	const struct stacks *stacks;
	struct symbols *symbols;
	uint64_t generation;
	int64_t start;			/* of the generation */
	int64_t last;			/* ns of the last event, ... */
	uint64_t last_m;		/* ... and its thread */

	struct batch *batch;
	size_t batches, batches_room;
	struct idmap batch_of;		/* m + 1 -> index + 1 */

	/* of the generation; numbers are indexes, [0] is not used */
	struct string *string;
	size_t strings, strings_room;
	struct text string_text;
	struct idmap string_of;		/* hash -> number */
	struct go_stack *stack;
	size_t stack_count, stack_room;
	struct idmap stack_of, start_of;
	struct text table;		/* a batch that is made */
	struct text samples;
	bool has_samples;
};

/* ---- bytes ---- */

static void
put_number(struct text *t, uint64_t n)
{
	uint8_t bytes[10];
	size_t count = 0;

	for (; n >= 0x80; n >>= 7)
		bytes[count++] = (uint8_t)(n | 0x80);
	bytes[count++] = (uint8_t)n;
	text_put(t, bytes, count);
}

static void
put_byte(struct text *t, uint8_t byte)
{
	text_put(t, &byte, 1);
}

/* Writes the data as a batch, and forgets it. */
static void
write_batch(struct go_writer *w, uint64_t m, int64_t ns, struct text *data)
{
	struct text head = {0};

	put_byte(&head, BATCH);
	put_number(&head, w->generation);
	put_number(&head, m);
	put_number(&head, (uint64_t)ns);
	put_number(&head, data->bytes);
	fwrite(head.s, 1, head.bytes, w->out);
	fwrite(data->s, 1, data->bytes, w->out);
	text_free(&head);
	data->bytes = 0;
}

/* A batch of a table: it begins with `kind`, and is written before it is too
 * large for another entry. */
static void
table_room(struct go_writer *w, struct text *t, uint8_t kind)
{
	if (t->bytes > BATCH_FULL)
		write_batch(w, no_thread, w->start, t);
	if (!t->bytes)
		put_byte(t, kind);
}

static void
table_end(struct go_writer *w, struct text *t)
{
	if (t->bytes)
		write_batch(w, no_thread, w->start, t);
}

/* ---- strings and stacks ---- */

static uint64_t
hash(const char *s, size_t bytes)
{
	uint64_t h = 0xcbf29ce484222325;

	for (size_t i = 0; i < bytes; i++)
		h = (h ^ (uint8_t)s[i]) * 0x100000001b3;
	return h ? h : 1;
}

uint64_t
go_writer_string(struct go_writer *w, const char *s, size_t bytes)
{
	uint64_t *first;
	uint32_t i;

	if (!bytes)
		return 0;
	if (bytes > STRING_MAX)
		bytes = STRING_MAX;
	first = idmap_put(&w->string_of, hash(s, bytes));
	for (i = (uint32_t)*first; i; i = w->string[i].next)
		if (w->string[i].bytes == bytes &&
		    memcmp(w->string_text.s + w->string[i].at, s, bytes) == 0)
			return i;
	i = (uint32_t)w->strings++;
	*GROW(w->string, i, w->strings_room) = (struct string){
		.at = (uint32_t)w->string_text.bytes, .bytes = (uint32_t)bytes,
		.next = (uint32_t)*first,
	};
	text_put(&w->string_text, s, bytes);
	*first = i;
	return i;
}

static uint64_t
add_stack(struct go_writer *w, uint64_t *number, uint32_t stack, uint64_t site)
{
	if (!*number) {
		*GROW(w->stack, w->stack_count, w->stack_room) =
			(struct go_stack){ .stack = stack, .site = site };
		*number = w->stack_count++;
	}
	return *number;
}

uint64_t
go_writer_stack(struct go_writer *w, uint32_t stack)
{
	return stack ? add_stack(w, idmap_put(&w->stack_of, stack), stack, 0) :
	    0;
}

uint64_t
go_writer_start(struct go_writer *w, uint64_t site)
{
	return trace_site(w->trace, site) ?
	    add_stack(w, idmap_put(&w->start_of, site), 0, site) : 0;
}

uint64_t
go_writer_runtime(struct go_writer *w)
{
	return add_stack(w, idmap_put(&w->start_of, RUNTIME_SITE), 0,
	    RUNTIME_SITE);
}

static void
put_frame(struct go_writer *w, struct text *t, uint64_t pc, const char *name,
    const char *file, int line)
{
	put_number(t, pc);
	put_number(t, go_writer_string(w, name, strlen(name)));
	put_number(t, go_writer_string(w, file, strlen(file)));
	put_number(t, line > 0 ? (uint64_t)line : 0);
}

static void
put_stack(struct go_writer *w, struct text *t, const struct go_stack *s)
{
	const struct site *site = trace_site(w->trace, s->site);
	const struct stack *stack;

	if (s->site == RUNTIME_SITE && !site) {
		put_number(t, 1);
		put_frame(w, t, RUNTIME_SITE, "weft", "", 0);
		return;
	}
	if (site) {
		put_number(t, 1);
		put_frame(w, t, site->address, site->function, site->file,
		    site->line);
		return;
	}
	stack = &w->stacks->stack[s->stack];
	put_number(t, stack->count);
	for (uint32_t i = 0; i < stack->count; i++)
		put_frame(w, t, stack->pcs[i],
		    symbols_name(w->symbols, stack->pcs[i]),
		    symbols_module(w->symbols, stack->pcs[i]), 0);
}

/* Stacks first: they add strings. */
static void
write_tables(struct go_writer *w)
{
	struct text *t = &w->table;

	for (size_t i = 1; i < w->stack_count; i++) {
		table_room(w, t, STACKS);
		put_byte(t, STACK);
		put_number(t, i);
		put_stack(w, t, &w->stack[i]);
	}
	table_end(w, t);
	for (size_t i = 1; i < w->strings; i++) {
		table_room(w, t, STRINGS);
		put_byte(t, STRING);
		put_number(t, i);
		put_number(t, w->string[i].bytes);
		text_put(t, w->string_text.s + w->string[i].at,
		    w->string[i].bytes);
	}
	table_end(w, t);
}

/* ---- generations ---- */

static void
clear_tables(struct go_writer *w)
{
	*GROW(w->string, 0, w->strings_room) = (struct string){0};
	*GROW(w->stack, 0, w->stack_room) = (struct go_stack){0};
	w->strings = w->stack_count = 1;
	w->string_text.bytes = 0;
	idmap_free(&w->string_of);
	idmap_free(&w->stack_of);
	idmap_free(&w->start_of);
}

static void
end_generation(struct go_writer *w)
{
	for (size_t i = 0; i < w->batches; i++)
		if (w->batch[i].data.bytes)
			write_batch(w, w->batch[i].m, w->batch[i].first,
			    &w->batch[i].data);
	table_end(w, &w->samples);
	write_tables(w);
	clear_tables(w);
}

void
go_writer_generation(struct go_writer *w, int64_t ns)
{
	if (w->generation)
		end_generation(w);
	w->generation++;
	w->start = ns;
	put_byte(&w->table, FREQUENCY);
	put_number(&w->table, 1000000000);
	table_end(w, &w->table);
}

/* ---- events ---- */

/*
 * Events of two threads never have the same time: of such, Go's reader may
 * find that neither can be next, since after the first try it sorts them anew
 * and tries all but the first of these.
 */
static struct batch *
batch_of(struct go_writer *w, uint64_t m)
{
	uint64_t *i = idmap_put(&w->batch_of, m + 1);

	if (!*i) {
		*GROW(w->batch, w->batches, w->batches_room) =
			(struct batch){ .m = m };
		*i = ++w->batches;
	}
	return &w->batch[*i - 1];
}

void
go_writer_event(struct go_writer *w, uint64_t m, int64_t ns,
    enum go_event type, unsigned count, const uint64_t *args)
{
	struct batch *b = batch_of(w, m);

	if (ns < w->last + (m != w->last_m))
		ns = w->last + (m != w->last_m);
	w->last = ns;
	w->last_m = m;
	if (b->data.bytes > BATCH_FULL)
		write_batch(w, m, b->first, &b->data);
	if (!b->data.bytes)
		b->first = b->last = ns;
	put_byte(&b->data, (uint8_t)type);
	put_number(&b->data, (uint64_t)(ns - b->last));
	b->last = ns;
	for (unsigned i = 0; i < count; i++)
		put_number(&b->data, args[i]);
}

/* None is P or G -1, or M -1; a G is never 0. */
void
go_writer_sample(struct go_writer *w, const struct event *e)
{
	struct text *t = &w->samples;

	table_room(w, t, SAMPLES);
	put_byte(t, SAMPLE);
	put_number(t, (uint64_t)(e->ns > 0 ? e->ns : 0));
	put_number(t, e->m ? e->m : no_thread);
	put_number(t, e->p == NO_P ? UINT64_MAX : e->p);
	put_number(t, e->g);
	put_number(t, go_writer_stack(w, e->stack));
}

struct go_writer *
go_writer_open(FILE *out, struct trace *t, const struct stacks *stacks)
{
	static const char magic[16] = "go 1.23 trace\0\0";
	struct go_writer *w = zeroed(1, sizeof *w);

	w->out = out;
	w->trace = t;
	w->stacks = stacks;
	w->symbols = symbols_open(t);
	fwrite(magic, 1, sizeof magic, out);
	clear_tables(w);
	return w;
}

void
go_writer_close(struct go_writer *w)
{
	if (w->generation)
		end_generation(w);
	for (size_t i = 0; i < w->batches; i++)
		text_free(&w->batch[i].data);
	free(w->batch);
	free(w->string);
	free(w->stack);
	idmap_free(&w->batch_of);
	idmap_free(&w->string_of);
	idmap_free(&w->stack_of);
	idmap_free(&w->start_of);
	text_free(&w->string_text);
	text_free(&w->table);
	text_free(&w->samples);
	symbols_close(w->symbols);
	free(w);
}
