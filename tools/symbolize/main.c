/* SPDX-License-Identifier: MIT */
/*
 * weft-symbolize: adds functions, source files and lines to a dump, also for
 * programs that are stripped or were moved since. A file is used if it has the
 * build id that the dump says; it is looked for
 *
 *	where it was when the dump was made
 *	in each DIR given: DIR/NAME, and as separate debugging information in
 *	DIR/xx/yyyy.debug and DIR/.build-id/xx/yyyy.debug, by its build id
 *	in /usr/lib/debug
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dump_file.h"
#include "source.h"

enum { DIRS_MAX = 32, INLINES_MAX = 32 };

static const char *dirs[DIRS_MAX];
static int n_dirs;

/* ---- finding the file of a module ---- */

static struct source *
try_file(const struct dump_module *m, const char *dir, const char *form,
    const char *a, const char *b)
{
	char path[2 * PATH_MAX_BYTES];
	int n = snprintf(path, sizeof path, "%s/", dir);

	if (n < 0 || (size_t)n >= sizeof path)
		return NULL;
	snprintf(path + n, sizeof path - (size_t)n, form, a, b);
	return source_open(path, m->id);
}

/* By its build id, below this folder. */
static struct source *
try_debug(const struct dump_module *m, const char *dir)
{
	char first[3] = { m->id[0], m->id[0] ? m->id[1] : 0, 0 };
	struct source *s;

	if (strlen(m->id) < 4 || strchr(m->id, '/'))
		return NULL;
	s = try_file(m, dir, ".build-id/%s/%s.debug", first, m->id + 2);
	return s ? s : try_file(m, dir, "%s/%s.debug", first, m->id + 2);
}

/* Is there more in this file than names? Stripped files have less. */
static bool
has_lines(struct source *s, uint64_t address)
{
	struct source_place p[INLINES_MAX];

	return s && source_find(s, address, p, INLINES_MAX) > 0 && p[0].file;
}

/* The best there is: with lines, or with names only. */
static struct source *
seek(const struct dump_module *m, uint64_t address)
{
	struct source *best = NULL, *s;

	for (int i = -1; i <= n_dirs && !has_lines(best, address); i++) {
		const char *dir = i < 0 ? NULL : i < n_dirs ? dirs[i] :
		    "/usr/lib/debug";

		if (!dir)
			s = m->path[0] == '/' ? source_open(m->path, m->id) :
			    NULL;
		else if (!(s = try_debug(m, dir)))
			s = strchr(m->name, '/') ? NULL :
			    try_file(m, dir, "%s%s", m->name, "");
		if (s && (!best || has_lines(s, address))) {
			source_close(best);
			best = s;
		} else {
			source_close(s);
		}
	}
	return best;
}

static struct source *
source_of(struct dump_module *m, uint64_t address)
{
	if (m->sought)
		return m->source;
	m->sought = true;
	m->source = seek(m, address);
	if (!m->source)
		fprintf(stderr, "weft-symbolize: no file for %s with build id "
		    "%s (%s)\n", m->name, m->id[0] ? m->id : "-", m->path);
	return m->source;
}

/* ---- writing ---- */

static void
put_place(const struct source_place *p)
{
	if (p->file)
		printf(" at %s:%d", p->file, p->line);
}

/* The frame's own line comes last, after what was inlined there. */
static void
put_frame(const char *line, const struct dump_frame *f,
    const struct source_place *p, int n)
{
	int last = n - 1;

	for (int i = 0; i < last; i++) {
		printf("\t%s (inlined)", p[i].function ? p[i].function : "?");
		put_place(&p[i]);
		putchar('\n');
	}
	if (!f->known && p[last].function)
		printf("\t%s%s", p[last].function, strchr(line, ' '));
	else
		fputs(line, stdout);
	put_place(&p[last]);
	putchar('\n');
}

static void
put_line(struct dump_file *d, const char *line)
{
	struct source_place p[INLINES_MAX];
	struct dump_frame f;
	struct dump_module *m = NULL;
	struct source *s = NULL;
	int n = 0;

	if (dump_frame_parse(line, &f))
		m = dump_file_module(d, f.name);
	if (m)
		s = source_of(m, f.address);
	if (s)
		n = source_find(s, f.address, p, INLINES_MAX);
	if (n > 0)
		put_frame(line, &f, p, n);
	else
		puts(line);
}

static const char usage[] =
"usage: weft-symbolize [-d DIR]... [FILE]\n"
"Adds functions and lines of source to a dump of goroutines.\n"
"  -d DIR      look for the program and its libraries there, too\n"
"  -h, --help  this\n"
"  --version   the version\n"
"  FILE        the dump; standard input if there is none\n";

/* Says what is wrong, unless getopt has said it, and how it is right. */
__attribute__((__noreturn__)) static void
misused(const char *why)
{
	if (why)
		fprintf(stderr, "weft-symbolize: %s\n", why);
	fputs(usage, stderr);
	exit(2);
}

static void
set_option(int c)
{
	switch (c) {
	case 'd':
		if (n_dirs == DIRS_MAX)
			misused("too many folders");
		dirs[n_dirs++] = optarg;
		break;
	case 'h':
		fputs(usage, stdout);
		exit(0);
	case 'v':
		puts("weft-symbolize " VERSION);
		exit(0);
	default:
		misused(NULL);
	}
}

/* The file to read. */
static const char *
arguments(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'v' }, {0}
	};
	static char name[] = "weft-symbolize";
	int c;

	argv[0] = name;		/* getopt's messages begin with that */
	while ((c = getopt_long(argc, argv, "d:h", longs, NULL)) != -1)
		set_option(c);
	if (argc - optind > 1)
		misused("one file at a time");
	return optind < argc ? argv[optind] : "-";
}

int
main(int argc, char **argv)
{
	const char *file = arguments(argc, argv);
	struct dump_file d;
	bool ok = dump_file_read(&d, file);

	for (char *s = NULL; ok && (s = dump_file_next(&d, s)); )
		put_line(&d, s);
	dump_file_free(&d);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fprintf(stderr, "weft-symbolize: cannot write: %s\n",
		    strerror(errno));
		return 1;
	}
	return ok ? 0 : 1;
}
