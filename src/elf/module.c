/* SPDX-License-Identifier: MIT */
/*
 * Loaded objects, from their program headers: the auxiliary vector has the
 * address of the program's, libc's list those of the libraries'.
 *
 * The dynamic section holds addresses. glibc has relocated them, musl has not,
 * nor are those of the vDSO: an address that is not within the object still
 * lacks the load bias.
 */
#define _GNU_SOURCE		/* dl_iterate_phdr */
#include "module.h"

#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

/* A larger number of symbols is taken for an error. */
enum { MAX_SYMS = 1 << 24, MIN_PAGE = 4096 };

struct headers {
	const Elf64_Phdr *ph;
	size_t n;
};

/* ---- segments ---- */

static struct range
segment(const struct module *m, const Elf64_Phdr *ph)
{
	uintptr_t lo = m->base + ph->p_vaddr;

	return (struct range){ lo, lo + ph->p_memsz };
}

static void
add_load(struct module *m, const Elf64_Phdr *ph)
{
	struct range r = segment(m, ph);

	if (m->load.hi == 0 || r.lo < m->load.lo)
		m->load.lo = r.lo;
	if (r.hi > m->load.hi)
		m->load.hi = r.hi;
	if (!(ph->p_flags & PF_X))
		return;
	if (m->texts == MODULE_TEXTS)
		m->odd = true;
	else
		m->text[m->texts++] = r;
}

/* The readable bytes from addr to the end of its segment. */
static struct range
readable_from(const struct module *m, struct headers h, uintptr_t addr)
{
	for (size_t i = 0; i < h.n; i++) {
		struct range r = segment(m, &h.ph[i]);

		if (h.ph[i].p_type == PT_LOAD && (h.ph[i].p_flags & PF_R) &&
		    range_has(&r, addr))
			return (struct range){ addr, r.hi };
	}
	return (struct range){ 0 };
}

/* ---- frame tables ---- */

/*
 * The header as all linkers write it: version 1, a relative pointer to
 * .eh_frame, the number of rows, and rows of two 32-bit offsets.
 */
struct eh_hdr {
	uint8_t version, ptr_enc, count_enc, table_enc;
	int32_t ptr;
	uint32_t count;
	struct fde_ref row[];
};

static void
find_frames(struct module *m, struct headers h, const Elf64_Phdr *ph)
{
	enum { PCREL_SDATA4 = 0x1b, UDATA4 = 0x03, DATAREL_SDATA4 = 0x3b };
	uintptr_t at = m->base + ph->p_vaddr;
	struct range r = readable_from(m, h, at);
	const struct eh_hdr *eh = (const void *)at;

	if (at % sizeof(uint32_t) || !range_holds(&r, at, sizeof(*eh)) ||
	    eh->version != 1 || eh->ptr_enc != PCREL_SDATA4 ||
	    eh->count_enc != UDATA4 || eh->table_enc != DATAREL_SDATA4 ||
	    !range_holds(&r, (uintptr_t)eh->row,
		(size_t)eh->count * sizeof(eh->row[0])))
		return;
	m->eh_frame = readable_from(m, h,
	    (uintptr_t)&eh->ptr + (uintptr_t)(intptr_t)eh->ptr);
	if (m->eh_frame.hi == 0)
		return;
	m->eh_hdr = at;
	m->fde = eh->row;
	m->fdes = eh->count;
}

/* ---- dynamic section ---- */

/* A pointer from the dynamic section to so many bytes, or NULL. */
static const void *
pointer(const struct module *m, uintptr_t v, size_t bytes)
{
	if (!range_has(&m->load, v))
		v += m->base;
	return range_holds(&m->load, v, bytes) ? (const void *)v : NULL;
}

static uintptr_t
dyn_value(const struct module *m, Elf64_Sxword tag)
{
	for (size_t i = 0; i < m->dyns; i++)
		if (m->dyn[i].d_tag == tag)
			return m->dyn[i].d_un.d_val;
	return 0;
}

static const void *
dyn_pointer(const struct module *m, Elf64_Sxword tag, size_t bytes)
{
	uintptr_t v = dyn_value(m, tag);

	return v ? pointer(m, v, bytes) : NULL;
}

