/* SPDX-License-Identifier: MIT */
/*
 * How late timers are, as a distribution: for each case the percentiles in
 * lines of their own, then a histogram whose classes double in width. Lines
 * that begin with a blank are for people; bench/run takes the others.
 *
 * Late is the time from when a goroutine was due until it runs, on the clock
 * of weft_now(). What a case sleeps, and how often, is the same in the peers.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft.h>

enum { CLASSES = 40, BAR = 50 };	/* of a histogram; its longest bar */

static int64_t *
samples(long n)
{
	int64_t *late = malloc((size_t)n * sizeof *late);

	if (!late) {
		fprintf(stderr, "weft-bench: no memory for %ld samples\n", n);
		exit(1);
	}
	return late;
}

static int
ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Class 0 is below a microsecond, class i is 2^(i-1) to 2^i of them. */
static int
class(int64_t ns)
{
	int i = 0;

	for (int64_t us = ns / WEFT_US; us > 0 && i < CLASSES - 1; us >>= 1)
		i++;
	return i;
}

static void
histogram(const int64_t *late, long n)
{
	long count[CLASSES] = {0}, most = 1;
	int first = class(late[0]), last = class(late[n - 1]);

	for (long i = 0; i < n; i++)
		count[class(late[i])]++;
	for (int i = first; i <= last; i++)
		most = count[i] > most ? count[i] : most;
	for (int i = first; i <= last; i++) {
		char bar[BAR + 1] = "";

		memset(bar, '#', (size_t)(count[i] * BAR / most));
		printf("  %8lld us.. %8ld %s\n", i ? 1LL << (i - 1) : 0LL,
		    count[i], bar);
	}
}

/* Prints a case and frees its samples. */
static void
report(const char *name, const char *what, int64_t *late, long n)
{
	static const struct {
		const char *name;
		double part;
	} points[] = {
		{ "p50", 0.5 }, { "p90", 0.9 }, { "p99", 0.99 },
		{ "p999", 0.999 }, { "max", 1 },
	};
	char line[64];

	qsort(late, (size_t)n, sizeof *late, ascending);
	printf("  %s: %s\n", name, what);
	snprintf(line, sizeof line, "%s: early", name);
	bench_check(line, late[0] < 0, false);
	for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
		long at = (long)((double)n * points[i].part);

		snprintf(line, sizeof line, "%s_%s", name, points[i].name);
		bench_value(line, (double)late[at < n ? at : n - 1] / 1e3,
		    "us");
	}
	histogram(late, n);
	free(late);
}

static void
sleeper(int64_t ns, int64_t *late, long n, weft_waitgroup *wg)
{
	for (long i = 0; i < n; i++) {
		int64_t due = weft_deadline(ns);

		weft_sleep(ns);
		late[i] = weft_now() - due;
	}
	weft_waitgroup_done(wg);
}

/*
 * The ticker leaves out what it missed, and the tick says when it was given:
 * so the next one is due at the first of its times after that. Its times begin
 * a little after ours, hence the step back.
 */
static void
ticked(int64_t ns, int64_t *late, long n, weft_waitgroup *wg)
{
	int64_t start = weft_now(), due = start + ns, given;
	weft_timer *t = weft_ticker_make(ns);

	for (long i = 0; i < n; i++) {
		weft_chan_recv(weft_timer_chan(t), &given);
		late[i] = weft_now() - due;
		if (late[i] < 0)
			late[i] += ns;
		due = start + ((given - start) / ns + 1) * ns;
	}
	weft_timer_free(t);
	weft_waitgroup_done(wg);
}

/* One goroutine, n times. */
static void
one(const char *name, const char *what, int64_t ns, long n)
{
	int64_t *late = samples(n);
	weft_waitgroup wg = {0};

	weft_waitgroup_add(&wg, 1);
	weft_go(sleeper, ns, late, n, &wg);
	weft_waitgroup_wait(&wg);
	report(name, what, late, n);
}

