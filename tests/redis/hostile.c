/* SPDX-License-Identifier: MIT */
/*
 * Clients that do not play by the rules: each gets an error or is closed, the
 * others notice nothing, and what is kept of it is bounded.
 */
#include "asking.h"

#define BAD(text) "-ERR Protocol error: " text "\r\n"

/* It is refused, and the connection is closed. */
static void
refused(const char *request, const char *reply)
{
	int fd = dial();

	say(fd, request);
	hear(fd, reply);
	hear_end(fd);
}

GTEST(lengths, 2)
{
	start((struct redis_options){0});
	refused("*1048577\r\n", BAD("invalid multibulk length"));
	refused("*99999999999999999999\r\n", BAD("invalid multibulk length"));
	refused("*x\r\n", BAD("invalid multibulk length"));
	refused("*1 \r\n", BAD("invalid multibulk length"));
	refused("*1\n$4\nPING\n", BAD("invalid multibulk length"));
	refused("*00000000000000000000000000000001\r\n",
	    BAD("invalid multibulk length"));
	refused("*1\r\n$-1\r\n", BAD("invalid bulk length"));
	refused("*1\r\n$67108865\r\n", BAD("invalid bulk length"));
	refused("*1\r\n$18446744073709551615\r\n", BAD("invalid bulk length"));
	refused("*1\r\n$\r\n", BAD("invalid bulk length"));
	refused("*1\r\nPING\r\n", BAD("expected '$' before an argument"));
	refused("*1\r\n$4\r\nPINGXX",
	    BAD("expected a line's end behind an argument"));
	refused("ping\r\necho 'a\r\n",
	    "+PONG\r\n" BAD("unbalanced quotes in request"));
	ask("ping\r\n", "+PONG\r\n");
	stop();
}

/* Bytes of all kinds; what is no request is a line of words. */
GTEST(garbage, 2)
{
	char bytes[512];
	uint32_t x = 12345;
	int fd;

	start((struct redis_options){0});
	for (int i = 0; i < t_scale(300); i++) {
		fd = dial();
		for (size_t k = 0; k < sizeof bytes; k++) {
			x = x * 1664525 + 1013904223;
			bytes[k] = i % 3 ? "*$\r\n-019 \"'x\0GET"[x >> 28] :
			    (char)(x >> 24);
		}
		say_bytes(fd, bytes, sizeof bytes);
		weft_shutdown(fd, SHUT_WR);
		while (weft_read(fd, bytes, sizeof bytes) > 0)
			;
		weft_close(fd);
	}
	ask("ping\r\n", "+PONG\r\n");
	stop();
}

/* Command names that are no text do not get into the protocol. */
GTEST(names, 1)
{
	start((struct redis_options){0});
	ask("*1\r\n$9\r\na\r\n+OK\r\nb\r\nping\r\n",
	    "-ERR unknown command 'a??+OK??b'\r\n+PONG\r\n");
	ask("*1\r\n$0\r\n\r\nping\r\n", "-ERR unknown command ''\r\n+PONG\r\n");
	stop();
}

/* A line without an end. */
GTEST(long_line, 2)
{
	enum { LONG = 100000 };
	char *text = malloc(LONG);
	int fd;

	start((struct redis_options){0});
	memset(text, 'x', LONG);
	fd = dial();
	say_bytes(fd, text, LONG);
	hear(fd, BAD("too big inline request"));
	hear_end(fd);
	EQ(server_count(server).input, 0);
	free(text);
	stop();
}

/* An announced length costs nothing; bytes that come cost what was agreed. */
GTEST(memory_of_requests, 2)
{
	enum { HALF = 40000 };
	char *bytes = calloc(1, HALF);
	int fd[8];

	start((struct redis_options){ .max_input = 100000 });
	for (int i = 0; i < 8; i++) {
		fd[i] = dial();
		say(fd[i], "*1\r\n$60000000\r\n");
		say(fd[i], "x");
	}
	EQ(server_count(server).input, 0);
	/* Each needs 64 KiB: the first has them, the second does not. */
	say_bytes(fd[0], bytes, HALF);
	while (server_count(server).input < 1 << 16)
		weft_sleep(WEFT_MS);
	say_bytes(fd[1], bytes, HALF);
	hear(fd[1], BAD("no memory for the request"));
	hear_end(fd[1]);
	OK(server_count(server).input <= 100000);
	ask("ping\r\n", "+PONG\r\n");
	for (int i = 0; i < 8; i++)
		if (i != 1)
			weft_close(fd[i]);
	while (server_count(server).clients > 0)
		weft_sleep(WEFT_MS);
	EQ(server_count(server).input, 0);
	free(bytes);
	stop();
}

