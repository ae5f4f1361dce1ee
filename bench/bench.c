/* SPDX-License-Identifier: MIT */
/*
 * weft-bench [WORKLOAD [PROCS]]
 *
 * Runs one workload, or all but those whose output is a page or that measure
 * memory others would have left; `list` names them. Some are in a program of
 * their own, weft-loops, in the same folder.
 *
 * The program must pass the examination of weft_preempt_explain, or it would
 * not be preempted by signals: nothing thread-local, no locks but weft's, and
 * no strerror, which keeps its text in the thread.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <weft.h>

static const struct {
	const char *name;
	void (*fn)(void);	/* NULL: weft-loops has it */
	bool alone;		/* runs when asked for by name */
} workloads[] = {
	{ "spawn", bench_spawn, false },
	{ "spawnjoin", bench_spawnjoin, false },
	{ "yield", bench_yield, false },
	{ "pingpong", bench_pingpong, false },
	{ "ring", bench_ring, false },
	{ "spsc", bench_spsc, false },
	{ "mpmc", bench_mpmc, false },
	{ "select", bench_select, false },
	{ "skynet", bench_skynet, false },
	{ "sieve", bench_sieve, false },
	{ "fib", bench_fib, false },
	{ "fib_future", bench_fib_future, false },
	{ "skynet_future", bench_skynet_future, false },
	{ "spawnjoin_future", bench_spawnjoin_future, false },
	{ "pfor", bench_pfor, false },
	{ "mutex", bench_mutex, false },
	{ "sleepers", bench_sleepers, false },
	{ "timers", bench_timers, false },
	{ "parked", bench_parked, false },
	{ "parked_lazy_chan", bench_parked_lazy_chan, true },
	{ "parked_lazy_time", bench_parked_lazy_time, true },
	{ "echo", bench_echo, false },
	{ "netload", bench_netload, false },
	{ "netpaced", bench_netpaced, false },
	{ "preempt", bench_preempt, false },
	{ "syscall", bench_syscall, false },
	{ "sysblock", bench_sysblock, false },
	{ "foreign_block", bench_foreign_block, false },
	{ "foreign_hog", bench_foreign_hog, false },
	{ "blockers", bench_blockers, false },
	{ "blockers_announced", bench_blockers_announced, false },
	{ "blockers_pthread", bench_blockers_pthread, false },
	{ "blockers_short", bench_blockers_short, false },
	{ "files", bench_files, true },
	{ "idle", bench_idle, true },
	{ "idle_readable", bench_idle_readable, true },
	{ "lateness", bench_lateness, true },
	{ "hogs_foreign8", NULL, true },
	{ "hogs_foreign100", NULL, true },
	{ "hogs_foreign1000", NULL, true },
	{ "hogs_pthread8", NULL, true },
	{ "hogs_pthread100", NULL, true },
	{ "hogs_pthread1000", NULL, true },
};
enum { WORKLOADS = sizeof workloads / sizeof workloads[0] };

double
bench_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

double
bench_resident(void)
{
	long size = 0, pages = 0, kb = 0;
	char line[256];
	FILE *f = fopen("/proc/self/statm", "r");

	if (f && fscanf(f, "%ld %ld", &size, &pages) != 2)
		pages = 0;
	if (f)
		fclose(f);
	f = fopen("/proc/self/status", "r");
	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, "VmPTE:", 6))
			kb = atol(line + 6);
	if (f)
		fclose(f);
	return (double)pages * 4096 + (double)kb * 1024;
}

void
bench_value(const char *name, double value, const char *unit)
{
	printf("%-16s %10.1f %s\n", name, value, unit);
	fflush(stdout);
}

void
bench_ns_op(const char *name, long n, double ns)
{
	bench_value(name, ns / (double)n, "ns/op");
}

void
bench_ms(const char *name, double ns)
{
	bench_value(name, ns / 1e6, "ms");
}

static int
ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

void
bench_p50_p99(const char *name, int64_t *ns, long n, const char *unit)
{
	double unit_ns = !strcmp(unit, "ms") ? 1e6 : 1e3;

	qsort(ns, (size_t)n, sizeof *ns, ascending);
	printf("%-16s %10.3f %s p50  %.3f %s p99\n", name,
	    (double)ns[n / 2] / unit_ns, unit,
	    (double)ns[n * 99 / 100 - 1] / unit_ns, unit);
	fflush(stdout);
}

void
bench_check(const char *name, long got, long want)
{
	if (got == want)
		return;
	fprintf(stderr, "weft-bench: %s: got %ld, not %ld\n", name, got, want);
	exit(1);
}

void
bench_settle(int64_t count)
{
	while (weft_goroutines() > count)
		weft_yield();
}

static int
run(int argc, char **argv)
{
	const char *which = argc > 1 ? argv[1] : "all";
	int found = 0;

	for (int i = 0; i < WORKLOADS; i++)
		if (!strcmp(which, workloads[i].name) ||
		    (!strcmp(which, "all") && !workloads[i].alone)) {
			workloads[i].fn();
			found++;
		}
	if (!found)
		fprintf(stderr, "weft-bench: no workload \"%s\"; try `list`\n",
		    which);
	return found ? 0 : 2;
}

static bool
in_other_program(const char *which)
{
	for (int i = 0; i < WORKLOADS; i++)
		if (!workloads[i].fn && !strcmp(which, workloads[i].name))
			return true;
	return false;
}

/* Becomes weft-loops; returns if there is none. */
static int
become_other(char **argv)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 32);
	char *slash;

	path[n > 0 ? n : 0] = 0;
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, "weft-loops");
	execv(path, argv);
	fprintf(stderr, "weft-bench: no %s\n", path);
	return 2;
}

int
main(int argc, char **argv)
{
	weft_config c = { .procs = argc > 2 ? atoi(argv[2]) : 0 };
	int r;

	if (argc > 1 && !strcmp(argv[1], "list")) {
		for (int i = 0; i < WORKLOADS; i++)
			puts(workloads[i].name);
		return 0;
	}
	if (argc > 1 && in_other_program(argv[1]))
		return become_other(argv);
	if (argc > 3 && !strcmp(argv[1], "idle_client"))
		return bench_idle_client(atoi(argv[2]), atoi(argv[3]));
	r = weft_run_config(&c, sizeof c, run, argc, argv);
	if (r < 0)
		fprintf(stderr, "weft-bench: weft_run: error %d\n", -r);
	return r < 0 ? 2 : r;
}
