/* SPDX-License-Identifier: MIT */
/* What a trace says as a whole. */
#include "t.h"

#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "model.h"
#include "simulated.h"
#include "stats.h"

enum { MS = 1000000 };		/* cycles, of 1 ns */

static struct made_file file;
static struct simulation sim;

static struct trace *
opened(const struct made_file *f)
{
	struct text why = {0};
	struct trace *t = trace_open_memory(f->data, f->bytes, &why);

	if (!t)
		t_fail(__FILE__, __LINE__, why.s);
	return t;
}

/*
 * G1 runs 1..4 ms and spawns G2 at 2 ms; G2 runs 4..6, blocks until 9, runs
 * from 11 on, loses its P at 13, has it again at 14, and ends at 15.
 */
static void
make_story(void)
{
	uint64_t now = MS, id = 2;

	made_begin(&file, 1000000000);
	made_thread(&file, now, 0, 77);
	made_id(&file, MADE_RINGS, now, TR_CREATE, 1);
	made_event1(&file, 0, now, TR_P_START, 5, 0);
	made_id(&file, 0, now + MS, TR_START, 1);
	made_site(&file, 0, now + 2 * MS, 0x1100);
	made_id(&file, 0, now + 2 * MS, TR_CREATE, id);
	made_event(&file, 0, now + 4 * MS, TR_END, 0);
	made_id(&file, 0, now + 4 * MS, TR_START, id);
	made_event1(&file, 0, now + 6 * MS, TR_BLOCK, 3, 0);
	made_thread(&file, now + 9 * MS, 0, (uint64_t)1 << 32 | 78);
	made_id(&file, MADE_RINGS, now + 9 * MS, TR_UNBLOCK, id);
	made_id(&file, 0, now + 11 * MS, TR_START, id);
	made_thread(&file, now + 13 * MS, 0, (uint64_t)1 << 32 | 78);
	made_event1(&file, MADE_RINGS, now + 13 * MS, TR_P_TAKEN, 0,
	    5 | (uint64_t)TRACE_TAKEN_RUNNING << 32);
	made_event1(&file, 0, now + 14 * MS, TR_P_START, 5, id);
	made_event(&file, 0, now + 15 * MS, TR_END, 0);
	made_end(&file, now + 16 * MS);
}

TEST(times)
{
	struct trace *t;
	struct model *m;
	const struct g_model *g;

	make_story();
	t = opened(&file);
	m = model_of(t);
	EQ(m->gs, 2);
	EQ(m->repairs, 0);
	g = &m->g[1];
	EQ(g->id, 2);
	EQ(g->parent, 1);
	EQ(g->created, 2 * MS);
	EQ(g->ended, 15 * MS);
	EQ(g->ns[KIND_RUNNING], 5 * MS);
	EQ(g->ns[KIND_RUNNABLE], 4 * MS);
	EQ(g->ns[KIND_BLOCKED], 3 * MS);
	EQ(g->ns[KIND_DETACHED], MS);
	EQ(m->waits[g->waits].ns, 3 * MS);
	EQ(m->waits[g->waits].reason, 3);
	EQ(strcmp(m->site[g->site].site->function, "spawne1"), 0);
	EQ(m->ps, 1);
	EQ(m->p[0].ns[P_RUN], 8 * MS);
	EQ(m->p[0].ns[P_IDLE], MS);
	EQ(m->p[0].taken, 1);
	EQ(m->latency.count, 3);
	EQ(m->latency.max, 2 * MS);
	EQ(m->stall[0].ns, 2 * MS);
	EQ(m->stall[0].g, 2);
	model_free(m);
	trace_close(t);
	made_free(&file);
}

/* The states of a goroutine take all of its time. */
TEST(times_add_up)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct trace *t;
		struct model *m;

		simulate(&sim, seed, 3000, 45, 100);
		t = opened(&sim.file);
		m = model_of(t);
		for (size_t i = 0; i < m->gs; i++) {
			const struct g_model *g = &m->g[i];
			int64_t sum = 0;

			for (unsigned k = 0; k < KINDS; k++)
				sum += g->ns[k];
			EQ(sum, (g->ended < 0 ? m->end_ns : g->ended) -
			    (g->created < 0 ? 0 : g->created));
		}
		model_free(m);
		trace_close(t);
		made_free(&sim.file);
	}
}

