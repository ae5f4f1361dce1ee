/* SPDX-License-Identifier: MIT */
/*
 * The function that an address is in: its name, from the symbol tables of the
 * module's file, read when the first name is needed. If the file is stripped,
 * from its debug file (/usr/lib/debug/.build-id); if there is none, or if the
 * file is another one by now, from the dynamic symbols in memory, which are
 * those that the module exports.
 *
 * Usable while the process dies and in signal handlers: no malloc, no lock of
 * libc's, no fault whatever is in the file. It is read, not mapped: a mapped
 * file that is truncated meanwhile would raise SIGBUS. Tables are kept for
 * ever.
 */
#ifndef SYMBOLS_H
#define SYMBOLS_H

#include "module_list.h"

struct symbol {
	const char *name;	/* of the function; NULL: not known */
	uint64_t offset;	/* of the address in the function */
	struct listed *module;	/* NULL: in none that is known */
	uint64_t in_module;	/* the address as the file has it */
};

/*
 * Finds as much of it as is known. Signal-safe. May open and read a file. The
 * name stays valid for ever, or, if it is a dynamic one, as long as the module
 * is loaded. An address in a function may be one that backtrace.h gives.
 */
void symbol_find(uintptr_t pc, struct symbol *s);

enum { SYMBOL_ID_TEXT = 2 * MODULE_ID + 1 };
/* The build id as hexadecimal digits, "" if there is none. */
void symbol_id_text(const struct module *m, char out[SYMBOL_ID_TEXT]);

/* ---- for tests ---- */

struct symbol_table;
/* The functions in that file, or NULL. Their addresses are the file's. With
 * m, only if it is the file of m. */
struct symbol_table *symbol_table_read(const char *path,
    const struct module *m);
size_t symbol_table_functions(const struct symbol_table *t);
/* The function there, and where it begins. NULL if there is none. */
const char *symbol_table_find(const struct symbol_table *t, uint64_t addr,
    uint64_t *start);
void symbol_table_free(struct symbol_table *t);

#endif
