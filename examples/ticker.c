/* SPDX-License-Identifier: MIT */
/* A ticker gives the time again and again, until a timer ends it all. */
#include <stdio.h>
#include <weft.h>

int
weft_main(int argc, char **argv)
{
	int64_t start = weft_now(), at;
	weft_timer *ticker = weft_ticker_make(10 * WEFT_MS);
	weft_timer *end = weft_timer_make(55 * WEFT_MS);
	bool ended = false;
	int ticks = 0;

	(void)argc, (void)argv;
	while (!ended) WEFT_SELECT(s) {
		WEFT_ON_RECV(s, weft_timer_chan(ticker), &at) {
			ticks++;
			printf("tick at %5.1f ms\n",
			    (double)(at - start) / 1e6);
		}
		WEFT_ON_RECV(s, weft_timer_chan(end), &at) {
			printf("end  at %5.1f ms\n",
			    (double)(at - start) / 1e6);
			ended = true;
		}
	}
	weft_timer_free(ticker);
	weft_timer_free(end);
	/* A busy machine may be late, and skip ticks; early it is never. */
	return at - start >= 55 * WEFT_MS &&
	    weft_now() - start >= ticks * 10 * WEFT_MS ? 0 : 1;
}
WEFT_MAIN
