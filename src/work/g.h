/* SPDX-License-Identifier: MIT */
/*
 * The goroutine record and its states; lists of goroutines; dead records kept
 * for reuse.
 *
 * A record has 256 bytes and is never freed, so a late reader of a G sees an
 * old or a new goroutine, never foreign memory. A goroutine has no stack until
 * it first runs: a million newborns cost only their records.
 */
#ifndef G_H
#define G_H

#include "atomic.h"
#include "capture.h"
#include "defs.h"
#include "sanitize.h"
#include "stack.h"
#include "switch.h"

struct defer;
struct exit_hook;
struct slab;
struct weft_site;

/*
 *            spawn                 execute (M with a P)
 *	DEAD --------> RUNNABLE <----------------------> RUNNING
 *	 ^                ^         yield, by the           |  |
 *	 |                |         context that follows    |  |
 *	 |                | ready, by the waker             |  | park, by the
 *	 |                +----------- WAITING <------------+  | goroutine
 *	 |                                                     | itself
 *	 +-----------------------------------------------------+
 *	                  exit, by the context that follows
 *
 * RUNNABLE -> DEAD: a future whose function its joiner runs in place (g_claim).
 *
 * RUNNING <-> CALL by the goroutine itself, around a blocking call: it
 * continues to run, but uses nothing of the runtime.
 *
 * A goroutine becomes WAITING on its own stack, before the lock of what it
 * waits for is released: a waker that finds it in a queue finds it WAITING. It
 * still uses its stack then; that lock is released only by the context that
 * follows, so no other thread can resume it too early.
 */
enum gstate {
	G_DEAD,			/* no goroutine: a fresh or a free record */
	G_RUNNABLE,		/* on exactly one queue, or in a runnext */
	G_RUNNING,		/* some M's curg; that M may have lost its P */
	G_CALL,			/* the same, in a blocking call */
	G_WAITING,		/* parked; on no run queue */
	G_STATES
};

/* Bits of g->hold, which an M has to check before it runs a goroutine. */
enum {
	HOLD_PIN = 1,		/* it runs on one M only: see pin.c */
	HOLD_SEEN = 2,		/* the monitor saw it wait: see wait_mark.h */
	HOLD_SCAVENGED = 4,	/* ... and has scavenged its stack */
	HOLD_CLAIM = 8,		/* its stack is being read or scavenged right
				 * now: see claim.h */
	HOLD_FUTURE = 16,	/* newborn, and may be claimed: see g_claim */
	HOLD_TIMED = 32,	/* its next wait for a P is timed: latency.h */
	HOLD_RATE_SHIFT = 6,	/* ... and from here on two bits: how many it
				 * stands for */
	HOLD_TIMED_BITS = 0xe0
};

/* What a WAITING goroutine waits for. The words are in a table in g.c. */
enum wait_reason {
	WAIT_NONE,
	WAIT_WAITGROUP,
	WAIT_SEMA,
	WAIT_SLEEP,
	WAIT_SEND,
	WAIT_RECV,
	WAIT_SELECT,
	WAIT_NIL,		/* forever: a NULL channel, no cases */
	WAIT_MUTEX,
	WAIT_RWMUTEX_READ,
	WAIT_RWMUTEX_WRITE,
	WAIT_COND,
	WAIT_EVENT,
	WAIT_GROUP,
	WAIT_READ,		/* for a descriptor */
	WAIT_WRITE,
	WAIT_POLL,
	WAIT_COLLECT,		/* for a collector: collect/collector.c */
	WAIT_TEST,		/* tests of the scheduler itself */
	WAIT_REASONS
};

enum {
	G_NAME_BYTES = 24,
	G_NAME_WORDS = G_NAME_BYTES / 8
};

/*
 * The first cache line is all that a spawn of up to two arguments writes and
 * that a goroutine which runs once and ends needs: it travels between cores.
 */
struct g {
	/* owner of the queue or list it is on */
	struct g *link;

	/* changed by g_set and make_runnable alone; read by dumps */
	a8 state;
	/* any thread, atomic: HOLD_ bits */
	a8 hold;
	/* itself only, and the handler of the preemption signal on its M */
	uint8_t pins;		/* depth of weft_pin */
	uint8_t regions;	/* depth of weft_preempt_off */
	/* constant while the goroutine lives */
	uint8_t stack_class;
	uint8_t captured : 2;	/* enum capture: how to call fn */
	bool main : 1;		/* its return ends the runtime */
	bool fenv : 1;		/* has its own floating-point control */
	/* itself only */
	bool holds_thread : 1;	/* thread_holds is not 0 */
	bool in_future : 1;	/* it runs the function of a future */
	/* the same; read by dumps and profiles */
	abool labelled;		/* its stack has the number of its labels */
	abool named;		/* name is valid */
	a64 id;			/* read by dumps */
	void (*fn)(void *);	/* of any type if captured */
	APTR(const struct weft_site) site;	/* its spawn; read by dumps */

