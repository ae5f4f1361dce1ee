/* SPDX-License-Identifier: MIT */
#include "profile_stack.h"

#include <string.h>

#include "labels.h"
#include "text.h"

/*
 * goroutine_main and its like are marked as functions that call the user's.
 * They stay if they are all there is.
 */
unsigned
profile_stack_cut_outer(const uintptr_t *pcs, unsigned n)
{
	unsigned kept = n;

	while (kept > 0 && text_calls_out(pcs[kept - 1]))
		kept--;
	return kept ? kept : n;
}

/* From sched_park up to weft_mutex_lock: only the latter stays. */
unsigned
profile_stack_cut_inner(uintptr_t *pcs, unsigned n, bool call)
{
	unsigned ours = 0;

	while (ours < n && text_is_ours(pcs[ours]))
		ours++;
	/* A goroutine of the library's own: its function. */
	if (ours == n)
		ours = n - (n > 0);
	else if (call && ours)
		ours--;
	memmove(pcs, pcs + ours, (n - ours) * sizeof *pcs);
	return n - ours;
}

void
profile_key_goroutine(struct profile_key *key, const struct g *gp)
{
	key->goroutine = g_id(gp);
	key->labels = labels_of(gp);
	if (!a_load_relaxed(&gp->named))
		return;
	for (int i = 0; i < G_NAME_WORDS; i++)
		key->name[i] = a_load_relaxed(&gp->name[i]);
}
