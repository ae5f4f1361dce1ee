/* SPDX-License-Identifier: MIT */
/* Plain threads start goroutines and wait for them, beside the runtime. */
#include <pthread.h>
#include <stdio.h>
#include <weft.h>

enum { THREADS = 3, EACH = 1000 };

static long counted;

static void
count(weft_waitgroup *wg)
{
	__atomic_add_fetch(&counted, 1, __ATOMIC_RELAXED);
	weft_waitgroup_done(wg);
}

/* On a thread that weft knows nothing of: the wait blocks this thread. */
static void *
thread(void *all)
{
	weft_waitgroup mine = {0};

	for (int i = 0; i < EACH; i++) {
		weft_waitgroup_add(&mine, 1);
		if (weft_try_go(count, &mine) < 0)
			weft_waitgroup_done(&mine);
	}
	weft_waitgroup_wait(&mine);
	weft_waitgroup_done(all);
	return NULL;
}

/*
 * The main goroutine waits for the threads with a waitgroup first, so that
 * its processor is free for the goroutines at once; pthread_join alone would
 * hold it until it is taken, some milliseconds later.
 */
int
weft_main(int argc, char **argv)
{
	weft_waitgroup all = {0};
	pthread_t t[THREADS];

	(void)argc, (void)argv;
	weft_waitgroup_add(&all, THREADS);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, thread, &all) != 0)
			return 1;
	weft_waitgroup_wait(&all);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	printf("%d threads started %ld goroutines\n", THREADS, counted);
	return counted == THREADS * EACH ? 0 : 1;
}
WEFT_MAIN
