/* SPDX-License-Identifier: MIT */
/* A deadline, handed down through calls: work goes on until it is over. */
#include <errno.h>
#include <stdio.h>
#include <weft.h>

static int
work(weft_context *ctx, int *rounds)
{
	while (weft_sleep_context(5 * WEFT_MS, ctx))
		++*rounds;
	return weft_context_error(ctx);
}

/* A child with a later deadline of its own ends with its parent. */
int
weft_main(int argc, char **argv)
{
	int64_t start = weft_now();
	weft_context *request = weft_context_make_until(NULL,
	    start + 42 * WEFT_MS);
	weft_context *step = weft_context_make_until(request,
	    start + 3600 * WEFT_SECOND);
	int rounds = 0, r = work(step, &rounds);
	int64_t took = weft_now() - start;

	(void)argc, (void)argv;
	printf("%d rounds in %.1f ms, then %s\n", rounds, (double)took / 1e6,
	    r == -ETIMEDOUT ? "the deadline" : "something else");
	weft_context_release(step);
	weft_context_release(request);
	return r == -ETIMEDOUT && took >= 42 * WEFT_MS &&
	    took >= rounds * 5 * WEFT_MS ? 0 : 1;
}
WEFT_MAIN
