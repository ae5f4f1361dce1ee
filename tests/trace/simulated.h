/* SPDX-License-Identifier: MIT */
/*
 * A trace of a made-up program: a scheduler that does at random what weft's may
 * do, with clocks that differ from ring to ring, by less than it takes to
 * start a goroutine twice. No event is missing, so a reader has nothing to
 * repair.
 */
#ifndef SIMULATED_H
#define SIMULATED_H

#include <stdbool.h>

#include "trace_file.h"

enum { SIM_PS = 4, SIM_MS = 12, SIM_GS = 200, SIM_PRIOR = 9 };

enum sim_state {
	SIM_FREE, SIM_RUNNABLE, SIM_RUNNING, SIM_WAITING, SIM_PAUSED
};

struct sim_g {
	enum sim_state state;
	uint64_t id;
	uint32_t m, regions;
	bool call;
};

struct simulation {
	struct made_file file;
	uint64_t seed, now, ids, tasks;
	int64_t skew[MADE_RINGS + 1];	/* cycles */
	uint64_t step;			/* cycles between events, on average */
	uint32_t drop;			/* see made_file; set by the caller */
	struct sim_g g[SIM_GS];
	uint32_t p_m[SIM_PS];		/* M that has it, or 0 */
	uint32_t m_p[SIM_MS + 1];	/* P + 1, or 0 */
	int m_g[SIM_MS + 1];		/* index, or -1 */
	int m_paused[SIM_MS + 1];
	uint64_t events, ended, blocked;
};

static inline uint32_t
sim_rand(struct simulation *s, uint32_t n)
{
	s->seed = s->seed * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)(s->seed >> 33) % n;
}

/* Where m writes: the ring of its P, or the shared one. */
static inline uint32_t
sim_ring(struct simulation *s, uint32_t m)
{
	return s->m_p[m] ? s->m_p[m] - 1 : MADE_RINGS;
}

static inline uint64_t
sim_now(struct simulation *s, uint32_t ring)
{
	return s->now + (uint64_t)s->skew[ring];
}

/* Before an event by m: the time, and on the shared ring the thread. */
static inline uint32_t
sim_by(struct simulation *s, uint32_t m)
{
	uint32_t ring = sim_ring(s, m);

	s->events++;
	made_renew(&s->file, ring);
	if (ring == MADE_RINGS)
		made_thread(&s->file, sim_now(s, ring), m,
		    s->m_g[m] < 0 ? 0 : s->g[s->m_g[m]].id);
	else
		s->file.ring[ring].m = m;
	return ring;
}

static inline void
sim_event(struct simulation *s, uint32_t m, uint32_t type, uint32_t arg)
{
	uint32_t ring = sim_by(s, m);

	made_event(&s->file, ring, sim_now(s, ring), type, arg);
}

static inline void
sim_id(struct simulation *s, uint32_t m, uint32_t type, uint64_t id)
{
	uint32_t ring = sim_by(s, m);

	made_id(&s->file, ring, sim_now(s, ring), type, id);
}

/* What a block that begins now says of this P. */
static inline void
sim_note(struct simulation *s, uint32_t p)
{
	uint32_t m = s->p_m[p];

	s->file.ring[p].m = m;
	s->file.ring[p].g = m && s->m_g[m] >= 0 ? s->g[s->m_g[m]].id : 0;
}

/* Any of those in this state, or -1. */
static inline int
sim_any(struct simulation *s, enum sim_state state)
{
	int first = (int)sim_rand(s, SIM_GS);

	for (int i = 0; i < SIM_GS; i++)
		if (s->g[(first + i) % SIM_GS].state == state)
			return (first + i) % SIM_GS;
	return -1;
}

