/* SPDX-License-Identifier: MIT */
/*
 * A module: one loaded ELF object, the program or a shared library, as its
 * headers in memory describe it. Nothing is read from files.
 *
 * It is filled in once, outside of signal handlers; from then on it is constant
 * and handlers read it. It points into the object, which must stay loaded.
 */
#ifndef MODULE_H
#define MODULE_H

#include <elf.h>

#include "defs.h"

struct range { uintptr_t lo, hi; };	/* [lo, hi) */

static inline bool
range_has(const struct range *r, uintptr_t addr)
{
	return addr >= r->lo && addr < r->hi;
}

/* Are all of these bytes in the range? */
static inline bool
range_holds(const struct range *r, uintptr_t addr, size_t bytes)
{
	return addr >= r->lo && addr <= r->hi && bytes <= r->hi - addr;
}

enum {
	MODULE_TEXTS = 4,	/* executable segments; usually one */
	MODULE_NAME = 64,
	MODULE_ID = 32		/* bytes of a build id; usually there are 20 */
};

/* A row of the sorted table: offsets from the start of .eh_frame_hdr. */
struct fde_ref { int32_t pc, fde; };

struct module {
	char name[MODULE_NAME];	/* for messages */
	const char *path;	/* libc's: valid as long as it is loaded */
	uint8_t id[MODULE_ID];	/* the linker's build id */
	uint8_t id_bytes;	/* 0: it has none */
	uintptr_t base;		/* load bias: address minus p_vaddr */
	struct range load;	/* from its first to its last segment */
	struct range text[MODULE_TEXTS];
	unsigned texts;
	bool program;		/* the main program */
	bool odd;		/* has something that is not supported */

	/* frame tables; fdes is 0 if there is none that can be read */
	uintptr_t eh_hdr;
	const struct fde_ref *fde;
	size_t fdes;
	struct range eh_frame;	/* to the end of its segment */

	/* for the dynamic linker */
	bool interp;		/* it has an interpreter */
	const Elf64_Dyn *dyn;
	size_t dyns;
	const Elf64_Sym *sym;
	size_t syms;
	const char *str;
	size_t str_bytes;
	const Elf64_Rela *rela[2];	/* for data, for calls */
	size_t relas[2];

	/* thread-local segment */
	size_t tls_bytes, tls_align;
};

/* The main program. False if the auxiliary vector is not sufficient. */
bool module_program(struct module *m);
/*
 * The object that this address is in: 0 or -ENOENT. In a program at a fixed
 * address the address of a library's function may be that of a stub in the
 * program: then it is the library. Takes libc's locks.
 */
int module_at(const void *addr, struct module *m);

/* Calls fn for every loaded object. Takes libc's locks. */
void module_each(void (*fn)(const struct module *m, void *arg), void *arg);
/* How often objects were loaded and unloaded, or 0 if that is not known. The
 * same. */
uint64_t module_changes(void);

/*
 * The build id in notes, as they are in a segment or section of that type: its
 * length, 0 if there is none.
 */
size_t module_build_id(const void *notes, size_t bytes, uint8_t id[MODULE_ID]);

/* True if code of the module is at this address. Signal-safe. */
bool module_has_code(const struct module *m, uintptr_t pc);
/* Names it by the last component of a path, or by as much of it as fits. */
void module_set_name(struct module *m, const char *path);
/* The i-th library that it needs, or NULL if there are not so many. */
const char *module_needed(const struct module *m, size_t i);
/* A string of its dynamic string table, never NULL. */
const char *module_string(const struct module *m, size_t offset);
/* The name under which others need it. */
const char *module_soname(const struct module *m);
/*
 * Calls fn with each loaded object that defines this name, until it returns
 * false. Takes libc's locks, and holds them in fn.
 */
void module_definers(const char *name,
    bool (*fn)(const struct module *m, void *arg), void *arg);

#endif
