/* SPDX-License-Identifier: MIT */
/* The program asks itself over loopback, byte by byte as written here. */
#include "site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <weft.h>

/* What is sent on a connection, and what all of the answer must begin with,
 * line by line (the Date is left out), or have in it. */
static const struct exchange {
	const char *what, *sent, *begins, *has;
} exchanges[] = {
	{ "a request",
	    "GET /hello HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n",
	    "HTTP/1.1 200 OK\r\n", "\r\nContent-Type: text/plain\r\n"
	    "Content-Length: 14\r\nConnection: close\r\n\r\nHello, world!\n" },
	{ "one that keeps the connection, and one behind it",
	    "GET / HTTP/1.1\r\nHost: here\r\n\r\n"
	    "GET /nothing HTTP/1.1\r\nHost: here\r\n\r\n",
	    "HTTP/1.1 200 OK\r\n", "\r\n\r\nHello, world!\n"
	    "HTTP/1.1 404 Not Found\r\n" },
	{ "HTTP/1.0",
	    "GET /count?3 HTTP/1.0\r\n\r\n",
	    "HTTP/1.1 200 OK\r\n", "\r\nConnection: close\r\n\r\n1\n2\n3\n" },
	{ "a head without a body",
	    "HEAD /hello HTTP/1.1\r\nHost: here\r\n\r\n",
	    "HTTP/1.1 200 OK\r\n", "\r\nContent-Length: 14\r\n\r\n" },
	{ "chunks in both directions",
	    "POST /echo HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked"
	    "\r\n\r\n3\r\nabc\r\na;x=y\r\n0123456789\r\n0\r\nX: y\r\n\r\n",
	    "HTTP/1.1 200 OK\r\n", "\r\nTransfer-Encoding: chunked\r\n\r\n"
	    "3\r\nabc\r\na\r\n0123456789\r\n0\r\n\r\n" },
	{ "metrics of the runtime, for Prometheus",
	    "GET /metrics HTTP/1.1\r\nHost: here\r\nConnection: close\r\n"
	    "\r\n",
	    "HTTP/1.1 200 OK\r\n", "\r\nContent-Type: text/plain; "
	    "version=0.0.4\r\n" },
	{ "a client that asks before sending",
	    "PUT /echo HTTP/1.1\r\nHost: here\r\nExpect: 100-continue\r\n"
	    "Content-Length: 4\r\n\r\nbody",
	    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n",
	    "\r\nContent-Length: 4\r\n\r\nbody" },
	{ "two lengths",
	    "POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: 4\r\n"
	    "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	    "HTTP/1.1 400 Bad Request\r\n", "Connection: close\r\n" },
	{ "nonsense",
	    "\x16\x03\x01 hello\r\n\r\n",
	    "HTTP/1.1 400 Bad Request\r\n", "Connection: close\r\n" },
	{ "a way out of the folder",
	    "GET /%2e%2e/passwd HTTP/1.1\r\nHost: here\r\n\r\n",
	    "HTTP/1.1 404 Not Found\r\n", "\r\n\r\n404 Not Found\n" }
};

/* Sends text and collects the answer until the server closes. */
static char *
ask(const char *address, const char *text, char *answer, size_t cap)
{
	int fd = weft_dial("tcp", address);
	ssize_t n = -1;

	answer[0] = 0;
	if (fd < 0)
		return answer;
	if (weft_write_full(fd, text, strlen(text), NULL) > 0 &&
	    weft_shutdown(fd, SHUT_WR) == 0)
		n = weft_read_full(fd, answer, cap - 1, NULL);
	answer[n > 0 ? n : 0] = 0;
	weft_close(fd);
	return answer;
}

static int
check(const char *address, const struct exchange *e)
{
	char *answer = malloc(65536);
	bool ok;

	if (!answer)
		return 1;
	ask(address, e->sent, answer, 65536);
	ok = strncmp(answer, e->begins, strlen(e->begins)) == 0 &&
	    strstr(answer, e->has);
	printf("%s: %.*s%s\n", e->what, (int)strcspn(answer, "\r"), answer,
	    ok ? "" : " (not what it should be)");
	free(answer);
	return !ok;
}

/*
 * A client in the middle of a request: it is known to be there when it was told
 * to go on. It gets its answer though the server stops meanwhile.
 */
static void
late(const char *address, weft_chan *begun, weft_chan *result)
{
	static const char head[] = "PUT /echo HTTP/1.1\r\nHost: here\r\n"
	    "Expect: 100-continue\r\nContent-Length: 4\r\n\r\n";
	int fd = weft_dial("tcp", address);
	char answer[4096] = {0};

	weft_write_full(fd, head, sizeof head - 1, NULL);
	weft_read_full(fd, answer, strlen("HTTP/1.1 100 Continue\r\n\r\n"),
	    NULL);
	weft_send(begun, 1);
	weft_sleep(50 * WEFT_MS);
	weft_write_full(fd, "late", 4, NULL);
	weft_read_full(fd, answer, sizeof answer - 1, NULL);
	weft_close(fd);
	weft_send(result, strstr(answer, "\r\n\r\nlate") != NULL);
}

int
selftest(void)
{
	struct http_options o = { .handler = site };
	weft_chan *result = weft_chan_of(int, 1);
	weft_chan *begun = weft_chan_of(int, 0);
	int fd = weft_listen("tcp", "127.0.0.1:0"), wrong = 0, got;
	char address[WEFT_ADDRESS_TEXT];
	struct http_server *s;

	if (fd < 0 || !result || !begun || !(s = http_server_start(fd, &o)))
		return 1;
	weft_local_address(fd, address, sizeof address);
	for (size_t i = 0; i < sizeof exchanges / sizeof exchanges[0]; i++)
		wrong += check(address, &exchanges[i]);
	weft_go(late, address, begun, result);
	weft_recv(begun, int);
	wrong += http_server_stop(s, weft_deadline(10 * WEFT_SECOND)) != 0;
	got = weft_recv(result, int);
	printf("an answer while the server stops: %s\n", got ? "yes" : "no");
	weft_chan_release(begun);
	weft_chan_release(result);
	return wrong || !got;
}
