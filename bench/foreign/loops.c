/* SPDX-License-Identifier: MIT */
/*
 * weft-loops hogs_foreignN|hogs_pthreadN [PROCS]
 *
 * N endless loops inside a shared library, begun before a heartbeat of 1 ms
 * and a TCP echo: as goroutines on PROCS processors, or as threads of the
 * kernel on as many CPUs. weft-bench runs this program, which is not a part of
 * it since a program that needs such a library fails the examination of
 * weft_preempt_explain: so do most that people write, and then no code of
 * them is moved to another thread.
 *
 * HOGS_SECONDS (5) is how long; whether the loops share alike is seen after a
 * minute. It prints, each after the workload's name:
 *
 *	spawned, began, echoed	ms from the first spawn until all loops were
 *				spawned, the heartbeat ran, an echo was back
 *	late_*			ms that the heartbeat was late
 *	beats			heartbeats a second, 1000 at best
 *	echo_*			ms of a message there and back
 *	cpus			CPUs that the program used
 *	unused, idle		percent of PROCS (or of the machine's CPUs, if
 *				fewer) that this program did not use, and that
 *				no program did
 *	running_*		threads in state R
 *	share_*			a loop's iterations by the mean of all
 *	alike			percent of the loops within half and twice
 *				the median
 *	resident		MiB at the end
 *
 * What did not happen at all has the time of the whole run.
 *
 * A plain thread keeps the time and prints at the end, whatever the scheduler
 * that is measured makes of the rest.
 */
#define _GNU_SOURCE
#include "loops.h"
#include "mix.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <weft.h>

enum { LOOPS_MAX = 10000, SMALL_STACK = 256 * 1024 };

struct loop {
	uint64_t count;		/* atomic */
	char rest_of_line[56];
};

static const char *name;
static int loops, cpus;
static double seconds = 5;
static struct loop *loop;
static struct series heart, echo;
static int never, fds[2];
static int64_t start_ns, spawned_ns;	/* the latter atomic */
static double start_idle_ns;

static void
print_value(const char *what, double value, const char *unit)
{
	char line[128];

	snprintf(line, sizeof line, "%s_%s", name, what);
	printf("%-28s %10.3f %s\n", line, value, unit);
}

/* ---- as goroutines ---- */

static const struct manner by_goroutine = {
	weft_sleep, weft_read, weft_write, weft_now
};

static void
loop_forever(struct loop *l)
{
	mix_until(&never, &l->count);
}

static void
spawn_heartbeat(void)
{
	heartbeat(&by_goroutine, &heart);
}

static void
spawn_ask(void)
{
	echo_ask(&by_goroutine, &echo, fds[0]);
}

static void
spawn_answer(void)
{
	echo_answer(&by_goroutine, fds[1]);
}

static int
goroutines(int argc, char **argv)
{
	weft_chan *c = weft_chan_make(0, 0);

	(void)argc, (void)argv;
	for (int i = 0; i < loops; i++)
		weft_go(loop_forever, &loop[i]);
	__atomic_store_n(&spawned_ns, loops_now(), __ATOMIC_RELEASE);
	weft_go(spawn_heartbeat);
	weft_go(spawn_answer);
	weft_go(spawn_ask);
	weft_chan_recv(c, NULL);
	return 0;
}

/* ---- as threads ---- */

static void
thread_sleep(int64_t ns)
{
	struct timespec ts = { ns / 1000000000, ns % 1000000000 };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}

static const struct manner by_thread = {
	thread_sleep, read, write, loops_now
};

static void *
loop_thread(void *arg)
{
	loop_forever(arg);
	return NULL;
}

static void *
heartbeat_thread(void *arg)
{
	heartbeat(&by_thread, &heart);
	return arg;
}

static void *
ask_thread(void *arg)
{
	echo_ask(&by_thread, &echo, fds[0]);
	return arg;
}

static void *
answer_thread(void *arg)
{
	echo_answer(&by_thread, fds[1]);
	return arg;
}

static void
thread_start(void *(*fn)(void *), void *arg)
{
	pthread_attr_t a;
	pthread_t t;

	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, SMALL_STACK);
	loops_check("thread", pthread_create(&t, &a, fn, arg), 0);
	pthread_attr_destroy(&a);
}

/* The first n of the CPUs that we may use. */
static void
use_cpus(int n)
{
	cpu_set_t all, some;

	CPU_ZERO(&some);
	loops_check("affinity", sched_getaffinity(0, sizeof all, &all), 0);
	for (int i = 0; i < CPU_SETSIZE && n > 0; i++)
		if (CPU_ISSET(i, &all)) {
			CPU_SET(i, &some);
			n--;
		}
	loops_check("affinity", sched_setaffinity(0, sizeof some, &some), 0);
}

static void
threads(void)
{
	for (int i = 0; i < loops; i++)
		thread_start(loop_thread, &loop[i]);
	__atomic_store_n(&spawned_ns, loops_now(), __ATOMIC_RELEASE);
	thread_start(heartbeat_thread, NULL);
	thread_start(answer_thread, NULL);
	thread_start(ask_thread, NULL);
	for (;;)
		pause();
}

/* ---- what is printed ---- */

static double
resident_mib(void)
{
	long size = 0, pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f && fscanf(f, "%ld %ld", &size, &pages) != 2)
		pages = 0;
	if (f)
		fclose(f);
	return (double)pages / 256;
}

