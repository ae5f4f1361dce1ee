/* SPDX-License-Identifier: MIT */
/* See hot.h. */
#include "hot.h"

#include <inttypes.h>
#include <stdlib.h>

#include "symbols.h"

enum { SHOWN = 10, FRAMES = 8 };

struct line {
	uint64_t key, count;
};

void
hot_add(struct hot *h, const struct event *e)
{
	if (!e->stack)
		return;
	if (e->type == TR_SAMPLE) {
		++*idmap_put(&h->samples, (uint64_t)e->stack + 1);
		h->sample_count++;
	} else if (e->type == TR_BLOCK) {
		++*idmap_put(&h->blocks, (uint64_t)e->stack + 1);
		h->block_count++;
	}
}

static int
by_count(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return x->key < y->key ? -1 : x->key > y->key;
}

static struct line *
sorted(const struct idmap *map, size_t *count)
{
	struct line *lines = zeroed(map->count, sizeof *lines);
	size_t n = 0;

	for (size_t i = 0; i < map->room; i++)
		if (map->entry[i].key)
			lines[n++] = (struct line){ map->entry[i].key - 1,
			    map->entry[i].value };
	qsort(lines, n, sizeof *lines, by_count);
	*count = n;
	return lines;
}

static void
print_stacks(const struct idmap *map, uint64_t all, struct symbols *symbols,
    const struct stacks *stacks, FILE *out)
{
	size_t n;
	struct line *lines = sorted(map, &n);

	for (size_t i = 0; i < n && i < SHOWN; i++) {
		const struct stack *s = &stacks->stack[lines[i].key];

		fprintf(out, "  %5.1f %% ", 100 * (double)lines[i].count /
		    (double)all);
		for (uint32_t f = 0; f < s->count && f < FRAMES; f++)
			fprintf(out, "%s%s", f ? " < " : "",
			    symbols_name(symbols, s->pcs[f]));
		fputs(s->count > FRAMES ? " ...\n" : "\n", out);
	}
	free(lines);
}

void
hot_print(const struct hot *h, struct trace *t, const struct stacks *stacks,
    FILE *out)
{
	struct symbols *symbols = symbols_open(t);

	if (h->sample_count) {
		fprintf(out, "\nwhere it ran, %" PRIu64 " samples\n",
		    h->sample_count);
		print_stacks(&h->samples, h->sample_count, symbols, stacks,
		    out);
	}
	if (h->block_count) {
		fprintf(out, "\nwhere goroutines blocked, %" PRIu64
		    " stacks\n", h->block_count);
		print_stacks(&h->blocks, h->block_count, symbols, stacks, out);
	}
	symbols_close(symbols);
}

void
hot_free(struct hot *h)
{
	idmap_free(&h->samples);
	idmap_free(&h->blocks);
}
