/* SPDX-License-Identifier: MIT */
/*
 * weft_metrics_text obeys the rules of the text format of Prometheus, checked
 * by a parser of it: each sample belongs to the metric whose HELP and TYPE
 * stand above it, none comes twice, counters end in _total, and the buckets of
 * a histogram grow up to +Inf, which is its count.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft.h>

#include "run_env.h"
#include "t.h"

enum { METRICS = 200, SAMPLES = 1000 };

struct sample {
	char name[100], labels[200];
	double value;
};

/* The metric that the lines belong to. */
static char metric[100], type[20], help[100];
static char metrics[METRICS][100];
static struct sample samples[SAMPLES];
static int n_metrics, n_samples;

/* The histogram that is being read. */
static double last_le, last_below, inf, sum, count;

static bool
is_name(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(isalpha((unsigned char)s[i]) || s[i] == '_' ||
		    (i && isdigit((unsigned char)s[i]))))
			return false;
	return n > 0;
}

/* A histogram is over: what it must have had. */
static void
end_metric(void)
{
	if (strcmp(type, "histogram") == 0) {
		OK(inf >= 0 && count == inf);
		OK(sum >= 0);
		OK(last_below == inf);
	}
	last_le = last_below = 0;
	inf = sum = count = -1;
}

static void
begin_metric(const char *name, size_t n)
{
	end_metric();
	OK(is_name(name, n) && n < sizeof metric);
	snprintf(metric, sizeof metric, "%.*s", (int)n, name);
	for (int i = 0; i < n_metrics; i++)
		OK(strcmp(metrics[i], metric) != 0);
	strcpy(metrics[n_metrics++ % METRICS], metric);
}

/* "# HELP name text" comes first, then "# TYPE name type". */
static void
read_comment(const char *line)
{
	const char *name = line + 7;
	size_t n = strcspn(name, " ");

	OK(name[n] == ' ' && name[n + 1]);
	if (strncmp(line, "# HELP ", 7) == 0) {
		begin_metric(name, n);
		strcpy(help, metric);
		type[0] = 0;
		OK(!strchr(name, '\\'));
		return;
	}
	OK(strncmp(line, "# TYPE ", 7) == 0);
	OK(strlen(metric) == n && strncmp(metric, name, n) == 0);
	OK(strcmp(help, metric) == 0 && !type[0]);
	snprintf(type, sizeof type, "%s", name + n + 1);
	OK(strcmp(type, "counter") == 0 || strcmp(type, "gauge") == 0 ||
	    strcmp(type, "histogram") == 0);
	if (strcmp(type, "counter") == 0)
		OK(n > 6 && strcmp(metric + n - 6, "_total") == 0);
}

/* {name="value",...}: no quote, backslash or newline within a value here. */
static const char *
read_labels(const char *s, struct sample *out)
{
	const char *begin = s;

	while (*s == '{' || *s == ',') {
		size_t n = strcspn(++s, "=");

		OK(is_name(s, n));
		s += n;
		OK(s[0] == '=' && s[1] == '"');
		s += 2;
		n = strcspn(s, "\"\\\n");
		s += n;
		OK(*s == '"');
		s++;
	}
	if (s != begin) {
		OK(*s == '}');
		s++;
	}
	snprintf(out->labels, sizeof out->labels, "%.*s", (int)(s - begin),
	    begin);
	return s;
}

static void
read_bucket(const struct sample *s)
{
	double le;

	if (strcmp(s->labels, "{le=\"+Inf\"}") == 0) {
		inf = s->value;
		le = 1e300;
	} else {
		OK(sscanf(s->labels, "{le=\"%lf\"}", &le) == 1);
	}
	OK(le > last_le && s->value >= last_below);
	last_le = le;
	last_below = s->value;
}

/* Its name is the metric's, or that of a part of a histogram. */
static void
belongs(const struct sample *s)
{
	size_t n = strlen(metric);
	const char *part = s->name + n;

	OK(strncmp(s->name, metric, n) == 0);
	if (strcmp(type, "histogram") != 0) {
		OK(!*part);
		return;
	}
	if (strcmp(part, "_bucket") == 0)
		read_bucket(s);
	else if (strcmp(part, "_sum") == 0)
		sum = s->value;
	else if (strcmp(part, "_count") == 0)
		count = s->value;
	else
		t_fail(__FILE__, __LINE__, s->name);
}

