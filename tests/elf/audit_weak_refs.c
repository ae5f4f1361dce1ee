/* SPDX-License-Identifier: MIT */
/*
 * A program that refers to libc's locks weakly, as some do to ask whether
 * there are threads, uses them all the same: a goroutine that owns one must
 * not be preempted and go on as another thread.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "t.h"
#include "weft.h"

#pragma weak pthread_mutex_init
#pragma weak pthread_mutex_lock
#pragma weak pthread_mutex_unlock
#pragma weak pthread_mutexattr_init
#pragma weak pthread_mutexattr_settype

enum { WORKERS = 4 };

static atomic_bool stop;
static atomic_int refused, ended;

static void
own(void)
{
	pthread_mutexattr_t attr;
	pthread_mutex_t m;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&m, &attr);
	while (!stop && !refused) {
		pthread_mutex_lock(&m);
		for (volatile int i = 0; i < 10000000; i++)
			;
		refused += pthread_mutex_unlock(&m) != 0;
	}
	ended++;
}

GTEST(an_owner_stays_on_its_thread, 2)
{
	if (!pthread_mutex_lock || !pthread_mutexattr_settype)
		t_skip("a static program without them");
	for (int i = 0; i < WORKERS; i++)
		weft_go(own);
	while (t_more(2) && !refused)
		weft_sleep(10000000);
	stop = true;
	while (ended < WORKERS)
		weft_sleep(1000000);
	EQ(refused, 0);
}

GTEST(it_is_said_why, 1)
{
	char text[8192];

	weft_preempt_explain(text, sizeof text);
	if (!*text || strstr(text, "static"))
		t_skip("it is refused for other reasons before");
	OK(strstr(text, "pthread_mutex_lock") != NULL);
}
