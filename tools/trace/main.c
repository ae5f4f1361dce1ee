/* SPDX-License-Identifier: MIT */
/*
 * weft-trace: reads execution traces of programs that use weft.
 *
 * Exits with 0; with 1 if a file cannot be read or written, after one line on
 * standard error; with 2 if the command line makes no sense. A file that is
 * damaged or truncated is read as far as it goes, and standard error says so.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

static const char usage[] =
"usage: weft-trace COMMAND FILE... [-o OUT]\n"
"\n"
"  view FILE -o OUT.html   a page for a browser: Ps, goroutines, arrows\n"
"  stats FILE              what goroutines and Ps did, as text\n"
"  events FILE             every event, a line each, in order\n"
"  diff A B                what changed from trace A to trace B\n"
"  go FILE -o OUT          Go's format, for `go tool trace OUT`\n"
"  chrome FILE -o OUT      JSON for Perfetto and chrome://tracing\n"
"\n"
"  -o OUT                  the file to write; standard output without it\n"
"  -h, --help              this\n"
"  --version               the version\n"
"\n"
"weft_trace_start(3) says how to record FILE.\n";

static const struct command {
	const char *name;
	int (*run)(struct trace *t, FILE *out);
	bool binary;		/* nothing for a terminal */
} commands[] = {
	{ "view", command_view, true },
	{ "stats", command_stats, false },
	{ "events", command_events, false },
	{ "go", command_go, true },
	{ "chrome", command_chrome, true },
};

/* A mapped file became shorter. */
static void
on_bus_error(int sig)
{
	static const char text[] = "weft-trace: the file was truncated while "
	    "it was read\n";
	ssize_t n = write(2, text, sizeof text - 1);

	(void)sig, (void)n;
	_exit(1);
}

static struct trace *
open_trace(const char *path)
{
	struct text why = {0};
	struct trace *t = trace_open(path, &why);

	if (!t)
		die("%s: %s", path, why.s);
	text_free(&why);
	return t;
}

static void
report_problems(const struct trace *t)
{
	const char *s = t->problems.s, *end;

	for (; s && *s && (end = strchr(s, '\n')); s = end + 1)
		fprintf(stderr, "weft-trace: %s: %.*s\n", t->path,
		    (int)(end - s), s);
}

static FILE *
open_out(const struct command *c, const char *path)
{
	FILE *out = path ? fopen(path, "w") : stdout;

	if (!path && c->binary && isatty(1))
		die("%s: use -o: its output is not for a terminal", c->name);
	if (!out)
		die("%s: %s", path, strerror(errno));
	return out;
}

static void
close_out(FILE *out, const char *path)
{
	bool bad = ferror(out) || fflush(out) != 0;

	/* Why it failed is known only from a call that fails now. */
	if (ferror(out)) {
		clearerr(out);
		errno = 0;
		fputc('\n', out);
		fflush(out);
	}
	if (bad || fclose(out) != 0)
		die("%s: %s", path ? path : "standard output",
		    errno ? strerror(errno) : "cannot be written");
}

static int
run(const struct command *c, const char *path, const char *out_path)
{
	struct trace *t = open_trace(path);
	FILE *out = open_out(c, out_path);
	int status = c->run(t, out);

	close_out(out, out_path);
	report_problems(t);
	trace_close(t);
	return status;
}

static int
run_diff(const char *a, const char *b, const char *out_path)
{
	struct trace *t[2] = { open_trace(a), open_trace(b) };
	FILE *out = open_out(&(struct command){ .name = "diff" }, out_path);
	int status = command_diff(t[0], t[1], out);

	close_out(out, out_path);
	for (int i = 0; i < 2; i++) {
		report_problems(t[i]);
		trace_close(t[i]);
	}
	return status;
}

/* Says what is wrong, and how it is right. */
__attribute__((format(printf, 1, 2))) static int
misused(const char *fmt, ...)
{
	va_list ap;

	fputs("weft-trace: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n%s", usage);
	return 2;
}

static int
run_command(const char *const file[3], int files, const char *out)
{
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		if (strcmp(commands[i].name, file[0]) != 0)
			continue;
		if (files != 2)
			return misused("%s takes one file", file[0]);
		return run(&commands[i], file[1], out);
	}
	if (strcmp(file[0], "diff") != 0)
		return misused("no such command: %s", file[0]);
	if (files != 3)
		return misused("diff takes two files");
	return run_diff(file[1], file[2], out);
}

int
main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'v' }, {0}
	};
	static char name[] = "weft-trace";
	const char *out = NULL, *file[3] = {0};
	int opt, files = 0;

	signal(SIGBUS, on_bus_error);
	signal(SIGPIPE, SIG_DFL);
	argv[0] = name;		/* getopt's messages begin with that */
	while (optind < argc) {
		opt = getopt_long(argc, argv, "+ho:", longs, NULL);
		if (opt == 'o') {
			out = optarg;
		} else if (opt == 'h') {
			fputs(usage, stdout);
			return 0;
		} else if (opt == 'v') {
			puts("weft-trace " VERSION);
			return 0;
		} else if (opt != -1) {
			fputs(usage, stderr);
			return 2;
		} else if (optind < argc) {
			if (files < 3)
				file[files] = argv[optind];
			optind++;
			files++;
		}
	}
	return files ? run_command(file, files, out) :
	    misused("which command?");
}
