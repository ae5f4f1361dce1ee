/* SPDX-License-Identifier: MIT */
#include "module_list.h"

#include <string.h>

#include "object_loaded.h"
#include "os.h"

enum { CHUNK = 16 };		/* entries mapped at a time: some 12 KiB */

static struct {
	APTR(struct listed) first;
	/* the thread that has `busy` */
	a32 busy;
	struct listed *fresh;
	unsigned n_fresh, n;
	uint64_t changes;
} list;

struct listed *
module_list(void)
{
	return a_load_acq(&list.first);		/* pairs with add */
}

struct listed *
module_list_find(uintptr_t pc)
{
	for (struct listed *e = module_list(); e; e = e->next)
		if (a_load_relaxed(&e->loaded) && module_has_code(&e->m, pc))
			return e;
	return NULL;
}

const struct module *
module_list_code(uintptr_t pc)
{
	struct listed *e = module_list_find(pc);

	/* Unloaded since the last refresh, its tables are gone. */
	return e && object_loaded(&e->m, pc) ? &e->m : NULL;
}

/* ---- refresh ---- */

static struct listed *
take_fresh(void)
{
	if (!list.n_fresh) {
		list.fresh = os_map(round_up(CHUNK * sizeof(struct listed),
		    PAGE));
		if (!list.fresh)
			return NULL;
		list.n_fresh = CHUNK;
	}
	list.n_fresh--;
	return list.fresh++;
}

/* The program's own is what the kernel says: libc's may be relative, or "". */
static void
set_path(struct listed *e, const struct module *m)
{
	if (m->program)
		os_program_path(e->path, sizeof e->path);
	else if (strlen(m->path) < sizeof e->path)
		strcpy(e->path, m->path);
	if (m->program && e->path[0])
		module_set_name(&e->m, e->path);
	e->m.path = e->path;
}

/* In front: an entry's next is constant when readers can find it. */
static void
add(const struct module *m)
{
	struct listed *e = take_fresh();

	if (!e)
		return;
	e->m = *m;
	e->number = list.n++;
	set_path(e, m);
	e->next = a_load_relaxed(&list.first);
	a_store_relaxed(&e->loaded, true);
	/* pairs with module_list */
	a_store_rel(&list.first, e);
}

static bool
same(const struct listed *e, const struct module *m)
{
	return e->m.base == m->base && e->m.load.lo == m->load.lo &&
	    e->m.load.hi == m->load.hi && e->m.fde == m->fde &&
	    e->m.fdes == m->fdes && e->m.id_bytes == m->id_bytes &&
	    !memcmp(e->m.id, m->id, m->id_bytes) &&
	    (m->program || !strcmp(e->path, m->path));
}

/* How far a refresh is. */
struct seen {
	struct listed *of[512];	/* those that are loaded */
	unsigned n;
};

static bool
is_seen(const struct seen *s, const struct listed *e)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->of[i] == e)
			return true;
	return false;
}

static void
list_one(const struct module *m, void *arg)
{
	struct seen *s = arg;
	struct listed *e;

	for (e = module_list(); e; e = e->next)
		if (same(e, m))
			break;
	if (!e) {
		add(m);
		e = module_list();
	}
	if (e && s->n < countof(s->of))
		s->of[s->n++] = e;
}

/* Those that were not seen are gone; those seen are there, maybe again. */
static void
mark(const struct seen *s)
{
	struct listed *e;

	for (e = module_list(); e && s->n < countof(s->of); e = e->next)
		a_store_relaxed(&e->loaded, is_seen(s, e));
}

static void
refresh(void)
{
	uint64_t changes = module_changes();
	struct seen s = { .n = 0 };

	if (changes && changes == list.changes)
		return;
	list.changes = changes;
	module_each(list_one, &s);
	mark(&s);
}

void
module_list_refresh(void)
{
	/* A thread that refreshes already does it for all. */
	if (!a_cas_acq(&list.busy, 0, 1))	/* pairs with the store below */
		return;
	refresh();
	a_store_rel(&list.busy, 0);	/* pairs with the compare and swap */
}
