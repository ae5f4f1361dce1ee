/* SPDX-License-Identifier: MIT */
/*
 * What the machine allows: the same work with no runtime at all.
 *
 * Usage: limit [WORKLOAD [PROCS]]
 *
 * syscall  a plain loop around read(2), in a process that has a second thread,
 *          as every runtime's has: with one thread the kernel does not count
 *          references to the descriptor, and a read costs some 50 ns less
 * sysblock a thread for each goroutine, whatever PROCS
 * files    a thread for each reader, in a plain loop around pread(2)
 * echo     PROCS threads, each around an edge-triggered epoll of its own with
 *          both ends of its share of the connections: an answer wakes no other
 *          thread, and an event takes one read, since a connection has one
 *          message under way
 * pfor     PROCS threads, a range for each
 * preempt, netload, netpaced, foreign_block, foreign_hog
 *          a thread sleeps, or asks a thread that serves, beside 2 * PROCS
 *          others, which the kernel spreads over all the CPUs there are: what
 *          it alone makes of that load
 */
#define _GNU_SOURCE
#include "../../files_data.h"
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

/* One of the threads of echo; only that thread uses it once it runs. */
struct looper {
	pthread_t thread;
	int ep;
	int live;		/* open ends */
};

/* Of the ends that ask, by descriptor: round trips to go. Else 0. */
static int left[MAX_FDS];

/* One of the threads of pfor. */
struct summer {
	pthread_t thread;
	const int *v;
	long begin, end;
	long sum;
};

static void must(int ok, const char *what)
{
	if (!ok) {
		perror(what);
		exit(1);
	}
}

/* Waits until the other end of a pipe is closed. */
static void *wait_for_end(void *arg)
{
	const int *fd = arg;
	char c;

	must(read(*fd, &c, 1) == 0, "read pipe");
	return NULL;
}

