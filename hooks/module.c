/* SPDX-License-Identifier: MIT */
/*
 * A table of all modules, sorted by address. A reader that finds no module for
 * an address makes a new table, with what the loader has now, and publishes it.
 * Old tables are never freed, since others may be reading them: there is one
 * for each time that a library was loaded and then called a hook. (If a library
 * is unloaded and another one gets its addresses, that is taken for the first.
 * It would have to be smaller, or the table is made anew.)
 */
#define _GNU_SOURCE 1
#include "module.h"

#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "atomic.h"
#include "rawcall.h"

struct table {
	/* constant once published */
	size_t n, room;
	struct module m[];
};

/* any thread, atomic */
static APTR(struct table) current;

static void
set_name(struct module *m, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	memcpy(m->name, name, strnlen(name, sizeof m->name - 1));
}

static int
add(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	struct table *t = arg;
	struct module *m = &t->m[t->n];

	(void)bytes;
	if (t->n == t->room)
		return 1;
	*m = (struct module){ .lo = UINTPTR_MAX };
	m->program = t->n++ == 0;
	set_name(m, m->program ? program_invocation_name : info->dlpi_name);
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		uintptr_t lo = info->dlpi_addr + h->p_vaddr;

		m->thread_local |= h->p_type == PT_TLS && h->p_memsz > 0;
		if (h->p_type != PT_LOAD)
			continue;
		m->lo = lo < m->lo ? lo : m->lo;
		m->hi = lo + h->p_memsz > m->hi ? lo + h->p_memsz : m->hi;
	}
	return 0;
}

static int
compare(const void *a, const void *b)
{
	const struct module *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* Insertion sort: libc's may call malloc. */
static void
sort(struct table *t)
{
	for (size_t i = 1; i < t->n; i++) {
		struct module m = t->m[i];
		size_t at = i;

		for (; at && compare(&t->m[at - 1], &m) > 0; at--)
			t->m[at] = t->m[at - 1];
		t->m[at] = m;
	}
}

/* One with so much room; NULL if memory is refused. */
static struct table *
make(size_t bytes)
{
	long p = syscall6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct table *t;

	if (p < 0 && p > -4096)
		return NULL;
	t = (struct table *)p;
	t->room = (bytes - sizeof *t) / sizeof t->m[0];
	if (!dl_iterate_phdr(add, t)) {
		sort(t);
		return t;
	}
	syscall6(SYS_munmap, p, (long)bytes, 0, 0, 0, 0);
	return make(bytes * 2);
}

static const struct module *
find(const struct table *t, uintptr_t at)
{
	size_t lo = 0, hi = t ? t->n : 0;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (at >= t->m[mid].hi)
			lo = mid + 1;
		else
			hi = mid;
	}
	return t && lo < t->n && at >= t->m[lo].lo ? &t->m[lo] : NULL;
}

/* Keeps addresses that are in no module (a compiler at run time) from having
 * a table made each time. */
static a64 in_none;

static const struct module *
find_anew(uintptr_t at)
{
	enum { TABLE_BYTES = 16384 };
	struct table *t;
	const struct module *m;

	if (a_load_relaxed(&in_none) == at)
		return NULL;
	t = make(TABLE_BYTES);
	if (!t)
		return NULL;
	a_store_rel(&current, t);		/* pairs with module_at */
	m = find(t, at);
	if (!m)
		a_store_relaxed(&in_none, at);
	return m;
}

const struct module *
module_at(const void *address)
{
	uintptr_t at = (uintptr_t)address;
	/* pairs with find_anew */
	const struct module *m = find(a_load_acq(&current), at);

	return likely(m) ? m : find_anew(at);
}

bool
module_keeps_thread(const void *address)
{
	const struct module *m = module_at(address);

	return !m || (m->thread_local && !m->program);
}
