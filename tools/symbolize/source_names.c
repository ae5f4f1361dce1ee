/* SPDX-License-Identifier: MIT */
/* Names only, as the library finds them: where there is no libdw. */
#ifndef HAVE_LIBDW
#include "source.h"

#include "symbols.h"

static int
digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' :
	    c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

struct source *
source_open(const char *path, const char *id)
{
	struct module m = {0};

	for (; id[0] && id[1] && m.id_bytes < MODULE_ID; id += 2)
		m.id[m.id_bytes++] = (uint8_t)(digit(id[0]) << 4 |
		    digit(id[1]));
	return (struct source *)symbol_table_read(path, m.id_bytes ? &m :
	    NULL);
}

void
source_close(struct source *s)
{
	if (s)
		symbol_table_free((struct symbol_table *)s);
}

int
source_find(struct source *s, uint64_t address, struct source_place *out,
    int max)
{
	uint64_t start;

	if (max < 1)
		return 0;
	out[0] = (struct source_place){ .function = symbol_table_find(
	    (struct symbol_table *)s, address, &start) };
	return out[0].function != NULL;
}
#endif
