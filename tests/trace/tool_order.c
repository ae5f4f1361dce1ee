/* SPDX-License-Identifier: MIT */
/* The order of the events of a trace: causes before effects. */
#include "t.h"

#include "order.h"
#include "simulated.h"

enum { MS = 64, PS = 16 };

/* An own account of what event.h promises. */
struct account {
	struct idmap g;			/* id -> state + 1 */
	uint32_t m_p[MS], p_m[PS];	/* P + 1, M; 0: none */
	uint64_t m_g[MS];
	uint64_t events, made, types[TR_TYPES];
	int64_t ns;
};

static enum g_state
state_of(struct account *a, uint64_t g)
{
	uint64_t *v = idmap_get(&a->g, g);

	return v ? (enum g_state)(*v - 1) : G_UNKNOWN;
}

static void
set_state(struct account *a, uint64_t g, enum g_state state)
{
	*idmap_put(&a->g, g) = state + 1;
}

static void
expect_running(struct account *a, const struct event *e)
{
	OK(e->m && a->m_g[e->m] == e->g);
	OK(a->m_p[e->m] == (e->p == NO_P ? 0 : e->p + 1));
}

static void
leave(struct account *a, const struct event *e, enum g_state then)
{
	expect_running(a, e);
	EQ(state_of(a, e->g), G_RUNNING);
	a->m_g[e->m] = 0;
	set_state(a, e->g, then);
	if (then == G_DEAD)
		idmap_remove(&a->g, e->g);
}

static void
account_p(struct account *a, const struct event *e)
{
	if (e->type == TR_P_START) {
		EQ(a->p_m[e->p], 0);
		EQ(a->m_p[e->m], 0);
		EQ(a->m_g[e->m], e->g);
		a->p_m[e->p] = e->m;
		a->m_p[e->m] = e->p + 1;
	} else {
		EQ(a->p_m[e->p], e->m);
		a->p_m[e->p] = 0;
		a->m_p[e->m] = 0;
	}
}

static void
account_start(struct account *a, const struct event *e)
{
	EQ(state_of(a, e->g), e->type == TR_START ? G_RUNNABLE : G_PAUSED);
	EQ(a->m_g[e->m], 0);
	EQ(a->m_p[e->m], e->p == NO_P ? 0 : e->p + 1);
	OK(e->p != NO_P || e->flags & EVENT_MADE);
	a->m_g[e->m] = e->g;
	set_state(a, e->g, G_RUNNING);
}

static void
account_status(struct account *a, const struct event *e)
{
	EQ(state_of(a, e->g), G_UNKNOWN);
	set_state(a, e->g, event_status(e));
	if (event_status(e) == G_RUNNING ||
	    (event_status(e) == G_CALL && e->m)) {
		EQ(a->m_g[e->m], 0);
		a->m_g[e->m] = e->g;
	}
}

static void
account(struct account *a, const struct event *e)
{
	a->events++;
	a->made += e->flags & EVENT_MADE;
	a->types[e->type]++;
	OK(e->m < MS && (e->p == NO_P || e->p < PS));
	if (e->type != TR_SAMPLE) {
		OK(e->ns >= a->ns);
		a->ns = e->ns;
	}
	switch (e->type) {
	case TR_P_START: case TR_P_STOP: case TR_P_TAKEN:
		account_p(a, e);
		break;
	case TR_CREATE: case TR_CREATE_WAITING:
		EQ(state_of(a, e->g), G_UNKNOWN);
		set_state(a, e->g, e->type == TR_CREATE ? G_RUNNABLE :
		    G_WAITING);
		break;
	case TR_STATUS:
		account_status(a, e);
		break;
	case TR_START: case TR_RESUME:
		account_start(a, e);
		break;
	case TR_UNBLOCK:
		EQ(state_of(a, e->g), G_WAITING);
		set_state(a, e->g, G_RUNNABLE);
		break;
	case TR_BLOCK:
		leave(a, e, G_WAITING);
		break;
	case TR_YIELD:
		leave(a, e, G_RUNNABLE);
		break;
	case TR_PAUSE:
		leave(a, e, G_PAUSED);
		break;
	case TR_END:
		leave(a, e, G_DEAD);
		break;
	case TR_CALL_BEGIN: case TR_CALL_END:
		expect_running(a, e);
		EQ(state_of(a, e->g), e->type == TR_CALL_BEGIN ? G_RUNNING :
		    G_CALL);
		set_state(a, e->g, e->type == TR_CALL_BEGIN ? G_CALL :
		    G_RUNNING);
		break;
	default:
		break;
	}
}

/* Walks through it; how much had to be repaired. */
static uint64_t
walk(const struct made_file *f, struct account *a)
{
	struct text why = {0};
	struct trace *t = trace_open_memory(f->data, f->bytes, &why);
	struct order *o;
	struct event e;
	uint64_t repairs;

	*a = (struct account){0};
	OK(t != NULL);
	if (!t)
		return 0;
	o = order_open(t);
	while (order_next(o, &e))
		account(a, &e);
	repairs = order_repairs(o);
	order_close(o);
	trace_close(t);
	idmap_free(&a->g);
	return repairs;
}

static struct simulation sim;

TEST(nothing_to_repair_with_one_clock)
{
	struct account a;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		simulate(&sim, seed, 5000, 0, 100);
		EQ(walk(&sim.file, &a), 0);
		EQ(a.types[TR_END], sim.ended);
		EQ(a.types[TR_BLOCK], sim.blocked);
		EQ(a.made, 0);
		made_free(&sim.file);
	}
}

TEST(clocks_that_differ)
{
	struct account a;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		simulate(&sim, seed, 5000, 45, 100);
		EQ(walk(&sim.file, &a), 0);
		EQ(a.types[TR_END], sim.ended);
		EQ(a.types[TR_BLOCK], sim.blocked);
		made_free(&sim.file);
	}
}

TEST(a_flight_recording)
{
	struct account a;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		sim.drop = 3;
		simulate(&sim, seed, 5000, 45, 100);
		walk(&sim.file, &a);
		OK(a.events > 100);
		made_free(&sim.file);
	}
}
