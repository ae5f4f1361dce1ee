/* SPDX-License-Identifier: MIT */
/* See regions.h. */
#include "regions.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "stats.h"

enum { SHOWN = 30, NAME_WIDTH = 22 };

/* ---- names ---- */

static uint64_t
hash(const char *s, size_t bytes)
{
	uint64_t h = 7;

	for (size_t i = 0; i < bytes; i++)
		h = (h ^ (uint8_t)s[i]) * 0x100000001b3;
	return h ? h : 1;
}

static uint32_t
sum_of(struct regions *r, const char *name, uint16_t bytes)
{
	uint64_t *first = idmap_put(&r->by_hash, hash(name, bytes));
	uint32_t i;

	for (i = (uint32_t)*first; i; i = r->sum[i - 1].next)
		if (r->sum[i - 1].bytes == bytes &&
		    memcmp(r->sum[i - 1].name, name, bytes) == 0)
			return i - 1;
	*GROW(r->sum, r->sums, r->sums_room) = (struct region_sum){
		.name = name, .bytes = bytes, .next = (uint32_t)*first,
	};
	*first = ++r->sums;
	return (uint32_t)r->sums - 1;
}

/* ---- regions of a goroutine ---- */

static uint32_t
take_open(struct regions *r)
{
	uint32_t i = r->unused;

	if (i) {
		r->unused = r->open[i - 1].outer;
		return i - 1;
	}
	*GROW(r->open, r->opens, r->opens_room) = (struct region_open){0};
	return (uint32_t)r->opens++;
}

static void
begin(struct regions *r, const struct event *e)
{
	uint32_t sum = sum_of(r, event_text(e), e->text);
	uint32_t i = take_open(r);
	uint64_t *innermost = idmap_put(&r->innermost, e->self);

	r->open[i] = (struct region_open){
		.since = e->ns, .sum = sum, .outer = (uint32_t)*innermost,
	};
	*innermost = i + 1;
}

/* The innermost one of this goroutine is over; false: it has none. */
static bool
end(struct regions *r, uint64_t g, int64_t now)
{
	uint64_t *innermost = g ? idmap_get(&r->innermost, g) : NULL;
	struct region_open *o;
	struct region_sum *s;
	int64_t ns;
	uint32_t i;

	if (!innermost || !*innermost)
		return false;
	i = (uint32_t)*innermost;
	o = &r->open[i - 1];
	s = &r->sum[o->sum];
	ns = now - o->since;
	s->count++;
	s->ns += ns;
	if (ns > s->max)
		s->max = ns;
	*innermost = o->outer;
	o->outer = r->unused;
	r->unused = i;
	return true;
}

void
regions_add(struct regions *r, const struct event *e)
{
	if (e->type == TR_SAMPLE)
		return;			/* it may be of an earlier time */
	r->now = e->ns;
	if (e->type == TR_REGION_BEGIN && e->self) {
		begin(r, e);
	} else if (e->type == TR_REGION_END) {
		end(r, e->self, e->ns);
	} else if (e->type == TR_END) {
		while (end(r, e->g, e->ns))
			;
		idmap_remove(&r->innermost, e->g);
	}
}

/* ---- the table ---- */

static int
by_ns(const void *a, const void *b)
{
	const struct region_sum *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* A name is the program's, or that of a damaged file: no control codes. */
static void
print_name(const struct region_sum *s, FILE *out)
{
	for (uint16_t i = 0; i < s->bytes; i++) {
		uint8_t c = (uint8_t)s->name[i];

		fputc(c < ' ' || c == 0x7f ? '?' : c, out);
	}
	for (int i = s->bytes; i < NAME_WIDTH; i++)
		fputc(' ', out);
}

void
regions_print(struct regions *r, FILE *out)
{
	char sum[DURATION_BYTES], mean[DURATION_BYTES], max[DURATION_BYTES];

	for (size_t i = 0; i < r->innermost.room; i++)
		if (r->innermost.entry[i].key)
			while (end(r, r->innermost.entry[i].key, r->now))
				;
	if (!r->sums)
		return;
	qsort(r->sum, r->sums, sizeof *r->sum, by_ns);
	fprintf(out, "\n%-24s %10s %10s %10s %10s\n", "regions", "times",
	    "sum", "mean", "longest");
	for (size_t i = 0; i < r->sums && i < SHOWN; i++) {
		const struct region_sum *s = &r->sum[i];

		fputs("  ", out);
		print_name(s, out);
		fprintf(out, " %10" PRIu64 " %10s %10s %10s\n", s->count,
		    duration(s->ns, sum),
		    duration(s->ns / (int64_t)s->count, mean),
		    duration(s->max, max));
	}
	if (r->sums > SHOWN)
		fprintf(out, "... and %zu more\n", r->sums - SHOWN);
}

void
regions_free(struct regions *r)
{
	free(r->sum);
	free(r->open);
	idmap_free(&r->by_hash);
	idmap_free(&r->innermost);
}
