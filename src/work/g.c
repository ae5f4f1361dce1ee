/* SPDX-License-Identifier: MIT */
/*
 * Goroutine records: allocation and reuse, and the words for their states.
 *
 * A dead record goes to the cache of the P on which its goroutine ended; when
 * that has two full batches one goes to the common list, so that records flow
 * from a P that only runs goroutines to one that only spawns them.
 *
 * On a machine with several nodes of memory each has a common list. A record
 * that was never used gets its memory from the node of the P that uses it
 * first, and goes to the list of the node where its goroutine ended. A P whose
 * node has none takes those of other nodes before new ones: otherwise records
 * would pile up on a node that only runs goroutines of another.
 */
#include "g.h"

#include <string.h>

#include "fatal.h"
#include "lock.h"
#include "os.h"
#include "slab.h"
#include "topology.h"
#include "weft.h"

#ifndef SAN_ADDRESS
#ifndef SAN_THREAD
_Static_assert(sizeof(struct g) == 256, "a waiting spawn costs 256 bytes");
#endif
#endif
_Static_assert(offsetof(struct g, args) == 48, "16-aligned, 2 in a line");

enum {
	FRESH_RUN = 64,		/* records carved at a time */
	ID_RUN = 64
};

const struct weft_site g_main_site = { "the main goroutine", "", 0 };

struct slab g_slab = SLAB_INIT(struct g);
static a64 next_id = { 1 };

/* Dead records of a node in no P's cache. */
struct common {
	struct lock lock;
	/* under lock */
	struct g *batches;	/* full ones, by next_batch */
	struct g *odd;		/* single ones, of caches that were drained */
} cache_aligned;

static struct common commons[TOPOLOGY_NODES] = {
	[0 ... TOPOLOGY_NODES - 1] = { .lock = LOCK_INIT(RANK_GFREE) }
};

/* For threads without a P. */
static struct {
	struct lock lock;
	struct gcache cache;	/* under lock */
} any = { .lock = LOCK_INIT(RANK_GANY) };

static void
push(struct g **list, struct g *gp)
{
	gp->link = *list;
	*list = gp;
}

static struct g *
pop(struct g **list)
{
	struct g *gp = *list;

	*list = gp->link;
	return gp;
}

/* Dead records of one node. */
static bool
refill_from(struct common *from, struct gcache *c)
{
	lock_take(&from->lock);
	if (from->batches) {
		c->dead = from->batches;
		from->batches = c->dead->next_batch;
		c->dead->exit_hooks = NULL;	/* the same word */
		c->n_dead = G_BATCH;
	}
	while (from->odd && c->n_dead < G_BATCH) {
		push(&c->dead, pop(&from->odd));
		c->n_dead++;
	}
	lock_drop(&from->lock);
	return c->n_dead != 0;
}

/* Dead records first, those of the own node before others; then new ones. */
static bool
refill(struct gcache *c)
{
	uint32_t nodes = topology_nodes();

	for (uint32_t i = 0; i < nodes; i++)
		if (refill_from(&commons[(c->node + i) % nodes], c))
			return true;
	c->n_fresh = FRESH_RUN;
	c->fresh = slab_carve(&g_slab, &c->n_fresh);
	if (!c->fresh)
		c->n_fresh = 0;
	return c->fresh != NULL;
}

static struct g *
take(struct gcache *c)
{
	struct g *gp;

	if (!c->n_dead) {
		c->n_fresh--;
		return c->fresh++;
	}
	c->n_dead--;
	gp = pop(&c->dead);
	/* The next one may be in another core's cache. */
	__builtin_prefetch(c->dead, 1);
	return gp;
}

static void
give_id(struct gcache *c, struct g *gp)
{
	if (c->id == c->id_end) {
		c->id = (int64_t)a_add_relaxed(&next_id, ID_RUN);
		c->id_end = c->id + ID_RUN;
		if (c->timed_in && --c->timed_in == 0)
			a_or_relaxed(&gp->hold, c->timed_hold);
	}
	a_store_relaxed(&gp->id, (uint64_t)c->id++);
}

/* The cache is out of dead records. */
static cold bool
refill_slow(struct gcache *c)
{
	if (c->reserve) {
		c->dead = c->reserve;
		c->reserve = NULL;
		c->n_dead = G_BATCH;
		return true;
	}
	if (c->n_fresh)
		return true;
	return refill(c);
}

struct g *
g_alloc(struct gcache *c)
{
	struct g *gp;

	if (unlikely(!c->n_dead) && !refill_slow(c))
		return NULL;
	gp = take(c);
	check(a_load_relaxed(&gp->state) == G_DEAD && !g_stack(gp));
	check(!gp->defers && !gp->exit_hooks);
	give_id(c, gp);
	return gp;
}

/* Lock held. */
static void
give_batch(struct common *to, struct g *batch)
{
	check(lock_held(&to->lock));
	batch->next_batch = to->batches;
	to->batches = batch;
}

/* A full batch is the new reserve; the old one goes to the common list. */
static cold void
spill(struct gcache *c)
{
	struct common *to = &commons[c->node];

	if (c->reserve) {
		lock_take(&to->lock);
		give_batch(to, c->reserve);
		lock_drop(&to->lock);
	}
	c->reserve = c->dead;
	c->dead = NULL;
	c->n_dead = 0;
}

void
g_free(struct gcache *c, struct g *gp)
{
	check(a_load_relaxed(&gp->state) == G_DEAD && !g_stack(gp));
	check(!gp->defers && !gp->exit_hooks);
	push(&c->dead, gp);
	if (unlikely(++c->n_dead == G_BATCH))
		spill(c);
}

