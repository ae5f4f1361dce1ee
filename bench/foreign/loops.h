/* SPDX-License-Identifier: MIT */
/*
 * What the files of the program share: see loops.c, whose parts they are. The
 * first of them, activity.c, is used by programs of bench/real, too.
 */
#ifndef LOOPS_H
#define LOOPS_H

#include <stdint.h>
#include <sys/types.h>

/* Latencies of one activity; written by it alone, read by all. */
struct series {
	int64_t began;		/* when it had run once, or 0 */
	int64_t since;		/* when what goes on was due or begun, or 0 */
	long n;
	int64_t *ns;
};

enum { SERIES_MAX = 1000000 };

/* In activity.c: the heartbeat, and the echo. */

int64_t loops_now(void);
/* Ends the program with a message if a result is not what it must be. */
void loops_check(const char *what, long got, long want);

/* How an activity waits, reads and writes: as a goroutine or as a thread. */
struct manner {
	void (*sleep_ns)(int64_t ns);
	ssize_t (*read)(int fd, void *buf, size_t len);
	ssize_t (*write)(int fd, const void *buf, size_t len);
	int64_t (*now)(void);
};

void series_start(struct series *s);
/*
 * A copy, sorted, with what has not ended yet; the activity goes on writing.
 * Then the one at that part of them, or -1 if there are none.
 */
struct series series_end(const struct series *s, int64_t now);
double series_ms(const struct series *s, double part);

void heartbeat(const struct manner *m, struct series *s);
/* Both ends of a TCP connection on loopback. */
void echo_connect(int fd[2]);
void echo_ask(const struct manner *m, struct series *s, int fd);
void echo_answer(const struct manner *m, int fd);

/* In census.c: a process that counts the threads of this one in state R. */
void census_start(void);
void census_end(double *p50, double *p99, double *max);

#endif
