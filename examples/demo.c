/* SPDX-License-Identifier: MIT */
/* A short tour with real numbers; each step says in one line what it shows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <weft.h>

#include "http/http.h"

enum { MANY = 100000, HOGS = 64, WORKERS = 8, SHOWN = 8, PRIMES = 1500,
	SLEEPERS = 10000, SLEEPS = 200, CLIENTS = 100 };

typedef unsigned long long ull;
static long counted;		/* pieces of work done */
static int again;		/* do workers go on? */

static double
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Most bytes this process ever had resident. */
static double
resident(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)u.ru_maxrss * 1024;
}

/* One piece of work: a multiplication and an addition a round. */
static void
work(long rounds)
{
	uint64_t x = 1;

	while (rounds-- > 0)
		x = x * 6364136223846793005u + 1442695040888963407u;
	__asm__ volatile("" : : "r"(x));	/* it is needed, compiler */
	__atomic_add_fetch(&counted, 1, __ATOMIC_RELAXED);
}

static void
member(weft_waitgroup *gate, weft_waitgroup *here, weft_waitgroup *gone)
{
	work(20);
	weft_waitgroup_done(here);
	weft_waitgroup_wait(gate);
	weft_waitgroup_done(gone);
}

static void
many(int closed)
{
	weft_waitgroup gate = {0}, here = {0}, gone = {0};
	double t = now(), r = resident();

	counted = 0;
	weft_waitgroup_add(&gate, closed);
	weft_waitgroup_add(&here, MANY);
	weft_waitgroup_add(&gone, MANY);
	for (int i = 0; i < MANY; i++)
		weft_go(member, &gate, &here, &gone);
	weft_waitgroup_wait(&here);
	printf("   %ld counted, %.0f ns and %.0f bytes of memory each\n",
	    counted, (now() - t) / MANY * 1e9, (resident() - r) / MANY);
	t = now();
	weft_waitgroup_add(&gate, -closed);
	weft_waitgroup_wait(&gone);
	if (closed)
		printf("   the gate opens: all have left %.0f ms later\n",
		    (now() - t) * 1e3);
}

static void
worker(long rounds, weft_waitgroup *wg)
{
	work(rounds);
	while (__atomic_load_n(&again, __ATOMIC_RELAXED)) {
		weft_yield();
		work(rounds);
	}
	weft_waitgroup_done(wg);
}

static void
spread(void)
{
	weft_stats old[SHOWN], s;
	weft_waitgroup wg = {0};
	double t = now();

	for (int i = 0; i < SHOWN; i++)
		weft_stats_read_proc(i, &old[i], sizeof old[i]);
	weft_waitgroup_add(&wg, HOGS);
	for (int i = 0; i < HOGS; i++)
		weft_go(worker, 5000000, &wg);
	weft_waitgroup_wait(&wg);
	printf("   all done after %.0f ms\n", (now() - t) * 1e3);
	for (int i = 0; i < SHOWN &&
	    weft_stats_read_proc(i, &s, sizeof s) == 0; i++)
		printf("   processor %d: %3llu ended here, %llu taken from "
		    "others\n", i, (ull)(s.ended - old[i].ended),
		    (ull)(s.stolen - old[i].stolen));
}

static void
resize(void)
{
	int procs = weft_procs(), plan[] = { 1, procs > 1 ? procs : 2, 1 };
	weft_waitgroup wg = {0};

	again = 1;
	weft_waitgroup_add(&wg, WORKERS);
	for (int i = 0; i < WORKERS; i++)
		weft_go(worker, 20000, &wg);
	for (int i = 0; i < 3; i++) {
		double end = now() + 0.3;
		long old = __atomic_load_n(&counted, __ATOMIC_RELAXED);

		weft_set_procs(plan[i]);
		while (now() < end)
			weft_yield();
		printf("   %d at a time: %6ld pieces of work in 0.3 s\n",
		    plan[i], __atomic_load_n(&counted, __ATOMIC_RELAXED) - old);
	}
	__atomic_store_n(&again, 0, __ATOMIC_RELAXED);
	weft_waitgroup_wait(&wg);
}

