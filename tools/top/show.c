/* SPDX-License-Identifier: MIT */
/*
 * The screen. Counters are shown as rates between two answers; how busy a
 * processor was, and which functions ran, as parts of the samples that were
 * taken between them. 100 percent is one processor.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "top.h"

enum { BAR = 10, HOT_SHOWN = 10, THREADS_BATCH = 16 };

static void put(struct screen *s, const char *fmt, ...)
    __attribute__((__format__(__printf__, 2, 3)));

static void
put(struct screen *s, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(s->text + s->n, s->cap - s->n, fmt, ap);
	va_end(ap);
	if (n > 0)
		s->n += (size_t)n;
	if (s->n >= s->cap)
		s->n = s->cap - 1;
}

/* A title of a part: bold on a terminal. */
static void
put_title(struct screen *s, const char *title)
{
	put(s, s->colour ? "\033[1m%s\033[0m\n" : "%s\n", title);
}

/* 1234567 as "1.23M"; returns its argument. */
static const char *
short_number(double v, char buf[16])
{
	static const char units[] = " kMGTPE";
	int u = 0;

	for (; (v >= 1000 || v <= -1000) && units[u + 1]; u++)
		v /= 1000;
	if (u == 0)
		snprintf(buf, 16, "%.0f", v);
	else
		snprintf(buf, 16, "%.*f%c", v < 10 ? 2 : v < 100 ? 1 : 0, v,
		    units[u]);
	return buf;
}

static const char *
bytes(double v, char buf[16])
{
	static const char units[] = "BKMGTPE";
	int u = 0;

	for (; v >= 1024 && units[u + 1]; u++)
		v /= 1024;
	snprintf(buf, 16, u ? "%.1f %ciB" : "%.0f %c", v, units[u]);
	return buf;
}

static const char *
duration(int64_t ns, char buf[16])
{
	if (ns == INT64_MAX)
		snprintf(buf, 16, "> 137 s");
	else if (ns < 1000)
		snprintf(buf, 16, "%d ns", (int)ns);
	else if (ns < 1000000)
		snprintf(buf, 16, "%.3g us", (double)ns / 1e3);
	else if (ns < 1000000000)
		snprintf(buf, 16, "%.3g ms", (double)ns / 1e6);
	else
		snprintf(buf, 16, "%.3g s", (double)ns / 1e9);
	return buf;
}

static double
since(int64_t now, int64_t before)
{
	double d = (double)now - (double)before;

	return d > 0 ? d : 0;
}

static double
seconds(const struct view *now, const struct view *before)
{
	double s = since(now->time, before->time) / 1e9;

	return s > 0 ? s : 1;
}

/* ---- goroutines ---- */

static void
put_head(struct screen *s, const struct view *v, const char *path)
{
	put(s, "weft-top: process %lld, weft %s, %s\n", (long long)v->pid,
	    v->version, path);
}

static void
put_goroutines(struct screen *s, const struct view *v)
{
	put(s, "Goroutines  %lld: %lld running, %lld runnable, %lld in a call,"
	    " %lld waiting", (long long)v->goroutines, (long long)v->running,
	    (long long)v->runnable, (long long)v->in_call,
	    (long long)v->waiting_all);
	if (v->not_started)
		put(s, ", %lld not started", (long long)v->not_started);
	put(s, "\n");
}

static int
more(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	return (x->n < y->n) - (x->n > y->n);
}

void
list_sort(struct list *l)
{
	qsort(l->e, (size_t)l->n, sizeof l->e[0], more);
}

static void
put_waiting(struct screen *s, const struct view *v)
{
	struct list l = v->waiting;

	list_sort(&l);
	put(s, "Waiting for ");
	for (int i = 0; i < l.n && i < 6; i++)
		put(s, "%s%s %lld", i ? ", " : "", l.e[i].name,
		    (long long)l.e[i].n);
	put(s, l.n ? "\n" : "nothing\n");
}

/* ---- rates ---- */

static void
put_rate(struct screen *s, const char *name, double n, double sec)
{
	char buf[16];

	put(s, "  %s %s", name, short_number(n / sec, buf));
}

static int64_t
total(const struct list *l)
{
	double n = 0;

	for (int i = 0; i < l->n; i++)
		n += (double)l->e[i].n;
	return n < 9e18 ? (int64_t)n : INT64_MAX;
}

