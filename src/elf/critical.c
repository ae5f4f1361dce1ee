/* SPDX-License-Identifier: MIT */
/* Critical code. See critical.h. */
#include "critical.h"

#include <stdlib.h>
#include <string.h>

/* The beginnings of their file names. (musl does not list the vDSO, which has
 * no locks.) */
static const char *const names[] = {
	"libc.", "libc-", "ld-", "ld.", "ld64", "libpthread", "libdl.",
	"libdl-", "librt.", "librt-", "libresolv", "libnss_", "libgcc_s",
	"linux-vdso", "linux-gate",
};

static bool
is_critical(const struct module *m)
{
	uintptr_t malloc_at = (uintptr_t)malloc;

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strncmp(m->name, names[i], strlen(names[i])) == 0)
			return true;
	return module_has_code(m, malloc_at);
}

static void
add(struct critical *c, const struct range *r)
{
	if (c->n < CRITICAL_MAX)
		c->text[c->n++] = *r;
	else
		c->all = "more modules are critical than there is room for";
}

static void
add_if_critical(const struct module *m, void *arg)
{
	struct critical *c = arg;

	if (is_critical(m))
		for (unsigned i = 0; i < m->texts; i++)
			add(c, &m->text[i]);
}

void
critical_find(struct critical *c)
{
	struct module program;

	*c = (struct critical){0};
	module_each(add_if_critical, c);
	if (!module_program(&program) || !program.interp)
		c->all = "the program is static: libc's code is part of it";
	else if (module_has_code(&program, (uintptr_t)malloc))
		c->all = "the program has a malloc of its own";
}

bool
critical_has(const struct critical *c, uintptr_t pc)
{
	if (c->all)
		return true;
	for (unsigned i = 0; i < c->n; i++)
		if (range_has(&c->text[i], pc))
			return true;
	return false;
}
