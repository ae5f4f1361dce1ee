/* SPDX-License-Identifier: MIT */
/* A pipeline: each stage is a goroutine that closes what it writes to. */
#include <stdio.h>
#include <weft.h>

enum { NUMBERS = 1000 };

static void
count(weft_chan *out)
{
	for (long i = 1; i <= NUMBERS; i++)
		weft_send(out, i);
	weft_chan_close(out);
	weft_chan_release(out);
}

static void
square(weft_chan *in, weft_chan *out)
{
	long v;

	while (weft_recv_ok(in, &v))
		weft_send(out, v * v);
	weft_chan_close(out);
	weft_chan_release(in);
	weft_chan_release(out);
}

/* Every stage owns the ends it was given, and whoever lets go last frees. */
int
weft_main(int argc, char **argv)
{
	weft_chan *numbers = weft_chan_of(long, 0);
	weft_chan *squares = weft_chan_of(long, 16);
	long sum = 0, v;

	(void)argc, (void)argv;
	weft_go(count, weft_chan_retain(numbers));
	weft_go(square, numbers, weft_chan_retain(squares));
	while (weft_recv_ok(squares, &v))
		sum += v;
	weft_chan_release(squares);
	printf("1 + 4 + ... + %d^2 = %ld\n", NUMBERS, sum);
	return sum == NUMBERS * (NUMBERS + 1L) * (2 * NUMBERS + 1) / 6 ? 0 : 1;
}
WEFT_MAIN
