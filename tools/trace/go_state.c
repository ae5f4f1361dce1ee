/* SPDX-License-Identifier: MIT */
/*
 * See go_state.h.
 *
 * The value of a goroutine in the table is its status (bits 0..2), whether it
 * is in a call of its own (3), the generation that has a status of it (4..27),
 * and its number there (28..63).
 */
#include "go_state.h"

#include <stdlib.h>
#include <string.h>

enum { CALL = 8, GENERATION_SHIFT = 4, SEQ_SHIFT = 28 };
static const uint64_t generation_mask = 0xffffff;

void
go_put(struct go_state *s, uint64_t m, enum go_event type, unsigned count,
    const uint64_t *args)
{
	go_writer_event(s->writer, m, s->ns, type, count, args);
}

/* ---- records ---- */

static struct go_m *
the_m(struct go_state *s, uint64_t m)
{
	uint64_t *i = idmap_put(&s->m_index, m + 1);

	if (!*i) {
		*GROW(s->m, s->ms, s->ms_room) =
			(struct go_m){ .m = m, .p = GO_NONE };
		*i = ++s->ms;
	}
	return &s->m[*i - 1];
}

/* The P, with a status in this generation; said by m if it is idle. */
static struct go_p *
the_p(struct go_state *s, uint64_t m, uint64_t p)
{
	uint64_t *i = idmap_put(&s->p_index, p + 1);
	struct go_p *pp;

	if (!*i) {
		*GROW(s->p, s->ps, s->ps_room) =
			(struct go_p){ .p = p, .status = GO_P_IDLE };
		*i = ++s->ps;
	}
	pp = &s->p[*i - 1];
	if (pp->generation != s->generation) {
		pp->generation = s->generation;
		pp->seq = 0;
		go_put(s, m, GO_PROC_STATUS, 2,
		    (uint64_t[]){ p, pp->status });
	}
	return pp;
}

uint64_t
go_running(struct go_state *s, uint64_t m)
{
	return the_m(s, m)->g;
}

enum go_g_status
go_status(const struct go_state *s, uint64_t g)
{
	const uint64_t *v = idmap_get(&s->g, g);

	return v ? (enum go_g_status)(*v & 7) : GO_G_NONE;
}

bool
go_in_call(const struct go_state *s, uint64_t g)
{
	const uint64_t *v = idmap_get(&s->g, g);

	return v && *v & CALL;
}

void
go_set_call(struct go_state *s, uint64_t g, bool call)
{
	uint64_t *v = idmap_get(&s->g, g);

	if (v)
		*v = call ? *v | CALL : *v & ~(uint64_t)CALL;
}

static void
set_status(struct go_state *s, uint64_t g, enum go_g_status status)
{
	uint64_t *v = idmap_get(&s->g, g);

	*v = (*v & ~(uint64_t)7) | status;
}

/* A new one, or one that a status is said of. */
static void
set_known(struct go_state *s, uint64_t g, enum go_g_status status)
{
	uint64_t *v = idmap_put(&s->g, g);

	*v = (*v & CALL) | status |
	    (s->generation & generation_mask) << GENERATION_SHIFT;
}

/* Its next number; said by m first, if this generation does not know of it. */
static uint64_t
next_seq(struct go_state *s, uint64_t m, uint64_t g)
{
	uint64_t *v = idmap_get(&s->g, g);

	if ((*v >> GENERATION_SHIFT & generation_mask) !=
	    (s->generation & generation_mask)) {
		go_put(s, m, GO_STATUS, 3,
		    (uint64_t[]){ g, GO_NONE, *v & 7 });
		set_known(s, g, (enum go_g_status)(*v & 7));
	}
	*v += (uint64_t)1 << SEQ_SHIFT;
	return *v >> SEQ_SHIFT;
}

/* ---- Ps ---- */

void
go_put_p_start(struct go_state *s, uint64_t m, uint64_t p)
{
	struct go_p *pp = the_p(s, m, p);

	pp->status = GO_P_RUNNING;
	the_m(s, m)->p = p;
	go_put(s, m, GO_PROC_START, 2, (uint64_t[]){ p, ++pp->seq });
}

void
go_put_p_stop(struct go_state *s, uint64_t m)
{
	the_p(s, m, the_m(s, m)->p)->status = GO_P_IDLE;
	the_m(s, m)->p = GO_NONE;
	go_put(s, m, GO_PROC_STOP, 0, NULL);
}

void
go_put_steal(struct go_state *s, uint64_t taker, uint64_t m)
{
	struct go_p *pp = the_p(s, m, the_m(s, m)->p);

	pp->status = GO_P_IDLE;
	the_m(s, m)->p = GO_NONE;
	go_put(s, taker, GO_PROC_STEAL, 3,
	    (uint64_t[]){ pp->p, ++pp->seq, m });
}

/* ---- goroutines ---- */

void
go_put_create(struct go_state *s, uint64_t m, uint64_t g, bool waiting,
    uint64_t site, uint64_t stack)
{
	go_put(s, m, waiting ? GO_CREATE_BLOCKED : GO_CREATE, 3,
	    (uint64_t[]){ g, go_writer_start(s->writer, site), stack });
	set_known(s, g, waiting ? GO_G_WAITING : GO_G_RUNNABLE);
}

