/* SPDX-License-Identifier: MIT */
/*
 * Checks a module's dynamic linking: code can reach what is outside of the
 * module only through a relocation that names it, or in a library it needs.
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
	size_t found;		/* reasons to refuse it */
	size_t tls_relocs;
};

/* ---- the text ---- */

enum { LINE = 192 };		/* longer ones, of long names, are cut */

/* A line of these words; name may contain any bytes. */
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
	/* After the first omitted line all are, so that there are no gaps. */
	if (a->omitted || n >= sizeof(a->text) - a->len) {
		a->omitted++;
		return;
	}
	memcpy(a->text + a->len, line, n);
	a->len += n;
	a->text[a->len] = '\0';
}

static void
refuse_name(struct inquiry *q, const char *what, const char *name,
    const char *why)
{
	if (q->found++ == 0)
		add_line(q->a, q->m->name, ": cannot be preempted by signals:",
		    "");
	add_line(q->a, what, name, why);
}

static void
refuse(struct inquiry *q, const char *what)
{
	refuse_name(q, what, "", "");
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

/*
 * Skips the audited module itself: a variable that is copied into it is
 * defined there, but comes from elsewhere.
 */
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
 * Which definition the dynamic linker takes depends on scopes and on the order
 * of loading; so all of them must be in libraries that have passed.
 */
static bool
name_passed(const struct inquiry *q, const char *name)
{
	struct origin o = { .q = q };

	if (q->a->n_passed)
		module_definers(name, add_origin, &o);
	return o.good && !o.bad;
}

/* ---- the checks ---- */

static void
check_shape(struct inquiry *q)
{
	const struct module *m = q->m;
	bool libc = false;
	const char *s;

	for (size_t i = 0; (s = module_needed(m, i)); i++)
		libc |= import_is_libc(s);
	if (!m->dyn || (q->program && (!m->interp || !libc)))
		refuse(q, "  is statically linked");
	if (m->odd)
		refuse(q, "  has headers that are not understood");
	if (m->fdes == 0)
		refuse(q, "  has no table of frames (.eh_frame_hdr)");
	for (size_t i = 0; (s = module_needed(m, i)); i++)
		if (!import_library(s) && !library_passed(q->a, s))
			refuse_name(q, "  needs the library ", s,
			    "it was not allowed");
}

/*
 * In a program that is linked with this library, the thread-local segment may
 * hold the library's object and no byte more. Shared libraries may have none:
 * where their segment is cannot be known.
 */
static bool
tls_is_ours(const struct inquiry *q)
{
	const struct module *m = q->m;

	return q->program && m->tls_bytes <= sizeof(struct self) &&
	    (uintptr_t)tls_self() == tls_block(m->tls_bytes, m->tls_align);
}

static void
check_tls(struct inquiry *q)
{
	if (q->m->tls_bytes && !tls_is_ours(q))
		refuse(q, "  has thread-local variables");
}

/* A name that another module defines. */
static void
check_import(struct inquiry *q, const Elf64_Sym *s)
{
	const char *name = module_string(q->m, s->st_name);

	if (strncmp(name, "__ctype_", 8) == 0)
		a_store_relaxed(&q->a->tables, true);
	if (ELF64_ST_TYPE(s->st_info) == STT_TLS)
		refuse_name(q, "  uses the thread-local variable ", name, "");
	else if (!import_allowed(name) &&
	    !(ELF64_ST_BIND(s->st_info) == STB_WEAK && import_is_ours(name)) &&
	    !name_passed(q, name))
		refuse_name(q, "  uses ", name, refusal_why(name));
}

static void
check_symbols(struct inquiry *q)
{
	const struct module *m = q->m;

	for (size_t i = 1; i < m->syms; i++) {
		const Elf64_Sym *s = &m->sym[i];
		const char *name = module_string(m, s->st_name);

		if (s->st_shndx == SHN_UNDEF)
			check_import(q, s);
		else if (import_is_malloc(name))
			refuse_name(q, "  defines ", name,
			    "it would be preempted with its locks held");
	}
}

/*
 * A variable that is copied into the program is defined there now, but is an
 * import. A thread-local offset without a name is in the module's own segment;
 * of a program that is the library's, or check_tls has refused it.
 */
static void
check_relocation(struct inquiry *q, const Elf64_Rela *r)
{
	uint32_t type = ELF64_R_TYPE(r->r_info);
	size_t i = ELF64_R_SYM(r->r_info);

	if (reloc_is_copy(type) && i < q->m->syms)
		check_import(q, &q->m->sym[i]);
	else if (reloc_is_tls(type) && !(q->program && i == 0) &&
	    q->tls_relocs++ == 0)
		refuse(q, "  has thread-local relocations");
}

static void
check_relocations(struct inquiry *q)
{
	for (int k = 0; k < 2; k++)
		for (size_t i = 0; i < q->m->relas[k]; i++)
			check_relocation(q, &q->m->rela[k][i]);
}

bool
audit_module(const struct module *m, bool program, struct audit *a)
{
	struct inquiry q = { .m = m, .program = program, .a = a };

	check_shape(&q);
	check_tls(&q);
	check_relocations(&q);
	check_symbols(&q);
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