static void
numbers(weft_chan *out, weft_context *ctx)
{
	for (int i = 2; weft_send_context(out, i, ctx); i++)
		;
	weft_chan_close(out);
}

static void
sift(weft_chan *in, weft_chan *out, int prime)
{
	int n;

	while (weft_recv_ok(in, &n))
		if (n % prime)
			weft_send(out, n);
	weft_chan_close(out);
	weft_chan_release(in);
}

static void
sieve(void)
{
	weft_context *ctx = weft_context_make(NULL);
	weft_chan *c = weft_chan_of(int, 0), *next;
	double t = now();
	int prime = 0;

	weft_go(numbers, c, ctx);
	for (int i = 0; i < PRIMES; i++, c = next) {
		prime = weft_recv(c, int);
		next = weft_chan_of(int, 0);
		weft_go(sift, c, next, prime);
	}
	printf("   prime number %d is %d, after %.0f ms\n", PRIMES, prime,
	    (now() - t) * 1e3);
	weft_context_cancel(ctx, 0);
	while (weft_recv_ok(c, NULL))
		;
	weft_chan_release(c);
	weft_context_release(ctx);
	printf("   cancelled: the chain empties itself and is gone\n");
}

static void
sleeper(int64_t when, weft_chan *late)
{
	int64_t ns;

	weft_sleep_until(when);
	ns = weft_now() - when;
	weft_send(late, ns);
}

static void
alarms(void)
{
	weft_chan *late = weft_chan_of(int64_t, 0);
	int64_t start = weft_deadline(200 * WEFT_MS), sum = 0, most = 0;

	for (int i = 0; i < SLEEPERS; i++)
		weft_go(sleeper, start + i * 10 * WEFT_US, late);
	for (int i = 0; i < SLEEPERS; i++) {
		int64_t ns = weft_recv(late, int64_t);

		sum += ns;
		most = ns > most ? ns : most;
	}
	printf("   late by %.0f us on average, %.0f us at most\n",
	    (double)sum / SLEEPERS / 1e3, (double)most / 1e3);
	weft_chan_release(late);
}

static void
endless(weft_waitgroup *wg)
{
	while (__atomic_load_n(&again, __ATOMIC_RELAXED))
		;
	weft_waitgroup_done(wg);
}

static int
ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void
beside_loops(void)
{
	int64_t late[SLEEPS], due;
	weft_waitgroup wg = {0};
	weft_preempt_stats old, s;
	ull taken = 0;

	weft_preempt_stats_read(&old, sizeof old);
	__atomic_store_n(&again, 1, __ATOMIC_RELAXED);
	weft_waitgroup_add(&wg, 2 * weft_procs());
	for (int i = 0; i < 2 * weft_procs(); i++)
		weft_go(endless, &wg);
	for (int i = 0; i < SLEEPS; i++) {
		due = weft_deadline(WEFT_MS);
		weft_sleep(WEFT_MS);
		late[i] = weft_now() - due;
	}
	weft_preempt_stats_read(&s, sizeof s);
	__atomic_store_n(&again, 0, __ATOMIC_RELAXED);
	weft_waitgroup_wait(&wg);
	qsort(late, SLEEPS, sizeof late[0], ascending);
	printf("   late by %.2f ms (median), %.2f ms (99 of 100)\n",
	    (double)late[SLEEPS / 2] / 1e6,
	    (double)late[SLEEPS * 99 / 100 - 1] / 1e6);
	for (int i = 0; i < WEFT_RETAKE_REASONS; i++)
		taken += s.taken[i] - old.taken[i];
	printf("   loops stopped by a signal: %llu; processors taken: %llu\n",
	    (ull)(s.preempted - old.preempted), taken);
}

static void
hello(struct http *h, const struct http_request *r, void *arg)
{
	(void)r, (void)arg;
	http_reply(h, 200, "text/plain", "Hello, world!\n", 14);
}

