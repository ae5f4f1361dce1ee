/* SPDX-License-Identifier: MIT */
/* An echo server, one goroutine for each connection: echo [ADDRESS] */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <weft.h>

enum { CLIENTS = 100, MESSAGES = 20 };

static void
echo(int fd)
{
	char buf[4096];
	ssize_t n;

	while ((n = weft_read(fd, buf, sizeof buf)) > 0)
		if (weft_write_full(fd, buf, (size_t)n, NULL) != n)
			break;
	weft_close(fd);
}

static void
serve(int listener)
{
	int fd;

	while ((fd = weft_accept(listener, NULL, NULL)) >= 0)
		if (weft_try_go(echo, fd) < 0)
			weft_close(fd);
}

/* Sends lines and counts those that come back. */
static void
client(const char *address, int id, weft_chan *done)
{
	int fd = weft_dial("tcp", address), good = 0;
	char line[64], back[64];

	for (int i = 0; fd >= 0 && i < MESSAGES; i++) {
		ssize_t n = snprintf(line, sizeof line, "%d: %d\n", id, i);

		if (weft_write_full(fd, line, (size_t)n, NULL) == n &&
		    weft_read_full(fd, back, (size_t)n, NULL) == n)
			good += memcmp(line, back, (size_t)n) == 0;
	}
	if (fd >= 0)
		weft_close(fd);
	weft_send(done, good);
}

static int
selftest(int listener)
{
	weft_chan *done = weft_chan_of(int, 0);
	char address[WEFT_ADDRESS_TEXT];
	int good = 0;

	weft_local_address(listener, address, sizeof address);
	for (int i = 0; i < CLIENTS; i++)
		weft_go(client, address, i, done);
	for (int i = 0; i < CLIENTS; i++)
		good += weft_recv(done, int);
	weft_chan_release(done);
	printf("%d clients: %d lines came back\n", CLIENTS, good);
	return good == CLIENTS * MESSAGES ? 0 : 1;
}

/* A channel that says when the process shall end. */
static weft_chan *
signals(void)
{
	weft_chan *c = weft_chan_of(int, 1);

	weft_signal_notify(c, SIGINT);
	weft_signal_notify(c, SIGTERM);
	return c;
}

int
weft_main(int argc, char **argv)
{
	const char *address = argc > 1 ? argv[1] : "127.0.0.1:0";
	int fd = weft_listen("tcp", address);

	if (fd < 0) {
		fprintf(stderr, "echo: %s: %s\n", address,
		    weft_strerror(fd));
		return 1;
	}
	weft_go(serve, fd);
	if (argc < 2)
		return selftest(fd);
	weft_recv(signals(), int);
	weft_close(fd);
	return 0;
}
WEFT_MAIN
