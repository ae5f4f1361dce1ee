/* SPDX-License-Identifier: MIT */
/* From debugging information, by libdw. It checks what it reads itself. */
#ifdef HAVE_LIBDW
#include "source.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct source {
	Dwfl *dwfl;
	Dwfl_Module *module;
};

/* Separate files with debugging information are looked for by main.c; none is
 * fetched from elsewhere. */
static int
no_debuginfo(Dwfl_Module *m, void **data, const char *name, Dwarf_Addr base,
    const char *file, const char *link, GElf_Word crc, char **path)
{
	(void)m, (void)data, (void)name, (void)base, (void)file, (void)link;
	(void)crc, (void)path;
	return -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_debuginfo = no_debuginfo,
	.section_address = dwfl_offline_section_address,
};

static bool
has_id(Dwfl_Module *m, const char *id)
{
	const unsigned char *bits;
	GElf_Addr at;
	int n = dwfl_module_build_id(m, &bits, &at);

	if (n <= 0 || (size_t)n * 2 != strlen(id))
		return !id[0];
	for (int i = 0; i < n; i++) {
		char hex[3];

		snprintf(hex, sizeof hex, "%02x", bits[i]);
		if (memcmp(hex, id + 2 * i, 2) != 0)
			return false;
	}
	return true;
}

struct source *
source_open(const char *path, const char *id)
{
	struct source *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->dwfl = dwfl_begin(&callbacks);
	if (s->dwfl)
		s->module = dwfl_report_offline(s->dwfl, path, path, -1);
	if (s->module && dwfl_report_end(s->dwfl, NULL, NULL) == 0 &&
	    has_id(s->module, id))
		return s;
	if (s->dwfl)
		dwfl_end(s->dwfl);
	free(s);
	return NULL;
}

void
source_close(struct source *s)
{
	if (s)
		dwfl_end(s->dwfl);
	free(s);
}

static const char *
die_name(Dwarf_Die *die)
{
	Dwarf_Attribute a;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &a))
		name = dwarf_formstring(&a);
	return name ? name : dwarf_diename(die);
}

/* Where an inlined function was called. */
static void
call_place(Dwarf_Die *die, Dwarf_Die *unit, struct source_place *p)
{
	Dwarf_Attribute a;
	Dwarf_Word v;
	Dwarf_Files *files;
	size_t n;

	p->file = NULL;
	p->line = 0;
	if (dwarf_attr(die, DW_AT_call_line, &a) &&
	    dwarf_formudata(&a, &v) == 0)
		p->line = (int)v;
	if (dwarf_attr(die, DW_AT_call_file, &a) &&
	    dwarf_formudata(&a, &v) == 0 &&
	    dwarf_getsrcfiles(unit, &files, &n) == 0 && v < n)
		p->file = dwarf_filesrc(files, v, NULL, NULL);
}

/* From the innermost scope outwards; each has the line of its call inside. */
static int
walk_scopes(Dwarf_Die *unit, Dwarf_Addr at, struct source_place *out, int max)
{
	struct source_place here = out[0];
	Dwarf_Die *scope = NULL, *inner = NULL;
	int n = dwarf_getscopes(unit, at, &inner), k = 0;

	/* Around a function that was inlined these are the scopes of its
	 * definition: what it was inlined into contains its innermost one. */
	if (n > 0)
		n = dwarf_getscopes_die(&inner[0], &scope);
	free(inner);

	for (int i = 0; i < n && k < max; i++) {
		int tag = dwarf_tag(&scope[i]);

		if (tag != DW_TAG_inlined_subroutine &&
		    tag != DW_TAG_subprogram)
			continue;
		here.function = die_name(&scope[i]);
		here.inlined = tag == DW_TAG_inlined_subroutine;
		out[k++] = here;
		if (!here.inlined)
			break;
		call_place(&scope[i], unit, &here);
	}
	free(scope);
	return k;
}

int
source_find(struct source *s, uint64_t address, struct source_place *out,
    int max)
{
	Dwarf_Addr bias = 0, start;
	Dwfl_Line *line;
	Dwarf_Die *unit;
	int n = 0;

	if (max < 1)
		return 0;
	dwfl_module_info(s->module, NULL, &start, NULL, NULL, NULL, NULL, NULL);
	if (!dwfl_module_getelf(s->module, &bias))
		return 0;
	out[0] = (struct source_place){0};
	line = dwfl_module_getsrc(s->module, address + bias);
	if (line)
		out[0].file = dwfl_lineinfo(line, NULL, &out[0].line, NULL,
		    NULL, NULL);
	unit = dwfl_module_addrdie(s->module, address + bias, &bias);
	if (unit) {
		Dwarf_Addr dwarf_bias = bias;

		dwfl_module_getelf(s->module, &bias);
		n = walk_scopes(unit, address + bias - dwarf_bias, out, max);
	}
	if (n)
		return n;
	dwfl_module_getelf(s->module, &bias);
	out[0].function = dwfl_module_addrname(s->module, address + bias);
	return out[0].function || out[0].file;
}
#endif
