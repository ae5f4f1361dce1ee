/* SPDX-License-Identifier: MIT */
/* Many clients at the same time: no request is lost, none is half done. */
#include "asking.h"

enum { CLIENTS = 20, ROUNDS = 100 };

static weft_waitgroup all;

static void
count_up(int rounds)
{
	int fd = dial();

	for (int i = 0; i < rounds; i++) {
		char got[32];
		size_t n = 0;

		say(fd, "incr n\r\n");
		do
			EQ(weft_read_full(fd, got + n, 1, NULL), 1);
		while (got[n++] != '\n');
		OK(got[0] == ':');
	}
	weft_close(fd);
	weft_waitgroup_done(&all);
}

GTEST(increments, 4)
{
	int rounds = t_scale(ROUNDS);
	char expected[64], digits[16];

	start((struct redis_options){0});
	weft_waitgroup_add(&all, CLIENTS);
	for (int i = 0; i < CLIENTS; i++)
		weft_go(count_up, rounds);
	weft_waitgroup_wait(&all);
	snprintf(digits, sizeof digits, "%d", CLIENTS * rounds);
	snprintf(expected, sizeof expected, "$%zu\r\n%s\r\n", strlen(digits),
	    digits);
	ask("get n\r\n", expected);
	EQ(server_count(server).commands, CLIENTS * (uint64_t)rounds + 1);
	stop();
}

/* MSET is one step for MGET: both keys always have the same value. */
static void
set_both(int client, int rounds)
{
	int fd = dial();
	char text[64];

	for (int i = 0; i < rounds; i++) {
		snprintf(text, sizeof text, "mset a %02d%02d b %02d%02d\r\n",
		    client, i % 100, client, i % 100);
		say(fd, text);
		hear(fd, "+OK\r\n");
	}
	weft_close(fd);
	weft_waitgroup_done(&all);
}

static void
get_both(int rounds)
{
	static const char form[] = "*2\r\n$4\r\n....\r\n$4\r\n....\r\n";
	int fd = dial();
	char got[sizeof form] = "";

	for (int i = 0; i < rounds; i++) {
		say(fd, "mget a b\r\n");
		EQ(weft_read_full(fd, got, sizeof form - 1, NULL),
		    sizeof form - 1);
		OK(memcmp(got + 8, got + 18, 4) == 0);
	}
	weft_close(fd);
	weft_waitgroup_done(&all);
}

GTEST(at_once, 4)
{
	int rounds = t_scale(ROUNDS);

	start((struct redis_options){0});
	ask("mset a 0000 b 0000\r\n", "+OK\r\n");
	weft_waitgroup_add(&all, CLIENTS);
	for (int i = 0; i < CLIENTS; i++) {
		if (i % 2)
			weft_go(set_both, i, rounds);
		else
			weft_go(get_both, rounds);
	}
	weft_waitgroup_wait(&all);
	stop();
}

/* Values that are replaced and deleted while they are being sent. */
static void
churn(int client, int rounds)
{
	static char text[20000];
	char head[64];
	int fd = dial();

	for (int i = 0; i < rounds; i++) {
		int len = 100 << (client + i) % 8, n;

		n = snprintf(head, sizeof head, "*3\r\n$3\r\nset\r\n$1\r\n%d"
		    "\r\n$%d\r\n", i % 3, len);
		say_bytes(fd, head, (size_t)n);
		say_bytes(fd, text, (size_t)len);
		say(fd, "\r\n");
		hear(fd, "+OK\r\n");
		snprintf(head, sizeof head, i % 8 ? "get %d\r\n" :
		    "del %d\r\n", i % 3);
		say(fd, head);
		n = 0;
		do
			EQ(weft_read_full(fd, head + n, 1, NULL), 1);
		while (head[n++] != '\n');
		if (head[0] == '$' && head[1] != '-') {
			size_t size = strtoul(head + 1, NULL, 10) + 2;
			char *value = malloc(size);

			EQ(weft_read_full(fd, value, size, NULL), size);
			free(value);
		}
	}
	weft_close(fd);
	weft_waitgroup_done(&all);
}

GTEST(churning, 4)
{
	start((struct redis_options){0});
	weft_waitgroup_add(&all, CLIENTS);
	for (int i = 0; i < CLIENTS; i++)
		weft_go(churn, i, t_scale(ROUNDS));
	weft_waitgroup_wait(&all);
	ask("flushall\r\n", "+OK\r\n");
	stop();
}

/* Requests that were sent before the server stops are answered, or the
 * connection ends between two replies. */
static void
ask_on(weft_chan *begun)
{
	int fd = dial();
	char got[8] = "";
	ssize_t n;

	say(fd, "ping\r\n");
	hear(fd, "+PONG\r\n");
	weft_send(begun, 1);
	while (weft_write_full(fd, "ping\r\n", 6, NULL) == 6) {
		n = weft_read_full(fd, got, 7, NULL);
		OK(n == 7 || n <= 0);
		if (n != 7)
			break;
	}
	weft_close(fd);
	weft_waitgroup_done(&all);
}

GTEST(stop_while_busy, 4)
{
	weft_chan *begun = weft_chan_of(int, 0);

	start((struct redis_options){0});
	weft_waitgroup_add(&all, CLIENTS);
	for (int i = 0; i < CLIENTS; i++)
		weft_go(ask_on, begun);
	for (int i = 0; i < CLIENTS; i++)
		weft_recv(begun, int);
	stop();
	weft_waitgroup_wait(&all);
	weft_chan_release(begun);
}

/* Keys that expire are removed though no request asks for them. */
GTEST(sweeper, 2)
{
	enum { KEYS = 2000 };
	char text[64];
	int fd, n = 0;

	start((struct redis_options){0});
	fd = dial();
	for (int i = 0; i < KEYS; i++) {
		n = snprintf(text, sizeof text, "set %d x px %d\r\n", i,
		    i % 2 ? 1 : 1000000);
		say_bytes(fd, text, (size_t)n);
		hear(fd, "+OK\r\n");
	}
	do {
		char got[8] = "";

		weft_sleep(10 * WEFT_MS);
		say(fd, "dbsize\r\n");
		EQ(weft_read_full(fd, got, 7, NULL), 7);
		n = atoi(got + 1);
		OK(n >= KEYS / 2 && n <= KEYS);
	} while (n > KEYS / 2);
	weft_close(fd);
	stop();
}
