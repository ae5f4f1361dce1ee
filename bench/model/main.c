/* SPDX-License-Identifier: MIT */
/*
 * What the scheduler would cost on larger machines.
 *
 *	weft-model [-m MACHINE] [-n TIMES] [-c] [LOAD...]
 *	weft-model -r LOAD PROCS	the workload itself: ns by operation
 *
 *	-m MACHINE	prices of a transfer: milan, icelake, vm (the first)
 *	-n TIMES	so many times as long; it begins with all but one idle
 *	-c		compares 1 and 2 CPUs of `vm` with what is measured here
 *
 * For each workload and number of CPUs: ns by operation and CPU, how many times
 * the throughput of one CPU, and the lines whose transfers took longest, in
 * percent of the time of all CPUs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loads.h"

enum { LINES_MAX = 16, REAL_OPS = 100000, REAL_ROUNDS = 60 };

/*
 * Medians of nviennot/core-to-core-latency on GitHub, of an EPYC 7R13 and a
 * Xeon 8375C, two sockets each; with 64 CPUs a socket, as the largest have.
 * vm: what the notes on contention in docs/design.md measured.
 */
static const struct prices machines[] = {
	{ "milan", 8, 64, 23, 107, 197, 0.5, 5 },
	{ "icelake", 64, 64, 51, 51, 108, 0.5, 5 },
	{ "vm", 1, 64, 175, 175, 175, 0.5, 1 },
};

static unsigned long times = 1;
static const struct load *current;

/* ---- where the time goes ---- */

struct share { const char *name; double ns; };

struct shares {
	int n;
	struct share of[LINES_MAX];
};

static void
add_share(const struct line *l, void *arg)
{
	struct shares *s = arg;
	int i = 0;

	while (i < s->n && strcmp(s->of[i].name, l->name))
		i++;
	if (i == s->n)
		s->of[s->n++] = (struct share){ l->name, 0 };
	s->of[i].ns += l->moved_ns + l->waited_ns;
}

static int
most_first(const void *a, const void *b)
{
	double x = ((const struct share *)a)->ns;
	double y = ((const struct share *)b)->ns;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* Those that took at least one percent, at most three. */
static void
print_shares(double total_ns)
{
	struct shares s = {0};

	procs_each_line(add_share, &s);
	add_share(&loads_shared, &s);
	qsort(s.of, (size_t)s.n, sizeof *s.of, most_first);
	for (int i = 0; i < 3 && s.of[i].ns > total_ns / 100; i++)
		printf("%s%s %.0f %%", i ? "; " : "", s.of[i].name,
		    100 * s.of[i].ns / total_ns);
	printf("\n");
}

/* ---- the model ---- */

static void
cpu_loop(struct cpu *c)
{
	procs_main(c, current->first(c));
}

/* One run; ns by operation, of all CPUs together. */
static double
simulate(const struct load *l, const struct prices *m, int cpus)
{
	current = l;
	procs_init(cpus);
	procs.target = l->per_cpu * times * (uint64_t)cpus;
	line_init(&loads_shared, "shared by the workload");
	sim_lock_init(&loads_lock, &loads_shared);
	sim_run(m, cpus, cpu_loop);
	return procs.done_at / (double)procs.target;
}

static void
scale(const struct load *l, const struct prices *m)
{
	double one = 0;

	printf("%s: %s\n", l->name, l->what);
	for (int cpus = 1; cpus <= CPUS_MAX; cpus *= 2) {
		double ns = simulate(l, m, cpus);

		if (cpus == 1)
			one = ns;
		printf("  %4d CPUs %9.1f ns/op/CPU %7.1fx  ", cpus, ns * cpus,
		    one / ns);
		print_shares(procs.done_at * cpus);
		procs_free();
	}
}

/* ---- what is measured ---- */

/* This program again, since a process has one runtime. */
static double
measured(const struct load *l, int n, const char *self)
{
	char command[4096];
	double ns = 0;
	FILE *f;

	snprintf(command, sizeof command, "%s -r '%s' %d", self, l->name, n);
	f = popen(command, "r");
	if (!f || fscanf(f, "%lf", &ns) != 1)
		ns = 0;
	if (f)
		pclose(f);
	return ns;
}

static void
compare(const struct load *l, const struct prices *m, const char *self)
{
	printf("%-14s", l->name);
	for (int cpus = 1; cpus <= 2; cpus++) {
		double model = simulate(l, m, cpus);
		double real = measured(l, cpus, self);

		procs_free();
		printf("  %9.1f %9.1f %6.2f", model, real,
		    real > 0 ? model / real : 0);
	}
	printf("\n");
}

static int
run_real(int argc, char **argv)
{
	double best = 0;

	(void)argc;
	for (int i = 0; i < n_loads; i++)
		for (int k = 0; k < REAL_ROUNDS &&
		    !strcmp(loads[i].name, argv[0]); k++) {
			double ns = loads[i].real(weft_procs(),
			    REAL_OPS);

			best = best == 0 || ns < best ? ns : best;
		}
	printf("%.2f\n", best);
	return best == 0;
}

/* ---- the program ---- */

static const struct prices *machine = &machines[0];
static bool checks;
static char *self_path;

static bool
wanted(const struct load *l, char **names)
{
	bool any = !*names;

	for (; *names; names++)
		any |= !strcmp(l->name, *names);
	return any;
}

static int
model(int argc, char **argv)
{
	(void)argc;
	if (checks)
		printf("%-14s  %30s  %28s\n%-14s  %9s %9s %6s  %9s %9s %6s\n",
		    "ns/op", "1 CPU", "2 CPUs", "", "model", "measured",
		    "ratio", "model", "measured", "ratio");
	for (int i = 0; i < n_loads; i++) {
		if (!wanted(&loads[i], argv))
			continue;
		if (checks)
			compare(&loads[i], machine, self_path);
		else
			scale(&loads[i], machine);
		fflush(stdout);
	}
	return 0;
}

static bool
choose_machine(const char *name)
{
	for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
		if (!strcmp(machines[i].name, name)) {
			machine = &machines[i];
			return true;
		}
	return false;
}

static int
usage(void)
{
	fprintf(stderr, "usage: weft-model [-m milan|icelake|vm] [-n TIMES] "
	    "[-c] [LOAD...]\n       weft-model -r LOAD PROCS\n");
	return 2;
}

int
main(int argc, char **argv)
{
	int option;

	self_path = argv[0];
	while ((option = getopt(argc, argv, "m:n:cr:")) != -1) {
		if (option == 'r' && optind < argc)
			return weft_run_with(run_real, 1, &optarg,
			    .procs = atoi(argv[optind]));
		if (option == 'n')
			times = strtoul(optarg, NULL, 10);
		if (option == 'm' ? !choose_machine(optarg) :
		    !strchr("nc", option) || times == 0)
			return usage();
		checks |= option == 'c';
	}
	if (checks)
		choose_machine("vm");
	return weft_run_with(model, argc - optind, argv + optind, .procs = 1);
}