static void
put_rates(struct screen *s, const struct view *v, const struct view *b)
{
	double t = seconds(v, b);

	put(s, "Per second");
	put_rate(s, "switches", since(v->switches, b->switches), t);
	put_rate(s, "spawns", since(v->spawned, b->spawned), t);
	put_rate(s, "parks", since(v->parks, b->parks), t);
	put_rate(s, "yields", since(v->yields, b->yields), t);
	put_rate(s, "steals", since(v->steals, b->steals), t);
	put_rate(s, "wakes", since(v->wakes, b->wakes), t);
	put(s, "\n          ");
	put_rate(s, "preempted", since(v->preempted, b->preempted), t);
	put_rate(s, "paused", since(total(&v->paused), total(&b->paused)), t);
	put_rate(s, "hand-offs", since(total(&v->retaken),
	    total(&b->retaken)), t);
	put_rate(s, "polls", since(v->io_polls, b->io_polls), t);
	put_rate(s, "events", since(v->io_events, b->io_events), t);
	put(s, "\n");
}

static int64_t
count_of(const struct list *l, const char *name)
{
	for (int i = 0; i < l->n; i++)
		if (strcmp(l->e[i].name, name) == 0)
			return l->e[i].n;
	return 0;
}

/* Why processors were handed to other threads, if they were. */
static void
put_retakes(struct screen *s, const struct view *v, const struct view *b)
{
	double t = seconds(v, b);
	bool any = false;
	char buf[16];

	for (int i = 0; i < v->retaken.n; i++) {
		const struct named *e = &v->retaken.e[i];
		double n = since(e->n, count_of(&b->retaken, e->name));

		if (n <= 0)
			continue;
		put(s, "%s %s (%s)", any ? "," : "Hand-offs  ", e->name,
		    short_number(n / t, buf));
		any = true;
	}
	if (any)
		put(s, "\n");
}

/* ---- latency ---- */

static double
bucket_before(const struct view *b, int64_t bound)
{
	for (int i = 0; i < b->n_buckets; i++)
		if (b->latency[i].bound == bound)
			return (double)b->latency[i].n;
	return 0;
}

/* Counts between the two; how many in all. */
static double
differences(const struct view *v, const struct view *b, double n[BUCKETS])
{
	double all = 0;

	for (int i = 0; i < v->n_buckets; i++) {
		n[i] = (double)v->latency[i].n -
		    bucket_before(b, v->latency[i].bound);
		if (n[i] < 0)
			n[i] = 0;
		all += n[i];
	}
	return all;
}

static int64_t
quantile(const struct view *v, const double n[BUCKETS], double wanted)
{
	for (int i = 0; i < v->n_buckets; i++) {
		wanted -= n[i];
		if (n[i] > 0 && wanted <= 0)
			return v->latency[i].bound;
	}
	return 0;
}

static void
put_latency(struct screen *s, const struct view *v, const struct view *b)
{
	static const struct { const char *name; double part; } q[] = {
		{ "p50", 0.5 }, { "p90", 0.9 }, { "p99", 0.99 },
		{ "p99.9", 0.999 }, { "max", 1 }
	};
	double n[BUCKETS], all = differences(v, b, n);
	char buf[16];

	put(s, "Latency   ");
	if (all <= 0) {
		put(s, "  no sample\n");
		return;
	}
	for (size_t i = 0; i < sizeof q / sizeof *q; i++)
		put(s, "  %s %s", q[i].name,
		    duration(quantile(v, n, q[i].part * all), buf));
	put(s, "  (runnable to running)\n");
}

/* ---- processors and threads ---- */

static void
put_queues(struct screen *s, const struct view *v)
{
	put(s, "Queues      global %lld, at processors %lld   Threads %lld: "
	    "%lld idle, %lld searching%s\n", (long long)v->queue_global,
	    (long long)v->queue_local, (long long)v->threads,
	    (long long)v->threads_idle, (long long)v->threads_searching,
	    v->threads_missing ? ", one more is needed" : "");
	put(s, "Without P   %lld computing, %lld blocked, %lld paused\n",
	    (long long)v->detached, (long long)v->blocked,
	    (long long)v->paused_now);
}

static void
put_memory(struct screen *s, const struct view *v)
{
	char a[16], b[16];

	put(s, "Memory      %lld stacks, %s reserved; records %s; %lld "
	    "descriptors\n", (long long)v->stacks,
	    bytes((double)v->stack_bytes, a),
	    bytes((double)v->record_bytes, b), (long long)v->io_open);
}

static void
put_bar(struct screen *s, double part)
{
	int full = (int)(part * BAR + 0.5);

	put(s, "[");
	for (int i = 0; i < BAR; i++)
		put(s, "%c", i < full ? '#' : ' ');
	put(s, "]");
}

