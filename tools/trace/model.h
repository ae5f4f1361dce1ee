/* SPDX-License-Identifier: MIT */
/*
 * What a trace says of its goroutines, its Ps and its spawn sites as a whole:
 * how long they were in which state, how long goroutines waited for a P, and
 * which waits were the longest.
 */
#ifndef MODEL_H
#define MODEL_H

#include "histogram.h"
#include "order.h"

/* What a goroutine does. */
enum kind {
	KIND_RUNNING,		/* with a P */
	KIND_RUNNABLE,		/* waits for one */
	KIND_BLOCKED,		/* waits for something else */
	KIND_CALL,		/* in a blocking call, with a P or without */
	KIND_DETACHED,		/* runs without a P */
	KIND_PAUSED,		/* RUNNABLE, its thread sleeps */
	KINDS
};

/* What a P does. */
enum p_kind {
	P_IDLE,			/* no M has it */
	P_SEARCH,		/* its M runs no goroutine */
	P_RUN,
	P_CALL,			/* its goroutine is in a call */
	P_KINDS
};

/* How long, for one reason: of a goroutine, a site, or all. */
struct waits {
	uint32_t reason;
	uint32_t next;		/* in model.waits, or 0 */
	uint64_t count;
	int64_t ns, max;
};

enum {
	NO_REASON = 0xffffff,	/* not recorded */
	SPAWN_REASON		/* spawned to wait for a descriptor or a time */
};

struct g_model {
	uint64_t id;
	uint64_t parent;	/* 0: a thread, or not known */
	int64_t created, ended;	/* -1: before, or after the trace */
	int64_t ns[KINDS];
	int64_t since;		/* in the current state; that until the end is
				 * counted by model_finish */
	uint32_t site;		/* in model.site */
	uint32_t name;		/* in model.names; 0: it has none */
	uint32_t waits;		/* in model.waits; 0: none */
	uint32_t starts;
	uint32_t reason;
	uint8_t kind;
	bool no_p;		/* RUNNABLE because there was no P for it */
};

struct site_model {
	uint64_t address;	/* 0: not known */
	const struct site *site; /* or NULL */
	uint64_t created, goroutines;	/* in the trace; seen at all */
	int64_t ns[KINDS], longest_runnable;
	uint64_t starts;
	uint32_t waits;
};

struct p_model {
	uint32_t id;
	int64_t ns[P_KINDS], since;
	int64_t longest_idle, longest_idle_at;
	uint64_t starts, steals, stolen, taken;
	uint64_t last_g;	/* what ran last, and for how long */
	int64_t last_ns, last_since;
	uint8_t kind;
};

struct stall {
	uint8_t kind;		/* KIND_RUNNABLE, KIND_DETACHED, KIND_PAUSED */
	uint8_t no_p;
	uint32_t p;		/* where it ran then */
	int64_t ns, at;
	uint32_t name;		/* in model.names */
	uint64_t g, after;	/* what had run there, ... */
	int64_t after_ns;	/* ... and for how long */
};

enum { STALLS = 20 };

struct model {
	struct trace *trace;
	struct g_model *g;
	size_t gs, gs_room;
	struct idmap g_index;		/* id -> index + 1, of the living */
	struct site_model *site;	/* [0] is of those without */
	size_t sites, sites_room;
	struct idmap site_index;	/* address -> index */
	struct p_model *p;
	size_t ps, ps_room;
	struct idmap p_index;		/* P + 1 -> index + 1 */
	struct waits *waits;		/* [0] is not used */
	size_t waits_count, waits_room;
	uint32_t all_waits;		/* of all goroutines */
	struct text names;		/* each with its NUL */

	struct histogram latency;	/* RUNNABLE until it runs */
	struct stall stall[STALLS];	/* the longest first */
	size_t stalls;
	uint64_t events[TR_TYPES], event_count;
	int64_t ns[KINDS];
	int64_t idle_ns;	/* when a P was idle although a goroutine was
				 * RUNNABLE */
	int64_t end_ns;
	uint64_t repairs;

	/* while it is built */
	int64_t now;
	uint32_t runnable, idle;
};

/* All of it, by order.c; free it with model_free. */
struct model *model_of(struct trace *t);
/* Or one after the other, by a caller who has the events anyway. */
struct model *model_begin(struct trace *t);
void model_add(struct model *m, const struct event *e);
void model_finish(struct model *m, uint64_t repairs);
void model_free(struct model *m);

/* The living goroutine, or NULL; it moves with the next event. */
struct g_model *model_g(const struct model *m, uint64_t id);
/* "": it has none (0). */
const char *model_name(const struct model *m, uint32_t name);
/* "function file.c:12", or "?". */
void model_site_text(const struct site_model *s, struct text *out);
const char *model_reason(const struct model *m, uint32_t reason);

#endif
