/* SPDX-License-Identifier: MIT */
/*
 * See elf_file.h. The file is read, not mapped, so that nothing happens if it
 * changes meanwhile; nothing in it is trusted.
 */
#include "elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "grow.h"

static const size_t bytes_max = (size_t)1 << 30;

/* ---- reading ---- */

static bool
read_whole(struct elf_file *f, int fd)
{
	struct stat st;
	size_t n = 0;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_size < (off_t)sizeof(Elf64_Ehdr) ||
	    (uint64_t)st.st_size > bytes_max)
		return false;
	f->bytes = (size_t)st.st_size;
	f->data = malloc(f->bytes);
	while (f->data && n < f->bytes) {
		ssize_t got = read(fd, f->data + n, f->bytes - n);

		if (got <= 0)
			return false;
		n += (size_t)got;
	}
	return f->data;
}

/* These bytes of the file, or NULL. */
static const void *
part(const struct elf_file *f, uint64_t offset, uint64_t bytes)
{
	return offset <= f->bytes && bytes <= f->bytes - offset ?
	    f->data + offset : NULL;
}

static bool
get_section(const struct elf_file *f, unsigned i, Elf64_Shdr *out)
{
	Elf64_Ehdr h;
	const void *at;

	memcpy(&h, f->data, sizeof h);
	if (i >= h.e_shnum || h.e_shentsize != sizeof *out)
		return false;
	at = part(f, h.e_shoff + (uint64_t)i * sizeof *out, sizeof *out);
	if (at)
		memcpy(out, at, sizeof *out);
	return at;
}

static unsigned
sections(const struct elf_file *f)
{
	Elf64_Ehdr h;

	memcpy(&h, f->data, sizeof h);
	return h.e_shnum;
}

static bool
is_elf(const struct elf_file *f)
{
	const uint8_t *ident = f->data;

	return memcmp(ident, ELFMAG, SELFMAG) == 0 &&
	    ident[EI_CLASS] == ELFCLASS64 && ident[EI_DATA] == ELFDATA2LSB;
}

/* ---- build id ---- */

static bool
note_is(const uint8_t *at, uint64_t bytes, const uint8_t *id, size_t id_bytes)
{
	Elf64_Nhdr n;

	while (bytes >= sizeof n) {
		uint64_t name, desc, all;

		memcpy(&n, at, sizeof n);
		name = ((uint64_t)n.n_namesz + 3) & ~(uint64_t)3;
		desc = ((uint64_t)n.n_descsz + 3) & ~(uint64_t)3;
		all = sizeof n + name + desc;
		if (all > bytes)
			return false;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_descsz == id_bytes &&
		    memcmp(at + sizeof n + name, id, id_bytes) == 0)
			return true;
		at += all;
		bytes -= all;
	}
	return false;
}

static bool
has_id(const struct elf_file *f, const uint8_t *id, size_t id_bytes)
{
	Elf64_Shdr s;

	for (unsigned i = 0; i < sections(f) && get_section(f, i, &s); i++) {
		const uint8_t *at = part(f, s.sh_offset, s.sh_size);

		if (s.sh_type == SHT_NOTE && at &&
		    note_is(at, s.sh_size, id, id_bytes))
			return true;
	}
	return false;
}

/* ---- symbols ---- */

static void
add_symbols(struct elf_file *f, const Elf64_Shdr *table)
{
	Elf64_Shdr text;
	const uint8_t *at = part(f, table->sh_offset, table->sh_size);
	const char *names;
	Elf64_Sym sym;

	if (!at || !get_section(f, table->sh_link, &text) || !text.sh_size)
		return;
	names = part(f, text.sh_offset, text.sh_size);
	if (!names || names[text.sh_size - 1])
		return;
	for (uint64_t i = 0; i < table->sh_size / sizeof sym; i++) {
		unsigned type;

		memcpy(&sym, at + i * sizeof sym, sizeof sym);
		type = ELF64_ST_TYPE(sym.st_info);
		if ((type != STT_FUNC && type != STT_GNU_IFUNC) ||
		    sym.st_shndx == SHN_UNDEF || sym.st_name >= text.sh_size)
			continue;
		*GROW(f->function, f->count, f->room) = (struct elf_function){
			.start = sym.st_value, .bytes = sym.st_size,
			.name = names + sym.st_name,
		};
		f->count++;
	}
}

static int
by_start(const void *a, const void *b)
{
	const struct elf_function *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void
read_symbols(struct elf_file *f)
{
	static const uint32_t types[] = { SHT_SYMTAB, SHT_DYNSYM };
	Elf64_Shdr s;

	for (unsigned t = 0; t < 2 && !f->count; t++)
		for (unsigned i = 0; i < sections(f) && get_section(f, i, &s);
		    i++)
			if (s.sh_type == types[t])
				add_symbols(f, &s);
	if (f->count)
		qsort(f->function, f->count, sizeof *f->function, by_start);
}

/* ---- weft's own ---- */

/* All names of sections, terminated, and their length; or NULL. */
static const char *
section_names(const struct elf_file *f, uint64_t *bytes)
{
	Elf64_Ehdr h;
	Elf64_Shdr s;
	const char *names;

	memcpy(&h, f->data, sizeof h);
	if (!get_section(f, h.e_shstrndx, &s) || !s.sh_size)
		return NULL;
	names = part(f, s.sh_offset, s.sh_size);
	*bytes = s.sh_size;
	return names && !names[s.sh_size - 1] ? names : NULL;
}

static void
find_weft(struct elf_file *f)
{
	static const char *const name[ELF_WEFT_SECTIONS] = {
		[ELF_WEFT_TEXT] = "weft_text", [ELF_WEFT_CALLS] = "weft_calls",
	};
	uint64_t bytes;
	const char *names = section_names(f, &bytes);
	Elf64_Shdr s;

	for (unsigned i = 0; names && i < sections(f) &&
	    get_section(f, i, &s); i++)
		for (unsigned k = 0; k < ELF_WEFT_SECTIONS; k++)
			if (s.sh_name < bytes &&
			    strcmp(names + s.sh_name, name[k]) == 0) {
				f->weft[k].start = s.sh_addr;
				f->weft[k].bytes = s.sh_size;
			}
}

bool
elf_file_in_weft(const struct elf_file *f, enum elf_weft section,
    uint64_t address)
{
	return address - f->weft[section].start < f->weft[section].bytes;
}

struct elf_file *
elf_file_open(const char *path, const uint8_t *id, size_t id_bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct elf_file *f;
	bool good;

	if (fd < 0)
		return NULL;
	f = zeroed(1, sizeof *f);
	good = read_whole(f, fd) && is_elf(f) &&
	    (!id_bytes || has_id(f, id, id_bytes));
	close(fd);
	if (!good) {
		elf_file_close(f);
		return NULL;
	}
	read_symbols(f);
	find_weft(f);
	return f;
}

/* Functions may be nested or have no size; the last that begins there is it. */
const struct elf_function *
elf_file_find(const struct elf_file *f, uint64_t address)
{
	size_t lo = 0, hi = f->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (f->function[mid].start <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (size_t i = lo; i > 0 && i + 8 > lo; i--) {
		const struct elf_function *fn = &f->function[i - 1];

		if (!fn->bytes ? i == lo : address - fn->start < fn->bytes)
			return fn;
	}
	return NULL;
}

void
elf_file_close(struct elf_file *f)
{
	free(f->function);
	free(f->data);
	free(f);
}
