/* SPDX-License-Identifier: MIT */
/*
 * What Gs, Ms and Ps are doing at one moment of a trace, and what an event
 * makes of it. An event that does not fit is preceded by others that are made
 * up, or left out; so what comes out keeps the rules of event.h.
 */
#ifndef STATE_H
#define STATE_H

#include "event.h"
#include "idmap.h"

struct m_state {
	uint32_t p;		/* or NO_P */
	uint64_t g;		/* or 0 */
};

struct g_info {
	enum g_state state;
	uint32_t m;		/* RUNNING, CALL, PAUSED: where */
	bool stale;		/* events that may concern it were lost since */
};

struct state {
	struct idmap g;		/* id -> state, epoch, m: see state.c */
	struct idmap p;		/* number + 1 -> M, or 0 */
	struct idmap m;		/* number -> index in ms, + 1 */
	struct idmap prior;	/* id -> index in status, + 1 */
	struct m_state *ms;
	size_t ms_count, ms_room;
	struct event *status;	/* all TR_STATUS of the file */
	size_t status_count, status_room;

	uint32_t epoch;		/* how often events were lost */
	uint64_t repairs;
	int64_t ns;		/* of the last event */
	bool quiet;		/* what is made up now is no repair */

	struct event *out;	/* what came out and was not taken */
	size_t out_count, out_room, taken;
};

/* One of the events that cursor_scan finds. */
void state_foretell(struct state *s, const struct event *e);
/* Applies the event, which adds to `out`. */
void state_apply(struct state *s, const struct event *e);
/* P p is held by m, which runs g, whatever was known. */
void state_resync(struct state *s, uint32_t p, uint32_t m, uint64_t g,
    int64_t ns, bool lost);
/* At the end: what was never heard of again. */
void state_finish(struct state *s);
void state_free(struct state *s);

struct g_info state_g(const struct state *s, uint64_t g);
/* 0: none. */
uint32_t state_m_of_p(const struct state *s, uint32_t p);
struct m_state state_m(const struct state *s, uint32_t m);

#endif