static void
put_proc(struct screen *s, int i, const struct view *v, const struct view *b)
{
	const struct proc *p = &v->proc[i];
	bool known = i < b->n_procs;
	double samples = since(v->samples, b->samples);
	double busy = since(p->busy, known ? b->proc[i].busy : 0);
	double part = samples > 0 ? busy / samples : 0;
	char rate[16];

	if (part > 1)
		part = 1;
	put(s, "%3d ", i);
	put_bar(s, part);
	put(s, " %3.0f%% %-8s %6lld %7s %8lld %10lld  %s\n", part * 100,
	    p->state, (long long)p->queued, short_number(since(p->switches,
	    known ? b->proc[i].switches : 0) / seconds(v, b), rate),
	    (long long)p->tid, (long long)p->gid, p->fn);
}

static void
put_procs(struct screen *s, const struct view *v, const struct view *b,
    int max)
{
	put_title(s, "  P BUSY             STATE     QUEUE  SW/S     THREAD  "
	    "GOROUTINE  FUNCTION");
	for (int i = 0; i < v->n_procs && i < max; i++)
		put_proc(s, i, v, b);
	if (v->n_procs > max || v->procs > v->n_procs)
		put(s, "    ... and %lld more\n", (long long)v->procs - max);
}

/* A number that is none if it is below 0, as that of a P. */
static const char *
number_or_none(int64_t n, char buf[24])
{
	if (n < 0)
		return "-";
	snprintf(buf, 24, "%lld", (long long)n);
	return buf;
}

static void
put_threads(struct screen *s, const struct view *v, int max)
{
	char buf[24];
	int n = 0;

	put_title(s, "  THREAD   P STATE      GOROUTINE  FUNCTION");
	for (int i = 0; i < v->n_threads && n < max; i++) {
		const struct thread *t = &v->thread[i];

		if (strcmp(t->what, "idle") == 0)
			continue;
		n++;
		put(s, "%8lld %3s %-9s %10lld  %s\n", (long long)t->tid,
		    number_or_none(t->proc, buf), t->what, (long long)t->gid,
		    t->fn);
	}
}

/* ---- functions ---- */

static void
put_hot(struct screen *s, const struct view *v, const struct view *b, int max)
{
	double samples = since(v->samples, b->samples);
	struct list l = { .n = 0 };

	for (int i = 0; i < v->hot.n; i++) {
		int64_t was = i < b->hot.n ? b->hot.e[i].n : 0;

		l.e[l.n] = v->hot.e[i];
		l.e[l.n].n = (int64_t)since(v->hot.e[i].n, was);
		l.n += l.e[l.n].n > 0;
	}
	list_sort(&l);
	put_title(s, "  RUNS  STARTED WITH");
	for (int i = 0; i < l.n && i < max && samples > 0; i++)
		put(s, "%5.0f%%  %s\n", (double)l.e[i].n / samples * 100,
		    l.e[i].name);
}

/* Where the CPUs are, if that is asked for: the functions themselves. */
static void
put_sampled(struct screen *s, const struct sampled *p, int max)
{
	put_title(s, "   CPU  FUNCTION");
	if (p->why[0])
		put(s, "        %s\n", p->why);
	for (int i = 0; i < p->fn.n && i < max; i++)
		put(s, "%5.1f%%  %s\n", (double)p->fn.e[i].n /
		    (double)p->samples * 100, p->fn.e[i].name);
}

/* Lines for a part, so that all parts have some. */
static int
share(const struct screen *s, int taken, int wanted, int others)
{
	int left = s->rows - taken - others;

	if (!s->rows)
		return wanted;
	if (left < 1)
		left = 1;
	return wanted < left ? wanted : left;
}

void
show(struct screen *s, const struct view *now, const struct view *before,
    const struct sampled *sampled, const char *path)
{
	int procs, threads, hot = HOT_SHOWN;

	put_head(s, now, path);
	put_goroutines(s, now);
	put_waiting(s, now);
	put_rates(s, now, before);
	put_retakes(s, now, before);
	put_latency(s, now, before);
	put_queues(s, now);
	put_memory(s, now);
	procs = share(s, 14, now->n_procs, 8);
	threads = share(s, 14 + procs, THREADS_BATCH, 4);
	hot = share(s, 15 + procs + threads, hot, 0);
	put_procs(s, now, before, procs);
	put_threads(s, now, threads);
	if (sampled->on)
		put_sampled(s, sampled, hot);
	else
		put_hot(s, now, before, hot);
}
