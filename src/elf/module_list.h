/* SPDX-License-Identifier: MIT */
/*
 * The modules that are loaded, listed beforehand so that signal handlers, and
 * a process that dies, find the one of an address without libc's locks.
 *
 * Entries are added and never removed, so a reader needs no lock: an object
 * that was unloaded is marked. Its entry is used again when the same object
 * is loaded at the same place. A module that was loaded after the last refresh
 * is not found.
 *
 * What a module points to is in its memory, which is gone when another thread
 * unloads it. Its tables are read only for an address in its code, thus for
 * a stack that has such a frame: a program that unloads code in use crashes
 * by itself.
 */
#ifndef MODULE_LIST_H
#define MODULE_LIST_H

#include "atomic.h"
#include "module.h"

struct symbol_table;

enum { LISTED_PATH = 256 };

struct listed {
	/* constant after publication */
	struct listed *next;
	struct module m;
	unsigned number;	/* in the order of the list, from 0 */
	char path[LISTED_PATH];	/* "": it has none, or it is too long */

	/* any thread, atomic */
	abool loaded;		/* written by module_list_refresh */
	a32 state;		/* of its symbols: see symbols.c */
	APTR(struct symbol_table) table;
};

/*
 * Lists the objects that are loaded now. Takes libc's locks and returns fast
 * if nothing has changed: never in a signal handler, nor on the thread of the
 * monitor.
 */
void module_list_refresh(void);

/* The rest is signal-safe. The first one, or NULL; then its ->next. */
struct listed *module_list(void);
/* The module that has code at this address, or NULL. */
struct listed *module_list_find(uintptr_t pc);
/* The same, for struct unwind. */
const struct module *module_list_code(uintptr_t pc);

#endif