	/* the M that runs it; read by dumps */
	APTR(struct stack) stack;	/* NULL until it first runs */

	/* constant; CAPTURE_NONE: fn's argument, and what it may point to */
	uint64_t args[ARG_WORDS];

	/* itself only */
	union {
		struct defer *defers;	/* newest first */
		/* until it begins, if it runs a function for which it was to
		 * wait: what that needs; see spawn_later_begin */
		void *start;
	};
	union {
		struct exit_hook *exit_hooks;	/* newest first; see local.c */
		/* owner of a batch of dead records: the next batch */
		struct g *next_batch;
	};

	/* the M that runs it, or that resumes it */
	struct frame frame;
	a64 name[G_NAME_WORDS];	/* a string, or see g_set_owner; read by
				 * dumps */

	/* itself only */
	a8 reason;		/* enum wait_reason; read by dumps */
	/* ... read by the monitor: see preempt/place.c */
	a8 place;		/* a key of where it last returned to */
	abool waited;		/* ... after it had waited */
	bool canary;		/* its stack has no faulting guard */
	uint8_t forks;		/* calls of fork() it is in; see fork.c */
	abool paused;		/* for dumps: see pause.c */
	uint16_t thread_holds;	/* if holds_thread: depth of weft_thread_hold,
				 * see pin.c */
	struct san san;
} cache_aligned;

/* A dump reads records that others write: all accesses atomic, none ordered. */
static inline int64_t
g_id(const struct g *gp)
{
	return (int64_t)a_load_relaxed(&gp->id);
}

static inline const struct weft_site *
g_site(const struct g *gp)
{
	return a_load_relaxed(&gp->site);
}

static inline struct stack *
g_stack(const struct g *gp)
{
	return a_load_relaxed(&gp->stack);
}

/* The goroutine itself, or its M: the name, "" if it has none. */
static inline const char *
g_name(const struct g *gp)
{
	return a_load_relaxed(&gp->named) ? (const char *)gp->name : "";
}

/* By its spawner only: keeps at most 23 bytes. By any thread: a copy. */
void g_set_name(struct g *gp, const char *name);
void g_copy_name(const struct g *gp, char out[G_NAME_BYTES]);

/*
 * An owned goroutine belongs to a group or a waitgroup, which it tells when it
 * ends. It has no name, and its owner, the function that it runs for it and
 * how to call that are in the words of the name.
 */
static inline void
g_set_owner(struct g *gp, void *owner, void (*fn)(void), enum capture kind)
{
	a_store_relaxed(&gp->name[0], (uintptr_t)owner);
	a_store_relaxed(&gp->name[1], (uintptr_t)fn);
	a_store_relaxed(&gp->name[2], kind);
}

/* The goroutine itself. */
static inline void *
g_owner(const struct g *gp)
{
	return (void *)(uintptr_t)a_load_relaxed(&gp->name[0]);
}

/* The same: calls that function. Inlined into what is marked calls_out. */
static always_inline int
g_call_owned(const struct g *gp)
{
	return args_call_int((enum capture)a_load_relaxed(&gp->name[2]),
	    (void (*)(void))(uintptr_t)a_load_relaxed(&gp->name[1]), gp->args);
}

/*
 * The claim of a future's goroutine. While that waits in a run queue for the
 * first time it is claimed once: by the M that takes it from the queue, to run
 * it, or by the caller that joins it, to run its function in place. One that
 * was claimed by its joiner stays in the queue, and the M that takes it frees
 * the record. The claim is in a word of the name, which has no other use for it
 * then; the top bit tells it from a name. It holds the id, which is never used
 * again, so a joiner whose future has ended claims nothing if the record has
 * another goroutine.
 */
#define G_CLAIM_BIT ((uint64_t)1 << 63)

/* By its spawner only. */
static inline void
g_make_claimable(struct g *gp)
{
	a_store_relaxed(&gp->name[2], (uint64_t)g_id(gp) | G_CLAIM_BIT);
}

/* Any thread: true if goroutine `id` was not claimed, and is the caller's. */
static inline bool
g_claim(struct g *gp, int64_t id)
{
	uint64_t unclaimed = (uint64_t)id | G_CLAIM_BIT;

	/* Relaxed: what the spawner wrote came with the queue, or is the
	 * caller's own. */
	return a_load_relaxed(&gp->name[2]) == unclaimed &&
	    a_cas_relaxed(&gp->name[2], unclaimed, 0);
}

