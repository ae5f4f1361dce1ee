/* SPDX-License-Identifier: MIT */
/*
 * How long it takes to look at so many goroutines: a dump with all stacks,
 * metrics, the counts by what goroutines wait for.
 *
 *	look [GOROUTINES]	(100000)
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include <weft.h>

static weft_chan *never;

/* Ten places to wait at, at ten depths. */
static int
wait_below(int depth)
{
	int v = 0;

	if (depth > 0)
		return wait_below(depth - 1) + 1;
	weft_chan_recv(never, &v);
	return v;
}

static void
waiter(int depth)
{
	wait_below(depth);
}

static double
ms_since(int64_t start)
{
	return (double)(weft_now() - start) / 1e6;
}

static void
show_dump(bool each)
{
	int fd = open("/dev/null", O_WRONLY);
	weft_dump_options o = { .flags = each ? WEFT_DUMP_EACH : 0 };
	int64_t start = weft_now();
	int err = weft_dump(fd, &o, sizeof o);

	printf("dump_%-12s %10.1f ms%s\n", each ? "each" : "grouped",
	    ms_since(start), err ? " (failed)" : "");
}

static void
show_metrics(void)
{
	enum { TIMES = 1000 };
	weft_goroutine_counts counts;
	weft_metrics m;
	int64_t start = weft_now();

	for (int i = 0; i < TIMES; i++)
		weft_metrics_read(&m, sizeof m);
	printf("metrics           %10.2f us\n", ms_since(start) * 1e3 / TIMES);
	start = weft_now();
	weft_goroutine_counts_read(&counts, sizeof counts);
	printf("counts_by_reason  %10.1f ms\n", ms_since(start));
}

int
weft_main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 100000;

	never = weft_chan_make(sizeof(int), 0);
	for (int i = 0; i < n; i++)
		weft_go(waiter, i % 10);
	while (weft_goroutines() < n + 1)
		weft_yield();
	weft_sleep(100 * WEFT_MS);
	printf("%d goroutines\n", n);
	show_dump(false);
	show_dump(true);
	show_metrics();
	return 0;
}

WEFT_MAIN