static void
find_relocations(struct module *m, int i, Elf64_Sxword tag, Elf64_Sxword size)
{
	size_t bytes = dyn_value(m, size);

	m->rela[i] = dyn_pointer(m, tag, bytes);
	m->relas[i] = m->rela[i] ? bytes / sizeof(Elf64_Rela) : 0;
	if (bytes && !m->rela[i])
		m->odd = true;
}

/*
 * The GNU hash table: symbols that others may look up come last in the symbol
 * table and are chained; the last one of the last chain is the last symbol.
 */
static size_t
count_gnu_hash(const struct module *m)
{
	const uint32_t *h = dyn_pointer(m, DT_GNU_HASH, 16), *bucket, *chain;
	size_t last = 0;

	if (!h)
		return 0;
	bucket = h + 4 + 2 * (size_t)h[2];
	chain = bucket + h[0];
	if (!range_holds(&m->load, (uintptr_t)bucket,
	    (size_t)h[0] * 4))
		return 0;
	for (size_t i = 0; i < h[0]; i++)
		if (bucket[i] > last)
			last = bucket[i];
	if (last < h[1])
		return h[1];	/* it is empty */
	while (range_holds(&m->load, (uintptr_t)&chain[last - h[1]], 4) &&
	    !(chain[last - h[1]] & 1))
		last++;
	return last + 1;
}

static size_t
count_hash(const struct module *m)
{
	const uint32_t *h = dyn_pointer(m, DT_HASH, 8);

	return h ? h[1] : 0;
}

/* A hash table need not cover symbols that are only imported. */
static size_t
count_relocated(const struct module *m)
{
	size_t n = 0;

	for (int k = 0; k < 2; k++) {
		for (size_t i = 0; i < m->relas[k]; i++) {
			size_t s = ELF64_R_SYM(m->rela[k][i].r_info);

			if (s >= n)
				n = s + 1;
		}
	}
	return n;
}

static void
count_symbols(struct module *m)
{
	size_t n = count_hash(m), k = count_gnu_hash(m);

	if (k > n)
		n = k;
	k = count_relocated(m);
	if (k > n)
		n = k;
	if (n == 0)
		return;
	if (n <= MAX_SYMS)
		m->sym = dyn_pointer(m, DT_SYMTAB, n * sizeof(Elf64_Sym));
	m->syms = m->sym ? n : 0;
	if (!m->sym)
		m->odd = true;
}

static void
find_dynamic(struct module *m, const Elf64_Phdr *ph)
{
	m->dyn = (const void *)(m->base + ph->p_vaddr);
	while ((m->dyns + 1) * sizeof(Elf64_Dyn) <= ph->p_memsz &&
	    m->dyn[m->dyns].d_tag != DT_NULL)
		m->dyns++;
	m->str_bytes = dyn_value(m, DT_STRSZ);
	m->str = dyn_pointer(m, DT_STRTAB, m->str_bytes);
	if (!m->str || m->str_bytes == 0 || m->str[m->str_bytes - 1]) {
		m->str = NULL;
		m->odd = true;
	}
	find_relocations(m, 0, DT_RELA, DT_RELASZ);
	find_relocations(m, 1, DT_JMPREL, DT_PLTRELSZ);
	/* The supported architectures have relocations with addends. */
	if (dyn_value(m, DT_RELSZ) ||
	    (m->relas[1] && dyn_value(m, DT_PLTREL) != DT_RELA))
		m->odd = true;
	count_symbols(m);
}

/* ---- build id ---- */

size_t
module_build_id(const void *notes, size_t bytes, uint8_t id[MODULE_ID])
{
	const char *at = notes;
	Elf64_Nhdr n;
	size_t name, desc;

	while (bytes >= sizeof n) {
		memcpy(&n, at, sizeof n);
		name = round_up(n.n_namesz, 4);
		desc = round_up(n.n_descsz, 4);
		if (bytes - sizeof n < name || bytes - sizeof n - name < desc)
			return 0;
		at += sizeof n;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
		    !memcmp(at, "GNU", 4) && n.n_descsz <= MODULE_ID) {
			memcpy(id, at + name, n.n_descsz);
			return n.n_descsz;
		}
		at += name + desc;
		bytes -= sizeof n + name + desc;
	}
	return 0;
}