/* By M m, or by a plain thread if m is 0. */
static inline void
sim_create(struct simulation *s, uint32_t m)
{
	int i = sim_any(s, SIM_FREE);
	bool waiting = sim_rand(s, 8) == 0;
	uint32_t ring = m ? sim_ring(s, m) : MADE_RINGS;

	if (i < 0)
		return;
	s->g[i] = (struct sim_g){
		.state = waiting ? SIM_WAITING : SIM_RUNNABLE, .id = ++s->ids,
	};
	if (m)
		sim_by(s, m);
	else
		made_thread(&s->file, sim_now(s, ring), 0, 7777);
	made_site(&s->file, ring, sim_now(s, ring),
	    0x1000 + 0x100 * sim_rand(s, 4));
	s->events++;
	made_id(&s->file, ring, sim_now(s, ring),
	    waiting ? TR_CREATE_WAITING : TR_CREATE, s->ids);
}

static inline void
sim_stack(struct simulation *s, uint32_t m)
{
	if (sim_rand(s, 4) == 0)
		made_stack(&s->file, sim_ring(s, m),
		    sim_now(s, sim_ring(s, m)), 1 + sim_rand(s, 5),
		    0x400000 + 0x1000 * sim_rand(s, 3));
}

static inline void
sim_start(struct simulation *s, uint32_t p)
{
	uint32_t m = s->p_m[p];
	int i = sim_any(s, SIM_RUNNABLE);

	if (i < 0 || s->m_g[m] >= 0)
		return;
	sim_id(s, m, TR_START, s->g[i].id);
	s->g[i].state = SIM_RUNNING;
	s->g[i].m = m;
	s->m_g[m] = i;
	sim_note(s, p);
}

/* Self leaves its M. */
static inline void
sim_off(struct simulation *s, uint32_t m, enum sim_state then)
{
	struct sim_g *g = &s->g[s->m_g[m]];
	uint32_t ring = sim_by(s, m);

	if (then == SIM_WAITING) {
		made_event1(&s->file, ring, sim_now(s, ring), TR_BLOCK,
		    sim_rand(s, 5), 0xabc0);
		sim_stack(s, m);
		s->blocked++;
	} else {
		made_event(&s->file, ring, sim_now(s, ring),
		    then == SIM_FREE ? TR_END : TR_YIELD, 0);
		s->ended += then == SIM_FREE;
	}
	g->state = then;
	s->m_g[m] = -1;
	if (s->m_p[m])
		sim_note(s, s->m_p[m] - 1);
}

static inline void
sim_unblock(struct simulation *s, uint32_t m)
{
	int i = sim_any(s, SIM_WAITING);

	if (i < 0)
		return;
	if (m) {
		sim_id(s, m, TR_UNBLOCK, s->g[i].id);
	} else {
		made_thread(&s->file, sim_now(s, MADE_RINGS), 0,
		    sim_rand(s, 2) ? 7777 : (uint64_t)1 << 32 | 7778);
		made_id(&s->file, MADE_RINGS, sim_now(s, MADE_RINGS),
		    TR_UNBLOCK, s->g[i].id);
		s->events++;
	}
	s->g[i].state = SIM_RUNNABLE;
}

/* m has no P from now on. */
static inline void
sim_lose(struct simulation *s, uint32_t m)
{
	uint32_t p = s->m_p[m] - 1;

	s->m_p[m] = 0;
	s->p_m[p] = 0;
	sim_note(s, p);
}

static inline void
sim_p_stop(struct simulation *s, uint32_t p, uint32_t why)
{
	uint32_t m = s->p_m[p];

	sim_event(s, m, TR_P_STOP, why);
	sim_lose(s, m);
}

static inline void
sim_p_start(struct simulation *s, uint32_t p, uint32_t m)
{
	int i = s->m_g[m];

	s->events++;
	made_renew(&s->file, p);
	made_event1(&s->file, p, sim_now(s, p), TR_P_START, m,
	    i < 0 ? 0 : s->g[i].id);
	s->p_m[p] = m;
	s->m_p[m] = p + 1;
	sim_note(s, p);
	if (s->m_paused[m] >= 0) {
		i = s->m_paused[m];
		s->m_paused[m] = -1;
		sim_id(s, m, TR_RESUME, s->g[i].id);
		s->g[i].state = SIM_RUNNING;
		s->m_g[m] = i;
		sim_note(s, p);
	}
}

