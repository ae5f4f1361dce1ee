/* SPDX-License-Identifier: MIT */
/* weft-trace stats: what a trace says as a whole, as text. */
#include "stats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "command.h"
#include "hot.h"
#include "model.h"
#include "names.h"
#include "regions.h"

enum {
	SITES_SHOWN = 12, PS_SHOWN = 64, STALLS_SHOWN = 10, BAR = 40,
	FIRST_LOG = 6, LAST_LOG = 40
};

const char *
duration(int64_t ns, char out[DURATION_BYTES])
{
	static const struct { double ns; const char *unit; } units[] = {
		{ 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" },
	};
	size_t i = 0;
	double d;

	while (i < 3 && (double)ns < units[i].ns)
		i++;
	d = (double)ns / units[i].ns;
	snprintf(out, DURATION_BYTES, i == 3 ? "%.0f %s" : d < 10 ? "%.2f %s" :
	    d < 100 ? "%.1f %s" : "%.0f %s", d, units[i].unit);
	return out;
}

const char *
kind_name(unsigned kind)
{
	static const char *const name[KINDS] = {
		[KIND_RUNNING] = "running", [KIND_RUNNABLE] = "runnable",
		[KIND_BLOCKED] = "blocked", [KIND_CALL] = "in a call",
		[KIND_DETACHED] = "detached", [KIND_PAUSED] = "paused",
	};

	return kind < KINDS ? name[kind] : "?";
}

const char *
plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static double
percent(int64_t part, int64_t whole)
{
	return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

static void
print_head(const struct model *m, FILE *out)
{
	const struct trace *t = m->trace;
	time_t wall = (time_t)(t->wall_ns / 1000000000);
	char text[DURATION_BYTES], when[64] = "?";
	struct tm tm;
	uint64_t created = 0;

	if (localtime_r(&wall, &tm))
		strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &tm);
	for (size_t i = 0; i < m->sites; i++)
		created += m->site[i].created;
	fprintf(out, "%s of process %u, from %s%s\n", duration(m->end_ns, text),
	    t->head.pid, when, t->flight ? " (flight recording)" : "");
	fprintf(out, "%" PRIu64 " event%s, %zu P%s, %zu goroutine%s, %" PRIu64
	    " of them spawned\n", m->event_count, plural(m->event_count),
	    m->ps, plural(m->ps), m->gs, plural(m->gs), created);
	if (t->lost_events || t->lost_blocks || t->bad_blocks || m->repairs)
		fprintf(out, "lost: %" PRIu64 " event%s and %" PRIu64
		    " block%s; damaged: %" PRIu64 " block%s; repaired: %"
		    PRIu64 " event%s\n", t->lost_events,
		    plural(t->lost_events), t->lost_blocks,
		    plural(t->lost_blocks), t->bad_blocks,
		    plural(t->bad_blocks), m->repairs, plural(m->repairs));
}

static void
print_times(const struct model *m, FILE *out)
{
	char text[DURATION_BYTES];
	int64_t all = 0;

	for (unsigned k = 0; k < KINDS; k++)
		all += m->ns[k];
	fputs("\ntime of all goroutines\n", out);
	for (unsigned k = 0; k < KINDS; k++)
		if (m->ns[k])
			fprintf(out, "  %-12s %12s  %5.1f %%\n", kind_name(k),
			    duration(m->ns[k], text), percent(m->ns[k], all));
}

static int
by_ns(const void *a, const void *b)
{
	const struct waits *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

static void
print_waits(const struct model *m, FILE *out)
{
	struct waits *list = NULL;
	size_t n = 0, room = 0;
	char sum[DURATION_BYTES], mean[DURATION_BYTES], max[DURATION_BYTES];

	for (uint32_t i = m->all_waits; i; i = m->waits[i].next) {
		*GROW(list, n, room) = m->waits[i];
		n++;
	}
	if (!n)
		return;
	qsort(list, n, sizeof *list, by_ns);
	fprintf(out, "\n%-24s %10s %10s %10s %10s\n", "blocked by reason",
	    "times", "sum", "mean", "longest");
	for (size_t i = 0; i < n; i++)
		fprintf(out, "  %-22s %10" PRIu64 " %10s %10s %10s\n",
		    model_reason(m, list[i].reason), list[i].count,
		    duration(list[i].ns, sum),
		    duration(list[i].ns / (int64_t)list[i].count, mean),
		    duration(list[i].max, max));
	free(list);
}

static void
print_ps(const struct model *m, FILE *out)
{
	char text[DURATION_BYTES], at[DURATION_BYTES];

	fprintf(out, "\n%-6s %8s %8s %8s %8s %9s %9s %7s  %s\n", "P", "running",
	    "in call", "search", "idle", "steals", "stolen", "taken",
	    "longest idle");
	for (size_t i = 0; i < m->ps && i < PS_SHOWN; i++) {
		const struct p_model *p = &m->p[i];

		fprintf(out, "%-6u", p->id);
		fprintf(out, " %6.1f %% %6.1f %% %6.1f %% %6.1f %%",
		    percent(p->ns[P_RUN], m->end_ns),
		    percent(p->ns[P_CALL], m->end_ns),
		    percent(p->ns[P_SEARCH], m->end_ns),
		    percent(p->ns[P_IDLE], m->end_ns));
		fprintf(out, " %9" PRIu64 " %9" PRIu64 " %7" PRIu64
		    "  %s at %s\n", p->steals, p->stolen, p->taken,
		    duration(p->longest_idle, text),
		    duration(p->longest_idle_at, at));
	}
	if (m->ps > PS_SHOWN)
		fprintf(out, "... and %zu more\n", m->ps - PS_SHOWN);
	fprintf(out, "a P was idle although a goroutine was runnable: %s, "
	    "%.1f %%\n", duration(m->idle_ns, text),
	    percent(m->idle_ns, m->end_ns));
}

/* Those of one line: up to twice 2^log. */
static uint64_t
latencies(const struct histogram *h, unsigned log)
{
	return histogram_between(h, log == FIRST_LOG ? 0 : 1ll << log,
	    2ll << log);
}

static void
print_latency(const struct model *m, FILE *out)
{
	static const double shares[] = { .5, .9, .99, .999 };
	const struct histogram *h = &m->latency;
	char text[DURATION_BYTES];
	uint64_t most = 0;

	fprintf(out, "\nscheduling latency (from runnable to running), %"
	    PRIu64 " start%s\n ", h->count, plural(h->count));
	for (size_t i = 0; i < 4; i++)
		fprintf(out, " p%g %s,", 100 * shares[i],
		    duration(histogram_at(h, shares[i]), text));
	fprintf(out, " longest %s\n", duration(h->max, text));
	for (unsigned b = FIRST_LOG; b < LAST_LOG; b++)
		if (latencies(h, b) > most)
			most = latencies(h, b);
	for (unsigned b = FIRST_LOG; b < LAST_LOG; b++) {
		uint64_t n = latencies(h, b);

		if (n)
			fprintf(out, "  < %-8s %9" PRIu64 " %.*s\n",
			    duration(2ll << b, text), n, (int)(BAR * n / most),
			    "########################################");
	}
}

static void
print_stall(const struct model *m, const struct stall *s, FILE *out)
{
	char ns[DURATION_BYTES], at[DURATION_BYTES], ran[DURATION_BYTES];

	fprintf(out, "  %9s at %9s  G%" PRIu64, duration(s->ns, ns),
	    duration(s->at, at), s->g);
	if (s->name)
		fprintf(out, " %s", model_name(m, s->name));
	if (s->kind == KIND_PAUSED)
		fputs(" was paused", out);
	else if (s->kind == KIND_DETACHED)
		fputs(" ran without a P", out);
	else
		fputs(s->no_p ? " had no P" : " was runnable", out);
	if (s->p == NO_P)
		fputs(" at the end", out);
	else if (s->after && s->kind != KIND_DETACHED)
		fprintf(out, "; then on P%u, after G%" PRIu64
		    " had run %s there", s->p, s->after,
		    duration(s->after_ns, ran));
	else
		fprintf(out, "; then on P%u", s->p);
	fputc('\n', out);
}

/* What its goroutines took of threads: paused ones keep theirs. */
static int64_t
taken_ns(const struct site_model *s)
{
	return s->ns[KIND_RUNNING] + s->ns[KIND_DETACHED] +
	    s->ns[KIND_PAUSED];
}

static int
by_taken(const void *a, const void *b)
{
	const struct site_model *x = *(const struct site_model *const *)a;
	const struct site_model *y = *(const struct site_model *const *)b;
	int64_t p = taken_ns(x), q = taken_ns(y);

	return p < q ? 1 : p > q ? -1 : 0;
}

static void
print_site(const struct site_model *s, FILE *out)
{
	static const uint8_t columns[] = { KIND_RUNNING, KIND_DETACHED,
	    KIND_PAUSED, KIND_RUNNABLE, KIND_BLOCKED, KIND_CALL };
	char text[DURATION_BYTES];
	struct text name = {0};

	fprintf(out, "%9" PRIu64, s->goroutines);
	for (size_t i = 0; i < sizeof columns; i++)
		fprintf(out, " %9s", duration(s->ns[columns[i]], text));
	model_site_text(s, &name);
	fprintf(out, " %9s  %s\n", duration(s->longest_runnable, text),
	    name.s);
	text_free(&name);
}

static void
print_sites(const struct model *m, FILE *out)
{
	const struct site_model **list = zeroed(m->sites, sizeof *list);
	size_t n = 0;

	for (size_t i = 0; i < m->sites; i++)
		if (m->site[i].goroutines)
			list[n++] = &m->site[i];
	qsort(list, n, sizeof *list, by_taken);
	fprintf(out, "\nby spawn site, most of running + detached + paused "
	    "first\n%9s %9s %9s %9s %9s %9s %9s %9s\n", "count", "running",
	    "detached", "paused", "runnable", "blocked", "in call",
	    "latency");
	for (size_t i = 0; i < n && i < SITES_SHOWN; i++)
		print_site(list[i], out);
	if (n > SITES_SHOWN)
		fprintf(out, "... and %zu more\n", n - SITES_SHOWN);
	free(list);
}

static void
print_events(const struct model *m, FILE *out)
{
	int column = 0;

	fputs("\nevents\n", out);
	for (uint32_t i = 0; i < TR_TYPES; i++)
		if (m->events[i])
			fprintf(out, "  %-14s %10" PRIu64 "%s", type_name(i),
			    m->events[i], ++column % 3 ? " " : "\n");
	if (column % 3)
		fputc('\n', out);
}

int
command_stats(struct trace *t, FILE *out)
{
	struct model *m = model_begin(t);
	struct order *o = order_open(t);
	struct regions regions = {0};
	struct hot hot = {0};
	struct event e;

	while (order_next(o, &e)) {
		model_add(m, &e);
		regions_add(&regions, &e);
		hot_add(&hot, &e);
	}
	model_finish(m, order_repairs(o));
	print_head(m, out);
	print_times(m, out);
	print_waits(m, out);
	print_ps(m, out);
	print_latency(m, out);
	fputs("\nlongest stalls\n", out);
	for (size_t i = 0; i < m->stalls && i < STALLS_SHOWN; i++)
		print_stall(m, &m->stall[i], out);
	print_sites(m, out);
	regions_print(&regions, out);
	hot_print(&hot, t, order_stacks(o), out);
	print_events(m, out);
	regions_free(&regions);
	hot_free(&hot);
	order_close(o);
	model_free(m);
	return 0;
}
