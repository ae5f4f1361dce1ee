/* SPDX-License-Identifier: MIT */
/*
 * Sleeping in the poller, woken by a note; without a runtime, so that those
 * that sleep there, poll there and wake are threads of the test.
 */
#include <pthread.h>

#include "netpoll.h"
#include "os.h"
#include "t.h"

static a32 over;

struct bed {
	struct note note;
	a32 woken, poked;	/* so often it was */
	pthread_t thread;
};

static struct bed beds[3];

static void *
sleep_again_and_again(void *bed)
{
	struct bed *b = bed;

	while (!a_load_sc(&over)) {
		struct glist none = {0};
		enum note_end end = netpoll_sleep(&b->note, FOREVER, &none);

		if (end == NOTE_WOKEN) {
			note_clear(&b->note);
			a_add_sc(&b->woken, 1);
		} else {
			a_add_sc(&b->poked, 1);
		}
	}
	return NULL;
}

static void *
look_again_and_again(void *unused)
{
	(void)unused;
	while (!a_load_sc(&over))
		netpoll_poll_no_p();
	return NULL;
}

static void
lie_down(struct bed *b)
{
	EQ(pthread_create(&b->thread, NULL, sleep_again_and_again, b), 0);
}

static bool
becomes(a32 *count, uint32_t n)
{
	double limit = t_now() + 20;

	while (a_load_sc(count) != n && t_now() < limit)
		os_thread_yield();
	return a_load_sc(count) == n;
}

/* Returns when it sleeps, or is about to. */
static void
let_it_sleep(int turn)
{
	if (turn % 4)
		os_sleep_ns(turn % 4 * 20 * 1000);
}

/* Wakes it n times, each time when it sleeps or just before; fewer where each
 * turn has to wait for a CPU. */
static void
wake_again_and_again(struct bed *b, long n)
{
	double limit = t_now() + 15;

	for (long i = 0; i < n && t_now() < limit; i++) {
		let_it_sleep((int)i);
		netpoll_wake(&b->note);
		if (!becomes(&b->woken, (uint32_t)i + 1)) {
			t_fail(__FILE__, __LINE__, "a wake was lost");
			a_store_sc(&over, 1);
			return;
		}
	}
	a_store_sc(&over, 1);
	netpoll_wake(&b->note);
	pthread_join(b->thread, NULL);
}

TEST(one_alone)
{
	EQ(netpoll_start(), 0);
	lie_down(&beds[0]);
	wake_again_and_again(&beds[0], t_scale(10000));
}

/* A thread that polls must not consume the wake-up of one that sleeps. */
TEST(beside_one_that_polls)
{
	pthread_t looks;

	EQ(netpoll_start(), 0);
	EQ(pthread_create(&looks, NULL, look_again_and_again, NULL), 0);
	lie_down(&beds[0]);
	wake_again_and_again(&beds[0], t_scale(10000));
	pthread_join(looks, NULL);
}

/* ---- which sleeps there next ---- */

static bool
is_in(struct bed *b)
{
	double limit = t_now() + 20;

	/* Seen once is enough: an old break lets it out, and in again. */
	while (a_load_sc(&netpoll.sleeper) != &b->note) {
		if (t_now() > limit)
			return false;
		os_thread_yield();
	}
	return true;
}

static bool
hears_a_poke(struct bed *b)
{
	uint32_t before = a_load_sc(&b->poked);
	double limit = t_now() + 20;

	netpoll_poke(&b->note);
	while (a_load_sc(&b->poked) == before && t_now() < limit)
		os_thread_yield();
	return a_load_sc(&b->poked) != before;
}

/* Wants to sleep there, too, until it is woken. */
static void *
sleep_until_woken(void *bed)
{
	struct bed *b = bed;
	struct glist none = {0};

	while (netpoll_sleep(&b->note, FOREVER, &none) != NOTE_WOKEN)
		;
	note_clear(&b->note);
	return NULL;
}

/*
 * One stays, and must be in the poller whenever the others have gone; and then
 * no poke of before may be left in its note.
 */
static void
come_and_go(int others, long n)
{
	struct bed *stays = &beds[0];
	double limit = t_now() + 15;

	EQ(netpoll_start(), 0);
	lie_down(stays);
	for (long i = 0; i < n && t_now() < limit; i++) {
		for (int k = 1; k <= others; k++)
			EQ(pthread_create(&beds[k].thread, NULL,
			    sleep_until_woken, &beds[k]), 0);
		let_it_sleep((int)i);
		for (int k = 1; k <= others; k++) {
			netpoll_wake(&beds[k].note);
			pthread_join(beds[k].thread, NULL);
		}
		if (!is_in(stays) || !hears_a_poke(stays)) {
			t_fail(__FILE__, __LINE__, "it was left alone");
			return;
		}
	}
	a_store_sc(&over, 1);
	netpoll_wake(&stays->note);
	pthread_join(stays->thread, NULL);
}

TEST(another_comes_and_goes) { come_and_go(1, t_scale(2000)); }
TEST(two_come_and_go) { come_and_go(2, t_scale(2000)); }

/* The sleeper there hears that another thread has come, and looks around. */
TEST(another_is_noticed)
{
	struct bed *first = &beds[0], *second = &beds[1];
	double limit = t_now() + 20;
	uint32_t before;

	EQ(netpoll_start(), 0);
	lie_down(first);
	OK(is_in(first));
	before = a_load_sc(&first->poked);
	EQ(pthread_create(&second->thread, NULL, sleep_until_woken, second),
	    0);
	while (a_load_sc(&first->poked) == before && t_now() < limit)
		os_thread_yield();
	OK(a_load_sc(&first->poked) != before);
	netpoll_wake(&second->note);
	pthread_join(second->thread, NULL);
	a_store_sc(&over, 1);
	netpoll_wake(&first->note);
	pthread_join(first->thread, NULL);
}
