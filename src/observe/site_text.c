/* SPDX-License-Identifier: MIT */
#include "site_text.h"

#include <string.h>

#include "module_list.h"
#include "object_loaded.h"
#include "os.h"
#include "valgrind.h"

/* Valgrind knows no answer: there it is taken for granted. */
static bool
readable(const void *p)
{
	return vg_running() || os_readable(p);
}

/* A module that was loaded after the last look is not listed. */
static bool
is_there(const void *site)
{
	uintptr_t at = (uintptr_t)site;

	for (const struct listed *l = module_list(); l; l = l->next)
		if (a_load_relaxed(&l->loaded) &&
		    range_holds(&l->m.load, at, sizeof(weft_site)))
			return object_loaded(&l->m, at) && readable(site);
	return readable(site);
}

/* Copies a string, as far as it can be read. */
static void
copy_text(char to[SITE_BYTES], const char *from)
{
	size_t n = 0;

	for (; n < SITE_BYTES - 1; n++) {
		if ((n == 0 || (uintptr_t)(from + n) % PAGE == 0) &&
		    !readable(from + n))
			break;
		if (!from[n])
			break;
		to[n] = from[n];
	}
	to[n] = 0;
}

bool
site_text(const weft_site *site, struct site_text *out)
{
	if (!is_there(site)) {
		out->line = 0;
		strcpy(out->fn, "(unloaded)");
		out->file[0] = 0;
		return false;
	}
	out->line = site->line;
	copy_text(out->fn, site->fn);
	copy_text(out->file, site->file);
	return true;
}
