/* SPDX-License-Identifier: MIT */
/*
 * Of a dump only two kinds of lines matter, and all others are passed on:
 *
 *	<tab>work+0x1f (srv+0x11f3)
 *	<tab>srv at 0x55d0c0de0000, build id 3f2a..., /usr/bin/srv
 */
#include "dump_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source.h"

enum { CHUNK = 1 << 16 };
static const size_t text_max = (size_t)1 << 30;

static bool
say(const char *path, const char *why)
{
	fprintf(stderr, "weft-symbolize: %s: %s\n", path, why);
	return false;
}

/* ---- lines ---- */

char *
dump_file_next(const struct dump_file *d, char *line)
{
	char *next = line ? line + strlen(line) + 1 : d->text;

	return next < d->text + d->bytes ? next : NULL;
}

/* The text between two places, if it fits. */
static bool
copy(char *to, size_t cap, const char *from, const char *end)
{
	size_t n = (size_t)(end - from);

	if (n >= cap)
		return false;
	memcpy(to, from, n);
	to[n] = 0;
	return true;
}

bool
dump_frame_parse(const char *line, struct dump_frame *f)
{
	const char *open = strrchr(line, '('), *plus;
	char *end;

	if (line[0] != '\t' || !open || open == line || open[-1] != ' ')
		return false;
	plus = strrchr(open, '+');
	if (!plus || strncmp(plus, "+0x", 3) ||
	    !copy(f->name, sizeof f->name, open + 1, plus) || !f->name[0])
		return false;
	errno = 0;
	f->address = strtoull(plus + 1, &end, 16);
	f->known = line[1] != '?';
	return !errno && end > plus + 3 && !strcmp(end, ")");
}

/* ---- modules ---- */

static bool
parse_module(const char *line, struct dump_module *m)
{
	const char *at = strstr(line, " at 0x");
	const char *id = at ? strstr(at, ", build id ") : NULL, *path;

	if (line[0] != '\t' || !id)
		return false;
	id += strlen(", build id ");
	path = strstr(id, ", ");
	if (!path || !copy(m->name, sizeof m->name, line + 1, at) ||
	    !copy(m->id, sizeof m->id, id, path) ||
	    !copy(m->path, sizeof m->path, path + 2, path + strlen(path)))
		return false;
	if (!strcmp(m->id, "-"))
		m->id[0] = 0;
	return true;
}

struct dump_module *
dump_file_module(struct dump_file *d, const char *name)
{
	for (size_t i = 0; i < d->n; i++)
		if (!strcmp(d->modules[i].name, name))
			return &d->modules[i];
	return NULL;
}

static bool
find_modules(struct dump_file *d)
{
	for (char *s = NULL; (s = dump_file_next(d, s)); ) {
		struct dump_module m = {0}, *more;

		if (!parse_module(s, &m) || dump_file_module(d, m.name))
			continue;
		more = realloc(d->modules, (d->n + 1) * sizeof *more);
		if (!more)
			return false;
		d->modules = more;
		d->modules[d->n++] = m;
	}
	return true;
}

/* ---- reading ---- */

static bool
read_all(struct dump_file *d, FILE *f)
{
	size_t cap = 0;

	for (;;) {
		size_t got;
		char *more;

		if (d->bytes + 1 >= cap) {
			more = cap > text_max ? NULL :
			    realloc(d->text, cap = cap ? 2 * cap : CHUNK);
			if (!more)
				return false;
			d->text = more;
		}
		got = fread(d->text + d->bytes, 1, cap - 1 - d->bytes, f);
		if (!got)
			break;
		d->bytes += got;
	}
	d->text[d->bytes] = 0;
	return true;
}

static void
split_lines(struct dump_file *d)
{
	for (size_t i = 0; i < d->bytes; i++)
		if (d->text[i] == '\n')
			d->text[i] = 0;
}

bool
dump_file_read(struct dump_file *d, const char *path)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "r") : stdin;
	bool ok, failed;

	*d = (struct dump_file){0};
	if (!f)
		return say(path, strerror(errno));
	errno = 0;
	ok = read_all(d, f);
	failed = ferror(f);
	if (f != stdin)
		fclose(f);
	if (failed)
		return say(path, strerror(errno ? errno : EIO));
	if (!ok)
		return say(path, "too large");
	if (memchr(d->text, 0, d->bytes))
		return say(path, "this is no text");
	split_lines(d);
	if (!find_modules(d))
		return say(path, "out of memory");
	return d->n > 0 || say(path, "no dump: it has no list of modules");
}

void
dump_file_free(struct dump_file *d)
{
	for (size_t i = 0; i < d->n; i++)
		source_close(d->modules[i].source);
	free(d->text);
	free(d->modules);
}