static int
machine_cpus(void)
{
	return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static double
cpu_ns(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1e9 +
	    (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1e3;
}

/* Of all CPUs, since boot, by /proc/stat: the fourth of the times. */
static double
machine_idle_ns(void)
{
	double tick = 1e9 / (double)sysconf(_SC_CLK_TCK);
	FILE *f = fopen("/proc/stat", "r");
	long n = 0;

	if (f && fscanf(f, "cpu %*d %*d %*d %ld", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return (double)n * tick;
}

static int
ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* By what each loop has come to, at one moment. */
static void
print_shares(const uint64_t *count)
{
	double sum = 0, median = (double)count[loops / 2];
	int alike = 0;

	for (int i = 0; i < loops; i++) {
		sum += (double)count[i];
		alike += (double)count[i] >= median / 2 &&
		    (double)count[i] <= median * 2 && count[i] > 0;
	}
	print_value("share_min", (double)count[0] * loops / sum, "of-mean");
	print_value("share_median", median * loops / sum, "of-mean");
	print_value("share_max", (double)count[loops - 1] * loops / sum,
	    "of-mean");
	print_value("alike", 100.0 * alike / loops, "%");
}

static void
print_series(const char *what, const struct series *s)
{
	static const struct {
		const char *name;
		double part;
	} points[] = {
		{ "p50", 0.5 }, { "p90", 0.9 }, { "p99", 0.99 }, { "max", 1 },
	};
	char line[64];

	for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
		double ms = series_ms(s, points[i].part);

		snprintf(line, sizeof line, "%s_%s", what, points[i].name);
		print_value(line, ms < 0 ? seconds * 1e3 : ms, "ms");
	}
}

static void
print_since(const char *what, int64_t when, int64_t end)
{
	print_value(what, (double)((when ? when : end) - start_ns) / 1e6, "ms");
}

static void
print_running(void)
{
	double p50, p99, most;

	census_end(&p50, &p99, &most);
	print_value("running_p50", p50, "threads");
	print_value("running_p99", p99, "threads");
	print_value("running_max", most, "threads");
}

/* Of the time that was ours; CPUs beyond procs are idle by themselves. */
static void
print_unused(const char *what, double ns, double wall)
{
	print_value(what, ns > 0 ? 100 * ns / wall / cpus : 0, "%");
}

/* Everything at one moment first, and then what takes its time. */
static void
report(void)
{
	uint64_t *count = malloc((size_t)loops * sizeof *count);
	int64_t end = loops_now();
	double cpu = cpu_ns(), wall = (double)(end - start_ns);
	double idle = machine_idle_ns() - start_idle_ns;
	struct series beats = series_end(&heart, end);
	struct series trips = series_end(&echo, end);

	for (int i = 0; i < loops; i++)
		count[i] = __atomic_load_n(&loop[i].count, __ATOMIC_RELAXED);
	qsort(count, (size_t)loops, sizeof *count, ascending);
	print_since("spawned", __atomic_load_n(&spawned_ns,
	    __ATOMIC_ACQUIRE), end);
	print_since("began", beats.began, end);
	print_since("echoed", trips.began, end);
	print_series("late", &beats);
	print_value("beats", (double)beats.n * 1e9 / wall, "1/s");
	print_series("echo", &trips);
	print_value("cpus", cpu / wall, "CPUs");
	print_unused("unused", wall * cpus - cpu, wall);
	print_unused("idle", idle - wall * (double)(machine_cpus() - cpus),
	    wall);
	print_running();
	print_shares(count);
	print_value("resident", resident_mib(), "MiB");
	fflush(stdout);
}

static void *
keep_time(void *arg)
{
	thread_sleep((int64_t)(seconds * 1e9));
	report();
	_exit(0);
	return arg;
}

static int
run_all(const char *kind, int procs)
{
	weft_config c = { .procs = procs };

	start_idle_ns = machine_idle_ns();
	start_ns = loops_now();
	thread_start(keep_time, NULL);
	if (!strcmp(kind, "pthread"))
		threads();
	return weft_run_config(&c, sizeof c, goroutines, 0, NULL) ? 2 : 0;
}

int
main(int argc, char **argv)
{
	const char *s = getenv("HOGS_SECONDS");
	int procs = argc > 2 ? atoi(argv[2]) : 0;
	char kind[8] = "";

	name = argc > 1 ? argv[1] : "";
	if (sscanf(name, "hogs_%7[a-z]%d", kind, &loops) != 2 || loops < 1 ||
	    loops > LOOPS_MAX || (strcmp(kind, "foreign") &&
	    strcmp(kind, "pthread"))) {
		fprintf(stderr, "usage: weft-loops "
		    "hogs_foreignN|hogs_pthreadN [PROCS]\n");
		return 2;
	}
	if (s && atof(s) > 0)
		seconds = atof(s);
	cpus = machine_cpus();
	if (procs > 0 && procs < cpus)
		cpus = procs;
	census_start();
	if (!strcmp(kind, "pthread") && procs > 0)
		use_cpus(procs);
	loop = aligned_alloc(64, (size_t)loops * sizeof *loop);
	loops_check("memory", loop != NULL, 1);
	memset(loop, 0, (size_t)loops * sizeof *loop);
	series_start(&heart);
	series_start(&echo);
	echo_connect(fds);
	return run_all(kind, procs);
}
