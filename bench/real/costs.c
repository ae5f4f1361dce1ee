/* SPDX-License-Identifier: MIT */
/*
 * hook-costs
 *
 * What calls cost that need not wait: on a goroutine, and on a plain thread of
 * the same process. Prints for each its name and the nanoseconds on both.
 * hook-costs-hooked is the same program linked with hooks: the difference is
 * what they take.
 *
 * A value is the median over batches of calls. What a batch needs (bytes to be
 * read, room to be written to) is made before, and is not in it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <weft.h>
#include <weft/hooks.h>

/* Without hooks there is no such function. */
#pragma weak weft_hooks_own_keys

enum {
	BATCHES = 2001,		/* odd: the median is one of them */
	CALLS = 100,		/* system calls in a batch; a socket has room
				 * for so many messages of a byte */
	FAST_CALLS = 1000	/* others */
};

static int sock[2], pipes[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t thread_key, owned_key;
static char bytes[CALLS];

static void
must(const char *what, long got, long want)
{
	if (got == want)
		return;
	fprintf(stderr, "hook-costs: %s: got %ld, not %ld (errno %d)\n", what,
	    got, want, errno);
	exit(1);
}

/* ---- batches ---- */

static void
nothing(void)
{
}

static void
fill_socket(void)
{
	must("fill", write(sock[0], bytes, sizeof bytes), sizeof bytes);
}

static void
fill_pipe(void)
{
	must("fill", write(pipes[1], bytes, sizeof bytes), sizeof bytes);
}

static void
drain_socket(void)
{
	ssize_t n;

	for (size_t left = sizeof bytes; left; left -= (size_t)n) {
		n = read(sock[1], bytes, left);
		must("drain", n > 0, 1);
	}
}

static void
drain_pipe(void)
{
	must("drain", read(pipes[0], bytes, sizeof bytes), sizeof bytes);
}

static void
read_socket(void)
{
	for (int i = 0; i < CALLS; i++)
		must("read", read(sock[1], &bytes[i], 1), 1);
}

static void
recv_socket(void)
{
	for (int i = 0; i < CALLS; i++)
		must("recv", recv(sock[1], &bytes[i], 1, 0), 1);
}

static void
write_socket(void)
{
	for (int i = 0; i < CALLS; i++)
		must("write", write(sock[0], &bytes[i], 1), 1);
}

static void
send_socket(void)
{
	for (int i = 0; i < CALLS; i++)
		must("send", send(sock[0], &bytes[i], 1, MSG_NOSIGNAL), 1);
}

static void
read_pipe(void)
{
	for (int i = 0; i < CALLS; i++)
		must("read", read(pipes[0], &bytes[i], 1), 1);
}

static void
write_pipe(void)
{
	for (int i = 0; i < CALLS; i++)
		must("write", write(pipes[1], &bytes[i], 1), 1);
}

static void
poll_ready(void)
{
	struct pollfd p = { .fd = sock[1], .events = POLLIN };

	for (int i = 0; i < CALLS; i++)
		must("poll", poll(&p, 1, -1), 1);
}

static void
open_close(void)
{
	for (int i = 0; i < CALLS; i++)
		must("close", close(socket(AF_UNIX, SOCK_STREAM, 0)), 0);
}

static void
dup_close(void)
{
	for (int i = 0; i < CALLS; i++)
		must("close", close(dup(sock[0])), 0);
}

static void
lock_unlock(void)
{
	for (int i = 0; i < FAST_CALLS; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
}

static void
get_thread_key(void)
{
	for (int i = 0; i < FAST_CALLS; i++)
		if (!pthread_getspecific(thread_key))
			must("thread's key", 0, 1);
}

static void
get_owned_key(void)
{
	for (int i = 0; i < FAST_CALLS; i++)
		if (!pthread_getspecific(owned_key))
			must("goroutine's key", 0, 1);
}

static const struct call {
	const char *name;
	int calls;
	void (*before)(void), (*batch)(void), (*after)(void);
} calls[] = {
	{ "read_socket", CALLS, fill_socket, read_socket, nothing },
	{ "recv_socket", CALLS, fill_socket, recv_socket, nothing },
	{ "write_socket", CALLS, nothing, write_socket, drain_socket },
	{ "send_socket", CALLS, nothing, send_socket, drain_socket },
	{ "read_pipe", CALLS, fill_pipe, read_pipe, nothing },
	{ "write_pipe", CALLS, nothing, write_pipe, drain_pipe },
	{ "poll_ready", CALLS, fill_socket, poll_ready, drain_socket },
	{ "socket_close", CALLS, nothing, open_close, nothing },
	{ "dup_close", CALLS, nothing, dup_close, nothing },
	{ "mutex_lock_unlock", FAST_CALLS, nothing, lock_unlock, nothing },
	{ "getspecific_thread", FAST_CALLS, nothing, get_thread_key, nothing },
	{ "getspecific_owned", FAST_CALLS, nothing, get_owned_key, nothing }
};

/* ---- measuring ---- */

static int
ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Nanoseconds of one call, on the caller. */
static double
measure(const struct call *c)
{
	static int64_t ns[BATCHES];

	pthread_setspecific(thread_key, &mutex);
	pthread_setspecific(owned_key, &mutex);
	for (int i = 0; i < BATCHES; i++) {
		int64_t start;

		c->before();
		start = weft_now();
		c->batch();
		ns[i] = weft_now() - start;
		c->after();
	}
	qsort(ns, BATCHES, sizeof ns[0], ascending);
	return (double)ns[BATCHES / 2] / c->calls;
}

struct measured {
	const struct call *call;
	double ns;
};

static void *
measure_here(void *arg)
{
	struct measured *m = arg;

	m->ns = measure(m->call);
	return NULL;
}

static double
on_thread(const struct call *c)
{
	struct measured m = { .call = c };
	pthread_t t;

	must("thread", pthread_create(&t, NULL, measure_here, &m), 0);
	pthread_join(t, NULL);
	return m.ns;
}

/* The first key is the thread's: it is made before this program is named as a
 * module whose keys belong to goroutines. */
static void
make_keys(void)
{
	must("key", pthread_key_create(&thread_key, NULL), 0);
	if (weft_hooks_own_keys)
		must("own keys", weft_hooks_own_keys(
		    program_invocation_short_name), 0);
	must("key", pthread_key_create(&owned_key, NULL), 0);
}

int
weft_main(int argc, char **argv)
{
	(void)argc, (void)argv;
	must("pipe", pipe(pipes), 0);
	must("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, sock), 0);
	make_keys();
	for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
		double goroutine = measure(&calls[i]);

		printf("%s %.2f %.2f\n", calls[i].name, goroutine,
		    on_thread(&calls[i]));
	}
	return 0;
}
WEFT_MAIN
