/* SPDX-License-Identifier: MIT */
/* A group: the first error is its result, and cancels all the others. */
#include <errno.h>
#include <stdio.h>
#include <weft.h>

enum { FETCHERS = 5 };

struct fetch {
	weft_context *ctx;
	int number, result;
};

/* Would take an hour, unless it fails or somebody else does. */
static int
fetch(void *arg)
{
	struct fetch *f = arg;

	if (f->number == 3) {
		weft_sleep(5 * WEFT_MS);
		return f->result = -EIO;
	}
	if (weft_chan_recv_until(weft_context_done(f->ctx), NULL,
	    weft_deadline(3600 * WEFT_SECOND)) == 0)
		f->result = weft_context_error(f->ctx);
	return f->result;
}

int
weft_main(int argc, char **argv)
{
	struct fetch f[FETCHERS];
	weft_group g = {0};
	int error, cancelled = 0;

	(void)argc, (void)argv;
	for (int i = 0; i < FETCHERS; i++) {
		f[i] = (struct fetch){ weft_group_context(&g), i, 0 };
		if (weft_group_go(&g, fetch, &f[i]) < 0)
			return 1;
	}
	error = weft_group_wait(&g);
	for (int i = 0; i < FETCHERS; i++)
		cancelled += f[i].result == -ECANCELED;
	printf("the group failed with %d, %d were cancelled\n", error,
	    cancelled);
	return error == -EIO && cancelled == FETCHERS - 1 ? 0 : 1;
}
WEFT_MAIN
