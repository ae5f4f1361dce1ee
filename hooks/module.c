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
	unsigned long long changes;	/* of the loader's list, when made */
	size_t bytes, n, room;
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
	t->changes = info->dlpi_adds + info->dlpi_subs;
	if (t->n == t->room)
		return 1;
	*m = (struct module){ .lo = UINTPTR_MAX };
	m->program = t->n++ == 0;
	set_name(m, info->dlpi_name);
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		uintptr_t lo = info->dlpi_addr + h->p_vaddr;

		m->has_tls |= h->p_type == PT_TLS && h->p_memsz > 0;
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
	t->bytes = bytes;
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

/* The address may be in no module at all (a compiler at run time): a table that
 * has nothing new is not kept. */
static const struct module *
find_anew(uintptr_t at)
{
	enum { TABLE_BYTES = 16384 };
	const struct table *old = a_load_acq(&current);
	struct table *t = make(TABLE_BYTES);

	if (!t)
		return NULL;
	if (old && old->changes == t->changes) {
		syscall6(SYS_munmap, (long)t, (long)t->bytes, 0, 0, 0, 0);
		return NULL;
	}
	a_store_rel(&current, t);		/* pairs with module_at */
	return find(t, at);
}

const struct module *
module_at(const void *address)
{
	uintptr_t at = (uintptr_t)address;
	/* pairs with find_anew */
	const struct module *m = find(a_load_acq(&current), at);

	return likely(m) ? m : find_anew(at);
}

const char *
module_name(const struct module *m)
{
	return m->program ? program_invocation_short_name : m->name;
}

/* A malloc that is linked into the program is called from there, and has
 * thread-local variables: so then nothing in the program may move. */
static bool
program_has_malloc(void)
{
	const struct module *m = module_at((const void *)(uintptr_t)malloc);

	return !m || m->program;
}

bool
module_keeps_thread(const void *address)
{
	const struct module *m = module_at(address);

	return !m || (m->has_tls && (!m->program || program_has_malloc()));
}
