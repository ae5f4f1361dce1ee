/* SPDX-License-Identifier: MIT */
#include "dump_text.h"

#include <string.h>

#include "fatal.h"
#include "site_text.h"
#include "symbols.h"
#include "weft.h"

enum { WAIT_BYTES = 64, STATE_BYTES = 160 };

static const int64_t second = 1000 * 1000 * 1000;

/* ---- stacks ---- */

static void
put_frame(struct sink *out, bool named[DUMP_MODULES], uintptr_t pc)
{
	struct symbol s;

	symbol_find(pc, &s);
	if (!s.module) {
		sink_add(out, "\t? (0x%lx)\n", (unsigned long)pc);
		return;
	}
	if (s.module->number < DUMP_MODULES)
		named[s.module->number] = true;
	sink_add(out, "\t");
	/* Without the version of the symbol, clock_gettime@@GLIBC_2.17. */
	sink_write(out, s.name ? s.name : "?", s.name ? strcspn(s.name, "@") :
	    1);
	if (s.name)
		sink_add(out, "+0x%lx", (unsigned long)s.offset);
	sink_add(out, " (%s+0x%lx)\n", s.module->m.name,
	    (unsigned long)s.in_module);
}

void
dump_text_stack(struct sink *out, bool named[DUMP_MODULES],
    const uintptr_t *pcs, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		put_frame(out, named, pcs[i]);
	if (n == BACKTRACE_MAX)
		sink_add(out, "\t...\n");
}

static void
put_modules(struct sink *out, const bool named[DUMP_MODULES])
{
	char id[SYMBOL_ID_TEXT];
	bool any = false;

	for (struct listed *e = module_list(); e; e = e->next) {
		if (e->number >= DUMP_MODULES || !named[e->number])
			continue;
		if (!any)
			sink_add(out, "modules:\n");
		any = true;
		symbol_id_text(&e->m, id);
		sink_add(out, "\t%s at 0x%lx, build id %s, %s\n", e->m.name,
		    (unsigned long)e->m.base, id[0] ? id : "-",
		    e->path[0] ? e->path : "-");
	}
}

/* ---- groups ---- */

static size_t
put_duration(char *buf, size_t cap, int64_t ns)
{
	long s = (long)(ns / second);

	if (s < 120)
		return format(buf, cap, "%ld s", s);
	if (s < 7200)
		return format(buf, cap, "%ld min", s / 60);
	return format(buf, cap, "%ld h", s / 3600);
}

/* ", 12 s", ", 12 s to 5 min", ", up to 5 min", or "". */
static void
describe_wait(const struct dump_group *a, char buf[WAIT_BYTES])
{
	bool low = a->waited_min >= second, high = a->waited_max >= second;
	bool equal = a->waited_max - a->waited_min < second;
	size_t n = 0;

	buf[0] = 0;
	if (!high)
		return;
	n = format(buf, WAIT_BYTES, ", ");
	if (low && !equal) {
		n += put_duration(buf + n, WAIT_BYTES - n, a->waited_min);
		n += format(buf + n, WAIT_BYTES - n, " to ");
	} else if (!low && a->count > 1) {
		n += format(buf + n, WAIT_BYTES - n, "up to ");
	}
	put_duration(buf + n, WAIT_BYTES - n, a->waited_max);
}

static void
describe_state(const struct dump_group *a, char buf[STATE_BYTES])
{
	bool waits = a->state == G_WAITING;
	char wait[WAIT_BYTES];

	describe_wait(a, wait);
	format(buf, STATE_BYTES, "%s%s%s%s%s%s", g_state_name(a->state),
	    waits ? ": " : "", waits ? g_reason_name(a->reason) : "", wait,
	    a->paused ? ", paused" : a->asleep ? ", asleep" :
	    a->started ? "" : ", not started",
	    a->started && !a->n ? ", no stack" : "");
}

/* Where it was spawned: of the group, as the record may have changed. */
static void
put_site(struct sink *out, const struct weft_site *site)
{
	struct site_text text;

	site_text(site, &text);
	if (text.line)
		sink_add(out, "%s, spawned at %s:%d\n", text.fn, text.file,
		    text.line);
	else
		sink_add(out, "%s\n", text.fn);
}

static void
copy_name(const struct dump_member *m, char name[G_NAME_BYTES])
{
	name[0] = 0;
	if (g_id(m->gp) == m->id)
		g_copy_name(m->gp, name);
}

/* Ids in a row, of which none has a name, are one item. */
static const struct dump_member *
put_item(struct sink *out, const struct dump_member *m, uint32_t *shown)
{
	const struct dump_member *first = m, *next;
	char name[G_NAME_BYTES];

	copy_name(m, name);
	while (!name[0] && (next = (const void *)m->link.next) &&
	    next->id == m->id + 1) {
		char other[G_NAME_BYTES];

		copy_name(next, other);
		if (other[0])
			break;
		m = next;
	}
	*shown += (uint32_t)(m->id - first->id) + 1;
	if (name[0])
		sink_add(out, " %ld \"%s\"", (long)m->id, name);
	else if (m == first)
		sink_add(out, " %ld", (long)m->id);
	else
		sink_add(out, " %ld-%ld", (long)first->id, (long)m->id);
	return (const void *)m->link.next;
}

static void
put_ids(struct sink *out, const struct dump_group *a, uint32_t max)
{
	const struct dump_member *m = a->members;
	uint32_t shown = 0;

	sink_add(out, "\tids");
	for (uint32_t i = 0; m && i < max; i++)
		m = put_item(out, m, &shown);
	if (m)
		sink_add(out, " and %u more", a->count - shown);
	sink_add(out, "\n");
}

static void
put_group(struct sink *out, bool *named, const struct dump_group *a,
    const struct dump_limits *limits)
{
	char state[STATE_BYTES], name[G_NAME_BYTES];

	describe_state(a, state);
	if (a->count == 1) {
		copy_name(a->members, name);
		sink_add(out, "goroutine %ld \"%s\" [%s]: ",
		    (long)a->members->id, name, state);
	} else {
		sink_add(out, "%u goroutines [%s]: ", a->count, state);
	}
	put_site(out, a->site);
	if (a->count > 1)
		put_ids(out, a, limits->ids);
	dump_text_stack(out, named, a->pcs, a->n < limits->frames ? a->n :
	    limits->frames);
}

void
dump_text(struct sink *out, const struct dump_groups *d,
    const struct dump_limits *limits)
{
	const struct dump_group *a = d->first;
	uint64_t shown = 0;

	for (uint32_t i = 0; a && i < limits->groups; i++) {
		if (a->count)
			put_group(out, d->named, a, limits);
		shown += a->count;
		a = (const void *)a->link.next;
	}
	if (shown < d->goroutines)
		sink_add(out, "... and %lu more goroutines\n",
		    (unsigned long)(d->goroutines - shown));
	put_modules(out, d->named);
}
