/* SPDX-License-Identifier: MIT */
/*
 * Looks at a module's dynamic linking: code can reach what is outside of it
 * only through a relocation that names it, or as a library that it needs.
 */
#include "audit.h"

#include <string.h>

#include "fatal.h"
#include "imports.h"
#include "refusals.h"
#include "reloc.h"
#include "tls_self.h"
#include "tlsblock.h"

struct inquiry {
	const struct module *m;
	bool program;
	struct audit *a;
	size_t found;		/* reasons against it */
	size_t tls_relocs;
};

/* ---- saying ---- */

enum { LINE = 192 };		/* longer ones, of long names, are cut */

/* A line with these words, the second of which may be anything. */
static void
add_line(struct audit *a, const char *what, const char *name, const char *why)
{
	char line[LINE];
	size_t n = format(line, sizeof(line) - 1, "%s%s%s%s", what, name,
	    *why ? ": " : "", why);

	for (size_t i = 0; i < n; i++)
		if (line[i] < ' ' || line[i] > '~')
			line[i] = '?';
	line[n++] = '\n';
	/* Nothing after the first that had no room, or they would mix. */
	if (a->omitted || n >= sizeof(a->text) - a->len) {
		a->omitted++;
		return;
	}
	memcpy(a->text + a->len, line, n);
	a->len += n;
	a->text[a->len] = '\0';
}

static void
against_for(struct inquiry *q, const char *what, const char *name,
    const char *why)
{
	if (q->found++ == 0)
		add_line(q->a, q->m->name, ": cannot be preempted by signals:",
		    "");
	add_line(q->a, what, name, why);
}

static void
against(struct inquiry *q, const char *what)
{
	against_for(q, what, "", "");
}

/* ---- libraries that have passed ---- */

static bool
library_passed(const struct audit *a, const char *soname)
{
	for (size_t i = 0; i < a->n_passed; i++)
		if (!strcmp(module_soname(&a->passed[i]), soname))
			return true;
	return false;
}

static bool
has_passed(const struct audit *a, const struct module *m)
{
	for (size_t i = 0; i < a->n_passed; i++)
		if (m->load.lo == a->passed[i].load.lo)
			return true;
	return false;
}

struct origin { const struct inquiry *q; bool good, bad; };

/* What is copied into the module is defined there, but is not from there. */
static bool
add_origin(const struct module *m, void *arg)
{
	struct origin *o = arg;

	if (m->load.lo == o->q->m->load.lo)
		return true;
	if (has_passed(o->q->a, m))
		o->good = true;
	else
		o->bad = true;
	return !o->bad;
}

/*
 * Which definition the dynamic linker takes depends on scopes and on who was
 * loaded first; so all of them must be good.
 */
static bool
name_passed(const struct inquiry *q, const char *name)
{
	struct origin o = { .q = q };

	if (q->a->n_passed)
		module_definers(name, add_origin, &o);
	return o.good && !o.bad;
}

/* ---- looking ---- */

static void
look_at_shape(struct inquiry *q)
{
	const struct module *m = q->m;
	bool libc = false;
	const char *s;

	for (size_t i = 0; (s = module_needed(m, i)); i++)
		libc |= import_is_libc(s);
	if (!m->dyn || (q->program && (!m->interp || !libc)))
		against(q, "  is statically linked");
	if (m->odd)
		against(q, "  has headers that are not understood");
	if (m->fdes == 0)
		against(q, "  has no table of frames (.eh_frame_hdr)");
	for (size_t i = 0; (s = module_needed(m, i)); i++)
		if (!import_library(s) && !library_passed(q->a, s))
			against_for(q, "  needs the library ", s,
			    "it was not allowed");
}

/*
 * The segment of a program that has this library in it holds the library's
 * object and no byte more. A library's segment may be anywhere: it has none.
 */
static bool
tls_is_ours(const struct inquiry *q)
{
	const struct module *m = q->m;

	return q->program && m->tls_bytes <= sizeof(struct self) &&
	    (uintptr_t)tls_self() == tls_block(m->tls_bytes, m->tls_align);
}

static void
look_at_tls(struct inquiry *q)
{
	if (q->m->tls_bytes && !tls_is_ours(q))
		against(q, "  has thread-local variables");
}

/* A name that comes from elsewhere. */
static void
look_at_import(struct inquiry *q, const Elf64_Sym *s)
{
	const char *name = module_string(q->m, s->st_name);

	if (strncmp(name, "__ctype_", 8) == 0)
		a_store_relaxed(&q->a->tables, true);
	if (ELF64_ST_TYPE(s->st_info) == STT_TLS)
		against_for(q, "  uses the thread-local variable ", name, "");
	else if (!import_allowed(name) &&
	    !(ELF64_ST_BIND(s->st_info) == STB_WEAK && import_is_ours(name)) &&
	    !name_passed(q, name))
		against_for(q, "  uses ", name, refusal_why(name));
}

static void
look_at_symbols(struct inquiry *q)
{
	const struct module *m = q->m;

	for (size_t i = 1; i < m->syms; i++) {
		const Elf64_Sym *s = &m->sym[i];
		const char *name = module_string(m, s->st_name);

		if (s->st_shndx == SHN_UNDEF)
			look_at_import(q, s);
		else if (import_is_malloc(name))
			against_for(q, "  defines ", name,
			    "it would be preempted with its locks held");
	}
}

/*
 * A variable that is copied into the program is defined there now, but is an
 * import. A thread-local offset without a name is in the module's own segment,
 * which in a program is ours, or was complained about.
 */
static void
look_at_relocation(struct inquiry *q, const Elf64_Rela *r)
{
	uint32_t type = ELF64_R_TYPE(r->r_info);
	size_t i = ELF64_R_SYM(r->r_info);

	if (reloc_is_copy(type) && i < q->m->syms)
		look_at_import(q, &q->m->sym[i]);
	else if (reloc_is_tls(type) && !(q->program && i == 0) &&
	    q->tls_relocs++ == 0)
		against(q, "  has thread-local relocations");
}

static void
look_at_relocations(struct inquiry *q)
{
	for (int k = 0; k < 2; k++)
		for (size_t i = 0; i < q->m->relas[k]; i++)
			look_at_relocation(q, &q->m->rela[k][i]);
}

bool
audit_module(const struct module *m, bool program, struct audit *a)
{
	struct inquiry q = { .m = m, .program = program, .a = a };

	look_at_shape(&q);
	look_at_tls(&q);
	look_at_relocations(&q);
	look_at_symbols(&q);
	if (q.found == 0)
		add_line(a, m->name, ": can be preempted by signals", "");
	return q.found == 0;
}

size_t
audit_explain(const struct audit *a, char *buf, size_t cap)
{
	char more[64] = "";
	size_t n = 0, len = a->len, k;

	if (a->omitted)
		n = format(more, sizeof(more), "  ... and %zu lines more\n",
		    a->omitted);
	if (cap == 0)
		return len + n;
	k = len < cap - 1 ? len : cap - 1;
	memcpy(buf, a->text, k);
	cap -= k;
	buf += k;
	k = n < cap - 1 ? n : cap - 1;
	memcpy(buf, more, k);
	buf[k] = '\0';
	return len + n;
}
