/* SPDX-License-Identifier: MIT */
/*
 * The libraries are known by name. (A runtime that was linked into a library
 * statically is found only if it registers itself, which weft.h makes it do.)
 * Their symbols are looked up by libc: only that knows when a library is
 * ready.
 *
 * The references are weak: a static program shall not contain libc's loader
 * because of us, and see sched/thread_state.h.
 */
#define _GNU_SOURCE		/* dladdr, dl_iterate_phdr */
#include "cxx.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#pragma weak dlopen
#pragma weak dlsym
#pragma weak dladdr

struct cxx_watch cxx_watch;

enum { PATH_BYTES = 1024, KEPT = RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE };

static bool
is_runtime(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return !strncmp(name, "libstdc++.so", 12) ||
	    !strncmp(name, "libc++abi.so", 12);
}

/* The loader's list is locked only during the call: the path is copied. */
static int
match_object(struct dl_phdr_info *info, size_t size, void *path)
{
	size_t n;

	(void)size;
	if (!info->dlpi_name || !is_runtime(info->dlpi_name))
		return 0;
	n = strlen(info->dlpi_name);
	if (n >= PATH_BYTES)
		return 0;
	memcpy(path, info->dlpi_name, n + 1);
	return 1;
}

/* The loader's list, found through the program's headers; NULL if it has no
 * loader. */
static struct link_map *
loaded_list(struct dl_phdr_info *info)
{
	const ElfW(Dyn) *d = NULL;

	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			d = (const ElfW(Dyn) *)(info->dlpi_addr +
			    info->dlpi_phdr[i].p_vaddr);
	for (; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_DEBUG && d->d_un.d_ptr)
			return ((struct r_debug *)d->d_un.d_ptr)->r_map;
	return NULL;
}

/* Called for the program, which is first in the list. */
static int
watch(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t loader = getauxval(AT_BASE);
	struct link_map *l = loader ? loaded_list(info) : NULL;

	(void)size, (void)arg;
	while (l && l->l_addr != loader)
		l = l->l_next;
	if (l)
		a_store_relaxed(&cxx_watch.next, &l->l_next);
	return 1;
}

void *
cxx_find(void)
{
	char path[PATH_BYTES];
	struct link_map **next;
	void *lib;

	if (!dlopen || !dlsym)
		return NULL;
	if (!a_load_relaxed(&cxx_watch.next))
		dl_iterate_phdr(watch, NULL);
	/* Before the search: a library loaded later is a change again. */
	next = a_load_relaxed(&cxx_watch.next);
	if (next)
		a_store_relaxed(&cxx_watch.seen,
		    *(struct link_map *volatile *)next);
	if (!dl_iterate_phdr(match_object, path))
		return NULL;
	lib = dlopen(path, KEPT);
	return lib ? dlsym(lib, "__cxa_get_globals") : NULL;
}

void
cxx_keep(void *fn)
{
	Dl_info info;

	if (dlopen && dladdr && dladdr(fn, &info) && info.dli_fname)
		dlopen(info.dli_fname, KEPT);
}
