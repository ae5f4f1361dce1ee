/* SPDX-License-Identifier: MIT */
/* See symbols.h. */
#include "symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf_file.h"
#include "idmap.h"

struct image {
	const struct module *module;
	struct elf_file *file;
	bool tried;
};

struct symbols {
	const struct trace *trace;
	struct image *image;	/* one for each module of the trace */
	struct idmap known;	/* pc + 1 -> index in names, + 1 */
	char **names;
	size_t count, room;
};

static int
by_address(const void *a, const void *b)
{
	const struct image *x = a, *y = b;

	return x->module->lo < y->module->lo ? -1 :
	    x->module->lo > y->module->lo;
}

struct symbols *
symbols_open(const struct trace *t)
{
	struct symbols *s = zeroed(1, sizeof *s);

	s->trace = t;
	s->image = zeroed(t->modules, sizeof *s->image);
	for (size_t i = 0; i < t->modules; i++)
		s->image[i].module = &t->module[i];
	qsort(s->image, t->modules, sizeof *s->image, by_address);
	return s;
}

/* The file with only the symbols, of a stripped program. */
static struct elf_file *
open_debug_file(const struct module *m)
{
	struct text path = {0};
	struct elf_file *f = NULL;

	if (m->build_id_bytes > 1) {
		text_add(&path, "/usr/lib/debug/.build-id/%02x/",
		    m->build_id[0]);
		for (uint32_t i = 1; i < m->build_id_bytes; i++)
			text_add(&path, "%02x", m->build_id[i]);
		text_add(&path, ".debug");
		f = elf_file_open(path.s, m->build_id, m->build_id_bytes);
	}
	text_free(&path);
	return f;
}

/* A file without build id may be another one by now, but is likely the one. */
static void
open_image(struct image *i)
{
	const struct module *m = i->module;

	i->tried = true;
	i->file = open_debug_file(m);
	if (!i->file)
		i->file = elf_file_open(m->path, m->build_id,
		    m->build_id_bytes);
}

static struct image *
image_of(const struct symbols *s, uint64_t pc)
{
	size_t lo = 0, hi = s->trace->modules;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->image[mid].module->lo <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && pc < s->image[lo - 1].module->hi ? &s->image[lo - 1] :
	    NULL;
}

static bool
in_weft(struct symbols *s, uint64_t pc, enum elf_weft section)
{
	struct image *i = image_of(s, pc);

	if (i && !i->tried)
		open_image(i);
	return i && i->file &&
	    elf_file_in_weft(i->file, section, pc - i->module->base);
}

bool
symbols_calls_out(struct symbols *s, uint64_t pc)
{
	return in_weft(s, pc, ELF_WEFT_CALLS);
}

bool
symbols_is_weft(struct symbols *s, uint64_t pc)
{
	return in_weft(s, pc, ELF_WEFT_TEXT) || symbols_calls_out(s, pc);
}

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void
make_name(struct symbols *s, uint64_t pc, struct text *out)
{
	struct image *i = image_of(s, pc);
	const struct elf_function *fn = NULL;

	if (!i) {
		text_add(out, "0x%" PRIx64, pc);
		return;
	}
	if (!i->tried)
		open_image(i);
	if (i->file)
		fn = elf_file_find(i->file, pc - i->module->base);
	if (fn)
		text_add(out, "%.200s", fn->name);
	else
		text_add(out, "%.200s+0x%" PRIx64, base_name(i->module->path),
		    pc - i->module->base);
}

const char *
symbols_name(struct symbols *s, uint64_t pc)
{
	uint64_t *known = idmap_put(&s->known, pc + 1 ? pc + 1 : 1);
	struct text name = {0};

	if (!*known) {
		make_name(s, pc, &name);
		*GROW(s->names, s->count, s->room) = name.s;
		*known = ++s->count;
	}
	return s->names[*known - 1];
}

const char *
symbols_module(const struct symbols *s, uint64_t pc)
{
	const struct image *i = image_of(s, pc);

	return i ? i->module->path : "";
}

void
symbols_close(struct symbols *s)
{
	for (size_t i = 0; i < s->trace->modules; i++)
		if (s->image[i].file)
			elf_file_close(s->image[i].file);
	for (size_t i = 0; i < s->count; i++)
		free(s->names[i]);
	free(s->names);
	free(s->image);
	idmap_free(&s->known);
	free(s);
}