TEST(histograms)
{
	struct histogram *h = calloc(1, sizeof *h);

	for (int64_t i = 0; i < 1000; i++)
		histogram_add(h, i * 1000);
	EQ(h->count, 1000);
	OK(histogram_at(h, .5) >= 500000 && histogram_at(h, .5) < 540000);
	EQ(histogram_at(h, 1), 999000);
	EQ(histogram_between(h, 0, 1024), 2);
	EQ(histogram_between(h, 0, 1ll << 40), 1000);
	histogram_add(h, INT64_MAX);
	EQ(h->max, INT64_MAX);
	free(h);
}

TEST(durations)
{
	char s[DURATION_BYTES];

	EQ(strcmp(duration(12, s), "12 ns"), 0);
	EQ(strcmp(duration(1240000, s), "1.24 ms"), 0);
	EQ(strcmp(duration(125000, s), "125 us"), 0);
	EQ(strcmp(duration(3600000000000, s), "3600 s"), 0);
}

/* What command_stats prints; to be freed. */
static char *
reported(struct trace *t)
{
	char *s = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&s, &bytes);

	EQ(command_stats(t, out), 0);
	fclose(out);
	return s;
}

/* The text is in it, once at least. */
static void
has(const char *s, const char *text)
{
	if (strstr(s, text))
		return;
	t_fail(__FILE__, __LINE__, text);
	fprintf(stderr, "# not in:\n%s\n", s);
}

/* G2 took 5 ms of a P and 1 ms without one, G1 only 3 ms. */
TEST(report_of_sites)
{
	struct trace *t;
	char *s, *first;

	make_story();
	t = opened(&file);
	s = reported(t);
	has(s, "events, 1 P, 2 goroutines");
	has(s, "    count   running  detached    paused  runnable   blocked"
	    "   in call   latency\n");
	has(s, "        1   5.00 ms   1.00 ms      0 ns   4.00 ms   3.00 ms"
	    "      0 ns   2.00 ms  spawne1 file.c:13\n");
	first = strstr(s, "latency\n        1 ");
	OK(first && strstr(first, "spawne1") < strstr(first, "  ?\n"));
	free(s);
	trace_close(t);
	made_free(&file);
}

/* One goroutine runs for 3 ms, the other is paused for 4 ms. */
TEST(pauses_count_for_a_site)
{
	uint64_t now = MS;
	struct trace *t;
	char *s, *first;

	made_begin(&file, 1000000000);
	made_thread(&file, now, 0, 77);
	made_site(&file, MADE_RINGS, now, 0x1100);
	made_id(&file, MADE_RINGS, now, TR_CREATE, 1);
	made_site(&file, MADE_RINGS, now, 0x1200);
	made_id(&file, MADE_RINGS, now, TR_CREATE, 2);
	made_event1(&file, 0, now, TR_P_START, 5, 0);
	made_id(&file, 0, now + MS, TR_START, 2);
	made_id(&file, 0, now + 2 * MS, TR_PAUSE, 2);
	made_id(&file, 0, now + 2 * MS, TR_START, 1);
	made_event(&file, 0, now + 5 * MS, TR_END, 0);
	made_id(&file, 0, now + 6 * MS, TR_START, 2);
	made_event(&file, 0, now + 6 * MS, TR_END, 0);
	made_end(&file, now + 7 * MS);
	t = opened(&file);
	s = reported(t);
	has(s, "        1   1.00 ms      0 ns   4.00 ms ");
	first = strstr(s, "by spawn site");
	OK(first && strstr(first, "spawne2") && strstr(first, "spawne1") &&
	    strstr(first, "spawne2") < strstr(first, "spawne1"));
	free(s);
	trace_close(t);
	made_free(&file);
}

static void
begin_region(uint64_t now, const char *name)
{
	made_event1(&file, 0, now, TR_REGION_BEGIN,
	    (uint32_t)strlen(name) << 16, 0);
	made_text(&file.ring[0], name);
}

/*
 * G1 is in "outer" from 2 ms on and does not end it: it lasts until G1 ends, at
 * 8. Inside of it are "inner", from 3 to 4, and another from 5 to 6. G2 is in
 * "inner" from 9 on until the trace ends, at 11.
 */
