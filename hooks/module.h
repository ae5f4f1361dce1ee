/* SPDX-License-Identifier: MIT */
/*
 * The program and the shared libraries that are loaded: which of them a hook
 * was called from.
 */
#ifndef MODULE_H
#define MODULE_H

#include "defs.h"

enum { MODULE_NAME_BYTES = 40 };

struct module {
	/* constant */
	uintptr_t lo, hi;		/* where it is loaded */
	bool program;			/* the program itself */
	bool has_tls;		/* it has thread-local variables */
	char name[MODULE_NAME_BYTES];	/* see module_name; not the program's,
					 * which libc may not know yet */
};

/*
 * The module that this address is in; NULL if there is none. It stays valid.
 * Allocates no memory by malloc, and takes the loader's lock only when it meets
 * a module that it does not know.
 */
const struct module *module_at(const void *address);

/* Of its file, without the folder; cut if it is long. */
const char *module_name(const struct module *m);

/*
 * Must a call from there return on the thread that made it? Its module has
 * thread-local variables, whose addresses it may have in registers. Not the
 * program itself, which is written for goroutines, unless it has a malloc of
 * its own.
 */
bool module_keeps_thread(const void *address);

#endif