static void
read_sample(const char *line)
{
	struct sample *s = &samples[n_samples++ % SAMPLES];
	size_t n = strcspn(line, " {");
	char *end;

	OK(is_name(line, n) && type[0]);
	snprintf(s->name, sizeof s->name, "%.*s", (int)n, line);
	line = read_labels(line + n, s);
	OK(*line == ' ');
	s->value = strtod(line + 1, &end);
	OK(end > line + 1 && !*end);
	for (int i = 0; i < n_samples - 1; i++)
		OK(strcmp(samples[i].name, s->name) != 0 ||
		    strcmp(samples[i].labels, s->labels) != 0);
	belongs(s);
	if (strcmp(type, "gauge") != 0)
		OK(s->value >= 0);
}

static void
read_text(char *text)
{
	char *line, *rest = NULL;

	n_metrics = n_samples = 0;
	metric[0] = type[0] = 0;
	OK(*text && text[strlen(text) - 1] == '\n');
	for (line = strtok_r(text, "\n", &rest); line;
	    line = strtok_r(NULL, "\n", &rest))
		if (*line == '#')
			read_comment(line);
		else
			read_sample(line);
	end_metric();
	OK(n_metrics < METRICS && n_samples < SAMPLES);
}

/* The value of a sample, or -1. */
static double
value(const char *name, const char *labels)
{
	for (int i = 0; i < n_samples; i++)
		if (strcmp(samples[i].name, name) == 0 &&
		    strcmp(samples[i].labels, labels) == 0)
			return samples[i].value;
	return -1;
}

static char text[100000];

static void
read_now(void)
{
	size_t n = weft_metrics_text(text, sizeof text);

	EQ(n, strlen(text));
	read_text(text);
}

static weft_waitgroup gate, all;

static void
pass_gate(void)
{
	weft_waitgroup_wait(&gate);
	weft_waitgroup_done(&all);
}

GTEST(obeys_the_rules, 2)
{
	char version[40];

	weft_waitgroup_add(&gate, 1);
	weft_waitgroup_add(&all, 50);
	for (int i = 0; i < 50; i++)
		weft_go(pass_gate);
	do {
		weft_sleep(WEFT_MS);
		read_now();
	} while (value("weft_goroutines_waiting",
	    "{reason=\"waitgroup wait\"}") < 50);
	EQ(value("weft_goroutines", "{state=\"waiting\"}"), 50);
	EQ(value("weft_goroutines", "{state=\"running\"}"), 1);
	EQ(value("weft_goroutines_spawned_total", ""), 51);
	EQ(value("weft_procs", ""), 2);
	snprintf(version, sizeof version, "{version=\"%s\"}", weft_version());
	EQ(value("weft_info", version), 1);
	OK(value("weft_queue_length", "{queue=\"1\"}") >= 0);
	EQ(value("weft_queue_length", "{queue=\"2\"}"), -1);
	OK(value("process_resident_memory_bytes", "") > 4096);
	OK(value("weft_sched_latency_seconds_bucket", "{le=\"+Inf\"}") >= 0);
	weft_waitgroup_done(&gate);
	weft_waitgroup_wait(&all);
}

/* 128 ns is the first bound, so seconds are written in full. */
GTEST(seconds, 1)
{
	read_now();
	OK(value("weft_sched_latency_seconds_bucket",
	    "{le=\"0.000000128\"}") >= 0);
	OK(value("weft_sched_latency_seconds_bucket",
	    "{le=\"1.073741824\"}") >= 0);
}

TEST(without_a_runtime)
{
	read_now();
	EQ(value("weft_goroutines", "{state=\"waiting\"}"), 0);
}

TEST(as_snprintf)
{
	size_t all_bytes = weft_metrics_text(NULL, 0), n;
	char some[101];

	OK(all_bytes > sizeof some);
	memset(some, 'x', sizeof some);
	n = weft_metrics_text(some, 100);
	OK(n > 100);
	EQ(strlen(some), 99);
	EQ(some[100], 'x');
	weft_metrics_text(some, 1);
	EQ(some[0], 0);
}
