/* SPDX-License-Identifier: MIT */
/*
 * An endless loop and two that compute, on one processor. None of them calls
 * weft, and everybody goes on all the same.
 */
#include <stdio.h>
#include <weft.h>

enum { TICKS = 40, NTH = 37 };

static void
forever(void)
{
	for (;;)
		;
}

static long
fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static void
compute(weft_chan *out, int n)
{
	long f = fib(n);

	weft_send(out, f);
}

int
weft_main(int argc, char **argv)
{
	weft_chan *out = weft_chan_of(long, 2);
	int64_t due, late, most = 0;
	weft_preempt_stats s;
	uint64_t taken = 0;

	(void)argc, (void)argv;
	weft_set_procs(1);
	weft_go(forever);
	weft_go(compute, out, NTH);
	weft_go(compute, out, NTH + 1);
	for (int i = 0; i < TICKS; i++) {
		due = weft_deadline(5 * WEFT_MS);
		weft_sleep_until(due);
		late = weft_now() - due;
		most = late > most ? late : most;
	}
	printf("main slept %d times, at most %.1f ms too long\n", TICKS,
	    (double)most / 1e6);
	for (int i = 0; i < 2; i++)
		printf("a Fibonacci number: %ld\n", weft_recv(out, long));
	weft_preempt_stats_read(&s, sizeof s);
	for (int i = 0; i < WEFT_RETAKE_REASONS; i++)
		taken += s.taken[i];
	printf("stopped by a signal: %llu; processors taken: %llu\n",
	    (unsigned long long)s.preempted, (unsigned long long)taken);
	weft_chan_release(out);
	return s.preempted + taken ? 0 : 1;
}
WEFT_MAIN
