/* SPDX-License-Identifier: MIT */
/*
 * Workers that share a rate limit: 5 requests at once, then 200 a second, all
 * of them together, however many workers there are. A context ends the rest.
 */
#include <stdio.h>
#include <weft/extra.h>

enum { WORKERS = 4, RATE = 200, BURST = 5, MS = 100 };

struct service {
	weft_limiter limit;
	weft_context *ctx;
	weft_chan *answers;
	weft_waitgroup wg;
};

static void
worker(struct service *s, int me)
{
	while (weft_limiter_wait_context(&s->limit, 1, s->ctx))
		weft_send(s->answers, me);
	weft_waitgroup_done(&s->wg);
}

static void
close_after(struct service *s)
{
	weft_waitgroup_wait(&s->wg);
	weft_chan_close(s->answers);
}

int
weft_main(int argc, char **argv)
{
	struct service s = { .limit = { .rate = RATE, .burst = BURST } };
	int64_t start = weft_now();
	int n = 0, worker_nr;

	(void)argc, (void)argv;
	s.ctx = weft_context_make_until(NULL, start + MS * WEFT_MS);
	s.answers = weft_chan_make(sizeof(int), 0);
	weft_waitgroup_add(&s.wg, WORKERS);
	for (int i = 0; i < WORKERS; i++)
		weft_go(worker, &s, i);
	weft_go(close_after, &s);
	while (weft_recv_ok(s.answers, &worker_nr))
		printf("%3d ms: request %d, by worker %d\n",
		    (int)((weft_now() - start) / WEFT_MS), ++n, worker_nr);
	printf("%d requests in %d ms, at most %d\n", n, MS,
	    BURST + RATE * MS / 1000);
	weft_context_release(s.ctx);
	weft_chan_release(s.answers);
	return n >= BURST && n <= BURST + RATE * MS / 1000 ? 0 : 1;
}
WEFT_MAIN