TEST(report_of_regions)
{
	uint64_t now = MS;
	struct trace *t;
	char *s;

	made_begin(&file, 1000000000);
	made_thread(&file, now, 0, 77);
	made_id(&file, MADE_RINGS, now, TR_CREATE, 1);
	made_id(&file, MADE_RINGS, now, TR_CREATE, 2);
	made_event1(&file, 0, now, TR_P_START, 5, 0);
	made_id(&file, 0, now + MS, TR_START, 1);
	made_event(&file, 0, now + MS, TR_REGION_END, 0);
	begin_region(now + 2 * MS, "outer");
	begin_region(now + 3 * MS, "inner");
	made_event(&file, 0, now + 4 * MS, TR_REGION_END, 0);
	begin_region(now + 5 * MS, "\033[2J");
	made_event(&file, 0, now + 6 * MS, TR_REGION_END, 0);
	made_event(&file, 0, now + 8 * MS, TR_END, 0);
	made_id(&file, 0, now + 8 * MS, TR_START, 2);
	begin_region(now + 9 * MS, "inner");
	made_event(&file, 0, now + 11 * MS, TR_TIMERS, 0);
	made_end(&file, now + 11 * MS);
	t = opened(&file);
	s = reported(t);
	has(s, "\nregions                       times        sum       mean"
	    "    longest\n"
	    "  outer                           1    6.00 ms    6.00 ms"
	    "    6.00 ms\n"
	    "  inner                           2    3.00 ms    1.50 ms"
	    "    2.00 ms\n"
	    "  ?[2J                            1    1.00 ms    1.00 ms"
	    "    1.00 ms\n");
	free(s);
	trace_close(t);
	made_free(&file);
	make_story();
	t = opened(&file);
	s = reported(t);
	OK(!strstr(s, "\nregions "));
	free(s);
	trace_close(t);
	made_free(&file);
}

/*
 * G1 waits at 0x1010, at 1 and at 3 ms, for 1 ms each; at 0x2010 from 5 ms on
 * until the end, at 9; and once at no known place.
 */
TEST(report_of_waits)
{
	static const struct { int at; uint32_t frames; uint64_t pc; } wait[] = {
		{ 1, 1, 0x1000 }, { 3, 1, 0x1000 }, { 4, 0, 0 },
		{ 5, 2, 0x2000 },
	};
	uint64_t now = MS;
	struct trace *t;
	char *s;

	made_begin(&file, 1000000000);
	made_thread(&file, now, 0, 77);
	made_id(&file, MADE_RINGS, now, TR_CREATE, 1);
	made_event1(&file, 0, now, TR_P_START, 5, 0);
	made_id(&file, 0, now, TR_START, 1);
	for (size_t i = 0; i < sizeof wait / sizeof *wait; i++) {
		uint64_t at = now + (uint64_t)wait[i].at * MS;

		made_event1(&file, 0, at, TR_BLOCK, 3, 0);
		if (wait[i].frames)
			made_stack(&file, 0, at, wait[i].frames, wait[i].pc);
		if (i == 3)
			break;
		made_id(&file, 0, at + MS, TR_UNBLOCK, 1);
		made_id(&file, 0, at + MS, TR_START, 1);
	}
	made_event(&file, 0, now + 9 * MS, TR_TIMERS, 0);
	made_end(&file, now + 9 * MS);
	t = opened(&file);
	s = reported(t);
	has(s, "\nwhere goroutines blocked, by time, in 3 of 4 waits: those "
	    "with a stack\n"
	    "    share        sum     waits\n"
	    "   66.7 %    4.00 ms         1  0x2010 < 0x2020\n"
	    "   33.3 %    2.00 ms         2  0x1010\n");
	free(s);
	trace_close(t);
	made_free(&file);
}

TEST(report)
{
	struct trace *t;
	char *s = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&s, &bytes);

	make_story();
	t = opened(&file);
	EQ(command_stats(t, out), 0);
	EQ(command_diff(t, t, out), 0);
	EQ(command_events(t, out), 0);
	fclose(out);
	OK(strstr(s, "2 goroutines, 2 of them spawned"));
	OK(strstr(s, "spawne1 file.c:13"));
	OK(strstr(s, "2.00 ms at   9.00 ms  G2 was runnable"));
	OK(strstr(s, "p99.9"));
	OK(strstr(s, "P taken        G2 computing"));
	free(s);
	trace_close(t);
	made_free(&file);
}
