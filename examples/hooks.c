/* SPDX-License-Identifier: MIT */
/*
 * Code that blocks, on goroutines, with libweft-hooks. The client below is
 * written for threads, as a library is that knows nothing of weft: it connects,
 * sends, waits for the answer. 500 goroutines call it at the same time, and the
 * process has a handful of threads. (Linked without libweft-hooks it works as
 * well, with some hundred.)
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <weft.h>

enum { CLIENTS = 500, THREADS = 20 };

/* ---- a library for threads ---- */

/* Asks a server on this machine: the length of the answer, or -1. */
static ssize_t
client_ask(int port, const char *question, char *answer, size_t cap)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
	    .sin_port = htons((uint16_t)port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	ssize_t n = -1;

	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0 &&
	    write(fd, question, strlen(question)) > 0)
		n = read(fd, answer, cap);
	close(fd);
	return n;
}

/* ---- the program ---- */

static weft_chan *results;	/* of bool: was the answer the right one? */

static void
ask(int port, int number)
{
	char question[32], answer[32];
	int len = snprintf(question, sizeof question, "%d", number);
	bool right = client_ask(port, question, answer, sizeof answer) == len &&
	    memcmp(answer, question, (size_t)len) == 0;

	weft_send(results, right);
}

/* Answers with the question, when all have asked. */
static void
serve(int fd, weft_event *all_asked)
{
	char buf[64];
	ssize_t n = weft_read(fd, buf, sizeof buf);

	weft_event_wait(all_asked);
	if (n > 0)
		weft_write(fd, buf, (size_t)n);
	weft_close(fd);
}

static int
threads(void)
{
	DIR *d = opendir("/proc/self/task");
	int n = -2;				/* . and .. */

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

int
weft_main(int argc, char **argv)
{
	int listener = weft_listen("tcp", "127.0.0.1:0"), right = 0;
	weft_event all_asked = {0};

	(void)argc, (void)argv;
	results = weft_chan_make(sizeof(bool), CLIENTS);
	for (int i = 0; i < CLIENTS; i++)
		weft_go(ask, weft_local_port(listener), i);
	for (int i = 0; i < CLIENTS; i++)
		weft_go(serve, weft_accept(listener, NULL, NULL), &all_asked);
	printf("%d clients wait, on %s %d threads\n", CLIENTS,
	    threads() > THREADS ? "more than" : "at most", THREADS);
	weft_event_set(&all_asked);
	for (int i = 0; i < CLIENTS; i++)
		right += weft_recv(results, bool);
	printf("%d of %d answers are right\n", right, CLIENTS);
	return right != CLIENTS;
}
WEFT_MAIN