/* One request and its answer, which ends with that line; its length, or -1. */
static ssize_t
ask(int fd, char *answer, size_t cap)
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: demo\r\n\r\n";
	size_t n = 0;
	ssize_t got = weft_write_full(fd, request, sizeof request - 1, NULL);

	while (got > 0 && n < cap - 1) {
		got = weft_read(fd, answer + n, cap - 1 - n);
		n += got > 0 ? (size_t)got : 0;
		answer[n] = 0;
		if (n > 14 && strcmp(answer + n - 14, "Hello, world!\n") == 0)
			return (ssize_t)n;
	}
	return -1;
}

/* Asks until then; sends how often it was answered. */
static void
client(const char *address, int64_t until, weft_chan *asked)
{
	int fd = weft_dial("tcp", address);
	char answer[512];
	long n = 0;

	while (fd >= 0 && weft_now() < until &&
	    ask(fd, answer, sizeof answer) > 0)
		n++;
	if (fd >= 0)
		weft_close(fd);
	weft_send(asked, n);
}

static void
show_answer(const char *address)
{
	int fd = weft_dial("tcp", address);
	char answer[512], *line = answer;

	if (fd < 0 || ask(fd, answer, sizeof answer) < 0)
		answer[0] = 0;
	for (; *line; line += strcspn(line, "\n") + 1)
		printf("   > %.*s\n", (int)strcspn(line, "\r\n"), line);
	if (fd >= 0)
		weft_close(fd);
}

static void
serve(void)
{
	struct http_options o = { .handler = hello };
	weft_chan *asked = weft_chan_of(long, 0);
	int fd = weft_listen("tcp", "127.0.0.1:0");
	char address[WEFT_ADDRESS_TEXT];
	struct http_server *s;
	double t = now();
	long sum = 0;

	weft_local_address(fd, address, sizeof address);
	s = http_server_start(fd, &o);
	show_answer(address);
	for (int i = 0; i < CLIENTS; i++)
		weft_go(client, address, weft_deadline(WEFT_SECOND), asked);
	for (int i = 0; i < CLIENTS; i++)
		sum += weft_recv(asked, long);
	printf("   %ld requests, %.0f a second, clients and server in this "
	    "process\n", sum, (double)sum / (now() - t));
	http_server_stop(s, weft_deadline(WEFT_SECOND));
	weft_chan_release(asked);
}

int
weft_main(int argc, char **argv)
{
	int procs = weft_procs();
	weft_stats s;

	(void)argc, (void)argv;
	printf("1. %d goroutines that each compute a little and end\n", MANY);
	many(0);
	printf("2. the same, but all of them stay and wait at a gate\n");
	many(1);
	printf("3. %d goroutines that compute, on %d processor(s)\n", HOGS,
	    procs);
	spread();
	printf("4. %d goroutines, and the number of processors changes\n",
	    WORKERS);
	resize();
	printf("5. a sieve: %d goroutines in a chain of channels\n", PRIMES);
	sieve();
	printf("6. %d goroutines sleep, one to wake every 10 us\n", SLEEPERS);
	alarms();
	weft_set_procs(procs);
	printf("7. one sleeps 1 ms, %d times, beside %d endless loops\n",
	    SLEEPS, 2 * procs);
	beside_loops();
	printf("8. an HTTP server (examples/http) and %d clients\n", CLIENTS);
	serve();
	printf("9. what the scheduler counted in all of this\n");
	weft_stats_read(&s, sizeof s);
	printf("   spawned  %8llu      steals   %8llu\n"
	    "   ended    %8llu      stolen   %8llu\n"
	    "   switches %8llu      wakes    %8llu\n"
	    "   parks    %8llu      yields   %8llu\n",
	    (ull)s.spawned, (ull)s.steals, (ull)s.ended, (ull)s.stolen,
	    (ull)s.switches, (ull)s.wakes, (ull)s.parks, (ull)s.yields);
	return 0;
}
WEFT_MAIN