static void syscall_read1(long n)
{
	int fd = open("/dev/zero", O_RDONLY), ends[2];
	pthread_t second;
	char c;

	must(fd >= 0, "/dev/zero");
	must(pipe(ends) == 0, "pipe");
	must(pthread_create(&second, NULL, wait_for_end, &ends[0]) == 0,
	     "pthread_create");

	double start = now_ns();

	for (long i = 0; i < n; i++)
		must(read(fd, &c, 1) == 1, "read /dev/zero");
	nsop("syscall_read1", n, now_ns() - start);
	close(ends[1]);
	pthread_join(second, NULL);
	close(ends[0]);
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
	msec("sysblock64", now_ns() - start);
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

static void watch(struct looper *l, int fd)
{
	struct epoll_event e = { EPOLLIN | EPOLLET, { .fd = fd } };

	nodelay(fd);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	must(epoll_ctl(l->ep, EPOLL_CTL_ADD, fd, &e) == 0, "epoll_ctl");
	l->live++;
}

/*
 * Answers a message, or takes an answer and asks again; false if that was the
 * last one, or if the other end was closed.
 */
static int pass_on(int fd)
{
	char buf[MSG_BYTES];
	ssize_t n = read(fd, buf, sizeof buf);

	if (n < 0)
		return 1;
	if (n == 0 || (left[fd] && --left[fd] == 0))
		return 0;
	must(write(fd, buf, n) == n, "write");
	return 1;
}

static void *pass_all_on(void *arg)
{
	struct looper *l = arg;
	struct epoll_event ev[BATCH];

	while (l->live > 0) {
		int n = epoll_wait(l->ep, ev, BATCH, -1);

		for (int i = 0; i < n; i++) {
			if (!pass_on(ev[i].data.fd)) {
				close(ev[i].data.fd);
				l->live--;
			}
		}
	}
	close(l->ep);
	return NULL;
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

/* Connects so often; each thread gets as many, in a row, with both ends. */
static void connect_all(struct looper *l, int threads, int *fds, int conns,
			int trips)
{
	struct sockaddr_in addr;
	int listener = listen_loopback(&addr);

	for (int i = 0; i < conns; i++) {
		struct looper *owner = &l[(long)i * threads / conns];
		int served;

		fds[i] = dial(&addr);
		served = accept(listener, NULL, NULL);
		must(served >= 0 && served < MAX_FDS, "accept");
		left[fds[i]] = trips;
		left[served] = 0;
		watch(owner, fds[i]);
		watch(owner, served);
	}
	close(listener);
}

static void echo(int conns, int trips, int threads)
{
	static int fds[MAX_CONNS];
	struct looper *l = calloc(threads, sizeof *l);
	char msg[MSG_BYTES] = { 0 }, name[32];

	must(l != NULL, "calloc");
	for (int i = 0; i < threads; i++)
		must((l[i].ep = epoll_create1(0)) >= 0, "epoll_create1");
	connect_all(l, threads, fds, conns, trips);

	double start = now_ns();

	for (int i = 0; i < conns; i++)
		must(write(fds[i], msg, MSG_BYTES) == MSG_BYTES, "write");
	for (int i = 1; i < threads; i++)
		must(pthread_create(&l[i].thread, NULL, pass_all_on,
				    &l[i]) == 0, "pthread_create");
	pass_all_on(&l[0]);
	for (int i = 1; i < threads; i++)
		pthread_join(l[i].thread, NULL);
	snprintf(name, sizeof name, "echo_%dconn", conns);
	nsop(name, (long)conns * trips, now_ns() - start);
	free(l);
}

static void *sum_range(void *arg)
{
	struct summer *s = arg;

	s->sum = pfor_sum(s->v, s->begin, s->end);
	return NULL;
}

static void pfor(const int *v, int threads)
{
	struct summer *s = calloc(threads, sizeof *s);
	double start = now_ns();
	long sum = 0;

	must(s != NULL, "calloc");
	for (long i = 0; i < threads; i++) {
		s[i].v = v;
		s[i].begin = PFOR_ELEMENTS * i / threads;
		s[i].end = PFOR_ELEMENTS * (i + 1) / threads;
		must(pthread_create(&s[i].thread, NULL, sum_range, &s[i]) == 0,
		     "pthread_create");
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(s[i].thread, NULL);
		sum += s[i].sum;
	}
	msec("pfor", now_ns() - start);
	expect("pfor", sum, pfor_expected());
	free(s);
}

/* The only connection's server: it blocks. */
static void *answer(void *arg)
{
	const int *listener = arg;
	int fd = accept(*listener, NULL, NULL);
	char buf[MSG_BYTES];
	ssize_t n;

	must(fd >= 0, "accept");
	nodelay(fd);
	while ((n = read(fd, buf, sizeof buf)) > 0)
		must(write(fd, buf, n) == n, "server write");
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
	int listener = listen_loopback(&addr);
	pthread_t thread;
	int fd = dial(&addr);

	must(pthread_create(&thread, NULL, answer, &listener) == 0,
	     "pthread_create");
	nodelay(fd);
	trip_once(fd);
	beside(name, spin, hogs, once, fd);
	close(fd);
	pthread_join(thread, NULL);
	close(listener);
}

/* The soft limit may be too low for a thousand connections' two ends. */
static void raise_limit(void)
{
	struct rlimit l;

	must(getrlimit(RLIMIT_NOFILE, &l) == 0, "getrlimit");
	l.rlim_cur = l.rlim_max;
	must(setrlimit(RLIMIT_NOFILE, &l) == 0, "setrlimit");
}

/* A reader of `files`: its first operation, of how many, and by how many. */
struct reader {
	pthread_t thread;
	const struct files_data *data;
	long first, ops, readers, right;
};

static void *read_blocks(void *arg)
{
	struct reader *r = arg;
	char *buf = aligned_alloc(FILES_BLOCK, FILES_BLOCK);

	for (long op = r->first; op < r->ops; op += r->readers) {
		uint32_t block = files_block(r->data, op);
		long n = pread(r->data->fd, buf, FILES_BLOCK,
			       (off_t)block * FILES_BLOCK);

		r->right += files_right(buf, n, block);
	}
	free(buf);
	return NULL;
}

static void read_by(struct files_data *data, int cached, int readers)
{
	static struct reader r[256];
	long ops = files_ops(cached, readers), right = 0;
	char name[32];
	double start;

	snprintf(name, sizeof name, "files_%s_%d",
		 cached ? "cached" : "uncached", readers);
	files_prepare(data, cached);
	start = now_ns();
	for (int i = 0; i < readers; i++) {
		r[i] = (struct reader){ 0, data, i, ops, readers, 0 };
		must(pthread_create(&r[i].thread, NULL, read_blocks, &r[i]) ==
		     0, "pthread_create");
	}
	for (int i = 0; i < readers; i++) {
		pthread_join(r[i].thread, NULL);
		right += r[i].right;
	}
	nsop(name, ops, now_ns() - start);
	must(right == ops, "files");
}

static void files(void)
{
	static struct files_data data;

	must(files_make(&data), "files");
	for (int cached = 1; cached >= 0; cached--) {
		read_by(&data, cached, 1);
		read_by(&data, cached, 16);
		read_by(&data, cached, 256);
	}
	close(data.fd);
}

int main(int argc, char **argv)
{
	const char *asked = argc > 1 ? argv[1] : "all";
	int procs = argc > 2 ? atoi(argv[2]) : sysconf(_SC_NPROCESSORS_ONLN);

	if (procs < 1)
		procs = 1;
	if (!strcmp(asked, "version"))
		puts("threads, no runtime");
	if (wanted(asked, "echo")) {
		raise_limit();
		echo(64, 5000, procs);
		echo(1000, 300, procs);
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
	if (!strcmp(asked, "files"))
		files();
	if (wanted(asked, "foreign_block"))
		sleep_beside("foreign_block", doze, 2 * procs);
	if (wanted(asked, "foreign_hog"))
		sleep_beside("foreign_hog", sort, 2 * procs);
	if (wanted(asked, "pfor")) {
		int *v = pfor_make();

		for (int i = 0; i < 3; i++)
			pfor(v, procs);
		free(v);
	}
	return 0;
}