/* For dumps: is the record no goroutine any more, though it is queued? */
static inline bool
g_is_claimed(const struct g *gp)
{
	return a_load_relaxed(&gp->hold) & HOLD_FUTURE &&
	    a_load_relaxed(&gp->state) == G_RUNNABLE &&
	    !a_load_relaxed(&gp->name[2]);
}

/*
 * `goroutine 7 "conn" (serve, spawned at srv.c:31)`, `the main goroutine`.
 * Returns the length. Any thread: at worst it is out of date.
 */
enum { G_DESCRIBE_BYTES = 320 };
size_t g_describe(const struct g *gp, char *buf, size_t cap);
/* `serve, spawned at srv.c:31`: the same. */
size_t g_describe_site(const struct g *gp, char *buf, size_t cap);
extern const struct weft_site g_main_site;

/* The one place that changes a state; dies if it was not `from`. */
static inline void g_set(struct g *gp, enum gstate from, enum gstate to);
noreturn cold void g_bad_state(struct g *gp, enum gstate from, enum gstate to);

static inline void
g_set(struct g *gp, enum gstate from, enum gstate to)
{
	/*
	 * Relaxed: there is one writer at a time, and the next writer got the
	 * goroutine through a queue or a lock.
	 */
	if (unlikely(a_load_relaxed(&gp->state) != from))
		g_bad_state(gp, from, to);
	a_store_relaxed(&gp->state, to);
}

const char *g_state_name(enum gstate s);
const char *g_reason_name(enum wait_reason r);
/* The same as tables, and the records, for debuggers: observe/layout.c. */
extern const char *const g_state_names[G_STATES];
extern const char *const g_reason_names[WAIT_REASONS];
extern struct slab g_slab;

/* ---- lists through g->link ---- */

/* FIFO. Not thread safe. */
struct glist {
	struct g *head, *tail;
	uint32_t n;
};

static inline void
glist_push(struct glist *l, struct g *gp)
{
	gp->link = NULL;
	if (l->tail)
		l->tail->link = gp;
	else
		l->head = gp;
	l->tail = gp;
	l->n++;
}

static inline struct g *
glist_pop(struct glist *l)
{
	struct g *gp = l->head;

	if (gp) {
		l->head = gp->link;
		if (!l->head)
			l->tail = NULL;
		l->n--;
		gp->link = NULL;
	}
	return gp;
}

/* Appends all of `from` to `to` and empties it. */
static inline void
glist_move(struct glist *to, struct glist *from)
{
	if (!from->head)
		return;
	if (to->tail)
		to->tail->link = from->head;
	else
		to->head = from->head;
	to->tail = from->tail;
	to->n += from->n;
	*from = (struct glist){0};
}

/* ---- dead goroutines ---- */

/*
 * What a P caches: dead records, hottest first, and a full batch of them in
 * reserve; a run of records that were never touched; a run of unused ids.
 * Owner of the P only.
 *
 * Records move between Ps in batches of G_BATCH, as a whole: walking a list
 * would fetch every record from the core it died on just to read its link.
 */
enum { G_BATCH = 64 };

struct gcache {
	struct g *dead;
	uint32_t n_dead;	/* at most G_BATCH */
	uint32_t n_fresh;
	struct g *reserve;	/* NULL, or a list of G_BATCH */
	struct g *fresh;
	int64_t id, id_end;
	uint32_t timed_in;	/* runs of ids until a record is timed; 0: none
				 * will be */
	uint8_t timed_hold;	/* ... and what it is marked with */
	uint8_t node;		/* of memory: changed while it is empty */
};

/* A DEAD record with a new id, or NULL if there is no memory. */
struct g *g_alloc(struct gcache *c);
/* Frees the record of a goroutine that is DEAD. */
void g_free(struct gcache *c, struct g *gp);
/* Moves all of a cache to the common lists. */
void g_drain(struct gcache *c);
/* The owner of the cache runs on that node of memory now. */
void g_move(struct gcache *c, uint32_t node);

/* The same for a thread without a P. */
struct g *g_alloc_any(void);
void g_free_any(struct g *gp);

/* Iterates over the records, as slab_next. */
struct slab_place;
struct g *g_next(struct slab_place *at);

/* Address space of all records. Any thread. */
uint64_t g_record_bytes(void);

/* Calls fn for every record ever used, dead ones too. Takes no lock. */
void g_each(void (*fn)(struct g *gp, void *arg), void *arg);

#endif
