/* SPDX-License-Identifier: MIT */
/*
 * redis serve [options] ADDRESS
 *
 * A server that speaks the protocol of Redis, for strings: redis-cli and
 * redis-benchmark work with it. Serves until SIGINT or SIGTERM. Without
 * arguments it tests itself.
 *
 *	build/examples/redis serve 127.0.0.1:6379
 *	redis-cli set hello world ex 10
 */
#include "server.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

static int
usage(void)
{
	fprintf(stderr, "usage: redis serve [options] ADDRESS\n"
	    "  -memory MIB     of keys and values (1024)\n"
	    "  -request MIB    of one request (64)\n"
	    "  -input MIB      of all large requests at a time (256)\n"
	    "  -clients N      at a time (10000)\n"
	    "  -idle SECONDS   a client that asks nothing is closed "
	    "(never)\n"
	    "  -write SECONDS  ... one that does not take its replies "
	    "(20)\n");
	return 2;
}

static int64_t
number(const char *text)
{
	char *end;
	long long n = text ? strtoll(text, &end, 10) : 0;

	return n > 0 && *end == 0 && n <= 1 << 20 ? n : 0;
}

static bool
take_option(struct redis_options *o, const char *name, int64_t n)
{
	if (n == 0)
		return false;
	if (strcmp(name, "-memory") == 0)
		o->max_memory = (size_t)n << 20;
	else if (strcmp(name, "-request") == 0)
		o->max_request = (size_t)n << 20;
	else if (strcmp(name, "-input") == 0)
		o->max_input = (size_t)n << 20;
	else if (strcmp(name, "-clients") == 0)
		o->max_clients = (int)n;
	else if (strcmp(name, "-idle") == 0)
		o->idle_timeout = n * WEFT_SECOND;
	else if (strcmp(name, "-write") == 0)
		o->write_timeout = n * WEFT_SECOND;
	else
		return false;
	return true;
}

static int
serve(const char *address, const struct redis_options *o)
{
	weft_chan *stop = weft_chan_of(int, 1);
	char text[WEFT_ADDRESS_TEXT];
	struct server *s;
	int fd;

	weft_signal_notify(stop, SIGINT);
	weft_signal_notify(stop, SIGTERM);
	fd = weft_listen("tcp", address);
	if (fd < 0) {
		fprintf(stderr, "redis: %s: %s\n", address,
		    weft_strerror(fd));
		return 1;
	}
	s = server_start(fd, o);
	if (!s) {
		fprintf(stderr, "redis: out of memory\n");
		return 1;
	}
	printf("redis://%s\n", weft_local_address(fd, text, sizeof text));
	fflush(stdout);
	weft_recv(stop, int);
	fprintf(stderr, "redis: stopping\n");
	return server_stop(s, weft_deadline(10 * WEFT_SECOND)) != 0;
}

int
weft_main(int argc, char **argv)
{
	struct redis_options o = {0};
	int i = 2;

	if (argc < 2)
		return selftest();
	if (strcmp(argv[1], "serve") != 0)
		return usage();
	for (; i < argc && argv[i][0] == '-'; i += 2)
		if (!take_option(&o, argv[i], number(argv[i + 1])))
			return usage();
	return argc - i == 1 ? serve(argv[i], &o) : usage();
}
WEFT_MAIN
