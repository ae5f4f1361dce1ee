/* SPDX-License-Identifier: MIT */
/* The functions that the symbol table of an ELF file names, and where in it
 * weft's own are. */
#ifndef ELF_FILE_H
#define ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_function {
	uint64_t start, bytes;	/* as the file has them */
	const char *name;
};

/* Sections of weft's code (src/weft.ld): functions that call the user's are in
 * the second. */
enum elf_weft { ELF_WEFT_TEXT, ELF_WEFT_CALLS, ELF_WEFT_SECTIONS };

struct elf_file {
	uint8_t *data;
	size_t bytes;
	struct elf_function *function;	/* by start */
	size_t count, room;
	struct { uint64_t start, bytes; } weft[ELF_WEFT_SECTIONS];
};

/* NULL: it is not there, or no ELF file for this machine, or its build id is
 * another one (if any is given). What is damaged in it is left out. */
struct elf_file *elf_file_open(const char *path, const uint8_t *build_id,
    size_t build_id_bytes);
/* The function that this address is in, or NULL. */
const struct elf_function *elf_file_find(const struct elf_file *f,
    uint64_t address);
/* Is it in this section? */
bool elf_file_in_weft(const struct elf_file *f, enum elf_weft section,
    uint64_t address);
void elf_file_close(struct elf_file *f);

#endif
