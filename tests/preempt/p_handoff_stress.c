/* SPDX-License-Identifier: MIT */
/*
 * Everything that makes a P change hands, at once: announced calls, pinned
 * goroutines, some that compute, timers, channels, and a changing number of
 * Ps. Each goroutine does a fixed number of rounds, so a P or a wake-up that
 * is lost shows as a test that does not end.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <weft.h>

#include "t.h"

__attribute__((constructor)) static void
setup(void)
{
	setenv("WEFT_SLICE_US", "50", 0);
}

enum { KINDS = 7, EACH = 4, ROUNDS = 60 };
static weft_chan *ring;
static weft_rwmutex rw;
static weft_mutex mu;
static int64_t counted;	/* under mu */
static int64_t written;	/* under rw */

static void
busy(long us)
{
	double end = t_now() + (double)us * 1e-6;

	while (t_now() < end)
		;
}

static void *
nap(void *us)
{
	usleep((useconds_t)(intptr_t)us);
	errno = 77;
	return us;
}

static void *
burn(void *us)
{
	busy((long)(intptr_t)us);
	return us;
}

static void
locked_work(long us)
{
	weft_mutex_lock(&mu);
	counted++;
	weft_mutex_unlock(&mu);
	weft_rwmutex_rlock(&rw);
	busy(us);
	weft_rwmutex_runlock(&rw);
}

static void
ends_pinned(void)
{
	weft_pin();
	weft_yield();
}

static void
one_round(int kind, long x)
{
	long v;

	switch (kind) {
	case 0:
		weft_blocking(nap, (void *)(x % 100));
		OK(errno == 77);
		break;
	case 1:
		weft_blocking(burn, (void *)(x % 60));
		break;
	case 2:
		weft_pin();
		locked_work(x % 100);
		if (x & 1)
			weft_sleep(x % 100 * WEFT_US);
		else
			weft_blocking(nap, (void *)(x % 50));
		weft_yield();
		weft_unpin();
		break;
	case 3:
		busy(x % 300);
		locked_work(x % 10);
		break;
	case 4:
		weft_sleep(x % 200 * WEFT_US);
		break;
	case 5:
		v = x;
		weft_chan_send(ring, &v);
		weft_chan_recv(ring, &v);
		break;
	default:
		usleep((useconds_t)(x % 200));
		weft_rwmutex_lock(&rw);
		written++;
		weft_rwmutex_unlock(&rw);
		if (x % 16 == 0)
			weft_go(ends_pinned);
		break;
	}
}

static void
worker(int id)
{
	unsigned x = (unsigned)id * 2654435761u + 1;

	for (int i = 0; i < ROUNDS; i++) {
		x = x * 1103515245 + 12345;
		one_round(id % KINDS, x >> 16);
	}
}

static void
mix(void)
{
	counted = written = 0;
	ring = weft_chan_make(sizeof(long), EACH);
	for (int i = 0; i < KINDS * EACH; i++)
		weft_go(worker, i);
	for (int i = 0; weft_goroutines() > 1; i++) {
		weft_set_procs(1 + i % 4);
		weft_sleep(WEFT_MS);
	}
	/* Kinds 2 and 3 count, kind 6 writes. */
	EQ(counted, 2 * EACH * ROUNDS);
	EQ(written, EACH * ROUNDS);
	weft_chan_release(ring);
}

GTEST(ends, 2)
{
	while (t_more(4))
		mix();
}
