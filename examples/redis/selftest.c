/* SPDX-License-Identifier: MIT */
/* The program asks itself over loopback, byte by byte as written here. */
#include "server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <weft.h>

enum { ANSWER_BYTES = 65536 };

/* What is sent on a connection of its own, and all that comes back. */
static const struct exchange {
	const char *what, *sent, *answer;
} exchanges[] = {
	{ "an array", "*1\r\n$4\r\nPING\r\n", "+PONG\r\n" },
	{ "a line, in words and quotes", "echo \"a\\tb\\x21\"\r\n",
	    "$4\r\na\tb!\r\n" },
	{ "a value", "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\n\r\n\r\n"
	    "get k\r\nget missing\r\n", "+OK\r\n$2\r\n\r\n\r\n$-1\r\n" },
	{ "requests behind each other", "incr n\r\nincr n\r\nincrby n 40\r\n"
	    "decr n\r\nget n\r\n", ":1\r\n:2\r\n:42\r\n:41\r\n$2\r\n41\r\n" },
	{ "conditions", "set c 1 nx\r\nset c 2 nx\r\nset c 3 xx get\r\n"
	    "set d 1 xx\r\nget c\r\n",
	    "+OK\r\n$-1\r\n$1\r\n1\r\n$-1\r\n$1\r\n3\r\n" },
	{ "several keys", "mset a 1 b 2\r\nmget a x b\r\nexists a a x\r\n"
	    "del a b x\r\ndel a\r\n", "+OK\r\n*3\r\n$1\r\n1\r\n$-1\r\n$1\r\n"
	    "2\r\n:2\r\n:2\r\n:0\r\n" },
	{ "times", "set t 1 ex 100\r\nttl t\r\npersist t\r\nttl t\r\n"
	    "expire t 0\r\nttl t\r\nset t 1 px 0\r\n", "+OK\r\n:100\r\n"
	    ":1\r\n:-1\r\n:1\r\n:-2\r\n-ERR invalid expire time in 'set' "
	    "command\r\n" },
	{ "what redis-benchmark asks", "config get save\r\n"
	    "config get appendonly\r\n", "*2\r\n$4\r\nsave\r\n$0\r\n\r\n"
	    "*2\r\n$10\r\nappendonly\r\n$2\r\nno\r\n" },
	{ "errors", "flute\r\nget\r\nset a b c\r\nset s x\r\nincr s\r\n",
	    "-ERR unknown command 'flute'\r\n-ERR wrong number of arguments "
	    "for 'get' command\r\n-ERR syntax error\r\n+OK\r\n-ERR value is "
	    "not an integer or out of range\r\n" },
	{ "a length that is none", "*1\r\n$-5\r\nPING\r\n",
	    "-ERR Protocol error: invalid bulk length\r\n" },
	{ "a length that is too large", "*1\r\n$99999999999\r\n",
	    "-ERR Protocol error: invalid bulk length\r\n" },
	{ "too many arguments", "*1048577\r\n",
	    "-ERR Protocol error: invalid multibulk length\r\n" },
	{ "half a request", "ping\r\n*2\r\n$4\r\nECHO\r\n$10\r\nabc",
	    "+PONG\r\n" },
	{ "quit", "quit\r\nping\r\n", "+OK\r\n" }
};

/* Sends text and collects the answer until the server closes. */
static char *
ask(const char *address, const char *text, char *answer)
{
	int fd = weft_dial("tcp", address);
	ssize_t n = -1;

	if (fd >= 0 && weft_write_full(fd, text, strlen(text), NULL) > 0 &&
	    weft_shutdown(fd, SHUT_WR) == 0)
		n = weft_read_full(fd, answer, ANSWER_BYTES - 1, NULL);
	answer[n > 0 ? n : 0] = 0;
	if (fd >= 0)
		weft_close(fd);
	return answer;
}

static int
check(const char *address, const struct exchange *e)
{
	char *answer = malloc(ANSWER_BYTES);
	bool ok = answer &&
	    strcmp(ask(address, e->sent, answer), e->answer) == 0;

	printf("%s: %s\n", e->what, ok ? "ok" : answer);
	free(answer);
	return !ok;
}

/* A key that is over, and that no request asks for, is removed. */
static int
check_sweeper(const char *address)
{
	char *answer = malloc(ANSWER_BYTES);
	bool ok = false;

	if (!answer)
		return 1;
	ask(address, "flushall\r\nset k 1 px 1\r\n", answer);
	for (int i = 0; i < 1000 && !ok; i++) {
		weft_sleep(10 * WEFT_MS);
		ask(address, "dbsize\r\n", answer);
		ok = strcmp(answer, ":0\r\n") == 0;
	}
	printf("a key that expires: %s\n", ok ? "ok" : answer);
	free(answer);
	return !ok;
}

/* An idle client is told that the server stops: it reads the end. */
static int
check_stop(struct server *s, const char *address)
{
	int fd = weft_dial("tcp", address), error;
	char answer[16] = "";
	bool ok;

	weft_write_full(fd, "ping\r\n", 6, NULL);
	weft_read_full(fd, answer, 7, NULL);
	error = server_stop(s, weft_deadline(10 * WEFT_SECOND));
	ok = error == 0 && weft_read(fd, answer, 1) == 0;
	weft_close(fd);
	printf("stopping: %s\n", ok ? "ok" : weft_strerror(error));
	return !ok;
}

int
selftest(void)
{
	int fd = weft_listen("tcp", "127.0.0.1:0"), wrong = 0;
	char address[WEFT_ADDRESS_TEXT];
	struct server *s = fd < 0 ? NULL :
	    server_start(fd, &(struct redis_options){0});

	if (!s)
		return 1;
	weft_local_address(fd, address, sizeof address);
	for (size_t i = 0; i < sizeof exchanges / sizeof exchanges[0]; i++)
		wrong += check(address, &exchanges[i]);
	wrong += check_sweeper(address);
	wrong += check_stop(s, address);
	return wrong != 0;
}