static inline void
sim_taken(struct simulation *s, uint32_t p)
{
	uint32_t m = s->p_m[p];
	bool call = s->m_g[m] >= 0 && s->g[s->m_g[m]].call;

	if (s->m_g[m] < 0)
		return;
	s->events++;
	made_thread(&s->file, sim_now(s, MADE_RINGS), 0,
	    (uint64_t)1 << 32 | 7778);
	made_event1(&s->file, MADE_RINGS, sim_now(s, MADE_RINGS), TR_P_TAKEN,
	    p, m | (uint64_t)(call ? TRACE_TAKEN_CALL : TRACE_TAKEN_RUNNING) <<
	    32);
	sim_lose(s, m);
}

static inline void
sim_said(struct simulation *s, uint32_t m)
{
	struct sim_g *g = &s->g[s->m_g[m]];
	uint32_t ring = sim_by(s, m);
	struct made_ring *r = made_ring_at(&s->file, ring, sim_now(s, ring));
	const char *text = "an order of tea";

	switch (sim_rand(s, 9)) {
	case 0:
		made_first(r, sim_now(s, ring), TR_LOG, 15 << 16);
		made_word(r, s->tasks);
		made_text(r, text);
		break;
	case 1:
		g->regions++;
		made_first(r, sim_now(s, ring), TR_REGION_BEGIN, 15 << 16);
		made_word(r, s->tasks);
		made_text(r, text);
		break;
	case 2:
		if (g->regions) {
			g->regions--;
			made_first(r, sim_now(s, ring), TR_REGION_END, 0);
		}
		break;
	case 3:
		made_id(&s->file, ring, sim_now(s, ring), TR_NAME, g->id);
		made_word(r, 0x656d616e61);	/* "aname" */
		made_word(r, 0);
		made_word(r, 0);
		break;
	case 4:
		made_first(r, sim_now(s, ring), TR_TASK_END, 0);
		made_word(r, s->tasks ? sim_rand(s, (uint32_t)s->tasks) : 9);
		break;
	case 5:
		made_first(r, sim_now(s, ring), TR_WORLD_STOP, 0);
		made_first(r, sim_now(s, ring), TR_WORLD_START, 0);
		break;
	case 6:
		made_first(r, sim_now(s, ring), TR_STEAL, 2 | 3 << 16);
		made_first(r, sim_now(s, ring), TR_PROCS, SIM_PS);
		break;
	case 7:
		made_first(r, sim_now(s, ring), TR_TIMERS, 2);
		made_first(r, sim_now(s, ring), TR_NETPOLL, 1);
		break;
	default:
		made_first(r, sim_now(s, ring), TR_TASK_BEGIN, 15 << 16);
		made_word(r, ++s->tasks);
		made_word(r, s->tasks / 2);
		made_text(r, text);
		break;
	}
}

/* What the goroutine of m does next. */
static inline void
sim_act(struct simulation *s, uint32_t m)
{
	struct sim_g *g = &s->g[s->m_g[m]];
	uint32_t p = s->m_p[m] - 1;

	if (g->call) {
		if (s->m_p[m] && sim_rand(s, 3) == 0) {
			sim_taken(s, p);
		} else if (sim_rand(s, 3) == 0) {
			sim_event(s, m, TR_CALL_END, 0);
			g->call = false;
		}
		return;
	}
	switch (sim_rand(s, 12)) {
	case 0: case 1:
		sim_create(s, m);
		break;
	case 2: case 3:
		sim_unblock(s, m);
		break;
	case 4: case 5:
		if (s->m_p[m])
			sim_off(s, m, SIM_WAITING);
		break;
	case 6:
		sim_off(s, m, SIM_RUNNABLE);
		break;
	case 7:
		if (s->m_p[m])
			sim_off(s, m, SIM_FREE);
		break;
	case 8:
		if (s->m_p[m]) {
			bool gives = sim_rand(s, 2);

			sim_event(s, m, TR_CALL_BEGIN, gives);
			g->call = true;
			if (gives)
				sim_p_stop(s, p, TRACE_STOP_CALL);
		}
		break;
	case 9:
		if (s->m_p[m])
			sim_taken(s, p);
		break;
	case 10:
		if (s->m_p[m] && sim_rand(s, 2)) {
			sim_id(s, m, TR_PAUSE, g->id);
			g->state = SIM_PAUSED;
			s->m_paused[m] = s->m_g[m];
			s->m_g[m] = -1;
			sim_note(s, p);
			sim_p_stop(s, p, TRACE_STOP_OTHER);
		}
		break;
	default:
		sim_said(s, m);
		break;
	}
}

