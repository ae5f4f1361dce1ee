/* SPDX-License-Identifier: MIT */
/* See counts.h. */
#include "counts.h"

#include "sized.h"
#include "weft/hooks.h"

struct counts counts;

public void
weft_hooks_stats_read(weft_hooks_stats *out, size_t bytes)
{
	weft_hooks_stats now = {
		.parks = a_load_relaxed(&counts.parks),
		.sleeps = a_load_relaxed(&counts.sleeps),
		.announced = a_load_relaxed(&counts.announced),
		.lock_parks = a_load_relaxed(&counts.lock_parks),
		.lock_blocks = a_load_relaxed(&counts.lock_blocks),
		.held_parks = a_load_relaxed(&counts.held_parks),
		.kept_threads = a_load_relaxed(&counts.kept_threads),
		.values = a_load_relaxed(&counts.values)
	};

	sized_out(out, bytes, &now, sizeof now);
}
