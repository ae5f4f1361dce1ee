/* SPDX-License-Identifier: MIT */
/*
 * tls-load PORT PROCESS CONNECTIONS SECONDS
 *
 * A client of tls-server, which is that process. First it makes so many
 * connections and leaves them idle; then 8 threads make connections until the
 * time is over: a full handshake of TLS 1.3, a byte there and back, and the
 * end. Plain OpenSSL, which verifies the signature but not the certificate.
 *
 * Prints
 *	- handshakes in a second;
 *	- microseconds of CPU of the server for each of them, with its byte;
 *	- bytes of the server for each idle connection: its Rss with them, less
 *	  what it was before, when 8 connections had been made and closed;
 *	- the threads of the server, while the connections were idle.
 * Client and server share the machine's CPUs, and the client's part of a
 * handshake is no less work.
 */
#include "usage.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CLIENTS = 8, WARM_UP = 8, SETTLE_NS = 300000000 };

static int port, connections, seconds;
static pid_t server;
static SSL_CTX *ctx;
static int64_t end;
static long made;		/* atomic */

static void
must(const char *what, bool good)
{
	if (good)
		return;
	fprintf(stderr, "tls-load: %s: failed\n", what);
	ERR_print_errors_fp(stderr);
	exit(1);
}

static int64_t
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* ---- a connection ---- */

static int
dial(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a.sin_port = htons((uint16_t)port);
	must("connect", !connect(fd, (struct sockaddr *)&a, sizeof a));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	return fd;
}

static void
echo(SSL *s)
{
	char c = 'x';

	must("write", SSL_write(s, &c, 1) == 1);
	c = 0;
	must("read", SSL_read(s, &c, 1) == 1 && c == 'x');
}

/* One that has made its handshake and echoed a byte. */
static SSL *
established(void)
{
	SSL *s = SSL_new(ctx);

	must("connection", s && SSL_set_fd(s, dial()) == 1);
	must("handshake", SSL_connect(s) == 1 && !SSL_session_reused(s));
	must("version", SSL_version(s) == TLS1_3_VERSION);
	echo(s);
	return s;
}

static void
drop(SSL *s)
{
	int fd = SSL_get_fd(s);

	SSL_shutdown(s);
	SSL_free(s);
	close(fd);
}

/* ---- idle connections ---- */

/* Lets the server come to rest. */
static void
settle(void)
{
	struct timespec ts = { 0, SETTLE_NS };

	nanosleep(&ts, NULL);
}

static void
warm_up(void)
{
	for (int i = 0; i < WARM_UP; i++)
		drop(established());
	settle();
}

/* Bytes of the server for each; and its threads. */
static double
idle(long *threads)
{
	SSL **s = calloc((size_t)connections, sizeof *s);
	double before = usage_bytes(server), with;

	must("memory", s != NULL);
	for (int i = 0; i < connections; i++)
		s[i] = established();
	settle();
	with = usage_bytes(server);
	*threads = usage_threads(server);
	for (int i = 0; i < connections; i++)
		drop(s[i]);
	free(s);
	settle();
	return (with - before) / connections;
}

/* ---- handshakes ---- */

static void *
client(void *arg)
{
	while (now() < end) {
		drop(established());
		__atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
	}
	return arg;
}

/* In a second; and the server's CPU for each. */
static double
handshakes(double *cpu_us)
{
	double before = usage_cpu_us(server);
	int64_t start = now();
	pthread_t t[CLIENTS];

	end = start + seconds * INT64_C(1000000000);
	for (int i = 0; i < CLIENTS; i++)
		must("thread", !pthread_create(&t[i], NULL, client, NULL));
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(t[i], NULL);
	*cpu_us = (usage_cpu_us(server) - before) / (double)made;
	return (double)made * 1e9 / (double)(now() - start);
}

static void
configure(void)
{
	struct rlimit r;

	getrlimit(RLIMIT_NOFILE, &r);
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
	signal(SIGPIPE, SIG_IGN);
	ctx = SSL_CTX_new(TLS_client_method());
	must("context", ctx &&
	    SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) == 1);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
}

int
main(int argc, char **argv)
{
	double per_second, cpu_us, bytes;
	long threads;

	if (argc == 5) {
		port = atoi(argv[1]);
		server = atoi(argv[2]);
		connections = atoi(argv[3]);
		seconds = atoi(argv[4]);
	}
	if (port < 1 || server < 1 || connections < 1 || seconds < 1) {
		fprintf(stderr,
		    "usage: tls-load PORT PROCESS CONNECTIONS SECONDS\n");
		return 2;
	}
	configure();
	warm_up();
	bytes = idle(&threads);
	per_second = handshakes(&cpu_us);
	printf("%.0f %.1f %.0f %ld\n", per_second, cpu_us, bytes, threads);
	return 0;
}
