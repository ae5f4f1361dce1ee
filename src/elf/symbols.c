/* SPDX-License-Identifier: MIT */
/*
 * A table is read once for each module, by the thread that needs it first:
 *
 *	      a thread that wins        the same
 *	NONE --------------------> READING -----> READY, with or without table
 *
 * Other threads wait for a short time, and then do without the name: the
 * reader may be a thread that was interrupted by the handler that asks.
 *
 * All numbers of a file are checked before they are used: sizes against the
 * file's and against a limit, offsets of names against the string table, which
 * is ended by a zero that is not from the file.
 */
#include "symbols.h"

#include <string.h>

#include "fatal.h"
#include "object_loaded.h"
#include "os.h"

enum { NONE, READING, READY };

enum {
	SECTIONS_MAX = 1 << 16,
	SEGMENTS_MAX = 128,
	NOTES_MAX = 512,
	WAIT_ROUNDS = 200
};
static const uint64_t table_max = UINT64_C(1) << 29;	/* bytes */
static const int64_t wait_ns = 500 * 1000;

struct function {
	uint64_t addr;
	uint32_t bytes;		/* 0: not known */
	uint32_t name;		/* offset in the strings */
};

/* At the start of its mapping; the functions follow, then the strings. */
struct symbol_table {
	size_t mapped;
	size_t n;
	const char *strings;
	uint64_t strings_bytes;
	struct function fn[];
};

/* A file that is being read. */
struct file {
	long fd;
	uint64_t bytes;
	Elf64_Ehdr eh;
	const Elf64_Shdr *sh;	/* mapped */
	size_t sh_mapped;
};

/* ---- reading ---- */

static bool
in_file(const struct file *f, uint64_t offset, uint64_t bytes)
{
	return offset <= f->bytes && bytes <= f->bytes - offset;
}

/* A new mapping with these bytes of the file and `extra` zeros, or NULL. */
static void *
read_part(const struct file *f, uint64_t offset, uint64_t bytes, size_t extra,
    size_t *mapped)
{
	void *p;

	if (!bytes || bytes > table_max || !in_file(f, offset, bytes))
		return NULL;
	*mapped = round_up((size_t)bytes + extra, PAGE);
	p = os_map(*mapped);
	if (p && !os_file_read(f->fd, p, (size_t)bytes, offset)) {
		os_unmap(p, *mapped);
		p = NULL;
	}
	return p;
}

static bool
read_header(struct file *f)
{
	const Elf64_Ehdr *eh = &f->eh;

	return in_file(f, 0, sizeof *eh) &&
	    os_file_read(f->fd, &f->eh, sizeof f->eh, 0) &&
	    !memcmp(eh->e_ident, ELFMAG, SELFMAG) &&
	    eh->e_ident[EI_CLASS] == ELFCLASS64 &&
	    eh->e_ident[EI_DATA] == ELFDATA2LSB &&
	    eh->e_shentsize == sizeof(Elf64_Shdr) &&
	    eh->e_phentsize == sizeof(Elf64_Phdr) && eh->e_shnum > 0;
}

static bool
read_sections(struct file *f)
{
	f->sh = read_part(f, f->eh.e_shoff,
	    f->eh.e_shnum * sizeof(Elf64_Shdr), 0, &f->sh_mapped);
	return f->sh != NULL;
}

/* ---- is it the file of this module? ---- */

static size_t
file_build_id(const struct file *f, uint8_t id[MODULE_ID])
{
	uint8_t notes[NOTES_MAX];
	size_t n = 0;

	for (unsigned i = 0; i < f->eh.e_shnum && !n; i++) {
		const Elf64_Shdr *sh = &f->sh[i];

		if (sh->sh_type == SHT_NOTE && sh->sh_size <= sizeof notes &&
		    in_file(f, sh->sh_offset, sh->sh_size) &&
		    os_file_read(f->fd, notes, (size_t)sh->sh_size,
		    sh->sh_offset))
			n = module_build_id(notes, (size_t)sh->sh_size, id);
	}
	return n;
}