/* A thousand goroutines, each with a time of its own, for a second. */
static void
many(const char *name, const char *what,
    void (*fn)(int64_t, int64_t *, long, weft_waitgroup *))
{
	enum { MANY = 1000 };
	const int64_t shortest = WEFT_MS, step = 9 * WEFT_US;
	weft_waitgroup wg = {0};
	int64_t *late;
	long n = 0;

	for (int i = 0; i < MANY; i++)
		n += WEFT_SECOND / (shortest + i * step);
	late = samples(n);
	n = 0;
	weft_waitgroup_add(&wg, MANY);
	for (int i = 0; i < MANY; i++) {
		int64_t ns = shortest + i * step;

		weft_go(fn, ns, late + n, WEFT_SECOND / ns, &wg);
		n += WEFT_SECOND / ns;
	}
	weft_waitgroup_wait(&wg);
	report(name, what, late, n);
}

static void
echo(weft_chan *in, weft_chan *out)
{
	long v;

	while (weft_chan_recv(in, &v))
		weft_chan_send(out, &v);
	weft_chan_close(out);
}

static void
pinger(int *quit)
{
	weft_chan *a = weft_chan_make(sizeof(long), 0);
	weft_chan *b = weft_chan_make(sizeof(long), 0);

	weft_go(echo, a, b);
	for (long i = 0; !__atomic_load_n(quit, __ATOMIC_RELAXED); i++) {
		weft_chan_send(a, &i);
		weft_chan_recv(b, NULL);
	}
	weft_chan_close(a);
	weft_chan_recv(b, NULL);	/* closed: the other has ended */
	weft_chan_release(a);
	weft_chan_release(b);
}

/* Beside a pair of goroutines for every processor that never pauses. */
static void
busy(const char *name, const char *what)
{
	enum { SLEEPERS = 16, EACH = 250 };
	int64_t *late = samples(SLEEPERS * EACH), before = weft_goroutines();
	weft_waitgroup wg = {0};
	int quit = 0;

	for (int i = 0; i < weft_procs(); i++)
		weft_go(pinger, &quit);
	weft_waitgroup_add(&wg, SLEEPERS);
	for (int i = 0; i < SLEEPERS; i++)
		weft_go(sleeper, WEFT_MS, late + i * EACH, EACH, &wg);
	weft_waitgroup_wait(&wg);
	__atomic_store_n(&quit, 1, __ATOMIC_RELAXED);
	bench_settle(before);
	report(name, what, late, SLEEPERS * EACH);
}

struct shot {
	int64_t due;
	weft_chan *late;
};

static void
fire(void *arg)
{
	struct shot *s = arg;
	int64_t late = weft_now() - s->due;

	weft_chan_send(s->late, &late);
}

static void
after(const char *name, const char *what, int64_t ns, long n)
{
	int64_t *late = samples(n), before = weft_goroutines();
	weft_chan *c = weft_chan_make(sizeof *late, 0);

	for (long i = 0; i < n; i++) {
		struct shot s = { weft_deadline(ns), c };
		weft_timer *t = weft_after_func(ns, fire, &s);

		weft_chan_recv(c, &late[i]);
		weft_timer_free(t);
	}
	bench_settle(before);
	weft_chan_release(c);
	report(name, what, late, n);
}

void
bench_lateness(void)
{
	one("late_50us", "one goroutine sleeps 50 us", 50 * WEFT_US, 2000);
	one("late_1ms", "one goroutine sleeps 1 ms", WEFT_MS, 1000);
	after("late_func", "one function is called after 1 ms", WEFT_MS, 1000);
	many("late_many", "1000 goroutines sleep 1 to 10 ms", sleeper);
	many("late_tick", "1000 tickers of 1 to 10 ms", ticked);
	busy("late_busy", "16 sleep 1 ms beside ping-pong on all processors");
}
