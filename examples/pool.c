/* SPDX-License-Identifier: MIT */
/* A worker pool: jobs in one channel, results in another, in any order. */
#include <stdio.h>
#include <weft.h>

enum { WORKERS = 4, JOBS = 100 };

struct result {
	int job, worker;
	long steps;
};

/* Steps until the Collatz sequence of n is at 1. */
static long
collatz(long n)
{
	long steps = 0;

	for (; n != 1; steps++)
		n = n % 2 ? 3 * n + 1 : n / 2;
	return steps;
}

static void
worker(int id, weft_chan *jobs, weft_chan *results, weft_waitgroup *wg)
{
	int job;

	while (weft_recv_ok(jobs, &job))
		weft_send(results, (struct result){ job, id, collatz(job) });
	weft_waitgroup_done(wg);
}

int
weft_main(int argc, char **argv)
{
	weft_chan *jobs = weft_chan_of(int, JOBS);
	weft_chan *results = weft_chan_of(struct result, JOBS);
	struct result r, best = {0};
	weft_waitgroup wg = {0};

	(void)argc, (void)argv;
	weft_waitgroup_add(&wg, WORKERS);
	for (int i = 0; i < WORKERS; i++)
		weft_go(worker, i, jobs, results, &wg);
	for (int job = 1; job <= JOBS; job++)
		weft_send(jobs, job);
	weft_chan_close(jobs);		/* no more to come: workers end */
	weft_waitgroup_wait(&wg);
	weft_chan_close(results);
	while (weft_recv_ok(results, &r))
		best = r.steps > best.steps ? r : best;
	weft_chan_release(jobs);
	weft_chan_release(results);
	printf("worker %d found the longest: %d with %ld steps\n",
	    best.worker, best.job, best.steps);
	return best.job == 97 && best.steps == 118 ? 0 : 1;
}
WEFT_MAIN
