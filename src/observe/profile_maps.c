/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE		/* dl_iterate_phdr */
#include "profile_maps.h"

#include <link.h>
#include <string.h>
#include <unistd.h>

#include "fatal.h"

/* The note with the build id, within its segment. */
static const Elf64_Nhdr *
build_id_note(uintptr_t at, size_t bytes)
{
	while (bytes >= sizeof(Elf64_Nhdr)) {
		const Elf64_Nhdr *n = (const void *)at;
		size_t name = round_up(n->n_namesz, 4);
		size_t all = sizeof *n + name + round_up(n->n_descsz, 4);

		if (n->n_namesz > bytes || n->n_descsz > bytes || all > bytes)
			return NULL;
		if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 &&
		    memcmp(n + 1, "GNU", 4) == 0)
			return n;
		at += all;
		bytes -= all;
	}
	return NULL;
}

static void
hex(char *out, const unsigned char *bytes, size_t n)
{
	static const char digit[] = "0123456789abcdef";

	if (n > PROFILE_BUILD_ID)
		n = PROFILE_BUILD_ID;
	for (size_t i = 0; i < n; i++) {
		*out++ = digit[bytes[i] >> 4];
		*out++ = digit[bytes[i] & 15];
	}
	*out = '\0';
}

static void
read_build_id(const struct dl_phdr_info *info, char *out)
{
	out[0] = '\0';
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *ph = &info->dlpi_phdr[i];
		const Elf64_Nhdr *n;

		if (ph->p_type != PT_NOTE)
			continue;
		n = build_id_note(info->dlpi_addr + ph->p_vaddr, ph->p_memsz);
		if (!n)
			continue;
		hex(out, (const unsigned char *)(n + 1) +
		    round_up(n->n_namesz, 4), n->n_descsz);
		return;
	}
}

/* The program has no name in libc's list, and neither has the vDSO. */
static void
read_path(const struct dl_phdr_info *info, bool first, char out[PROFILE_PATH])
{
	ssize_t n = 0;

	if (info->dlpi_name && info->dlpi_name[0] && !first) {
		format(out, PROFILE_PATH, "%s", info->dlpi_name);
		return;
	}
	if (first)
		n = readlink("/proc/self/exe", out, PROFILE_PATH - 1);
	out[n > 0 ? n : 0] = '\0';
	if (n <= 0)
		format(out, PROFILE_PATH, first ? "program" : "[vdso]");
}

static void
add(struct profile_maps *maps, const struct dl_phdr_info *info,
    const Elf64_Phdr *ph, bool first)
{
	struct profile_map *m = &maps->map[maps->n];

	if (maps->n == PROFILE_MAPS) {
		maps->omitted++;
		return;
	}
	m->lo = info->dlpi_addr + ph->p_vaddr;
	m->hi = m->lo + ph->p_memsz;
	m->offset = ph->p_offset;
	read_path(info, first, m->path);
	read_build_id(info, m->build_id);
	maps->n++;
}

struct walk {
	struct profile_maps *maps;
	bool later;
};

static int
each(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	struct walk *w = arg;

	(void)bytes;
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD &&
		    info->dlpi_phdr[i].p_flags & PF_X)
			add(w->maps, info, &info->dlpi_phdr[i], !w->later);
	w->later = true;
	return 0;
}

void
profile_maps_read(struct profile_maps *maps)
{
	struct walk w = { maps, false };

	maps->n = maps->omitted = 0;
	dl_iterate_phdr(each, &w);
}

unsigned
profile_maps_find(const struct profile_maps *maps, uintptr_t pc)
{
	for (unsigned i = 0; i < maps->n; i++)
		if (pc >= maps->map[i].lo && pc < maps->map[i].hi)
			return i + 1;
	return 0;
}
