/* SPDX-License-Identifier: MIT */
/* A plain thread makes things, goroutines use them: one channel, both ends. */
#include <pthread.h>
#include <stdio.h>
#include <weft.h>

enum { THINGS = 10000, CONSUMERS = 4 };

static long eaten[CONSUMERS];

/* Where a goroutine would wait for room in the channel, this thread blocks. */
static void *
producer(void *c)
{
	for (long i = 1; i <= THINGS; i++)
		weft_send(c, i);
	weft_chan_close(c);
	return NULL;
}

static void
consumer(weft_chan *c, int i, weft_waitgroup *wg)
{
	long thing;

	while (weft_recv_ok(c, &thing))
		eaten[i] += thing;
	weft_waitgroup_done(wg);
}

int
weft_main(int argc, char **argv)
{
	weft_chan *c = weft_chan_of(long, 8);
	weft_waitgroup wg = {0};
	pthread_t thread;
	long sum = 0;

	(void)argc, (void)argv;
	weft_waitgroup_add(&wg, CONSUMERS);
	for (int i = 0; i < CONSUMERS; i++)
		weft_go(consumer, c, i, &wg);
	if (pthread_create(&thread, NULL, producer, c) != 0)
		return 1;
	weft_waitgroup_wait(&wg);	/* leaves its proc at once */
	pthread_join(thread, NULL);
	weft_chan_release(c);
	for (int i = 0; i < CONSUMERS; i++) {
		printf("goroutine %d got %8ld\n", i, eaten[i]);
		sum += eaten[i];
	}
	return sum == (long)THINGS * (THINGS + 1) / 2 ? 0 : 1;
}
WEFT_MAIN
