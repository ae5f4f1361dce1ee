/* SPDX-License-Identifier: MIT */
/*
 * Folded stacks: a line for each, the functions from the outermost on with
 * semicolons between them, and a number: samples for CPU and goroutines,
 * nanoseconds for waits. Named by our own reader of symbol tables; a function
 * without a name is its module and the address in it.
 */
#include <errno.h>

#include "os.h"
#include "profile_write.h"
#include "sink.h"
#include "symbols.h"

enum { BUF_BYTES = 1 << 16 };

/* What would end a name in the line. */
static void
add_name(struct sink *s, const char *name)
{
	for (; *name; name++) {
		char c = *name == ';' || *name == '\n' ? ':' : *name;

		sink_write(s, &c, 1);
	}
}

static void
add_function(struct sink *s, uintptr_t pc)
{
	struct symbol sym;

	symbol_find(pc, &sym);
	if (sym.name)
		add_name(s, sym.name);
	else if (sym.module)
		sink_add(s, "%s+0x%lx", sym.module->m.name,
		    (unsigned long)sym.in_module);
	else
		sink_add(s, "0x%lx", (unsigned long)pc);
}

static void
add_line(struct sink *s, const struct profile_file *f,
    const struct profile_entry *e)
{
	bool waits = f->n_types > 1 && f->reasons;	/* not CPU */
	uint64_t v = a_load_relaxed(waits ? &e->sum : &e->count);

	if (!v || !e->key.depth)
		return;
	for (unsigned i = e->key.depth; i > 0; i--) {
		add_function(s, e->pcs[i - 1]);
		sink_write(s, i > 1 ? ";" : " ", 1);
	}
	sink_add(s, "%lu\n", (unsigned long)v);
}

int
profile_write_folded(const struct profile_file *f, int fd)
{
	char *buf = os_map(BUF_BYTES);
	struct profile_entry *e;
	struct fd_sink out;
	int err;

	if (!buf)
		return -ENOMEM;
	module_list_refresh();
	fd_sink_init(&out, fd, buf, BUF_BYTES);
	for (uint32_t at = 0; (e = profile_table_next(f->table, &at)); )
		add_line(&out.sink, f, e);
	err = sink_flush(&out.sink);
	os_unmap(buf, BUF_BYTES);
	return err;
}
