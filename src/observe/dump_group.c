/* SPDX-License-Identifier: MIT */
#include "dump_group.h"

#include <string.h>

#include "os.h"

enum {
	BUCKETS = 4096,
	GOROUTINE_BYTES = 768,	/* at most: a group of its own */
	SPARE = 4096,		/* goroutines: spawned meanwhile */
	ARENA_MIN = 256 * 1024
};

static void *
take(struct dump_groups *d, size_t bytes)
{
	void *p = d->arena + d->used;

	bytes = round_up(bytes, sizeof(void *));
	if (bytes > d->cap - d->used)
		return NULL;
	d->used += bytes;
	return p;
}

bool
dump_groups_init(struct dump_groups *d, int64_t goroutines)
{
	size_t n = goroutines > 0 ? (size_t)goroutines : 0;

	*d = (struct dump_groups){ .cap = round_up((n + SPARE) *
	    GOROUTINE_BYTES, PAGE) };
	/* Not all of it will be used: less may do. */
	while (!(d->arena = os_map_stacks(d->cap)) && d->cap > ARENA_MIN)
		d->cap = round_up(d->cap / 2, PAGE);
	if (!d->arena)
		return false;
	d->bucket = take(d, BUCKETS * sizeof *d->bucket);
	d->out = take(d, DUMP_OUT_BYTES);
	d->named = take(d, DUMP_MODULES);
	return true;
}

void
dump_groups_free(struct dump_groups *d)
{
	os_unmap(d->arena, d->cap);
}

/* ---- adding ---- */

static uint32_t
hash_of(const struct goroutine_info *g)
{
	uint64_t h = (uintptr_t)g->site ^ (uint64_t)g->state << 8 ^
	    (uint64_t)g->reason ^ (uint64_t)g->paused << 16 ^
	    (uint64_t)g->asleep << 17;

	for (unsigned i = 0; i < g->n; i++)
		h = (h ^ g->pcs[i]) * UINT64_C(0x9e3779b97f4a7c15) ^ h >> 29;
	return (uint32_t)(h ^ h >> 32);
}

static bool
same(const struct dump_group *a, const struct goroutine_info *g)
{
	return a->site == g->site && a->state == g->state &&
	    a->reason == g->reason && a->self == g->self &&
	    a->paused == g->paused && a->asleep == g->asleep &&
	    a->started == g->started && a->n == g->n && (!g->n ||
	    !memcmp(a->pcs, g->pcs, g->n * sizeof *g->pcs));
}

static struct dump_group *
make_group(struct dump_groups *d, const struct goroutine_info *g)
{
	struct dump_group *a = take(d, sizeof *a + g->n * sizeof *g->pcs);

	if (!a)
		return NULL;
	*a = (struct dump_group){
		.link = { d->first ? &d->first->link : NULL },
		.site = g->site, .state = (uint8_t)g->state,
		.reason = (uint8_t)g->reason, .self = g->self,
		.paused = g->paused, .asleep = g->asleep,
		.started = g->started, .n = g->n,
		.waited_min = g->waited_ns, .waited_max = g->waited_ns
	};
	if (g->n)
		memcpy(a->pcs, g->pcs, g->n * sizeof *g->pcs);
	d->first = a;
	d->groups++;
	return a;
}

static struct dump_group *
group_of(struct dump_groups *d, const struct goroutine_info *g)
{
	uint32_t hash = hash_of(g);
	struct dump_group **b = &d->bucket[hash % BUCKETS], *a = NULL;

	if (!d->each)
		for (a = *b; a && (a->hash != hash || !same(a, g)); )
			a = a->same_bucket;
	if (a)
		return a;
	a = make_group(d, g);
	if (a) {
		a->hash = hash;
		a->same_bucket = *b;
		*b = a;
	}
	return a;
}

void
dump_groups_add(struct dump_groups *d, const struct goroutine_info *g)
{
	struct dump_group *a = group_of(d, g);
	struct dump_member *m = a ? take(d, sizeof *m) : NULL;

	d->goroutines++;
	if (!m) {
		d->omitted++;
		return;
	}
	*m = (struct dump_member){
		{ a->members ? &a->members->link : NULL }, g->id, g->gp
	};
	a->members = m;
	a->count++;
	if (g->waited_ns < a->waited_min)
		a->waited_min = g->waited_ns;
	if (g->waited_ns > a->waited_max)
		a->waited_max = g->waited_ns;
}

/* ---- sorting ---- */

typedef bool before(const void *a, const void *b);

static struct dump_link *
merge(struct dump_link *a, struct dump_link *b, before *is_before)
{
	struct dump_link *first, **end = &first;

	while (a && b) {
		struct dump_link **from = is_before(b, a) ? &b : &a;

		*end = *from;
		end = &(*from)->next;
		*from = (*from)->next;
	}
	*end = a ? a : b;
	return first;
}

/* Runs of 1, 2, 4 ...: no recursion, no memory. */
static struct dump_link *
sort(struct dump_link *list, before *is_before)
{
	struct dump_link *run[32] = { NULL };
	unsigned i;

	while (list) {
		struct dump_link *one = list;

		list = list->next;
		one->next = NULL;
		for (i = 0; i < 31 && run[i]; i++) {
			one = merge(run[i], one, is_before);
			run[i] = NULL;
		}
		run[i] = run[i] ? merge(run[i], one, is_before) : one;
	}
	for (i = 0; i < 32; i++)
		list = merge(run[i], list, is_before);
	return list;
}

static bool
lower_id(const void *a, const void *b)
{
	return ((const struct dump_member *)a)->id <
	    ((const struct dump_member *)b)->id;
}

/* What a reader looks for first: lower. */
static int
rank(const struct dump_group *a)
{
	if (a->self)
		return 0;
	return a->state == G_RUNNING || a->state == G_CALL ? 1 :
	    a->state == G_RUNNABLE ? 2 : 3;
}

static bool
shown_before(const void *pa, const void *pb)
{
	const struct dump_group *a = pa, *b = pb;

	if (rank(a) != rank(b))
		return rank(a) < rank(b);
	if (a->count != b->count)
		return a->count > b->count;
	return a->members && b->members && lower_id(a->members, b->members);
}

void
dump_groups_sort(struct dump_groups *d)
{
	struct dump_link *l;

	for (l = d->first ? &d->first->link : NULL; l; l = l->next) {
		struct dump_group *a = (struct dump_group *)l;

		a->members = (struct dump_member *)sort(a->members ?
		    &a->members->link : NULL, lower_id);
	}
	d->first = (struct dump_group *)sort(d->first ? &d->first->link : NULL,
	    shown_before);
}
