/* SPDX-License-Identifier: MIT */
/* See hot.h. */
#include "hot.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "stats.h"
#include "symbols.h"

enum {
	SHOWN = 10, FRAMES = 8,
	NAMED = 4096	/* stacks that are written as text; the others hardly
			 * count, and a file may have millions */
};

/* ---- counting ---- */

static void
add(struct hot_sums *s, uint32_t stack, int64_t ns)
{
	uint64_t *i = idmap_put(&s->index, stack);

	if (!*i) {
		*GROW(s->sum, s->sums, s->room) = (struct hot_sum){
			.stack = stack,
		};
		*i = ++s->sums;
	}
	s->sum[*i - 1].count++;
	s->sum[*i - 1].ns += ns;
	s->count++;
	s->ns += ns;
}

static void
begin_wait(struct hot *h, const struct event *e)
{
	h->blocks += !(e->flags & EVENT_MADE);
	if (!e->stack || !e->g)
		return;
	*idmap_put(&h->waiting, e->g) = e->stack;
	*idmap_put(&h->since, e->g) = (uint64_t)e->ns;
}

static void
end_wait(struct hot *h, uint64_t g)
{
	uint64_t *stack = g ? idmap_get(&h->waiting, g) : NULL;

	if (!stack || !*stack)
		return;
	add(&h->waits, (uint32_t)*stack,
	    h->now - (int64_t)*idmap_get(&h->since, g));
	*stack = 0;
}

void
hot_add(struct hot *h, const struct event *e)
{
	if (e->type == TR_SAMPLE) {
		if (e->stack)
			add(&h->samples, e->stack, 0);
		return;			/* it may be of an earlier time */
	}
	h->now = e->ns;
	if (e->type == TR_BLOCK) {
		begin_wait(h, e);
	} else if (e->type == TR_UNBLOCK || e->type == TR_START) {
		end_wait(h, e->g);
	} else if (e->type == TR_END) {
		idmap_remove(&h->waiting, e->g);
		idmap_remove(&h->since, e->g);
	}
}

/* What waits still has waited until now. */
static void
finish(struct hot *h)
{
	for (size_t i = 0; i < h->waiting.room; i++)
		if (h->waiting.entry[i].key)
			end_wait(h, h->waiting.entry[i].key);
}

/* ---- stacks as text ---- */

struct line {
	char *text;
	uint64_t count;
	int64_t ns;
};

static int
by_weight(const void *a, const void *b)
{
	const struct hot_sum *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->text,
	    ((const struct line *)b)->text);
}

static int
by_line_weight(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(x->text, y->text);
}

/*
 * As in a dump: of weft's frames only the outermost is of interest, which is
 * the function that was called, and none at the bottom.
 */
static struct stack
trimmed(struct symbols *symbols, struct stack s)
{
	while (s.count > 1 && symbols_calls_out(symbols, s.pcs[s.count - 1]))
		s.count--;
	while (s.count > 1 && symbols_is_weft(symbols, s.pcs[0]) &&
	    symbols_is_weft(symbols, s.pcs[1])) {
		s.pcs++;
		s.count--;
	}
	return s;
}

static char *
stack_text(struct symbols *symbols, const struct stack *s)
{
	struct text text = {0};

	for (uint32_t f = 0; f < s->count && f < FRAMES; f++)
		text_add(&text, "%s%s", f ? " < " : "",
		    symbols_name(symbols, s->pcs[f]));
	text_add(&text, "%s", s->count > FRAMES ? " ..." : "");
	return text.s;
}

/* Stacks of different addresses may read the same: they are one line. */
static size_t
merge(struct line *line, size_t n)
{
	size_t kept = 0;

	qsort(line, n, sizeof *line, by_text);
	for (size_t i = 0; i < n; i++) {
		if (kept && strcmp(line[kept - 1].text, line[i].text) == 0) {
			line[kept - 1].count += line[i].count;
			line[kept - 1].ns += line[i].ns;
			free(line[i].text);
		} else {
			line[kept++] = line[i];
		}
	}
	qsort(line, kept, sizeof *line, by_line_weight);
	return kept;
}

static struct line *
lines_of(struct hot_sums *s, struct symbols *symbols,
    const struct stacks *stacks, bool trim, size_t *count)
{
	size_t n = s->sums < NAMED ? s->sums : NAMED;
	struct line *line = zeroed(n, sizeof *line);

	qsort(s->sum, s->sums, sizeof *s->sum, by_weight);
	for (size_t i = 0; i < n; i++) {
		struct stack st = stacks->stack[s->sum[i].stack];

		if (trim)
			st = trimmed(symbols, st);
		line[i] = (struct line){ stack_text(symbols, &st),
		    s->sum[i].count, s->sum[i].ns };
	}
	*count = merge(line, n);
	return line;
}

static void
free_lines(struct line *line, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(line[i].text);
	free(line);
}

/* ---- the tables ---- */

static double
share(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static void
print_samples(struct hot *h, struct symbols *symbols,
    const struct stacks *stacks, FILE *out)
{
	size_t n;
	struct line *line = lines_of(&h->samples, symbols, stacks, false, &n);

	fprintf(out, "\nwhere it ran, %" PRIu64 " sample%s\n",
	    h->samples.count, plural(h->samples.count));
	for (size_t i = 0; i < n && i < SHOWN; i++)
		fprintf(out, "  %5.1f %%  %s\n", share((double)line[i].count,
		    (double)h->samples.count), line[i].text);
	free_lines(line, n);
}

static void
print_waits(struct hot *h, struct symbols *symbols,
    const struct stacks *stacks, FILE *out)
{
	size_t n;
	struct line *line = lines_of(&h->waits, symbols, stacks, true, &n);
	char text[DURATION_BYTES];

	fputs("\nwhere goroutines blocked, by time, in ", out);
	if (h->waits.count < h->blocks)
		fprintf(out, "%" PRIu64 " of %" PRIu64
		    " waits: those with a stack\n", h->waits.count,
		    h->blocks);
	else
		fprintf(out, "%" PRIu64 " wait%s\n", h->waits.count,
		    plural(h->waits.count));
	fprintf(out, "  %7s %10s %9s\n", "share", "sum", "waits");
	for (size_t i = 0; i < n && i < SHOWN; i++)
		fprintf(out, "  %5.1f %% %10s %9" PRIu64 "  %s\n",
		    share((double)line[i].ns, (double)h->waits.ns),
		    duration(line[i].ns, text), line[i].count, line[i].text);
	free_lines(line, n);
}

void
hot_print(struct hot *h, struct trace *t, const struct stacks *stacks,
    FILE *out)
{
	struct symbols *symbols = symbols_open(t);

	finish(h);
	if (h->samples.count)
		print_samples(h, symbols, stacks, out);
	if (h->waits.count)
		print_waits(h, symbols, stacks, out);
	symbols_close(symbols);
}

static void
free_sums(struct hot_sums *s)
{
	idmap_free(&s->index);
	free(s->sum);
}

void
hot_free(struct hot *h)
{
	free_sums(&h->samples);
	free_sums(&h->waits);
	idmap_free(&h->waiting);
	idmap_free(&h->since);
}