/* Without a build id: do its segments end where the module's do? */
static bool
same_extent(const struct file *f, const struct module *m)
{
	Elf64_Phdr ph;
	uint64_t end = 0;

	if (f->eh.e_phnum > SEGMENTS_MAX)
		return false;
	for (unsigned i = 0; i < f->eh.e_phnum; i++) {
		uint64_t at = f->eh.e_phoff + i * sizeof ph;

		if (!in_file(f, at, sizeof ph) ||
		    !os_file_read(f->fd, &ph, sizeof ph, at))
			return false;
		if (ph.p_type == PT_LOAD && ph.p_vaddr + ph.p_memsz > end)
			end = ph.p_vaddr + ph.p_memsz;
	}
	return m->base + end == m->load.hi;
}

static bool
is_of(const struct file *f, const struct module *m)
{
	uint8_t id[MODULE_ID];
	size_t n;

	if (!m)
		return true;
	n = file_build_id(f, id);
	if (n != m->id_bytes || memcmp(id, m->id, n) != 0)
		return false;
	return n > 0 || same_extent(f, m);
}

/* ---- making a table ---- */

static bool
is_function(const Elf64_Sym *s)
{
	unsigned type = ELF64_ST_TYPE(s->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) &&
	    s->st_shndx != SHN_UNDEF && s->st_name;
}

static size_t
count_functions(const Elf64_Sym *sym, size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		k += is_function(&sym[i]);
	return k;
}

static void
sift(struct function *fn, size_t i, size_t n)
{
	struct function v = fn[i];

	for (size_t child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && fn[child + 1].addr > fn[child].addr)
			child++;
		if (fn[child].addr <= v.addr)
			break;
		fn[i] = fn[child];
	}
	fn[i] = v;
}

/* In place, without recursion. */
static void
heap_sort(struct function *fn, size_t n)
{
	for (size_t i = n / 2; i-- > 0; )
		sift(fn, i, n);
	while (n-- > 1) {
		struct function last = fn[n];

		fn[n] = fn[0];
		fn[0] = last;
		sift(fn, 0, n);
	}
}

static void
add_functions(struct symbol_table *t, const Elf64_Sym *sym, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const Elf64_Sym *s = &sym[i];

		if (is_function(s) && s->st_name < t->strings_bytes)
			t->fn[t->n++] = (struct function){ s->st_value,
			    s->st_size > UINT32_MAX ? 0 : (uint32_t)s->st_size,
			    s->st_name };
	}
	heap_sort(t->fn, t->n);
}

/* The strings are read behind the functions; the mapping ends them. */
static struct symbol_table *
make_table(const struct file *f, const Elf64_Sym *sym, size_t n,
    const Elf64_Shdr *str)
{
	size_t fns = count_functions(sym, n) * sizeof(struct function);
	struct symbol_table *t;
	size_t mapped;

	if (!fns || !str->sh_size || str->sh_size > table_max ||
	    !in_file(f, str->sh_offset, str->sh_size))
		return NULL;
	mapped = round_up(sizeof *t + fns + (size_t)str->sh_size + 1, PAGE);
	t = os_map(mapped);
	if (!t)
		return NULL;
	t->mapped = mapped;
	t->strings = (char *)t->fn + fns;
	t->strings_bytes = str->sh_size;
	if (!os_file_read(f->fd, (char *)t->fn + fns, (size_t)str->sh_size,
	    str->sh_offset)) {
		os_unmap(t, mapped);
		return NULL;
	}
	add_functions(t, sym, n);
	return t;
}

/* The symbol table of this type, or NULL. */
static struct symbol_table *
read_table(const struct file *f, uint32_t type)
{
	const Elf64_Shdr *sh = f->sh;
	struct symbol_table *t;
	Elf64_Sym *sym;
	size_t mapped;
	unsigned i = 0;

	while (i < f->eh.e_shnum && sh[i].sh_type != type)
		i++;
	if (i == f->eh.e_shnum || sh[i].sh_link >= f->eh.e_shnum)
		return NULL;
	sym = read_part(f, sh[i].sh_offset, sh[i].sh_size, 0, &mapped);
	if (!sym)
		return NULL;
	t = make_table(f, sym, (size_t)sh[i].sh_size / sizeof *sym,
	    &sh[sh[i].sh_link]);
	os_unmap(sym, mapped);
	return t;
}

struct symbol_table *
symbol_table_read(const char *path, const struct module *m)
{
	struct file f = { .sh = NULL };
	struct symbol_table *t = NULL;

	f.fd = os_file_open(path, &f.bytes);
	if (f.fd < 0)
		return NULL;
	if (read_header(&f) && read_sections(&f) && is_of(&f, m))
		t = read_table(&f, SHT_SYMTAB);
	if (f.sh)
		os_unmap((void *)f.sh, f.sh_mapped);
	os_file_close(f.fd);
	return t;
}

