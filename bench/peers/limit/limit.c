/* SPDX-License-Identifier: MIT */
/*
 * What the machine allows: the same work with no runtime at all.
 *
 * Usage: limit [WORKLOAD [PROCS]]
 *
 * syscall  a plain loop around read(2)
 * sysblock a thread for each goroutine, whatever PROCS
 * echo     one thread serves and one thread asks, each around its own
 *          edge-triggered epoll; always these two threads, whatever PROCS
 * preempt, netload, netpaced, foreign_block, foreign_hog
 *          a thread sleeps, or asks a thread that serves, beside 2 * PROCS
 *          others, which the kernel spreads over all the CPUs there are: what
 *          it alone makes of that load
 */
#define _GNU_SOURCE
#include "../peer.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MSG_BYTES = 64, BATCH = 128, MAX_CONNS = 4096, MAX_FDS = 65536 };
enum { NAPPERS = 64, TIMES = 500, SORTED = 1000000 };

/* Tells the threads beside the sleeper to end; atomic. */
static int quit;

/* What the client tells the server; constant once the server runs. */
struct listener {
	int fd;
	int conns;
};

static void must(int ok, const char *what)
{
	if (!ok) {
		perror(what);
		exit(1);
	}
}

static void syscall_read1(long n)
{
	int fd = open("/dev/zero", O_RDONLY);
	char c;
	double start = now_ns();

	for (long i = 0; i < n; i++)
		must(read(fd, &c, 1) == 1, "read /dev/zero");
	nsop("syscall_read1", n, now_ns() - start);
	close(fd);
}

static void *napper(void *arg)
{
	for (int i = 0; i < 20; i++) {
		struct timespec ts = { .tv_nsec = 5000000 };

		must(nanosleep(&ts, NULL) == 0, "nanosleep");
	}
	return arg;
}

static void sysblock(void)
{
	pthread_t thread[NAPPERS];
	double start = now_ns();

	for (int i = 0; i < NAPPERS; i++)
		must(pthread_create(&thread[i], NULL, napper, NULL) == 0,
		     "pthread_create");
	for (int i = 0; i < NAPPERS; i++)
		pthread_join(thread[i], NULL);
	printf("%-16s %10.1f ms\n", "sysblock64", (now_ns() - start) / 1e6);
	fflush(stdout);
}

static int going(void)
{
	return !__atomic_load_n(&quit, __ATOMIC_RELAXED);
}

static void *spin(void *arg)
{
	while (going())
		;
	return arg;
}

static void *doze(void *arg)
{
	while (going())
		usleep(200000);
	return arg;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void *sort(void *arg)
{
	uint32_t *v = malloc(SORTED * sizeof *v), x = 1;

	must(v != NULL, "malloc");
	while (going()) {
		for (int i = 0; i < SORTED; i++)
			v[i] = x = x * 1664525 + 1013904223;
		qsort(v, SORTED, sizeof *v, by_value);
	}
	free(v);
	return arg;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* once(fd) says how many ms late it was. */
static void beside(const char *name, void *(*hog)(void *), int hogs,
		   double (*once)(int fd), int fd)
{
	pthread_t *thread = calloc(hogs, sizeof *thread);
	double late[TIMES];

	must(thread != NULL, "calloc");
	__atomic_store_n(&quit, 0, __ATOMIC_RELAXED);
	for (int i = 0; i < hogs; i++)
		must(pthread_create(&thread[i], NULL, hog, NULL) == 0,
		     "pthread_create");
	for (int i = 0; i < TIMES; i++)
		late[i] = once(fd);
	__atomic_store_n(&quit, 1, __ATOMIC_RELAXED);
	qsort(late, TIMES, sizeof *late, ascending);
	printf("%-16s %10.3f ms p50  %.3f ms p99\n", name, late[TIMES / 2],
	       late[TIMES * 99 / 100 - 1]);
	fflush(stdout);
	for (int i = 0; i < hogs; i++)
		pthread_join(thread[i], NULL);
	free(thread);
}

static double sleep_once(int fd)
{
	struct timespec ts = { .tv_nsec = 1000000 };
	double start = now_ns();

	(void)fd;
	must(nanosleep(&ts, NULL) == 0, "nanosleep");
	return (now_ns() - start) / 1e6 - 1;
}

static void sleep_beside(const char *name, void *(*hog)(void *), int hogs)
{
	beside(name, hog, hogs, sleep_once, -1);
}

static void nodelay(int fd)
{
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static void watch(int ep, int fd)
{
	struct epoll_event e = { EPOLLIN | EPOLLET, { .fd = fd } };

	nodelay(fd);
	must(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e) == 0, "epoll_ctl");
}

/* Sends back what has arrived on fd; false once the other side closed. */
static int serve(int fd)
{
	char buf[MSG_BYTES];
	ssize_t n;

	while ((n = read(fd, buf, sizeof buf)) > 0)
		must(write(fd, buf, n) == n, "server write");
	return n != 0;
}

static void *server(void *arg)
{
	struct listener *l = arg;
	struct epoll_event ev[BATCH];
	int ep = epoll_create1(0);
	int live = l->conns;

	for (int i = 0; i < l->conns; i++) {
		int fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK);

		must(fd >= 0, "accept");
		watch(ep, fd);
	}
	while (live > 0) {
		int n = epoll_wait(ep, ev, BATCH, -1);

		for (int i = 0; i < n; i++) {
			if (!serve(ev[i].data.fd)) {
				close(ev[i].data.fd);
				live--;
			}
		}
	}
	close(ep);
	return NULL;
}

/* Takes answers from fd and asks again; false once *left reached zero. */
static int ask(int fd, int *left)
{
	char buf[MSG_BYTES];

	while (read(fd, buf, sizeof buf) > 0) {
		if (--*left == 0)
			return 0;
		must(write(fd, buf, MSG_BYTES) == MSG_BYTES, "client write");
	}
	return 1;
}

static int listen_loopback(struct sockaddr_in *addr)
{
	struct sockaddr *sa = (struct sockaddr *)addr;
	socklen_t len = sizeof *addr;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	*addr = (struct sockaddr_in){ .sin_family = AF_INET };
	addr->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	must(bind(fd, sa, len) == 0, "bind");
	must(listen(fd, MAX_CONNS) == 0, "listen");
	must(getsockname(fd, sa, &len) == 0, "getsockname");
	return fd;
}

static int dial(const struct sockaddr_in *addr)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	must(fd >= 0 && fd < MAX_FDS, "socket");
	must(connect(fd, (const struct sockaddr *)addr, sizeof *addr) == 0,
	     "connect");
	return fd;
}

