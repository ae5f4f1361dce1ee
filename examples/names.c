/* SPDX-License-Identifier: MIT */
/* Goroutines with names and options, and a list of all that exist. */
#include <stdio.h>
#include <weft.h>

static void
reader(weft_waitgroup *ready, weft_waitgroup *gate, weft_waitgroup *gone)
{
	printf("goroutine %lld is called %s\n", (long long)weft_self_id(),
	    weft_self_name());
	weft_waitgroup_done(ready);
	weft_waitgroup_wait(gate);
	weft_waitgroup_done(gone);
}

int
weft_main(int argc, char **argv)
{
	weft_waitgroup ready = {0}, gate = {0}, gone = {0};
	char name[16];

	(void)argc, (void)argv;
	weft_waitgroup_add(&gate, 1);
	for (int i = 0; i < 3; i++) {
		weft_waitgroup_add(&ready, 1);
		weft_waitgroup_add(&gone, 1);
		snprintf(name, sizeof name, "reader-%d", i);
		weft_go_opt(WEFT_OPT(.name = name, .stack = 16384),
		    reader, &ready, &gate, &gone);
	}
	weft_waitgroup_wait(&ready);
	printf("%lld goroutines exist:\n", (long long)weft_goroutines());
	fflush(stdout);
	weft_dump_goroutines();			/* to standard error */
	weft_waitgroup_done(&gate);
	weft_waitgroup_wait(&gone);
	return 0;
}
WEFT_MAIN
