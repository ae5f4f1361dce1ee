/* SPDX-License-Identifier: MIT */
/*
 * weft-trace view: one page for a browser, with the trace in it.
 *
 * The page (view/page.html, with its styles and scripts in it) is put into the
 * program by view_page.S, in two parts; the columns of the trace go between.
 * Nothing of the trace is written as HTML: all of it is base64.
 */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "order.h"
#include "symbols.h"
#include "view_column.h"
#include "view_rows.h"
#include "view_user.h"

extern const char view_page_head[], view_page_head_end[];
extern const char view_page_tail[], view_page_tail_end[];

struct view {
	struct trace *trace;
	struct order *order;
	struct strings *strings;
	struct rows *rows;
	struct user *user;
	struct symbols *symbols;
	uint64_t events;
	int64_t ns;		/* of the last event */
};

/* ---- tables ---- */

static void
put_place(struct view *v, struct column *c, const char *function,
    const char *file, int32_t line)
{
	column_put(c, strings_add_z(v->strings, function));
	column_put(c, strings_add_z(v->strings, file));
	column_put(c, line > 0 ? (uint32_t)line : 0);
}

/* The number of a site in the table; 0: unknown. */
static uint32_t
site_number(void *view, uint64_t address)
{
	const struct trace *t = ((struct view *)view)->trace;
	const struct site *site = address ? trace_site(t, address) : NULL;

	return site ? (uint32_t)(site - t->site) + 1 : 0;
}

static void
write_sites(struct view *v, FILE *out)
{
	const struct trace *t = v->trace;
	struct column c = {0};

	put_place(v, &c, "", "", 0);
	for (size_t i = 0; i < t->sites; i++)
		put_place(v, &c, t->site[i].function, t->site[i].file,
		    t->site[i].line);
	column_write(&c, "sites", out);
}

/* 0 is none; the others are one more than in the file. */
static void
write_reasons(struct view *v, FILE *out)
{
	struct column c = {0};

	column_put(&c, 0);
	for (size_t i = 0; i < v->trace->reasons && i < 65535; i++)
		column_put(&c, strings_add_z(v->strings,
		    trace_reason(v->trace, (uint32_t)i)));
	column_write(&c, "reasons", out);
}

/* ---- stacks ---- */

/* A function, or else the address in its module. */
static void
put_frame(struct view *v, struct column *c, uint64_t pc)
{
	const char *path = symbols_module(v->symbols, pc);
	const char *slash = strrchr(path, '/');

	put_place(v, c, symbols_name(v->symbols, pc), slash ? slash + 1 : path,
	    0);
}

static void
write_stacks(struct view *v, FILE *out)
{
	const struct stacks *s = order_stacks(v->order);
	struct column stacks = {0}, frames = {0};
	struct idmap frame = {0};

	for (size_t i = 0; i < s->count; i++) {
		const struct stack *stack = &s->stack[i];

		column_put(&stacks, stack->count);
		for (uint32_t k = 0; k < stack->count; k++) {
			uint64_t pc = stack->pcs[k];
			uint64_t *number = idmap_put(&frame, pc ? pc : 1);

			if (!*number) {
				*number = frame.count;
				put_frame(v, &frames, pc);
			}
			column_put(&stacks, *number - 1);
		}
	}
	column_write(&stacks, "stacks", out);
	column_write(&frames, "frames", out);
	idmap_free(&frame);
}

/* ---- what is said of the whole ---- */

static void
put_json_text(struct text *t, const char *s)
{
	text_add(t, "\"");
	for (; *s; s++) {
		if ((unsigned char)*s < ' ' || *s == '"' || *s == '\\')
			text_add(t, "\\u%04x", (unsigned char)*s);
		else
			text_put(t, s, 1);
	}
	text_add(t, "\"");
}

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The module that is no shared library, or else the file of the trace. */
static const char *
program_name(const struct trace *t)
{
	for (size_t i = 0; i < t->modules; i++) {
		const char *name = base_name(t->module[i].path);

		if (*name && *name != '[' && !strstr(name, ".so"))
			return name;
	}
	return t->path ? base_name(t->path) : "";
}

static void
put_warning(struct view *v, struct text *meta)
{
	const struct trace *t = v->trace;
	struct text said = {0};
	uint64_t repairs = order_repairs(v->order);

	if (!t->ended)
		text_add(&said, "The trace is not complete: it was not "
		    "stopped, or its file is truncated. ");
	if (t->lost_events || t->lost_blocks)
		text_add(&said, "%llu events were lost. ",
		    (unsigned long long)t->lost_events);
	if (t->bad_blocks)
		text_add(&said, "%llu damaged blocks were left out. ",
		    (unsigned long long)t->bad_blocks);
	if (repairs)
		text_add(&said, "%llu events were made up or left out, since "
		    "others are missing.", (unsigned long long)repairs);
	if (said.bytes) {
		text_add(meta, ",\"warning\":");
		put_json_text(meta, said.s);
	}
	text_free(&said);
}

static void
write_meta(struct view *v, FILE *out)
{
	const struct trace *t = v->trace;
	struct text meta = {0};
	struct column c = {0};

	text_add(&meta, "{\"pid\":%u,\"procs\":%u,\"wall\":%lld,"
	    "\"events\":%llu,\"lost\":%llu,\"end\":%lld,\"program\":",
	    t->head.pid, t->head.procs, (long long)t->wall_ns,
	    (unsigned long long)v->events,
	    (unsigned long long)t->lost_events, (long long)v->ns);
	put_json_text(&meta, program_name(t));
	put_warning(v, &meta);
	text_add(&meta, "}");
	column_bytes(&c, meta.s, meta.bytes);
	column_write(&c, "meta", out);
	text_free(&meta);
}

/* ---- all of it ---- */

static void
walk(struct view *v)
{
	struct event e;

	while (order_next(v->order, &e)) {
		rows_add(v->rows, &e);
		user_add(v->user, &e);
		v->events += !(e.flags & EVENT_MADE);
		if (e.ns > v->ns)
			v->ns = e.ns;
	}
}

int
command_view(struct trace *t, FILE *out)
{
	struct strings *strings = strings_new();
	struct rows *rows = rows_new(strings);
	struct view v = {
		.trace = t, .order = order_open(t), .strings = strings,
		.rows = rows, .user = user_new(rows, strings),
		.symbols = symbols_open(t),
	};

	walk(&v);
	fwrite(view_page_head, 1,
	    (size_t)(view_page_head_end - view_page_head), out);
	write_meta(&v, out);
	rows_write(v.rows, site_number, &v, out);
	user_write(v.user, out);
	write_sites(&v, out);
	write_reasons(&v, out);
	write_stacks(&v, out);
	strings_write(v.strings, out);
	fwrite(view_page_tail, 1,
	    (size_t)(view_page_tail_end - view_page_tail), out);
	rows_free(v.rows);
	symbols_close(v.symbols);
	order_close(v.order);
	return 0;
}
