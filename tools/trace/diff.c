/* SPDX-License-Identifier: MIT */
/*
 * weft-trace diff A B: what changed from one trace to another. Times are per
 * second of the trace, so that traces of different lengths can be compared.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "model.h"
#include "stats.h"

enum { SHOWN = 20 };

/* A line of a table: the same thing in both. */
struct line {
	struct text name;
	double count[2];	/* per second, or how many */
	double ns[2];		/* ... of time */
	size_t next;		/* with the same hash, + 1; or 0 */
};

struct lines {
	struct line *line;
	size_t count, room;
	struct idmap by_hash;	/* -> index + 1 */
};

/* ---- printing ---- */

static const char *
change(double a, double b, char out[16])
{
	if (a == b)
		snprintf(out, 16, "=");
	else if (a == 0)
		snprintf(out, 16, "new");
	else if (b == 0)
		snprintf(out, 16, "gone");
	else if (b / a >= 10)
		snprintf(out, 16, "x %.0f", b / a);
	else
		snprintf(out, 16, "%+.1f %%", 100 * (b - a) / a);
	return out;
}

static void
print_durations(FILE *out, const char *name, double a, double b)
{
	char x[DURATION_BYTES], y[DURATION_BYTES], percent[16];

	fprintf(out, "  %-28s %12s %12s %10s\n", name,
	    duration((int64_t)a, x), duration((int64_t)b, y),
	    change(a, b, percent));
}

static void
print_counts(FILE *out, const char *name, double a, double b)
{
	char percent[16];

	fprintf(out, "  %-28s %12.0f %12.0f %10s\n", name, a, b,
	    change(a, b, percent));
}

static void
print_title(FILE *out, const char *title)
{
	fprintf(out, "\n%-30s %12s %12s %10s\n", title, "A", "B", "change");
}

/* ---- tables ---- */

static double
seconds(const struct model *m)
{
	return m->end_ns > 0 ? (double)m->end_ns / 1e9 : 1;
}

static void
print_totals(struct model *m[2], FILE *out)
{
	double s[2] = { seconds(m[0]), seconds(m[1]) };

	print_title(out, "");
	print_durations(out, "length", (double)m[0]->end_ns,
	    (double)m[1]->end_ns);
	print_counts(out, "events a second",
	    (double)m[0]->event_count / s[0], (double)m[1]->event_count / s[1]);
	print_counts(out, "goroutines", (double)m[0]->gs, (double)m[1]->gs);
	print_title(out, "time of all, per second");
	for (unsigned k = 0; k < KINDS; k++)
		if (m[0]->ns[k] || m[1]->ns[k])
			print_durations(out, kind_name(k),
			    (double)m[0]->ns[k] / s[0],
			    (double)m[1]->ns[k] / s[1]);
	print_durations(out, "P idle beside runnable",
	    (double)m[0]->idle_ns / s[0], (double)m[1]->idle_ns / s[1]);
}

static void
print_latencies(struct model *m[2], FILE *out)
{
	static const double shares[] = { .5, .9, .99, .999 };
	const struct histogram *a = &m[0]->latency, *b = &m[1]->latency;
	char name[32];

	print_title(out, "scheduling latency");
	for (size_t i = 0; i < 4; i++) {
		snprintf(name, sizeof name, "p%g", 100 * shares[i]);
		print_durations(out, name,
		    (double)histogram_at(a, shares[i]),
		    (double)histogram_at(b, shares[i]));
	}
	print_durations(out, "longest", (double)a->max, (double)b->max);
	print_counts(out, "starts a second", (double)a->count / seconds(m[0]),
	    (double)b->count / seconds(m[1]));
}

static uint64_t
hash(const char *s)
{
	uint64_t h = 0xcbf29ce484222325;

	while (*s)
		h = (h ^ (uint8_t)*s++) * 0x100000001b3;
	return h ? h : 1;
}

/* The line with this name, which is taken over. */
static struct line *
line_of(struct lines *l, struct text name)
{
	uint64_t *first = idmap_put(&l->by_hash, hash(name.s));

	for (size_t i = *first; i; i = l->line[i - 1].next)
		if (strcmp(l->line[i - 1].name.s, name.s) == 0) {
			text_free(&name);
			return &l->line[i - 1];
		}
	*GROW(l->line, l->count, l->room) =
		(struct line){ .name = name, .next = *first };
	*first = ++l->count;
	return &l->line[l->count - 1];
}

/* What changed most comes first. */
static int
by_change(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	double p = fabs(x->ns[1] - x->ns[0]), q = fabs(y->ns[1] - y->ns[0]);

	return p < q ? 1 : p > q ? -1 : strcmp(x->name.s, y->name.s);
}

static void
print_lines(struct lines *all, FILE *out)
{
	struct line *lines = all->line;
	size_t count = all->count;
	char x[DURATION_BYTES], y[DURATION_BYTES], percent[16];

	if (count)
		qsort(lines, count, sizeof *lines, by_change);
	for (size_t i = 0; i < count && i < SHOWN; i++) {
		const struct line *l = &lines[i];

		fprintf(out, "  %-28s %12s %12s %10s  (%.0f and %.0f times)\n",
		    l->name.s, duration((int64_t)l->ns[0], x),
		    duration((int64_t)l->ns[1], y),
		    change(l->ns[0], l->ns[1], percent), l->count[0],
		    l->count[1]);
	}
	if (count > SHOWN)
		fprintf(out, "  ... and %zu more\n", count - SHOWN);
	for (size_t i = 0; i < count; i++)
		text_free(&lines[i].name);
	free(lines);
	idmap_free(&all->by_hash);
}

static void
print_waits(struct model *m[2], FILE *out)
{
	struct lines lines = {0};

	for (unsigned w = 0; w < 2; w++)
		for (uint32_t i = m[w]->all_waits; i;
		    i = m[w]->waits[i].next) {
			const struct waits *v = &m[w]->waits[i];
			struct text name = {0};
			struct line *l;

			text_add(&name, "%s", model_reason(m[w], v->reason));
			l = line_of(&lines, name);
			l->count[w] += (double)v->count;
			l->ns[w] += (double)v->ns / seconds(m[w]);
		}
	print_title(out, "blocked, per second");
	print_lines(&lines, out);
}

static void
print_sites(struct model *m[2], enum kind kind, const char *title, FILE *out)
{
	struct lines lines = {0};

	for (unsigned w = 0; w < 2; w++)
		for (size_t i = 0; i < m[w]->sites; i++) {
			const struct site_model *s = &m[w]->site[i];
			struct text name = {0};
			struct line *l;

			if (!s->goroutines)
				continue;
			model_site_text(s, &name);
			l = line_of(&lines, name);
			l->count[w] += (double)s->goroutines;
			l->ns[w] += (double)s->ns[kind] / seconds(m[w]);
		}
	print_title(out, title);
	print_lines(&lines, out);
}

int
command_diff(struct trace *a, struct trace *b, FILE *out)
{
	struct model *m[2] = { model_of(a), model_of(b) };

	fprintf(out, "A: %s\nB: %s\n", a->path, b->path);
	print_totals(m, out);
	print_latencies(m, out);
	print_waits(m, out);
	print_sites(m, KIND_RUNNING, "running, by spawn site, per second", out);
	print_sites(m, KIND_RUNNABLE, "runnable, by spawn site, per second",
	    out);
	model_free(m[0]);
	model_free(m[1]);
	return 0;
}
