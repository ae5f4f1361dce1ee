/* SPDX-License-Identifier: MIT */
/*
 * What Go's reader knows of Gs, Ms and Ps at one moment of the file that is
 * written, and events that change it. Each checks nothing: go.c calls them when
 * they are allowed. Numbers and statuses are added here.
 */
#ifndef GO_STATE_H
#define GO_STATE_H

#include "go_writer.h"
#include "idmap.h"

/* As in the file. */
enum go_g_status {
	GO_G_NONE, GO_G_RUNNABLE, GO_G_RUNNING, GO_G_SYSCALL, GO_G_WAITING
};

enum go_p_status { GO_P_RUNNING = 1, GO_P_IDLE, GO_P_SYSCALL };

static const uint64_t RUNTIME_M = 0;		/* no thread of the program */
static const uint64_t FOREIGN_M = 1ull << 32;	/* + id of the thread */
static const uint64_t FOREIGN_G = 1ull << 62;	/* + id of the thread */
static const uint64_t GO_NONE = UINT64_MAX;

struct go_m {
	uint64_t m, p, g;	/* p: GO_NONE; g: 0 */
};

struct go_p {
	uint64_t p;
	uint64_t seq, generation;
	enum go_p_status status;
};

struct go_state {
	struct go_writer *writer;
	uint64_t extra_p;		/* above all Ps of the trace */
	int64_t ns;
	uint64_t generation;
	struct idmap g;			/* -> packed: see go_state.c */
	struct idmap m_index, p_index;	/* + 1 -> index + 1 */
	struct go_m *m;
	struct go_p *p;
	size_t ms, ms_room, ps, ps_room;
};

/* The next one begins: all that hold or run something say so. */
void go_generation(struct go_state *s);
void go_state_free(struct go_state *s);
void go_put(struct go_state *s, uint64_t m, enum go_event type, unsigned count,
    const uint64_t *args);

/* What m runs, or 0. */
uint64_t go_running(struct go_state *s, uint64_t m);
enum go_g_status go_status(const struct go_state *s, uint64_t g);
/* That it is in a call of its own, with a P or not. */
bool go_in_call(const struct go_state *s, uint64_t g);
void go_set_call(struct go_state *s, uint64_t g, bool call);

void go_put_p_start(struct go_state *s, uint64_t m, uint64_t p);
void go_put_p_stop(struct go_state *s, uint64_t m);
/* The P of m, whose goroutine is in a system call. */
void go_put_steal(struct go_state *s, uint64_t taker, uint64_t m);

void go_put_create(struct go_state *s, uint64_t m, uint64_t g, bool waiting,
    uint64_t site, uint64_t stack);
/* That there is g, waiting or runnable. In later generations it must be
 * created, for which m has a P. One that is known is left alone. */
void go_put_known(struct go_state *s, uint64_t m, uint64_t g, bool waiting,
    uint64_t site);
void go_put_start(struct go_state *s, uint64_t m, uint64_t g);
void go_put_unblock(struct go_state *s, uint64_t m, uint64_t g,
    uint64_t stack);
/* What m runs: GO_BLOCK or GO_STOP; it ends; system calls. */
void go_put_off(struct go_state *s, uint64_t m, enum go_event type,
    const char *why, uint64_t stack);
void go_put_destroy(struct go_state *s, uint64_t m);
void go_put_syscall(struct go_state *s, uint64_t m);
void go_put_syscall_end(struct go_state *s, uint64_t m);
void go_put_end_blocked(struct go_state *s, uint64_t m);

/* Between these m has a P, and what it runs, if anything, runs. */
struct go_visit { bool borrowed, call; };
struct go_visit go_visit_begin(struct go_state *s, uint64_t m);
void go_visit_end(struct go_state *s, uint64_t m, struct go_visit v);
/* The goroutine of a thread that is no M. */
uint64_t go_foreign(struct go_state *s, uint64_t m);

#endif
