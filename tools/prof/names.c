/* SPDX-License-Identifier: MIT */
#include "names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "symbols.h"

/* The table of each mapping's file, read when it is first needed; and what
 * code in it is called that has no name. */
struct tables {
	struct symbol_table **of;
	bool *read;
	const char **module;
};

static int
digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' :
	    c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* False if it is no build id as we know them. */
static bool
parse_id(const char *hex, struct module *m)
{
	for (m->id_bytes = 0; hex[0] && hex[1]; hex += 2) {
		int hi = digit(hex[0]), lo = digit(hex[1]);

		if (hi < 0 || lo < 0 || m->id_bytes == MODULE_ID)
			return false;
		m->id[m->id_bytes++] = (uint8_t)(hi << 4 | lo);
	}
	return m->id_bytes > 0;
}

/* Without a build id a file may be another one by now. */
static struct symbol_table *
table_of(const struct mapping *map)
{
	struct module m = {0};

	if (!parse_id(map->build_id, &m) || !map->file[0])
		return NULL;
	return symbol_table_read(map->file, &m);
}

static const char *
symbol(struct tables *t, const struct profile *p, const struct location *l)
{
	size_t i = l->mapping - 1;
	const struct mapping *m = &p->mappings[i];
	uint64_t start;

	if (!t->read[i]) {
		t->of[i] = table_of(m);
		t->read[i] = true;
	}
	if (!t->of[i])
		return NULL;
	/* As if the segment were at its offset: so linkers lay them out. */
	return symbol_table_find(t->of[i], l->address - m->start + m->offset,
	    &start);
}

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const char *
address_name(const struct location *l)
{
	char *s = take(NULL, 24, 1);

	snprintf(s, 24, "0x%llx", (unsigned long long)l->address);
	return s;
}

/*
 * "libz.so.1 (no symbols)": instructions of a stripped file are one function,
 * since a list of addresses tells nothing. Where its functions begin, the
 * frame tables know; but only those of loaded modules can be read.
 */
static const char *
module_name(struct tables *t, const struct profile *p, size_t i)
{
	static const char note[] = " (no symbols)";
	const char *file = base_name(p->mappings[i].file);
	size_t cap = strlen(file) + sizeof note;
	char *s;

	if (!t->module[i]) {
		s = take(NULL, cap, 1);
		snprintf(s, cap, "%s%s", file, note);
		t->module[i] = s;
	}
	return t->module[i];
}

/* There is room for one more line. */
static void
name_location(struct tables *t, struct profile *p, struct location *l)
{
	const char *name = l->mapping ? symbol(t, p, l) : NULL;

	if (!name && l->mapping && p->mappings[l->mapping - 1].file[0])
		name = module_name(t, p, l->mapping - 1);
	if (!name)
		name = address_name(l);
	l->first_line = p->n_lines;
	l->n_lines = 1;
	p->lines[p->n_lines++] = (struct line){ .name = name };
}

static bool
has_name(const struct profile *p, const struct location *l)
{
	return l->n_lines > 0 && p->lines[l->first_line].name[0];
}

void
names_complete(struct profile *p)
{
	struct tables t = { take(NULL, p->n_mappings, sizeof *t.of),
	    take(NULL, p->n_mappings, sizeof *t.read),
	    take(NULL, p->n_mappings, sizeof *t.module) };

	memset(t.read, 0, p->n_mappings * sizeof *t.read);
	memset(t.module, 0, p->n_mappings * sizeof *t.module);
	p->lines = take(p->lines, p->n_lines + p->n_locations,
	    sizeof *p->lines);
	for (size_t i = 0; i < p->n_locations; i++)
		if (!has_name(p, &p->locations[i]))
			name_location(&t, p, &p->locations[i]);
	free(t.of);		/* the tables themselves stay: names */
	free(t.read);
	free(t.module);
}