GTEST(too_big_request, 2)
{
	enum { PART = 50000 };
	char *text = malloc(PART + 32);
	int fd, n;

	start((struct redis_options){ .max_request = 100000 });
	fd = dial();
	n = sprintf(text, "$%d\r\n", PART);
	memset(text + n, 'x', PART);
	memcpy(text + n + PART, "\r\n", 2);
	say(fd, "*10\r\n");
	for (int i = 0; i < 3; i++)
		say_bytes(fd, text, (size_t)n + PART + 2);
	hear(fd, BAD("too big request"));
	hear_end(fd);
	free(text);
	stop();
}

/* Keys and values have a limit, too; what is there can be read and deleted. */
GTEST(full_store, 2)
{
	char value[1001] = {0}, text[1100], got[64] = "";
	int fd, n = 0;

	start((struct redis_options){ .max_memory = 100000 });
	fd = dial();
	memset(value, 'v', 1000);
	while (got[0] != '-' && n < 1000) {
		snprintf(text, sizeof text, "set k%d %s\r\n", n++, value);
		say(fd, text);
		EQ(weft_read_full(fd, got, 5, NULL), 5);
	}
	OK(n > 80 && n < 100);
	hear(fd, "command not allowed when used memory > 'maxmemory'.\r\n");
	say(fd, "set k0 x\r\nget k0\r\ndel k1\r\nflushall\r\ndbsize\r\n");
	hear(fd, "+OK\r\n$1\r\nx\r\n:1\r\n+OK\r\n:0\r\n");
	weft_close(fd);
	stop();
}

/* One that asks and does not read: no more is read from it, and it goes. */
GTEST(does_not_read, 2)
{
	static char text[1 << 16];
	char *p = text;
	int fd;

	start((struct redis_options){ .write_timeout = 50 * WEFT_MS });
	fd = dial();
	memset(text, 'v', sizeof text);
	say(fd, "*3\r\n$3\r\nset\r\n$1\r\nk\r\n$65536\r\n");
	say_bytes(fd, text, sizeof text);
	say(fd, "\r\n");
	hear(fd, "+OK\r\n");
	while (p + 7 < text + sizeof text)
		p += sprintf(p, "get k\r\n");
	while (weft_write_full(fd, text, (size_t)(p - text), NULL) > 0)
		;
	while (server_count(server).clients > 0)
		weft_sleep(WEFT_MS);
	weft_close(fd);
	ask("ping\r\n", "+PONG\r\n");
	stop();
}

GTEST(too_many_clients, 2)
{
	int fd[3];

	start((struct redis_options){ .max_clients = 2 });
	for (int i = 0; i < 2; i++) {
		fd[i] = dial();
		say(fd[i], "ping\r\n");
		hear(fd[i], "+PONG\r\n");
	}
	fd[2] = dial();
	hear(fd[2], "-ERR max number of clients reached\r\n");
	hear_end(fd[2]);
	EQ(server_count(server).refused, 1);
	weft_close(fd[0]);
	weft_close(fd[1]);
	stop();
}

/* If we are idle for too long before that, it is tried again. */
GTEST(idle_too_long, 1)
{
	static const char request[] = "ping\r\n*1\r\n", reply[] = "+PONG\r\n";
	char got[sizeof reply] = "";
	int fd = -1;

	start((struct redis_options){ .idle_timeout = 20 * WEFT_MS });
	do {
		weft_close(fd);
		fd = dial();
		weft_write_full(fd, request, sizeof request - 1, NULL);
	} while (weft_read_full(fd, got, sizeof reply - 1, NULL) !=
	    sizeof reply - 1);
	OK(strcmp(got, reply) == 0);
	hear_end(fd);
	stop();
}
