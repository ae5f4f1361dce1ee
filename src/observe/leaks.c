/* SPDX-License-Identifier: MIT */
/*
 * Goroutines that are blocked for long, and those that a test has left behind.
 *
 * Ids are given out in blocks, so a larger id is not a later goroutine: a mark
 * has the ids of all that existed, sorted.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "debug_env.h"
#include "dump_write.h"
#include "fatal.h"
#include "os.h"
#include "preempt.h"
#include "start.h"

/* ---- blocked for long ---- */

static bool
blocked(const struct goroutine_info *g, void *arg)
{
	int64_t min_wait = *(int64_t *)arg;

	return g->state == G_WAITING &&
	    (min_wait <= 0 || g->waited_ns >= min_wait);
}

/* How many the filter wants, which are written to fd; or -errno. */
static int64_t
report(const struct dump_filter *filter, int fd)
{
	const weft_dump_options all = {0};
	struct dump_groups d;
	int64_t n;
	int err;

	err = dump_collect(&d, WEFT_DUMP_NO_SIGNALS, filter);
	if (err)
		return err;
	n = (int64_t)d.goroutines;
	if (n && fd >= 0)
		err = dump_write(&d, fd, &all);
	dump_groups_free(&d);
	return err ? err : n;
}

public int64_t
weft_leaks(int64_t min_wait, int fd)
{
	struct dump_filter filter = { blocked, &min_wait };

	checkpoint();
	return report(&filter, fd);
}

/* ---- left behind by a test ---- */

struct weft_leak_mark {
	size_t n;
	int64_t ids[];
};

static int
compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

struct counting {
	struct weft_leak_mark *m;
	size_t cap;
};

static void
remember(struct g *gp, void *arg)
{
	struct counting *c = arg;

	if (a_load_relaxed(&gp->state) != G_DEAD && !g_is_claimed(gp) &&
	    c->m->n < c->cap)
		c->m->ids[c->m->n++] = g_id(gp);
}

public weft_leak_mark *
weft_leak_begin(void)
{
	enum { SPARE = 1024 };
	struct counting c = { .cap = (size_t)weft_goroutines() + SPARE };

	checkpoint();
	c.m = malloc(sizeof *c.m + c.cap * sizeof c.m->ids[0]);
	if (!c.m)
		return NULL;
	c.m->n = 0;
	g_each(remember, &c);
	qsort(c.m->ids, c.m->n, sizeof c.m->ids[0], compare);
	return c.m;
}

static bool
is_new(const struct goroutine_info *g, void *arg)
{
	const struct weft_leak_mark *m = arg;

	return !g->self && !bsearch(&g->id, m->ids, m->n, sizeof m->ids[0],
	    compare);
}

public int64_t
weft_leak_end(weft_leak_mark *mark, int64_t grace, int fd)
{
	struct dump_filter filter = { is_new, mark };
	int64_t until = os_now_ns() + (grace > 0 ? grace : 0), n;

	if (!mark)
		return -ENOMEM;
	while ((n = report(&filter, -1)) > 0 && os_left_ns(until) > 0)
		weft_sleep(WEFT_MS);
	if (n > 0)
		n = report(&filter, fd);
	free(mark);
	return n;
}

/* ---- when the main goroutine has returned ---- */

/* The others still exist: their threads sleep for good. */
static void
at_end(void)
{
	int64_t any = 0, n;

	if (!debug_env_num("leaks", 0))
		return;
	n = weft_leaks(any, -1);
	if (n <= 0)
		return;
	say("weft: %ld goroutines still wait when the main goroutine has "
	    "returned:\n", (long)n);
	weft_leaks(any, STDERR_FILENO);
}

__attribute__((constructor)) static void
hook(void)
{
	static struct run_hook h = { .end = at_end };

	run_hook_add(&h);
}
