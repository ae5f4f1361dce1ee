/* SPDX-License-Identifier: MIT */
/* Locks exclude, notes wake, ranks are checked. */
#include <pthread.h>

#include "lock.h"
#include "os.h"
#include "plain_thread.h"
#include "t.h"

enum { THREADS = 4 };
static struct lock lock = LOCK_INIT(RANK_TEST);
static long counter;

static void *
add(void *arg)
{
	for (long i = 0; i < *(long *)arg; i++) {
		lock_take(&lock);
		counter++;
		lock_drop(&lock);
	}
	return NULL;
}

TEST(exclusion)
{
	long n = t_scale(500000);
	pthread_t t[THREADS];

	threads_start(t, THREADS, add, &n);
	threads_join(t, THREADS);
	EQ(counter, THREADS * n);
}

static struct note ping, pong;

static void *
player(void *arg)
{
	for (long i = 0; i < *(long *)arg; i++) {
		note_sleep(&ping, FOREVER);
		note_clear(&ping);
		note_wake(&pong);
	}
	return NULL;
}

TEST(notes_wake_once_each)
{
	long n = t_scale(20000);
	pthread_t t;

	pthread_create(&t, NULL, player, &n);
	for (long i = 0; i < n; i++) {
		note_wake(&ping);
		note_sleep(&pong, FOREVER);
		note_clear(&pong);
	}
	pthread_join(t, NULL);
}

TEST(note_times_out)
{
	struct note never = {0};
	double t = t_now();

	OK(!note_sleep(&never, 20 * 1000 * 1000));
	OK(t_now() - t >= 0.02);
}

#ifdef WEFT_DEBUG
DIES(rank_order, 0, "lock rank")
{
	static struct lock outer = LOCK_INIT(RANK_PARKING_LOT);

	lock_take(&lock);
	lock_take(&outer);
}
#endif

TEST(guards_and_threads_are_known)
{
	OK(os_thread_count() >= 1 || t_emulated());
	OK(os_map_limit() > 1000);
	EQ(os_page_bytes(), PAGE);
}