/* Records never touched are drained too, as dead ones. */
void
g_drain(struct gcache *c)
{
	struct common *to = &commons[c->node];

	lock_take(&to->lock);
	if (c->reserve)
		give_batch(to, c->reserve);
	while (c->n_dead || c->n_fresh)
		push(&to->odd, take(c));
	lock_drop(&to->lock);
	c->reserve = NULL;
}

void
g_move(struct gcache *c, uint32_t node)
{
	if (c->node == node)
		return;
	g_drain(c);
	c->node = (uint8_t)node;
}

struct g *
g_alloc_any(void)
{
	struct g *gp;

	lock_take(&any.lock);
	gp = g_alloc(&any.cache);
	lock_drop(&any.lock);
	return gp;
}

void
g_free_any(struct g *gp)
{
	struct common *to = &commons[topology_node(topology_here())];

	lock_take(&to->lock);
	push(&to->odd, gp);
	lock_drop(&to->lock);
}

struct each {
	void (*fn)(struct g *gp, void *arg);
	void *arg;
};

static void
each_record(void *rec, void *arg)
{
	struct each *e = arg;

	e->fn(rec, e->arg);
}

void
g_each(void (*fn)(struct g *gp, void *arg), void *arg)
{
	struct each e = { fn, arg };

	slab_each(&g_slab, each_record, &e);
}

uint64_t
g_record_bytes(void)
{
	return slab_bytes(&g_slab);
}

struct g *
g_next(struct slab_place *at)
{
	return slab_next(&g_slab, at);
}

void
g_set_name(struct g *gp, const char *name)
{
	uint64_t words[G_NAME_WORDS] = {0};

	memcpy(words, name, strnlen(name, G_NAME_BYTES - 1));
	for (int i = 0; i < G_NAME_WORDS; i++)
		a_store_relaxed(&gp->name[i], words[i]);
	a_store_relaxed(&gp->named, true);
}

/* The last byte is 0 in every name, so a mix of two is a string too. */
void
g_copy_name(const struct g *gp, char out[G_NAME_BYTES])
{
	uint64_t words[G_NAME_WORDS] = {0};

	for (int i = 0; i < G_NAME_WORDS && a_load_relaxed(&gp->named); i++)
		words[i] = a_load_relaxed(&gp->name[i]);
	memcpy(out, words, G_NAME_BYTES);
}

size_t
g_describe_site(const struct g *gp, char *buf, size_t cap)
{
	const struct weft_site *site = g_site(gp);

	if (!site)
		return format(buf, cap, "?");
	if (!site->line)
		return format(buf, cap, "%s", site->fn);
	return format(buf, cap, "%s, spawned at %s:%d", site->fn, site->file,
	    site->line);
}

size_t
g_describe(const struct g *gp, char *buf, size_t cap)
{
	char site[G_DESCRIBE_BYTES - 64], name[G_NAME_BYTES];

	if (g_site(gp) == &g_main_site)
		return format(buf, cap, "%s", g_main_site.fn);
	g_describe_site(gp, site, sizeof site);
	g_copy_name(gp, name);
	if (!name[0])
		return format(buf, cap, "goroutine %ld (%s)", (long)g_id(gp),
		    site);
	return format(buf, cap, "goroutine %ld \"%s\" (%s)", (long)g_id(gp),
	    name, site);
}

const char *const g_state_names[G_STATES] = {
	[G_DEAD] = "dead",
	[G_RUNNABLE] = "runnable",
	[G_RUNNING] = "running",
	[G_CALL] = "in a call",
	[G_WAITING] = "waiting",
};

const char *
g_state_name(enum gstate s)
{
	return s < G_STATES ? g_state_names[s] : "?";
}

const char *const g_reason_names[WAIT_REASONS] = {
	[WAIT_NONE] = "nothing",
	[WAIT_WAITGROUP] = "waitgroup wait",
	[WAIT_SEMA] = "semaphore",
	[WAIT_SLEEP] = "sleep",
	[WAIT_SEND] = "channel send",
	[WAIT_RECV] = "channel receive",
	[WAIT_SELECT] = "select",
	[WAIT_NIL] = "nothing, for ever",
	[WAIT_MUTEX] = "mutex lock",
	[WAIT_RWMUTEX_READ] = "rwmutex read lock",
	[WAIT_RWMUTEX_WRITE] = "rwmutex lock",
	[WAIT_COND] = "condition",
	[WAIT_EVENT] = "event",
	[WAIT_GROUP] = "group",
	[WAIT_READ] = "read",
	[WAIT_WRITE] = "write",
	[WAIT_POLL] = "poll",
	[WAIT_COLLECT] = "garbage collection",
	[WAIT_TEST] = "test",
};

const char *
g_reason_name(enum wait_reason r)
{
	return r < WAIT_REASONS ? g_reason_names[r] : "?";
}

void
g_bad_state(struct g *gp, enum gstate from, enum gstate to)
{
	char who[G_DESCRIBE_BYTES];

	g_describe(gp, who, sizeof who);
	if (a_load_relaxed(&gp->state) == G_CALL && from == G_RUNNING)
		fatal_of(who, "it is in a blocking call that it announced, and "
		    "uses weft there, or has left it by longjmp");
	fatal("goroutine %ld is %s, not %s, on its way to %s", (long)g_id(gp),
	    g_state_name(a_load_relaxed(&gp->state)), g_state_name(from),
	    g_state_name(to));
}
