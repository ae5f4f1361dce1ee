/* SPDX-License-Identifier: MIT */
/* The harness: see t.h. */
#include "t.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <weft.h>

#if T_ASAN
#include <sanitizer/lsan_interface.h>
#endif

enum { LIMIT_SECONDS = 60, SKIPPED = 77 };

static struct t *first, **last = &first;
static int failures;
static struct t *current;
static const char *program;
int t_max_threads, t_max_detached;
/* t_share takes none of these. */
static const double LEAST_SECONDS = 0.2;

#if T_TSAN
enum { SLOW = 30 };		/* it makes system calls for each goroutine */
#elif T_ASAN
enum { SLOW = 10 };
#elif defined(WEFT_HARD)
enum { SLOW = 5 };
#else
enum { SLOW = 1 };
#endif

void
t_register(struct t *t)
{
	*last = t;
	last = &t->next;
}

void
t_fail(const char *file, int line, const char *what)
{
	fprintf(stderr, "# %s:%d: %s\n", file, line, what);
	__atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);
}

void
t_eq(const char *file, int line, const char *what, int64_t a, int64_t b)
{
	char buf[512];

	if (a == b)
		return;
	snprintf(buf, sizeof buf, "%s: %lld and %lld", what, (long long)a,
	    (long long)b);
	t_fail(file, line, buf);
}

void
t_skip(const char *why)
{
	fprintf(stderr, "# skipped: %s\n", why);
	_exit(SKIPPED);
}

double
t_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

bool
t_emulated(void)
{
	const char *run = getenv("RUN");

	return run && strncmp(run, "qemu", 4) == 0;
}

/* It says so by what it loads into the program. */
bool
t_valgrind(void)
{
	const char *s = getenv("LD_PRELOAD");

	return s && strstr(s, "vgpreload");
}

void
t_on_all(void (*fn)(void))
{
	for (int procs = 1; procs <= 8; procs *= 2) {
		OK(weft_set_procs(procs) > 0);
		fn();
	}
}

double
t_share(double seconds)
{
	const char *s = getenv("T_SHARE");
	double part = s ? seconds * atof(s) / 100 : seconds;
	double least = seconds < LEAST_SECONDS ? seconds : LEAST_SECONDS;

	return part > least ? part : least;
}

long
t_scale(long n)
{
	long r = n / SLOW / (t_emulated() || t_valgrind() ? 20 : 1);

	return r > 0 ? r : 1;
}

bool
t_more(double default_seconds)
{
	static double start;
	const char *s = getenv("T_SECONDS");

	if (start == 0)
		start = t_now();
	return t_now() - start < (s ? atof(s) : t_share(default_seconds));
}

int64_t
t_resident(void)
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
	return (int64_t)pages * 4096 + (int64_t)kb * 1024;
}

#if T_ASAN
int
t_leaks(void)
{
	return __lsan_do_recoverable_leak_check();
}
#else
int
t_leaks(void)
{
	return 0;
}
#endif

static int
as_main(int argc, char **argv)
{
	(void)argc, (void)argv;
	current->fn();
	return 0;
}

/* In the child: runs the test and ends. */
static void
run_child(struct t *t, int err_fd)
{
	struct rlimit no_core = {0};
	weft_config c = { .procs = t->procs, .max_threads = t_max_threads,
		.max_detached = t_max_detached };

	alarm(getenv("T_SECONDS") ? 0 : LIMIT_SECONDS);
	dup2(err_fd, 2);
	close(err_fd);
	if (t->dies)
		setrlimit(RLIMIT_CORE, &no_core);
	current = t;
	if (t->procs == 0)
		t->fn();
	else if (weft_run_config(&c, sizeof c, as_main, 0, NULL) != 0)
		t_fail(t->name, 0, "weft_run failed");
	fflush(stdout);
	_exit(failures ? 1 : 0);
}

/*
 * ThreadSanitizer has one thread too many after a fork, which the deadlock
 * detector must take for one that could still wake a goroutine. So there
 * the test is run by a new program.
 */
static void
become_child(struct t *t, int err_fd)
{
#if T_TSAN
	char fd[16];

	snprintf(fd, sizeof fd, "%d", err_fd);
	execl("/proc/self/exe", "t", "--child", t->name, fd, (char *)NULL);
	_exit(2);
#else
	run_child(t, err_fd);
#endif
}

/* What the child said, cut at the buffer's end. */
static void
slurp(FILE *f, char *buf, size_t cap)
{
	rewind(f);
	buf[fread(buf, 1, cap - 1, f)] = 0;
}

/* Prints text with each line as a TAP comment. */
static void
comment(const char *text)
{
	while (*text) {
		int n = (int)strcspn(text, "\n");

		printf("# %.*s\n", n, text);
		text += n + (text[n] == '\n');
	}
}

/* For a reader of the last lines only: `make test` prints it again. */
static void
remember(const struct t *t, int status, const char *err)
{
	const char *name = getenv("T_FAILURES");
	FILE *f = name ? fopen(name, "a") : NULL;

	if (!f)
		return;
	fprintf(f, "%s %s: status %x\n%s", program, t->name, status,
	    err);
	fclose(f);
}

static bool
judge_death(struct t *t, int status, const char *err)
{
	bool aborted = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;

	if (aborted && strstr(err, t->dies))
		return true;
	printf("# should have aborted saying: %s\n# status %x, it said:\n",
	    t->dies, status);
	comment(err);
	return false;
}

static void
run(struct t *t, int nr)
{
	static char err[65536];
	FILE *said = tmpfile();
	int status = 0;
	bool ok;
	pid_t pid;

	if (!said || (pid = fork()) < 0) {
		printf("Bail out! cannot fork\n");
		exit(1);
	}
	if (pid == 0) {
		setpgid(0, 0);
		become_child(t, fileno(said));
	}
	waitpid(pid, &status, 0);
	/* A process that it left behind would keep our output open, and so
	 * the program that reads it. */
	kill(-pid, SIGKILL);
	slurp(said, err, sizeof err);
	fclose(said);
	if (!t->dies)
		fputs(err, stderr);
	ok = t->dies ? judge_death(t, status, err) : status == 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
		printf("ok %d - %s # SKIP\n", nr, t->name);
		return;
	}
	if (!ok && !t->dies)
		printf("# status %x%s\n", status, WIFSIGNALED(status) &&
		    WTERMSIG(status) == SIGALRM ? ": out of time" : "");
	if (!ok)
		remember(t, status, err);
	printf("%s %d - %s\n", ok ? "ok" : "not ok", nr, t->name);
}

/* With names as arguments: only those. */
static bool
wanted(struct t *t, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(t->name, argv[i]))
			return true;
	return argc < 2;
}

int
main(int argc, char **argv)
{
	int n = 0;

	program = argv[0];
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (struct t *t = first; argc == 4 && t; t = t->next)
		if (!strcmp(argv[1], "--child") && !strcmp(argv[2], t->name))
			run_child(t, atoi(argv[3]));
	for (struct t *t = first; t; t = t->next)
		if (wanted(t, argc, argv))
			run(t, ++n);
	printf("1..%d\n", n);
	return 0;
}