void
go_put_known(struct go_state *s, uint64_t m, uint64_t g, bool waiting,
    uint64_t site)
{
	enum go_g_status status = waiting ? GO_G_WAITING : GO_G_RUNNABLE;

	if (go_status(s, g) != GO_G_NONE)
		return;
	if (s->generation > 1) {
		go_put_create(s, m, g, waiting, site, 0);
		return;
	}
	go_put(s, m, GO_STATUS_STACK, 4, (uint64_t[]){ g, GO_NONE, status,
	    go_writer_start(s->writer, site) });
	set_known(s, g, status);
}

void
go_put_start(struct go_state *s, uint64_t m, uint64_t g)
{
	uint64_t seq = next_seq(s, m, g);

	go_put(s, m, GO_START, 2, (uint64_t[]){ g, seq });
	set_status(s, g, GO_G_RUNNING);
	the_m(s, m)->g = g;
}

void
go_put_unblock(struct go_state *s, uint64_t m, uint64_t g, uint64_t stack)
{
	uint64_t seq = next_seq(s, m, g);

	go_put(s, m, GO_UNBLOCK, 3, (uint64_t[]){ g, seq, stack });
	set_status(s, g, GO_G_RUNNABLE);
}

void
go_put_off(struct go_state *s, uint64_t m, enum go_event type, const char *why,
    uint64_t stack)
{
	struct go_m *mp = the_m(s, m);

	go_put(s, m, type, 2, (uint64_t[]){
	    go_writer_string(s->writer, why, strlen(why)), stack });
	set_status(s, mp->g, type == GO_BLOCK ? GO_G_WAITING : GO_G_RUNNABLE);
	mp->g = 0;
}

void
go_put_destroy(struct go_state *s, uint64_t m)
{
	struct go_m *mp = the_m(s, m);

	go_put(s, m, mp->p == GO_NONE ? GO_DESTROY_SYSCALL : GO_DESTROY, 0,
	    NULL);
	idmap_remove(&s->g, mp->g);
	mp->g = 0;
}

void
go_put_syscall(struct go_state *s, uint64_t m)
{
	struct go_p *pp = the_p(s, m, the_m(s, m)->p);

	pp->status = GO_P_SYSCALL;
	go_put(s, m, GO_SYSCALL_BEGIN, 2, (uint64_t[]){ ++pp->seq, 0 });
	set_status(s, the_m(s, m)->g, GO_G_SYSCALL);
}

void
go_put_syscall_end(struct go_state *s, uint64_t m)
{
	the_p(s, m, the_m(s, m)->p)->status = GO_P_RUNNING;
	go_put(s, m, GO_SYSCALL_END, 0, NULL);
	set_status(s, the_m(s, m)->g, GO_G_RUNNING);
}

void
go_put_end_blocked(struct go_state *s, uint64_t m)
{
	struct go_m *mp = the_m(s, m);

	go_put(s, m, GO_SYSCALL_END_BLOCKED, 0, NULL);
	set_status(s, mp->g, GO_G_RUNNABLE);
	mp->g = 0;
}

/* ---- visits ---- */

struct go_visit
go_visit_begin(struct go_state *s, uint64_t m)
{
	uint64_t g = the_m(s, m)->g;
	struct go_visit v = { .borrowed = the_m(s, m)->p == GO_NONE };

	if (v.borrowed) {
		if (g)
			go_put_end_blocked(s, m);
		go_put_p_start(s, m, s->extra_p);
		if (g)
			go_put_start(s, m, g);
	} else if (g && go_status(s, g) == GO_G_SYSCALL) {
		v.call = true;
		go_put_syscall_end(s, m);
	}
	return v;
}

void
go_visit_end(struct go_state *s, uint64_t m, struct go_visit v)
{
	uint64_t g = the_m(s, m)->g;

	if (g && (v.borrowed || v.call))
		go_put_syscall(s, m);
	if (v.borrowed && g)
		go_put_steal(s, m, m);
	else if (v.borrowed)
		go_put_p_stop(s, m);
}

uint64_t
go_foreign(struct go_state *s, uint64_t m)
{
	struct go_m *mp = the_m(s, m);

	if (!mp->g) {
		mp->g = FOREIGN_G + (m - FOREIGN_M);
		go_put(s, m, GO_CREATE_SYSCALL, 1, (uint64_t[]){ mp->g });
		set_known(s, mp->g, GO_G_SYSCALL);
	}
	return mp->g;
}

/* ---- generations ---- */

/* What m holds and runs: these are bound to it by a status of its own. */
static void
say_again(struct go_state *s, const struct go_m *mp)
{
	enum go_g_status status = go_status(s, mp->g);

	if (mp->p != GO_NONE)
		the_p(s, mp->m, mp->p);
	if (!mp->g)
		return;
	go_put(s, mp->m, GO_STATUS, 3, (uint64_t[]){ mp->g, mp->m, status });
	set_known(s, mp->g, status);
}

void
go_generation(struct go_state *s)
{
	s->generation++;
	go_writer_generation(s->writer, s->ns);
	for (size_t i = 0; i < s->ms; i++)
		say_again(s, &s->m[i]);
}

void
go_state_free(struct go_state *s)
{
	idmap_free(&s->g);
	idmap_free(&s->m_index);
	idmap_free(&s->p_index);
	free(s->m);
	free(s->p);
}
