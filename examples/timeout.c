/* SPDX-License-Identifier: MIT */
/* Select with a timeout: whoever answers first, but not for ever. */
#include <errno.h>
#include <stdio.h>
#include <weft.h>

static void
answer(weft_chan *c, int64_t after_ns, const char *text)
{
	weft_sleep(after_ns);
	weft_send(c, text);
	weft_chan_release(c);
}

int
weft_main(int argc, char **argv)
{
	weft_chan *near = weft_chan_of(const char *, 1);
	weft_chan *far = weft_chan_of(const char *, 1);
	const char *text = NULL;
	weft_case cases[] = {
		WEFT_CASE_RECV(near, &text), WEFT_CASE_RECV(far, &text)
	};
	int first, second;

	(void)argc, (void)argv;
	weft_go(answer, weft_chan_retain(near), 5 * WEFT_MS, "here I am");
	weft_go(answer, weft_chan_retain(far), 3600 * WEFT_SECOND, "hello?");
	first = weft_select_until(cases, 2, weft_deadline(10 * WEFT_SECOND));
	printf("%s says: %s\n", first == 0 ? "near" : "far", text);
	second = weft_select_until(cases, 2, weft_deadline(20 * WEFT_MS));
	printf("nothing more in 20 ms: %s\n",
	    second == -ETIMEDOUT ? "enough" : "what?");
	weft_chan_release(near);
	weft_chan_release(far);		/* its sender still has it */
	return first == 0 && second == -ETIMEDOUT ? 0 : 1;
}
WEFT_MAIN
