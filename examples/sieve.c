/* SPDX-License-Identifier: MIT */
/* The prime sieve: a chain of goroutines, one for each prime found. */
#include <stdio.h>
#include <weft.h>

enum { PRIMES = 25 };

static void
generate(weft_chan *out)
{
	for (int i = 2;; i++)
		weft_send(out, i);
}

/* Passes on what its prime does not divide. */
static void
filter(weft_chan *in, weft_chan *out, int prime)
{
	for (;;) {
		int n = weft_recv(in, int);

		if (n % prime != 0)
			weft_send(out, n);
	}
}

/* The chain has no end; it is left behind when the main goroutine returns. */
int
weft_main(int argc, char **argv)
{
	weft_chan *c = weft_chan_of(int, 0);
	int prime = 0;

	(void)argc, (void)argv;
	weft_go(generate, c);
	for (int i = 0; i < PRIMES; i++) {
		weft_chan *next = weft_chan_of(int, 0);

		prime = weft_recv(c, int);
		printf("%d%s", prime, i < PRIMES - 1 ? " " : "\n");
		weft_go(filter, c, next, prime);
		c = next;
	}
	return prime == 97 ? 0 : 1;
}
WEFT_MAIN
