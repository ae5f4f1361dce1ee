/* SPDX-License-Identifier: MIT */
/* A group: the first error is its result, and cancels all the others. */
#include <errno.h>
#include <stdio.h>
#include <weft.h>

enum { FETCHERS = 5 };

/* Would take an hour, unless it fails or another one does. */
static int
fetch(weft_context *ctx, int number, int *result)
{
	if (number == 3) {
		weft_sleep(5 * WEFT_MS);
		return *result = -EIO;
	}
	if (!weft_sleep_context(3600 * WEFT_SECOND, ctx))
		*result = weft_context_error(ctx);
	return *result;
}

int
weft_main(int argc, char **argv)
{
	int error, cancelled = 0, result[FETCHERS] = {0};
	weft_group g = {0};

	(void)argc, (void)argv;
	for (int i = 0; i < FETCHERS; i++)
		weft_group_go(&g, fetch, weft_group_context(&g), i, &result[i]);
	error = weft_group_wait(&g);
	for (int i = 0; i < FETCHERS; i++)
		cancelled += result[i] == -ECANCELED;
	printf("the group failed with %d, %d were cancelled\n", error,
	    cancelled);
	return error == -EIO && cancelled == FETCHERS - 1 ? 0 : 1;
}
WEFT_MAIN
