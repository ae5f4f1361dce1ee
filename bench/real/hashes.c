/* SPDX-License-Identifier: MIT */
/*
 * hashes weft|pthread [SECONDS]
 *
 * Eight goroutines, or threads, hash megabytes with OpenSSL, one after the
 * other and without end, beside a heartbeat of 1 ms. Prints how late the
 * heartbeat is in milliseconds, p50, p90 and p99, and the megabytes hashed in
 * a second. A plain thread keeps the time.
 */
#define _GNU_SOURCE
#include "loops.h"

#include <openssl/evp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <weft.h>

enum { HASHERS = 8, MEGABYTE = 1 << 20 };

static struct series beats;
static double seconds = 5;
static unsigned char data[MEGABYTE];
static long hashed;		/* atomic */

static void
hash_forever(void)
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned int len;

	for (;;) {
		loops_check("EVP_Digest", EVP_Digest(data, sizeof data, sum,
		    &len, EVP_sha256(), NULL), 1);
		__atomic_add_fetch(&hashed, 1, __ATOMIC_RELAXED);
	}
}

static void
thread_sleep(int64_t ns)
{
	struct timespec ts = { ns / 1000000000, ns % 1000000000 };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}

static const struct manner by_goroutine = {
	weft_sleep, weft_read, weft_write, weft_now
};
static const struct manner by_thread = {
	thread_sleep, read, write, loops_now
};

static void *
hash_thread(void *arg)
{
	hash_forever();
	return arg;
}

static void *
keep_time(void *arg)
{
	int64_t start = loops_now(), end;
	struct series s;

	thread_sleep((int64_t)(seconds * 1e9));
	end = loops_now();
	s = series_end(&beats, end);
	printf("%.3f %.3f %.3f %.0f\n", series_ms(&s, 0.5),
	    series_ms(&s, 0.9), series_ms(&s, 0.99), (double)__atomic_load_n(
	    &hashed, __ATOMIC_RELAXED) * 1e9 / (double)(end - start));
	fflush(stdout);
	_exit(0);
	return arg;
}

static void
thread_start(void *(*fn)(void *))
{
	pthread_t t;

	loops_check("thread", pthread_create(&t, NULL, fn, NULL), 0);
}

static int
goroutines(int argc, char **argv)
{
	(void)argc, (void)argv;
	for (int i = 0; i < HASHERS; i++)
		weft_go(hash_forever);
	heartbeat(&by_goroutine, &beats);
	return 0;
}

static void
threads(void)
{
	for (int i = 0; i < HASHERS; i++)
		thread_start(hash_thread);
	heartbeat(&by_thread, &beats);
}

int
main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: hashes weft|pthread [SECONDS]\n");
		return 2;
	}
	if (argc > 2 && atof(argv[2]) > 0)
		seconds = atof(argv[2]);
	series_start(&beats);
	thread_start(keep_time);
	if (!strcmp(argv[1], "pthread"))
		threads();
	return weft_run(goroutines, argc, argv);
}
