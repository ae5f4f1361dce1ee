/* SPDX-License-Identifier: MIT */
/* Ten goroutines say hello. */
#include <stdio.h>
#include <weft.h>

static void
hello(int n)
{
	printf("hello from goroutine %d\n", n);
}

int
weft_main(int argc, char **argv)
{
	weft_waitgroup wg = {0};

	(void)argc, (void)argv;
	for (int i = 0; i < 10; i++)
		weft_waitgroup_go(&wg, hello, i);
	weft_waitgroup_wait(&wg);
	return 0;
}
WEFT_MAIN