static void
find_build_id(struct module *m, struct headers h, const Elf64_Phdr *ph)
{
	uintptr_t at = m->base + ph->p_vaddr;
	struct range r = readable_from(m, h, at);

	if (!m->id_bytes && range_holds(&r, at, ph->p_filesz))
		m->id_bytes = (uint8_t)module_build_id((const void *)at,
		    ph->p_filesz, m->id);
}

/* ---- describing an object ---- */

void
module_set_name(struct module *m, const char *path)
{
	const char *s = strrchr(path, '/');
	size_t i;

	s = s ? s + 1 : path;
	for (i = 0; s[i] && i + 1 < sizeof(m->name); i++)
		m->name[i] = s[i] > ' ' && s[i] < 127 ? s[i] : '?';
	m->name[i] = '\0';
}

static void
describe(struct module *m, struct headers h)
{
	for (size_t i = 0; i < h.n; i++)
		if (h.ph[i].p_type == PT_LOAD)
			add_load(m, &h.ph[i]);
	for (size_t i = 0; i < h.n; i++) {
		const Elf64_Phdr *ph = &h.ph[i];

		if (ph->p_type == PT_GNU_EH_FRAME)
			find_frames(m, h, ph);
		else if (ph->p_type == PT_DYNAMIC)
			find_dynamic(m, ph);
		else if (ph->p_type == PT_NOTE)
			find_build_id(m, h, ph);
		else if (ph->p_type == PT_INTERP)
			m->interp = true;
		else if (ph->p_type == PT_TLS) {
			m->tls_bytes = ph->p_memsz;
			m->tls_align = ph->p_align;
		}
	}
}

/*
 * The program's headers state their own address (PT_PHDR). Those of a fixed
 * static program do not: there they follow the file's header, which is at the
 * start of the first segment.
 */
static bool
find_base(struct headers h, uintptr_t *base)
{
	const Elf64_Ehdr *file = (const void *)((const char *)h.ph -
	    sizeof(*file));
	uintptr_t at = (uintptr_t)h.ph;

	for (size_t i = 0; i < h.n; i++) {
		if (h.ph[i].p_type == PT_PHDR) {
			*base = at - h.ph[i].p_vaddr;
			return true;
		}
	}
	for (size_t i = 0; i < h.n; i++) {
		if (h.ph[i].p_type == PT_LOAD && h.ph[i].p_offset == 0 &&
		    at % MIN_PAGE == sizeof(*file) &&
		    !memcmp(file->e_ident, ELFMAG, SELFMAG) &&
		    file->e_phoff == sizeof(*file)) {
			*base = (uintptr_t)file - h.ph[i].p_vaddr;
			return true;
		}
	}
	return false;
}

static const char *
program_path(void)
{
	const char *path = (const char *)getauxval(AT_EXECFN);

	return path && *path ? path : "program";
}

bool
module_program(struct module *m)
{
	struct headers h = {
		(const void *)getauxval(AT_PHDR), getauxval(AT_PHNUM)
	};

	memset(m, 0, sizeof(*m));
	if (!h.ph || getauxval(AT_PHENT) != sizeof(Elf64_Phdr) ||
	    !find_base(h, &m->base))
		return false;
	module_set_name(m, program_path());
	m->path = "";
	m->program = true;
	describe(m, h);
	return true;
}

/* The same for an object in libc's list. */
static void
describe_listed(struct module *m, const struct dl_phdr_info *info)
{
	struct headers h = { info->dlpi_phdr, info->dlpi_phnum };
	const char *path = info->dlpi_name;

	memset(m, 0, sizeof(*m));
	m->base = info->dlpi_addr;
	module_set_name(m, path && *path ? path : program_path());
	m->path = path ? path : "";
	m->program = (uintptr_t)h.ph == getauxval(AT_PHDR);
	describe(m, h);
}

