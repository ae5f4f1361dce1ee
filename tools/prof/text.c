/* SPDX-License-Identifier: MIT */
/* The commands that write text: the costliest functions, folded stacks. */
#include "command.h"

#include <stdlib.h>
#include <string.h>

#include "input.h"

void
quantity(char out[QUANTITY_BYTES], int64_t v, const char *unit)
{
	static const struct { double scale; const char *name; } times[] = {
		{ 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" }
	}, sizes[] = {
		{ 1 << 30, "GiB" }, { 1 << 20, "MiB" }, { 1 << 10, "KiB" },
		{ 1, "B" }
	};
	bool time = strcmp(unit, "nanoseconds") == 0;
	bool size = strcmp(unit, "bytes") == 0;
	double x = (double)v, abs = x < 0 ? -x : x;

	for (int i = 0; i < 4 && (time || size); i++) {
		double scale = time ? times[i].scale : sizes[i].scale;

		if (abs >= scale || i == 3) {
			snprintf(out, QUANTITY_BYTES, "%.4g%s", x / scale,
			    time ? times[i].name : sizes[i].name);
			return;
		}
	}
	snprintf(out, QUANTITY_BYTES, "%lld", (long long)v);
}

/* By what is counted: a file says no more. Names are weft's, and Go's. */
const char *
kind_of(const struct profile *p, char out[KIND_BYTES])
{
	const char *type = p->period_type.name;

	if (!*type)
		out[0] = '\0';
	else if (strcmp(type, "cpu") == 0)
		strcpy(out, "CPU profile");
	else if (strcmp(type, "contentions") == 0)
		strcpy(out, "profile of waits");
	else
		snprintf(out, KIND_BYTES, "%.40s profile", type);
	return out;
}

/* ---- top ---- */

struct row {
	uint32_t name;
	int64_t self, total;
};

static int
by_self(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* A function that calls itself counts once: as the outermost. */
static bool
is_outermost(const struct tree *t, uint32_t node)
{
	uint32_t name = t->nodes[node].name;

	while ((node = t->nodes[node].parent) != 0)
		if (t->nodes[node].name == name)
			return false;
	return true;
}

static struct row *
collect(const struct tree *t)
{
	struct row *rows = take(NULL, t->n_names, sizeof *rows);

	for (uint32_t i = 0; i < t->n_names; i++)
		rows[i] = (struct row){ i, 0, 0 };
	for (uint32_t i = 1; i < t->n_nodes; i++) {
		struct row *r = &rows[t->nodes[i].name];

		r->self = (int64_t)((uint64_t)r->self +
		    (uint64_t)t->nodes[i].self);
		if (is_outermost(t, i))
			r->total = (int64_t)((uint64_t)r->total +
			    (uint64_t)t->nodes[i].total);
	}
	qsort(rows, t->n_names, sizeof *rows, by_self);
	return rows;
}

static double
percent(int64_t part, int64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

void
command_top(const struct job *j, FILE *out)
{
	struct row *rows = collect(j->tree);
	int64_t all = j->tree->nodes[0].total;
	char self[QUANTITY_BYTES], total[QUANTITY_BYTES], kind[KIND_BYTES];
	size_t shown = 0;

	kind_of(j->profile, kind);
	quantity(total, all, j->type->unit);
	fprintf(out, "%s%s%s, %s in all, %zu stack%s\n", kind,
	    *kind ? ": " : "", j->type->name, total, j->stacks,
	    j->stacks == 1 ? "" : "s");
	for (size_t i = 0; i < j->profile->n_comments; i++)
		fprintf(out, "%s\n", j->profile->comments[i]);
	fprintf(out, "%10s %6s %10s %6s  function\n", "self", "", "total", "");
	for (size_t i = 0; i < j->tree->n_names && shown < j->lines; i++) {
		if (rows[i].name == 0 || (!rows[i].self && !rows[i].total))
			continue;
		quantity(self, rows[i].self, j->type->unit);
		quantity(total, rows[i].total, j->type->unit);
		fprintf(out, "%10s %5.1f%% %10s %5.1f%%  %s\n", self,
		    percent(rows[i].self, all), total,
		    percent(rows[i].total, all), j->tree->names[rows[i].name]);
		shown++;
	}
	free(rows);
}

/* ---- folded ---- */

static void
put_name(const char *s, FILE *out)
{
	for (; *s; s++)
		fputc(*s == ';' || *s == '\n' ? ':' : *s, out);
}

static void
put_stack(const struct tree *t, uint32_t node, FILE *out)
{
	uint32_t *path = NULL;
	size_t n = 0;

	for (uint32_t i = node; i; i = t->nodes[i].parent) {
		path = take(path, n + 1, sizeof *path);
		path[n++] = i;
	}
	while (n > 0) {
		put_name(t->names[t->nodes[path[--n]].name], out);
		fputc(n ? ';' : ' ', out);
	}
	free(path);
}

void
command_folded(const struct job *j, FILE *out)
{
	for (uint32_t i = 1; i < j->tree->n_nodes; i++) {
		if (!j->tree->nodes[i].self)
			continue;
		put_stack(j->tree, i, out);
		fprintf(out, "%lld\n", (long long)j->tree->nodes[i].self);
	}
}
