/* SPDX-License-Identifier: MIT */
/* Deferred calls run when a goroutine ends, the last one first. */
#include <stdio.h>
#include <string.h>
#include <weft.h>

static char order[8];

static void
note(void *letter)
{
	order[strlen(order)] = *(char *)letter;
}

static void
done(void *wg)
{
	weft_waitgroup_done(wg);
}

/* Ends the goroutine from inside a call: nothing here returns. */
static void
give_up(void)
{
	printf("goroutine %lld gives up\n", (long long)weft_self_id());
	weft_goexit();
}

static void
job(weft_waitgroup *wg)
{
	static char a = 'a', b = 'b';

	weft_defer(done, wg);
	weft_defer(note, &a);
	weft_defer(note, &b);
	give_up();
	printf("never printed\n");
}

int
weft_main(int argc, char **argv)
{
	weft_waitgroup wg = {0};

	(void)argc, (void)argv;
	weft_waitgroup_add(&wg, 1);
	weft_go(job, &wg);
	weft_waitgroup_wait(&wg);
	printf("deferred calls ran in this order: %s\n", order);
	return strcmp(order, "ba") == 0 ? 0 : 1;
}
WEFT_MAIN