size_t
symbol_table_functions(const struct symbol_table *t)
{
	return t->n;
}

void
symbol_table_free(struct symbol_table *t)
{
	os_unmap(t, t->mapped);
}

/* ---- finding ---- */

static bool
covers(const struct function *fn, uint64_t addr)
{
	return !fn->bytes || addr - fn->addr < fn->bytes;
}

/* One with a size is; of aliases the one that looks least internal. */
static bool
better(const struct symbol_table *t, const struct function *a,
    const struct function *than)
{
	if (!than || !a->bytes != !than->bytes)
		return !than || a->bytes;
	return strspn(t->strings + a->name, "_") <
	    strspn(t->strings + than->name, "_");
}

/* The best of those that begin last at or before addr and cover it. */
const char *
symbol_table_find(const struct symbol_table *t, uint64_t addr,
    uint64_t *start)
{
	size_t lo = 0, hi = t->n;
	const struct function *best = NULL;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->fn[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (size_t i = lo; i-- > 0 && t->fn[i].addr == t->fn[lo - 1].addr; )
		if (covers(&t->fn[i], addr) && better(t, &t->fn[i], best))
			best = &t->fn[i];
	if (!best)
		return NULL;
	*start = best->addr;
	return t->strings + best->name;
}

/* The same among the dynamic symbols of a module, which are not sorted. */
static const char *
find_dynamic(const struct module *m, uint64_t addr, uint64_t *start)
{
	const Elf64_Sym *best = NULL;

	for (size_t i = 1; i < m->syms; i++) {
		const Elf64_Sym *s = &m->sym[i];

		if (is_function(s) && addr >= s->st_value &&
		    addr - s->st_value < s->st_size &&
		    (!best || s->st_value > best->st_value))
			best = s;
	}
	if (!best)
		return NULL;
	*start = best->st_value;
	return module_string(m, best->st_name);
}

/* ---- the table of a module ---- */

void
symbol_id_text(const struct module *m, char out[SYMBOL_ID_TEXT])
{
	for (unsigned i = 0; i < m->id_bytes; i++) {
		out[2 * i] = "0123456789abcdef"[m->id[i] >> 4];
		out[2 * i + 1] = "0123456789abcdef"[m->id[i] & 15];
	}
	out[2 * m->id_bytes] = 0;
}

static struct symbol_table *
read_debug_file(const struct module *m)
{
	char path[128], id[SYMBOL_ID_TEXT];

	if (m->id_bytes < 2)
		return NULL;
	symbol_id_text(m, id);
	format(path, sizeof path, "/usr/lib/debug/.build-id/%c%c/%s.debug",
	    id[0], id[1], id + 2);
	return symbol_table_read(path, m);
}

static void
read_once(struct listed *e)
{
	struct symbol_table *t;

	/* pairs with the store of READY */
	if (!a_cas_acq(&e->state, NONE, READING))
		return;
	t = symbol_table_read(e->m.program ? "/proc/self/exe" : e->path,
	    &e->m);
	if (!t)
		t = read_debug_file(&e->m);
	a_store_relaxed(&e->table, t);
	a_store_rel(&e->state, READY);	/* pairs with the load of it */
}

static const struct symbol_table *
table_of(struct listed *e)
{
	read_once(e);
	for (int i = 0; i < WAIT_ROUNDS; i++) {
		/* pairs with read_once */
		if (a_load_acq(&e->state) == READY)
			return a_load_relaxed(&e->table);
		os_sleep_ns(wait_ns);
	}
	return NULL;
}

void
symbol_find(uintptr_t pc, struct symbol *s)
{
	const struct symbol_table *t;
	uint64_t start;

	*s = (struct symbol){ .module = module_list_find(pc) };
	if (!s->module)
		return;
	s->in_module = pc - s->module->m.base;
	t = table_of(s->module);
	if (t)
		s->name = symbol_table_find(t, s->in_module, &start);
	else if (object_loaded(&s->module->m, pc))
		s->name = find_dynamic(&s->module->m, s->in_module, &start);
	if (s->name)
		s->offset = s->in_module - start;
}
