/* SPDX-License-Identifier: MIT */
/*
 * weft-prof: shows profiles in pprof's format.
 *
 * Exits with 0; with 1 if a file cannot be read or written, or is no profile,
 * after one line on standard error; with 2 if the command line makes no sense.
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "input.h"
#include "names.h"

static const char usage[] =
"usage: weft-prof COMMAND [OPTIONS] FILE\n"
"\n"
"  view FILE -o OUT.html   a flame graph, as a page for a browser\n"
"  top FILE                the functions with the most samples\n"
"  folded FILE             a line for each stack: main;serve;parse 12\n"
"\n"
"  -o OUT        the file to write; standard output without it\n"
"  -t TYPE       what is counted, as the profile names it: samples, cpu, ...\n"
"  -l KEY=VALUE  only samples with that label (goroutine, name, reason, ...)\n"
"  -g KEY        below a frame for each value of that label\n"
"  -b FILE       view: compared with this profile, more in red, less in blue\n"
"  -n LINES      top: how many; 30 without it\n"
"  -h, --help    this\n"
"  --version     the version\n"
"\n"
"weft_profile(3) says how to make FILE; it may be compressed by gzip.\n";

static const struct command {
	const char *name;
	void (*run)(const struct job *j, FILE *out);
	bool page;		/* nothing for a terminal; takes -b */
} commands[] = {
	{ "view", command_view, true },
	{ "top", command_top, false },
	{ "folded", command_folded, false },
};

struct options {
	const struct command *command;
	const char *out, *base;
	struct selection sel;
	size_t lines;
};

/* Says what is wrong, and how it is right. */
__attribute__((__noreturn__, __format__(__printf__, 1, 2))) static void
misused(const char *fmt, ...)
{
	va_list ap;

	fputs("weft-prof: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n%s", usage);
	exit(2);
}

static void
set_label(struct options *o, char *arg)
{
	char *eq = strchr(arg, '=');

	if (!eq || eq == arg)
		misused("-l wants KEY=VALUE");
	*eq = '\0';
	o->sel.key = arg;
	o->sel.value = eq + 1;
}

static void
set_option(struct options *o, int c)
{
	switch (c) {
	case 'o': o->out = optarg; break;
	case 't': o->sel.type = optarg; break;
	case 'l': set_label(o, optarg); break;
	case 'g': o->sel.group = optarg; break;
	case 'b': o->base = optarg; break;
	case 'n':
		o->lines = strtoul(optarg, NULL, 10);
		if (!o->lines)
			misused("-n wants a number");
		break;
	case 'h':
		fputs(usage, stdout);
		exit(0);
	case 'v':
		puts("weft-prof " VERSION);
		exit(0);
	default:
		fputs(usage, stderr);	/* getopt has said what is wrong */
		exit(2);
	}
}

static const struct command *
command_named(const char *name)
{
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	misused("no such command: %s", name);
}

/* Options may come before the command and the file, and after them. Returns
 * the file. */
static const char *
parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'v' }, {0}
	};
	static char name[] = "weft-prof";
	const char *file = NULL;
	int c;

	argv[0] = name;		/* getopt's messages begin with that */
	while (optind < argc) {
		c = getopt_long(argc, argv, "+o:t:l:g:b:n:h", longs, NULL);
		if (c != -1)
			set_option(o, c);
		else if (optind == argc)
			break;
		else if (!o->command)
			o->command = command_named(argv[optind++]);
		else if (file)
			misused("%s takes one file", o->command->name);
		else
			file = argv[optind++];
	}
	if (!o->command)
		misused("which command?");
	if (!file)
		misused("%s takes one file", o->command->name);
	if (o->base && !o->command->page)
		misused("%s does not compare: -b is for view",
		    o->command->name);
	return file;
}

static struct profile *
load(const char *path)
{
	struct input in = input_read(path);
	struct profile *p;

	if (!in.n)
		die("%s: it is empty", path);
	p = profile_parse(in.data, in.n, path);
	free(in.data);
	names_complete(p);
	return p;
}

static bool
same(const struct profile_type *a, const struct profile_type *b)
{
	return strcmp(a->name, b->name) == 0 && strcmp(a->unit, b->unit) == 0;
}

/* Differences of what is not the same would be shown as if they were some. */
static void
add_base(struct job *j, const char *path, const struct selection *sel)
{
	char kind[2][KIND_BYTES];

	j->base = load(path);
	j->base_path = path;
	if (!same(&j->base->period_type, &j->profile->period_type))
		die("profiles of different kinds cannot be compared: %s (%s), "
		    "%s (%s)", j->path, kind_of(j->profile, kind[0]), path,
		    kind_of(j->base, kind[1]));
	if (!same(tree_type(j->base, sel), j->type))
		die("profiles of different types cannot be compared: %s (%s), "
		    "%s (%s)", j->path, j->type->name, path,
		    tree_type(j->base, sel)->name);
	tree_add(j->tree, j->base, sel, true);
}

static FILE *
open_out(const struct options *o)
{
	FILE *f = o->out ? fopen(o->out, "w") : stdout;

	if (!f)
		die("%s: %s", o->out, strerror(errno));
	if (!o->out && o->command->page && isatty(1))
		die("%s: use -o: its output is not for a terminal",
		    o->command->name);
	return f;
}

int
main(int argc, char **argv)
{
	struct options o = { .lines = 30 };
	static struct job j;	/* all is in use until the end */
	FILE *out;

	j.path = parse(argc, argv, &o);
	j.profile = load(j.path);
	j.tree = tree_new();
	j.lines = o.lines;
	j.type = tree_type(j.profile, &o.sel);
	j.stacks = tree_add(j.tree, j.profile, &o.sel, false);
	if (o.sel.key && !j.stacks)
		die("%s: no sample has that label: %s=%s", j.path, o.sel.key,
		    o.sel.value);
	if (o.base)
		add_base(&j, o.base, &o.sel);
	tree_sum(j.tree);
	out = open_out(&o);
	o.command->run(&j, out);
	if (fflush(out) != 0 || ferror(out))
		die("%s: %s", o.out ? o.out : "standard output",
		    strerror(errno));
	return 0;
}
