/* SPDX-License-Identifier: MIT */
/*
 * weft-top: what the goroutines, processors and threads of a process are
 * doing, as its debug socket tells it.
 *
 *	main.c		arguments, the loop, the terminal
 *	source.c	finding the socket, asking it
 *	explain.c	what an error means that it answers
 *	parse.c		the answer
 *	sampled.c	the functions that use the CPUs, by a profile
 *	show.c		the screen
 *
 * What comes from the socket is not trusted: numbers are checked, text is cut
 * and made printable, and what does not fit is left out.
 */
#ifndef TOP_H
#define TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum {
	PROCS = 256,
	THREADS = 64,
	REASONS = 32,
	HOTS = 128,
	BUCKETS = 128,
	NAME = 48,
	PATH_BYTES = 108,	/* of a socket */
	ANSWER_MAX = 1 << 20	/* bytes */
};

struct proc {
	char state[12], fn[NAME];
	int64_t tid, queued, switches, busy, gid;
};

struct thread {
	char what[12], fn[NAME];
	int64_t tid, proc, gid;
};

/* A count with a name: samples, goroutines that wait, retakes. */
struct named {
	int64_t n;
	char name[NAME];
};

struct list {
	int n;
	struct named e[HOTS];
};

struct bucket {
	int64_t bound, n;
};

/* One answer. Names of members are those of the lines. */
struct view {
	int64_t pid, time, samples;
	int64_t goroutines, running, runnable, in_call, detached, blocked;
	int64_t paused_now, waiting_all, not_started;
	int64_t procs, procs_idle, threads, threads_idle, threads_searching;
	int64_t threads_missing, queue_global, queue_local, io_open;
	int64_t stacks, stack_bytes, record_bytes;
	int64_t spawned, ended, switches, parks, yields, steals, stolen, wakes;
	int64_t preempt_asked, preempt_signals, preempted;
	int64_t io_polls, io_events;
	char version[NAME];
	struct list waiting, retaken, paused, refused, hot;
	int n_procs, n_threads, n_buckets;
	struct proc proc[PROCS];
	struct thread thread[THREADS];
	struct bucket latency[BUCKETS];
	bool complete;
};

/* ---- source.c: 0, or an error that `why` describes in a line ---- */

/* The socket of a process, or of a path. */
int source_find(const char *what, char path[PATH_BYTES], char *why,
    size_t cap);
/* Sends a line: the connection, on which the answer comes, or -1. */
int source_send(const char *path, const char *line, char *why, size_t cap);
/* The answer, to be freed, and its length; closes the connection. */
int source_answer(int fd, char **answer, size_t *len, char *why, size_t cap);
/* Both. */
int source_ask(const char *path, const char *line, char **answer, size_t *len,
    char *why, size_t cap);
/* The same, but the answer is copied as it comes, however long it is. */
int source_copy(const char *path, const char *line, FILE *out, char *why,
    size_t cap);
/* Describes an answer to that line which is not the one that was expected: an
 * error. */
void source_describe(const char *path, const char *line, const char *text,
    size_t len, char *why, size_t cap);

/* ---- explain.c ---- */

/* What this error means as an answer to that request; false: no more than it
 * says itself. */
bool explain(const char *request, const char *error, char *why, size_t cap);

/* ---- parse.c ---- */

/* Text of `len` bytes with a NUL behind it, which is changed. 0 or -1. */
int parse(struct view *v, char *text, size_t len);

/* ---- sampled.c ---- */

/* The functions in which samples of a profile were taken, most first. */
struct sampled {
	bool on;		/* shall be asked for */
	int fd;			/* a request that is under way, or -1 */
	char why[120];		/* why there is nothing, or "" */
	int64_t samples;
	struct list fn;
};

/* Asks for a profile of the next seconds; what comes is taken by the next. */
void sampled_begin(struct sampled *s, const char *path, double seconds);
void sampled_end(struct sampled *s);
/* The lines of a folded profile, which are changed. */
void sampled_parse(struct sampled *s, char *text);

/* ---- show.c ---- */

/* What is shown goes to a buffer first, so that the screen does not flicker. */
struct screen {
	char *text;
	size_t n, cap;
	int rows, columns;	/* 0: as many as there are */
	bool colour;
};

/* The most first. */
void list_sort(struct list *l);
/* `before` may have no time, then there are no rates yet. */
void show(struct screen *s, const struct view *now, const struct view *before,
    const struct sampled *sampled, const char *path);

#endif
