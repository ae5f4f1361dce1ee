/* SPDX-License-Identifier: MIT */
/*
 * Two goroutines block their thread in read(), on one processor, and a third
 * goes on. One of them said before that it may block: that is cheaper, and
 * nothing else depends on it.
 */
#include <stdio.h>
#include <unistd.h>
#include <weft.h>

static void *
read_byte(void *fd)
{
	char c = '?';

	return read(*(int *)fd, &c, 1) == 1 ? (void *)(intptr_t)c : NULL;
}

static void
reader(int *fd, bool announced, weft_chan *out)
{
	void *c = announced ? weft_blocking(read_byte, fd) : read_byte(fd);

	weft_send(out, (char)(intptr_t)c);
}

int
weft_main(int argc, char **argv)
{
	weft_chan *out = weft_chan_of(char, 2);
	int said[2], unsaid[2], ticks = 0;
	char first, second;
	weft_preempt_stats s;

	(void)argc, (void)argv;
	if (pipe(said) != 0 || pipe(unsaid) != 0)
		return 1;
	weft_set_procs(1);
	weft_go(reader, &said[0], true, out);
	weft_go(reader, &unsaid[0], false, out);
	while (ticks < 50) {
		weft_sleep(WEFT_MS);
		ticks++;
	}
	weft_preempt_stats_read(&s, sizeof s);
	printf("%d ticks while %d goroutines were in read()\n", ticks,
	    s.blocked);
	if (write(said[1], "a", 1) != 1 || write(unsaid[1], "b", 1) != 1)
		return 1;
	first = weft_recv(out, char);
	second = weft_recv(out, char);
	printf("then they read '%c' and '%c'\n", first, second);
	printf("processors taken: %llu in an announced call, %llu asleep\n",
	    (unsigned long long)s.taken[WEFT_RETAKE_CALL],
	    (unsigned long long)s.taken[WEFT_RETAKE_ASLEEP]);
	weft_chan_release(out);
	return first + second == 'a' + 'b' ? 0 : 1;
}
WEFT_MAIN
