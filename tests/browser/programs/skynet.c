/* SPDX-License-Identifier: MIT */
/*
 * Skynet: a tree of 1,111,111 goroutines, each of which adds up what its ten
 * children send.
 */
#include <stdio.h>
#include <stdlib.h>

#include <weft.h>

static void
sky(weft_chan *out, long number, long size)
{
	long sum = 0, part;
	weft_chan *in;

	if (size == 1) {
		weft_chan_send(out, &number);
		return;
	}
	in = weft_chan_make(sizeof part, 0);
	for (long i = 0; i < 10; i++)
		weft_go(sky, in, number + i * (size / 10), size / 10);
	for (int i = 0; i < 10; i++) {
		weft_chan_recv(in, &part);
		sum += part;
	}
	weft_chan_release(in);
	weft_chan_send(out, &sum);
}

int
weft_main(int argc, char **argv)
{
	weft_chan *c = weft_chan_make(sizeof(long), 0);
	long size = argc > 1 ? atol(argv[1]) : 1000000, sum;

	weft_go(sky, c, 0, size);
	weft_chan_recv(c, &sum);
	weft_chan_release(c);
	printf("skynet: %ld\n", sum);
	return 0;
}

WEFT_MAIN
