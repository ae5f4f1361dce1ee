/* SPDX-License-Identifier: MIT */
/*
 * Whole programs that never free: trees, lists, a pipeline of messages, and
 * handlers of connections. Their results are known.
 */
#ifndef PROGRAMS_H
#define PROGRAMS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "run_env.h"
#include "things.h"

/* Smaller: for collections all the time. */
static bool hard;

/* ---- trees ---- */

struct tree {
	struct tree *left, *right;
	uint64_t depth;
};

static struct tree *
tree_make(uint64_t depth)
{
	struct tree *t = weft_gc_alloc(sizeof *t);

	t->depth = depth;
	if (depth > 0) {
		t->left = tree_make(depth - 1);
		t->right = tree_make(depth - 1);
	}
	return t;
}

static long
tree_count(const struct tree *t, uint64_t depth)
{
	if (!t || t->depth != depth)
		return -1000000;
	return depth == 0 ? 1 : 1 + tree_count(t->left, depth - 1) +
	    tree_count(t->right, depth - 1);
}

static void
grow_trees(weft_chan *done, uint64_t depth, long n)
{
	long sum = 0;

	for (long i = 0; i < n; i++)
		sum += tree_count(tree_make(depth), depth);
	weft_send(done, sum);
}

static void
trees(void)
{
	uint64_t most = hard ? 8 : 14;
	struct tree *lasting = tree_make(most);
	weft_chan *done = weft_chan_of(long, 0);

	for (uint64_t depth = 4; depth <= most; depth += 2) {
		long n = 1L << (most - depth + 2), sum = 0;

		for (int i = 0; i < 4; i++)
			weft_go(grow_trees, done, depth, n);
		for (int i = 0; i < 4; i++)
			sum += weft_recv(done, long);
		EQ(sum, 4 * n * ((2L << depth) - 1));
	}
	EQ(tree_count(lasting, most), (2L << most) - 1);
	weft_chan_release(done);
}

/* ---- lists ---- */

/* A queue of so many, whose first is dropped for each that is added. */
static void
turn_over(weft_waitgroup *wg, uint64_t length, uint64_t n)
{
	struct thing *first = thing_make(0), *last = first;

	for (uint64_t i = 1; i < n; i++) {
		last->next = thing_make(i);
		last = last->next;
		if (i < length)
			continue;
		OK(thing_is(first, i - length));
		first = first->next;
	}
	for (uint64_t i = n - length; i < n; i++, first = first->next)
		OK(thing_is(first, i));
	weft_waitgroup_done(wg);
}

static void
lists(void)
{
	weft_waitgroup wg = {0};

	weft_waitgroup_add(&wg, 4);
	for (int i = 0; i < 4; i++)
		weft_go(turn_over, &wg, hard ? 50 : 10000,
		    hard ? 2000 : 300000);
	weft_waitgroup_wait(&wg);
}

/* ---- a pipeline ---- */

struct message {
	uint64_t n;
	char *text;
	struct message *cause;	/* what it was made from */
};

static struct message *
message_make(uint64_t n, struct message *cause)
{
	struct message *m = weft_gc_alloc(sizeof *m);

	m->n = n;
	m->text = weft_gc_printf("message %lu", (unsigned long)n);
	m->cause = cause;
	return m;
}

static bool
message_is(const struct message *m, uint64_t n)
{
	char text[40];

	snprintf(text, sizeof text, "message %lu", (unsigned long)n);
	return m && m->n == n && !strcmp(m->text, text);
}

static void
stage(weft_chan *in, weft_chan *out)
{
	struct message *m;

	while ((m = weft_recv(in, struct message *))) {
		OK(message_is(m, m->n));
		weft_send(out, message_make(m->n + 1, m));
	}
	weft_send(out, (struct message *)NULL);
}

static void
source(weft_chan *out, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		weft_send(out, message_make(i, NULL));
	weft_send(out, (struct message *)NULL);
}

enum { STAGES = 5 };

static void
pipeline(void)
{
	uint64_t n = hard ? 600 : 40000, got = 0;
	weft_chan *c[STAGES + 1];
	struct message *m;

	for (int i = 0; i <= STAGES; i++)
		c[i] = weft_chan_of(struct message *, (size_t)(i % 3 * 4));
	weft_go(source, c[0], n);
	for (int i = 0; i < STAGES; i++)
		weft_go(stage, c[i], c[i + 1]);
	for (; (m = weft_recv(c[STAGES], struct message *)); got++)
		for (uint64_t i = STAGES + 1; i-- > 0; m = m->cause)
			OK(message_is(m, got + i));
	EQ(got, n);
}

/* ---- connections ---- */

/* A request of words; the answer is the words in the opposite order. */
static char *
answer_to(const char *line)
{
	char *answer = weft_gc_strdup("");
	const char *end;

	for (; *line; line = *end ? end + 1 : end) {
		end = line + strcspn(line, " ");
		answer = weft_gc_printf("%.*s%s%s", (int)(end - line), line,
		    *answer ? " " : "", answer);
	}
	return answer;
}

static void
handle(int fd)
{
	char line[128];
	ssize_t n;

	while ((n = weft_read(fd, line, sizeof line - 1)) > 0) {
		char *answer;

		line[n] = '\0';
		answer = answer_to(line);
		OK(weft_write(fd, answer, strlen(answer)) > 0);
	}
	weft_close(fd);
}

static void
client(weft_waitgroup *wg, int fd, int id, int n)
{
	for (int i = 0; i < n; i++) {
		char *request = weft_gc_printf("a%d b%d c%d d%d", id, i,
		    id * i, id + i);
		char *want = weft_gc_printf("d%d c%d b%d a%d", id + i, id * i,
		    i, id);
		char got[128] = "";

		OK(weft_write(fd, request, strlen(request)) > 0);
		OK(weft_read(fd, got, sizeof got - 1) > 0);
		OK(!strcmp(got, want));
	}
	weft_close(fd);
	weft_waitgroup_done(wg);
}

static void
connections(void)
{
	int n = hard ? 8 : 50;
	weft_waitgroup wg = {0};

	weft_waitgroup_add(&wg, n);
	for (int i = 0; i < n; i++) {
		int fd[2];

		EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fd), 0);
		weft_go(handle, fd[0]);
		weft_go(client, &wg, fd[1], i, hard ? 40 : 1000);
	}
	weft_waitgroup_wait(&wg);
}

/* ---- all of them ---- */

static inline void
everything(void)
{
	trees();
	lists();
	pipeline();
	connections();
}

#endif
