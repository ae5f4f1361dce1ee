/* SPDX-License-Identifier: MIT */
/* A parallel sum: each goroutine adds up one slice of an array. */
#include <stdio.h>
#include <weft.h>

enum { LENGTH = 1 << 22, SLICES = 16 };

static int numbers[LENGTH];
static long sums[SLICES];

static void
sum_slice(int slice, weft_waitgroup *wg)
{
	const int *from = numbers + slice * (LENGTH / SLICES);
	long sum = 0;

	for (int i = 0; i < LENGTH / SLICES; i++)
		sum += from[i];
	sums[slice] = sum;
	weft_waitgroup_done(wg);
}

int
weft_main(int argc, char **argv)
{
	const long expect = (long)LENGTH * (LENGTH - 1) / 2;
	weft_waitgroup wg = {0};
	long total = 0;

	(void)argc, (void)argv;
	for (int i = 0; i < LENGTH; i++)
		numbers[i] = i;
	weft_waitgroup_add(&wg, SLICES);
	for (int i = 0; i < SLICES; i++)
		if (weft_try_go(sum_slice, i, &wg) < 0)
			return 1;
	weft_waitgroup_wait(&wg);	/* what they wrote is visible now */
	for (int i = 0; i < SLICES; i++)
		total += sums[i];
	printf("0 + ... + %d = %ld\n", LENGTH - 1, total);
	return total == expect ? 0 : 1;
}
WEFT_MAIN
