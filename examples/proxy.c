/* SPDX-License-Identifier: MIT */
/*
 * Forwards connections: proxy LISTEN TARGET
 *
 * Each direction is a goroutine that copies until its end and passes that on,
 * so that the other may go on for as long as it likes: a peer that has sent all
 * can still receive. Bytes stay in the kernel where it can splice them.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <weft.h>

enum { CLIENTS = 20, BYTES = 1 << 20 };

/* After an error both ends are of no use to the other direction either. */
static void
forward(int to, int from, weft_waitgroup *wg)
{
	int64_t n = weft_copy(to, from, INT64_MAX);

	weft_shutdown(to, n < 0 ? SHUT_RDWR : SHUT_WR);
	if (n < 0)
		weft_shutdown(from, SHUT_RDWR);
	weft_waitgroup_done(wg);
}

static void
connection(int client, const char *target)
{
	int server = weft_dial_with("tcp", target,
	    .until = weft_deadline(10 * WEFT_SECOND));
	weft_waitgroup wg = {0};

	if (server >= 0) {
		weft_waitgroup_add(&wg, 2);
		if (weft_try_go(forward, server, client, &wg) < 0)
			weft_waitgroup_done(&wg);
		forward(client, server, &wg);
		weft_waitgroup_wait(&wg);
		weft_close(server);
	}
	weft_close(client);
}

static void
serve(int listener, const char *target)
{
	int fd;

	while ((fd = weft_accept(listener, NULL, NULL)) >= 0)
		if (weft_try_go(connection, fd, target) < 0)
			weft_close(fd);
}

/* ---- the test: a server that answers when it has heard everything ------- */

static void
sum(int fd)
{
	unsigned char buf[65536];
	uint64_t total = 0;
	ssize_t n;

	while ((n = weft_read(fd, buf, sizeof buf)) > 0)
		for (ssize_t i = 0; i < n; i++)
			total += buf[i];
	weft_write_full(fd, &total, sizeof total, NULL);
	weft_close(fd);
}

static void
serve_sums(int listener)
{
	int fd;

	while ((fd = weft_accept(listener, NULL, NULL)) >= 0)
		weft_go(sum, fd);
}

static void
client(const char *address, int id, weft_chan *done)
{
	int fd = weft_dial("tcp", address), good = 0;
	char *data = malloc(BYTES);
	uint64_t total;

	if (fd >= 0 && data) {
		memset(data, id, BYTES);
		weft_write_full(fd, data, BYTES, NULL);
		weft_shutdown(fd, SHUT_WR);
		good = weft_read_full(fd, &total, sizeof total, NULL) ==
		    sizeof total && total == (uint64_t)id * BYTES;
	}
	free(data);
	if (fd >= 0)
		weft_close(fd);
	weft_send(done, good);
}

static int
selftest(void)
{
	weft_chan *done = weft_chan_of(int, 0);
	char target[WEFT_ADDRESS_TEXT], address[WEFT_ADDRESS_TEXT];
	int sums = weft_listen("tcp", "127.0.0.1:0"), good = 0;
	int fd = weft_listen("tcp", "127.0.0.1:0");

	weft_local_address(sums, target, sizeof target);
	weft_local_address(fd, address, sizeof address);
	weft_go(serve_sums, sums);
	weft_go(serve, fd, target);
	for (int i = 1; i <= CLIENTS; i++)
		weft_go(client, address, i, done);
	for (int i = 1; i <= CLIENTS; i++)
		good += weft_recv(done, int);
	weft_chan_release(done);
	printf("%d of %d clients sent %d bytes through the proxy, said that "
	    "they are done, and heard the sum\n", good, CLIENTS, BYTES);
	return good == CLIENTS ? 0 : 1;
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
	int fd;

	if (argc < 2)
		return selftest();
	fd = argc == 3 ? weft_listen("tcp", argv[1]) : -EINVAL;
	if (fd < 0) {
		fprintf(stderr, "usage: proxy LISTEN TARGET: %s\n",
		    weft_strerror(fd));
		return 1;
	}
	weft_go(serve, fd, argv[2]);
	weft_recv(signals(), int);
	weft_close(fd);
	return 0;
}
WEFT_MAIN