static inline void
sim_sample(struct simulation *s, uint32_t m)
{
	uint32_t ring = sim_by(s, m);
	struct made_ring *r = made_ring_at(&s->file, ring, sim_now(s, ring));

	made_first(r, sim_now(s, ring), TR_SAMPLE, 3);
	made_word(r, s->now - 100);
	made_word(r, m | (uint64_t)(s->m_p[m] ? s->m_p[m] - 1 : 0xffffffffu) <<
	    32);
	made_word(r, s->m_g[m] < 0 ? 0 : s->g[s->m_g[m]].id);
	for (uint64_t i = 0; i < 3; i++)
		made_word(r, 0x400000 + 16 * i);
}

static inline void
sim_step(struct simulation *s)
{
	uint32_t m = 1 + sim_rand(s, SIM_MS), p = sim_rand(s, SIM_PS);

	s->now += s->step / 2 + sim_rand(s, (uint32_t)s->step);
	if (sim_rand(s, 200) == 0)
		sim_create(s, 0);
	else if (sim_rand(s, 200) == 0)
		sim_unblock(s, 0);
	else if (sim_rand(s, 100) == 0)
		sim_sample(s, m);
	else if (s->m_g[m] >= 0 && (s->m_p[m] || sim_rand(s, 2)))
		sim_act(s, m);
	else if (s->m_p[m])
		sim_rand(s, 10) ? sim_start(s, s->m_p[m] - 1) :
		    sim_p_stop(s, s->m_p[m] - 1, TRACE_STOP_IDLE);
	else if (!s->p_m[p])
		sim_p_start(s, p, m);
}

/* Some goroutines are older than the trace. */
static inline void
sim_prior(struct simulation *s)
{
	for (int i = 0; i < SIM_PRIOR; i++) {
		bool waiting = i % 3;

		s->g[i] = (struct sim_g){ .id = ++s->ids,
		    .state = waiting ? SIM_WAITING : SIM_RUNNABLE };
		made_thread(&s->file, sim_now(s, MADE_RINGS), 0, 7777);
		made_site(&s->file, MADE_RINGS, sim_now(s, MADE_RINGS), 0x1200);
		made_id(&s->file, MADE_RINGS, sim_now(s, MADE_RINGS), TR_STATUS,
		    s->ids);
		made_word(&s->file.ring[MADE_RINGS], waiting ? 4 | 3 << 8 : 1);
	}
}

/* A whole file in s->file, to be freed by made_free. */
static inline void
simulate(struct simulation *s, uint64_t seed, uint64_t steps, int64_t skew,
    uint64_t step)
{
	*s = (struct simulation){ .seed = seed, .now = 1000000 + 2000,
	    .step = step, .ids = seed % 2 ? 0xfffffff0 : 0, .drop = s->drop };
	made_begin(&s->file, 1000000000);
	s->file.drop = s->drop;
	for (uint32_t i = 0; i <= MADE_RINGS; i++)
		s->skew[i] = (int64_t)sim_rand(s, (uint32_t)(2 * skew + 1)) -
		    skew;
	for (uint32_t i = 0; i <= SIM_MS; i++)
		s->m_g[i] = s->m_paused[i] = -1;
	sim_prior(s);
	for (uint64_t i = 0; i < steps; i++)
		sim_step(s);
	made_end(&s->file, s->now + 2000);
}

#endif
