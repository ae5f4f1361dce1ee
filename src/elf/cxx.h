/* SPDX-License-Identifier: MIT */
/*
 * Finding the C++ runtime of a program that was not linked with it: a library
 * that is written in C++ was loaded by dlopen.
 *
 * What is found stays loaded: its address is kept. All but cxx_list_changed may wait
 * for a dlopen on another thread, and for the constructors that it runs. So
 * they are called where the user's code might as well call dlopen: outside of
 * the runtime, with nothing held.
 */
#ifndef CXX_H
#define CXX_H

#include "atomic.h"
#include "defs.h"

/* __cxa_get_globals of a C++ library that is loaded, or NULL. */
void *cxx_find(void);

/* The library of that function is not unloaded any more. */
void cxx_keep(void *fn);

struct link_map;

/* Set by cxx_find, maybe by several at a time. */
extern struct cxx_watch {
	/* of the loader's own object, which is there for good; or NULL */
	APTR(struct link_map *) next;
	APTR(struct link_map) seen;	/* what was there */
} cxx_watch;

/*
 * A hint: has a library been loaded since cxx_find? The loader's own object is
 * mostly the last one of those that the program was linked with, so that the
 * first dlopen shows there. Of later ones nothing is seen. No lock, no call.
 */
static always_inline bool
cxx_list_changed(void)
{
	struct link_map **next = a_load_relaxed(&cxx_watch.next);

	return next && *(struct link_map *volatile *)next !=
	    a_load_relaxed(&cxx_watch.seen);
}

#endif
