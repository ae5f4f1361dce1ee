/* SPDX-License-Identifier: MIT */
/*
 * Finds the C++ runtime of a program that was not linked with it: a library
 * that is written in C++ was loaded by dlopen.
 *
 * The library that is found stays loaded, since its address is kept. All
 * functions but cxx_list_changed may wait for a dlopen on another thread, and
 * for the constructors that it runs. So they are called where the user's code
 * might as well call dlopen: outside of the runtime, with nothing held.
 */
#ifndef CXX_H
#define CXX_H

#include "atomic.h"
#include "defs.h"

/* __cxa_get_globals of a C++ library that is loaded, or NULL. */
void *cxx_find(void);

/* Prevents the library of that function from being unloaded. */
void cxx_keep(void *fn);

struct link_map;

/* Set by cxx_find, maybe by several threads at a time. */
extern struct cxx_watch {
	/* &l_next of the loader's own object, which stays loaded; or NULL */
	APTR(struct link_map *) next;
	APTR(struct link_map) seen;	/* its value then */
} cxx_watch;

/*
 * A hint: has a library been loaded since cxx_find? The loader's own object is
 * usually the last one of those that the program was linked with, so that the
 * first dlopen changes its l_next. Later ones are not seen. No lock, no call.
 */
static always_inline bool
cxx_list_changed(void)
{
	struct link_map **next = a_load_relaxed(&cxx_watch.next);

	return next && *(struct link_map *volatile *)next !=
	    a_load_relaxed(&cxx_watch.seen);
}

#endif
