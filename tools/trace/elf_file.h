/* SPDX-License-Identifier: MIT */
/* The functions that the symbol table of an ELF file names. */
#ifndef ELF_FILE_H
#define ELF_FILE_H

#include <stddef.h>
#include <stdint.h>

struct elf_function {
	uint64_t start, bytes;	/* as the file has them */
	const char *name;
};

struct elf_file {
	uint8_t *data;
	size_t bytes;
	struct elf_function *function;	/* by start */
	size_t count, room;
};

/* NULL: it is not there, or no ELF file for this machine, or its build id is
 * another one (if any is given). What is damaged in it is left out. */
struct elf_file *elf_file_open(const char *path, const uint8_t *build_id,
    size_t build_id_bytes);
/* The function that this address is in, or NULL. */
const struct elf_function *elf_file_find(const struct elf_file *f,
    uint64_t address);
void elf_file_close(struct elf_file *f);

#endif