struct search {
	uintptr_t addr;
	struct module *m;
};

static bool
contains(const struct dl_phdr_info *info, uintptr_t addr)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_LOAD &&
		    addr - info->dlpi_addr - ph->p_vaddr < ph->p_memsz)
			return true;
	}
	return false;
}

static int
match_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;

	(void)size;
	if (!contains(info, s->addr))
		return 0;
	describe_listed(s->m, info);
	return 1;
}

struct visit {
	void (*fn)(const struct module *m, void *arg);
	void *arg;
};

static int
visit_one(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct visit *v = arg;
	struct module m;

	(void)size;
	describe_listed(&m, info);
	v->fn(&m, v->arg);
	return 0;
}

void
module_each(void (*fn)(const struct module *m, void *arg), void *arg)
{
	struct visit v = { fn, arg };

	dl_iterate_phdr(visit_one, &v);
}

static int
read_changes(struct dl_phdr_info *info, size_t size, void *arg)
{
	if (size >= offsetof(struct dl_phdr_info, dlpi_subs) +
	    sizeof info->dlpi_subs)
		*(uint64_t *)arg = (uint64_t)(info->dlpi_adds +
		    info->dlpi_subs);
	return 1;
}

uint64_t
module_changes(void)
{
	uint64_t n = 0;

	dl_iterate_phdr(read_changes, &n);
	return n;
}

bool
module_has_code(const struct module *m, uintptr_t pc)
{
	for (unsigned i = 0; i < m->texts; i++)
		if (range_has(&m->text[i], pc))
			return true;
	return false;
}

const char *
module_string(const struct module *m, size_t offset)
{
	return m->str && offset < m->str_bytes ? m->str + offset : "";
}

const char *
module_needed(const struct module *m, size_t i)
{
	for (size_t k = 0; k < m->dyns; k++)
		if (m->dyn[k].d_tag == DT_NEEDED && i-- == 0)
			return module_string(m, m->dyn[k].d_un.d_val);
	return NULL;
}

const char *
module_soname(const struct module *m)
{
	for (size_t k = 0; k < m->dyns; k++)
		if (m->dyn[k].d_tag == DT_SONAME)
			return module_string(m, m->dyn[k].d_un.d_val);
	return m->name;
}

struct definers {
	const char *name;
	bool (*fn)(const struct module *m, void *arg);
	void *arg;
};

static bool
defines(const struct module *m, const char *name)
{
	for (size_t i = 1; i < m->syms; i++)
		if (m->sym[i].st_shndx != SHN_UNDEF &&
		    ELF64_ST_BIND(m->sym[i].st_info) != STB_LOCAL &&
		    !strcmp(module_string(m, m->sym[i].st_name), name))
			return true;
	return false;
}

static int
ask_definer(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct definers *d = arg;
	struct module m;

	(void)size;
	describe_listed(&m, info);
	return defines(&m, d->name) && !d->fn(&m, d->arg);
}

void
module_definers(const char *name,
    bool (*fn)(const struct module *m, void *arg), void *arg)
{
	struct definers d = { name, fn, arg };

	dl_iterate_phdr(ask_definer, &d);
}

/* ---- by an address ---- */

/* The name of the stub at this address, or NULL. */
static const char *
stub_at(const struct module *m, uintptr_t addr)
{
	for (size_t i = 1; i < m->syms; i++)
		if (m->sym[i].st_shndx == SHN_UNDEF && m->sym[i].st_value &&
		    m->base + m->sym[i].st_value == addr)
			return module_string(m, m->sym[i].st_name);
	return NULL;
}

static bool
take_first(const struct module *m, void *arg)
{
	*(struct module *)arg = *m;
	return false;
}

int
module_at(const void *addr, struct module *m)
{
	struct search s = { (uintptr_t)addr, m };
	const char *stub;

	memset(m, 0, sizeof(*m));
	if (!dl_iterate_phdr(match_object, &s))
		return -ENOENT;
	stub = stub_at(m, s.addr);
	if (stub)
		module_definers(stub, take_first, m);
	return 0;
}
