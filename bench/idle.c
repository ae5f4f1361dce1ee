/* SPDX-License-Identifier: MIT */
/*
 * Many connections on which nothing happens: what one takes of memory, and
 * how long a message takes on another one meanwhile.
 *
 * Their other ends are a process of its own, which has the descriptors and
 * the memory of those: this program, started as `weft-bench idle_client PORT
 * COUNT`, without a runtime. It ends with its standard input, so that it
 * cannot outlive us.
 */
#define _GNU_SOURCE
#include "bench.h"
#include "echo.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft.h>

extern char **environ;

enum {
	IDLE = 18000,		/* connections */
	SPARE = 64,		/* descriptors besides */
	TRIPS = 10000,
};

struct crowd {
	pid_t pid;
	int in;			/* our end of its standard input */
};

int
bench_idle_client(int port, int count)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	char c;

	echo_descriptors("idle_client", (unsigned long)count + SPARE);
	to.sin_port = htons((uint16_t)port);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (int i = 0; i < count; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		bench_check("idle_client: connect", fd < 0 ? -1 :
		    connect(fd, (struct sockaddr *)&to, sizeof to), 0);
	}
	while (read(0, &c, 1) > 0)
		;
	return 0;
}

static void
crowd_start(struct crowd *c, int port)
{
	char port_text[16], count[16];
	char *argv[] = {
		(char *)"weft-bench", (char *)"idle_client", port_text, count,
		NULL
	};
	posix_spawn_file_actions_t fa;
	int p[2];

	snprintf(port_text, sizeof port_text, "%d", port);
	snprintf(count, sizeof count, "%d", IDLE);
	bench_check("idle: pipe", pipe2(p, O_CLOEXEC), 0);
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, p[0], 0);
	bench_check("idle: spawn", posix_spawn(&c->pid, "/proc/self/exe", &fa,
	    NULL, argv, environ), 0);
	posix_spawn_file_actions_destroy(&fa);
	close(p[0]);
	c->in = p[1];
}

static void
crowd_stop(struct crowd *c)
{
	close(c->in);
	bench_check("idle: wait", waitpid(c->pid, NULL, 0), c->pid);
}

/* Until all but the first connection are accepted, and wait. */
static void
crowd_wait(struct crowd *c, struct echo_server *s)
{
	while (__atomic_load_n(&s->accepted, __ATOMIC_RELAXED) <= IDLE) {
		bench_check("idle: client ended", waitpid(c->pid, NULL,
		    WNOHANG), 0);
		weft_sleep(WEFT_MS);
	}
	weft_sleep(200 * WEFT_MS);
}

static void
time_trips(const char *name, int fd)
{
	static int64_t ns[TRIPS];

	for (int i = 0; i < TRIPS; i++) {
		int64_t start = weft_now();

		echo_trip(fd);
		ns[i] = weft_now() - start;
	}
	bench_p50_p99(name, ns, TRIPS, "us");
}

/* The one that is not idle comes first: what it needs is not counted. */
static void
idle(const char *mem, const char *rtt, bool readable)
{
	int64_t before = weft_goroutines();
	struct echo_server s;
	struct crowd c;
	double r0;
	int fd;

	echo_descriptors("idle", IDLE + SPARE);
	echo_start(&s, readable);
	fd = echo_dial(&s);
	for (int i = 0; i < 100; i++)
		echo_trip(fd);
	r0 = bench_resident();
	crowd_start(&c, s.port);
	crowd_wait(&c, &s);
	bench_value(mem, (bench_resident() - r0) / IDLE, "bytes");
	time_trips(rtt, fd);
	weft_close(fd);
	crowd_stop(&c);
	echo_stop(&s);
	bench_settle(before);
}

void
bench_idle(void)
{
	idle("idle_mem", "idle_rtt", false);
}

void
bench_idle_readable(void)
{
	idle("idle_readable_mem", "idle_readable_rtt", true);
}