static void echo(int conns, int trips)
{
	static int left[MAX_FDS];	/* round trips to go, by descriptor */
	static int fds[MAX_CONNS];
	struct epoll_event ev[BATCH];
	struct sockaddr_in addr;
	struct listener l = { listen_loopback(&addr), conns };
	char msg[MSG_BYTES] = { 0 }, name[32];
	int ep = epoll_create1(0);
	int live = conns;
	pthread_t thread;

	must(pthread_create(&thread, NULL, server, &l) == 0, "pthread_create");
	for (int i = 0; i < conns; i++) {
		fds[i] = dial(&addr);
		fcntl(fds[i], F_SETFL, O_NONBLOCK);
		left[fds[i]] = trips;
		watch(ep, fds[i]);
	}

	double start = now_ns();

	for (int i = 0; i < conns; i++)
		must(write(fds[i], msg, MSG_BYTES) == MSG_BYTES, "write");
	while (live > 0) {
		int n = epoll_wait(ep, ev, BATCH, -1);

		for (int i = 0; i < n; i++) {
			int fd = ev[i].data.fd;

			if (!ask(fd, &left[fd])) {
				close(fd);
				live--;
			}
		}
	}
	snprintf(name, sizeof name, "echo_%dconn", conns);
	nsop(name, (long)conns * trips, now_ns() - start);

	pthread_join(thread, NULL);
	close(ep);
	close(l.fd);
}

/* The only connection's server: it blocks. */
static void *answer(void *arg)
{
	struct listener *l = arg;
	int fd = accept(l->fd, NULL, NULL);

	must(fd >= 0, "accept");
	nodelay(fd);
	serve(fd);
	close(fd);
	return NULL;
}

static double trip_once(int fd)
{
	char buf[MSG_BYTES] = { 0 };
	double start = now_ns();

	must(write(fd, buf, MSG_BYTES) == MSG_BYTES, "write");
	for (ssize_t n, got = 0; got < MSG_BYTES; got += n) {
		n = read(fd, buf, sizeof buf);
		must(n > 0, "read");
	}
	return (now_ns() - start) / 1e6;
}

static double paced_once(int fd)
{
	sleep_once(fd);
	return trip_once(fd);
}

static void trip_beside(const char *name, double (*once)(int fd), int hogs)
{
	struct sockaddr_in addr;
	struct listener l = { listen_loopback(&addr), 1 };
	pthread_t thread;
	int fd = dial(&addr);

	must(pthread_create(&thread, NULL, answer, &l) == 0, "pthread_create");
	nodelay(fd);
	trip_once(fd);
	beside(name, spin, hogs, once, fd);
	close(fd);
	pthread_join(thread, NULL);
	close(l.fd);
}

/* The soft limit may be too low for a thousand connections' two ends. */
static void raise_limit(void)
{
	struct rlimit l;

	must(getrlimit(RLIMIT_NOFILE, &l) == 0, "getrlimit");
	l.rlim_cur = l.rlim_max;
	must(setrlimit(RLIMIT_NOFILE, &l) == 0, "setrlimit");
}

int main(int argc, char **argv)
{
	const char *asked = argc > 1 ? argv[1] : "all";
	int procs = argc > 2 ? atoi(argv[2]) : sysconf(_SC_NPROCESSORS_ONLN);

	if (wanted(asked, "echo")) {
		raise_limit();
		echo(64, 5000);
		echo(1000, 300);
	}
	if (wanted(asked, "netload"))
		trip_beside("net_late", trip_once, 2 * procs);
	if (wanted(asked, "netpaced"))
		trip_beside("net_paced", paced_once, 2 * procs);
	if (wanted(asked, "preempt"))
		sleep_beside("preempt_late", spin, 2 * procs);
	if (wanted(asked, "syscall"))
		syscall_read1(3000000);
	if (wanted(asked, "sysblock"))
		sysblock();
	if (wanted(asked, "foreign_block"))
		sleep_beside("foreign_block", doze, 2 * procs);
	if (wanted(asked, "foreign_hog"))
		sleep_beside("foreign_hog", sort, 2 * procs);
	return 0;
}
