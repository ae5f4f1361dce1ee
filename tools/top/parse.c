/* SPDX-License-Identifier: MIT */
/*
 * The answer to "top": see src/observe/top_verb.c for its lines. Lines that
 * are not known are skipped, for those of later versions; a line that is known
 * and malformed makes the whole answer one that cannot be read.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "top.h"

#define MEMBER(name) { #name, offsetof(struct view, name) }

static const struct {
	const char *name;
	size_t at;
} numbers[] = {
	MEMBER(pid), MEMBER(time), MEMBER(samples), MEMBER(goroutines),
	MEMBER(running), MEMBER(runnable), MEMBER(in_call), MEMBER(detached),
	MEMBER(blocked), MEMBER(paused_now), MEMBER(waiting_all),
	MEMBER(not_started), MEMBER(procs), MEMBER(procs_idle),
	MEMBER(threads), MEMBER(threads_idle), MEMBER(threads_searching),
	MEMBER(threads_missing), MEMBER(queue_global), MEMBER(queue_local),
	MEMBER(io_open), MEMBER(stacks), MEMBER(stack_bytes),
	MEMBER(record_bytes), MEMBER(spawned), MEMBER(ended),
	MEMBER(switches), MEMBER(parks), MEMBER(yields), MEMBER(steals),
	MEMBER(stolen), MEMBER(wakes), MEMBER(preempt_asked),
	MEMBER(preempt_signals), MEMBER(preempted), MEMBER(io_polls),
	MEMBER(io_events)
};

static const struct {
	const char *name;
	size_t at;
	int max;
} lists[] = {
	{ "waiting", offsetof(struct view, waiting), REASONS },
	{ "retaken", offsetof(struct view, retaken), REASONS },
	{ "paused", offsetof(struct view, paused), REASONS },
	{ "refused", offsetof(struct view, refused), REASONS },
	{ "hot", offsetof(struct view, hot), HOTS }
};

/* The next number of a line; false if there is none. */
static bool
take_number(char **s, int64_t *out)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(*s, &end, 10);
	if (end == *s || errno || (*end && *end != ' '))
		return false;
	*s = end + (*end == ' ');
	*out = v;
	return true;
}

/* So many bytes of text as there is room for, each printable. */
static void
copy_text(char *out, size_t cap, const char *s, size_t n)
{
	if (n > cap - 1)
		n = cap - 1;
	for (size_t i = 0; i < n; i++)
		out[i] = (unsigned char)s[i] < 0x80 &&
		    isprint((unsigned char)s[i]) ? s[i] : '?';
	out[n] = 0;
}

/* The next word. */
static bool
take_word(char **s, char *out, size_t cap)
{
	size_t n = strcspn(*s, " ");

	copy_text(out, cap, *s, n);
	*s += n + ((*s)[n] == ' ');
	return n > 0;
}

static bool
take_named(struct list *l, int max, char *s)
{
	struct named *e = &l->e[l->n];

	if (l->n >= max)
		return true;
	if (!take_number(&s, &e->n) || !*s)
		return false;
	copy_text(e->name, sizeof e->name, s, strlen(s));
	l->n++;
	return true;
}

/* proc ID STATE TID QUEUED SWITCHES BUSY GOROUTINE FUNCTION */
static bool
take_proc(struct view *v, char *s)
{
	struct proc *p = &v->proc[v->n_procs];
	int64_t id;

	if (v->n_procs == PROCS)
		return true;
	if (!take_number(&s, &id) || id != v->n_procs ||
	    !take_word(&s, p->state, sizeof p->state) ||
	    !take_number(&s, &p->tid) || !take_number(&s, &p->queued) ||
	    !take_number(&s, &p->switches) || !take_number(&s, &p->busy) ||
	    !take_number(&s, &p->gid) || !*s)
		return false;
	copy_text(p->fn, sizeof p->fn, s, strlen(s));
	v->n_procs++;
	return true;
}

/* thread TID PROC WHAT GOROUTINE FUNCTION */
static bool
take_thread(struct view *v, char *s)
{
	struct thread *t = &v->thread[v->n_threads];

	if (v->n_threads == THREADS)
		return true;
	if (!take_number(&s, &t->tid) || !take_number(&s, &t->proc) ||
	    !take_word(&s, t->what, sizeof t->what) ||
	    !take_number(&s, &t->gid) || !*s)
		return false;
	copy_text(t->fn, sizeof t->fn, s, strlen(s));
	v->n_threads++;
	return true;
}

/* Bounds grow. */
static bool
take_bucket(struct view *v, char *s)
{
	struct bucket *b = &v->latency[v->n_buckets];

	if (v->n_buckets == BUCKETS)
		return true;
	if (!take_number(&s, &b->bound) || !take_number(&s, &b->n) ||
	    b->n < 0 || (v->n_buckets && b->bound <= b[-1].bound))
		return false;
	v->n_buckets++;
	return true;
}

static bool
take_line(struct view *v, const char *name, char *rest)
{
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (strcmp(name, numbers[i].name) == 0)
			return take_number(&rest, (int64_t *)(void *)(
			    (char *)v + numbers[i].at));
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		if (strcmp(name, lists[i].name) == 0)
			return take_named((struct list *)(void *)(
			    (char *)v + lists[i].at), lists[i].max, rest);
	if (strcmp(name, "proc") == 0)
		return take_proc(v, rest);
	if (strcmp(name, "thread") == 0)
		return take_thread(v, rest);
	if (strcmp(name, "latency") == 0)
		return take_bucket(v, rest);
	if (strcmp(name, "version") == 0)
		copy_text(v->version, sizeof v->version, rest, strlen(rest));
	return true;
}

int
parse(struct view *v, char *text, size_t len)
{
	char *line, *rest = NULL;

	memset(v, 0, sizeof *v);
	if (strlen(text) != len || strncmp(text, "weft-top 1\n", 11) != 0)
		return -1;
	for (line = strtok_r(text + 11, "\n", &rest); line;
	    line = strtok_r(NULL, "\n", &rest)) {
		char *blank = strchr(line, ' ');

		if (v->complete)
			return -1;
		v->complete = strcmp(line, "end") == 0;
		if (blank)
			*blank = 0;
		if (!take_line(v, line, blank ? blank + 1 : line +
		    strlen(line)))
			return -1;
	}
	return v->complete ? 0 : -1;
}
