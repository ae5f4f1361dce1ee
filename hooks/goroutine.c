/* SPDX-License-Identifier: MIT */
/* See goroutine.h. */
#include "goroutine.h"

#include <stdlib.h>

#include "key.h"
#include "weft/hooks.h"

static weft_gls record = { key_goroutine_ends };

struct goroutine *
goroutine_get(void)
{
	return weft_gls_get ? weft_gls_get(&record) : NULL;
}

struct goroutine *
goroutine_make(void)
{
	struct goroutine *g = goroutine_get();

	if (g || !on_goroutine())
		return g;
	g = calloc(1, sizeof *g);
	if (g && goroutine_keep(g)) {
		free(g);
		g = NULL;
	}
	return g;
}

int
goroutine_keep(struct goroutine *g)
{
	return weft_gls_set(&record, g);
}

void
goroutine_free(struct goroutine *g)
{
	weft_gls_set(&record, NULL);
	free(g);
}

bool
goroutine_is_off(void)
{
	struct goroutine *g = goroutine_get();

	return g && g->off;
}

public int
weft_hooks_off(void)
{
	struct goroutine *g = goroutine_make();

	if (!g)
		return on_goroutine() ? -ENOMEM : 0;
	g->off++;
	return 0;
}

public void
weft_hooks_on(void)
{
	struct goroutine *g = goroutine_get();

	if (g && g->off)
		g->off--;
}
