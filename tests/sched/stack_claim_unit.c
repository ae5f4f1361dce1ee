/* SPDX-License-Identifier: MIT */
/*
 * While the monitor has claimed a goroutine no M runs it, also not one that
 * has not begun and would begin on the stack of another that ends. The test is
 * the monitor.
 */
#include <pthread.h>

#include "os.h"
#include "sched.h"
#include "spawn.h"
#include "t.h"

static struct g *claimed;
static abool released, early;
static weft_waitgroup all;

static void
begin(void *arg)
{
	(void)arg;
	a_store_relaxed(&early, !a_load_relaxed(&released));
	weft_waitgroup_done(&all);
}

/* It ends with the other one next. */
static void
end(void)
{
	sched_ready(claimed);
}

static void *
release(void *arg)
{
	(void)arg;
	while (a_load_relaxed(&claimed->state) == G_WAITING)
		os_thread_yield();
	os_sleep_ns(20 * 1000 * 1000);
	a_store_relaxed(&released, true);
	/* pairs with wait_scavenged */
	a_and_acqrel(&claimed->hold, (uint8_t)~HOLD_CLAIM);
	return NULL;
}

GTEST(a_claimed_goroutine_does_not_begin, 1)
{
	static const weft_site site = { "begin", __FILE__, __LINE__ };
	pthread_t t;

	weft_waitgroup_add(&all, 1);
	claimed = spawn_waiting(&site, begin, NULL);
	OK(claimed);
	a_or_sc(&claimed->hold, HOLD_SEEN | HOLD_CLAIM);
	EQ(pthread_create(&t, NULL, release, NULL), 0);
	weft_go(end);
	weft_waitgroup_wait(&all);
	pthread_join(t, NULL);
	EQ(a_load_relaxed(&early), false);
	EQ(a_load_relaxed(&claimed->hold) & HOLD_SEEN, 0);
}
