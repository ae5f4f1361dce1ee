/* SPDX-License-Identifier: MIT */
/*
 * An event of a trace, as order.c delivers it: all rings merged, in an order
 * in which causes come before effects.
 *
 * Whatever the file has lost, the events that are delivered fit together; what
 * is missing is made up (EVENT_MADE):
 *
 *	an M has at most one P, a P at most one M, an M runs at most one G
 *	TR_P_START	P is free, M has none; g: what M runs already, or 0
 *	TR_P_STOP	m has p
 *	TR_P_TAKEN	m, the one that loses it, has p
 *	TR_CREATE*	g was unknown
 *	TR_STATUS	g was unknown; it has been in this state since the
 *			trace began, as far as is known
 *	TR_START	g is RUNNABLE; m has p and runs nothing. If it is made
 *			up, p may be NO_P: g was detached before it was seen;
 *			so in TR_RESUME
 *	TR_UNBLOCK	g is WAITING
 *	TR_BLOCK, TR_YIELD, TR_END
 *			m runs g; p is the P of m, or NO_P: it is detached
 *	TR_CALL_BEGIN	m runs g; g is in a call until TR_CALL_END
 *	TR_PAUSE	m runs g, which is RUNNABLE then, bound to m
 *	TR_RESUME	g is PAUSED; m runs it again, with p
 *
 * TR_TIME, TR_HIGH, TR_SITE, TR_THREAD and TR_STACK are not delivered: what
 * they say is in the other events.
 */
#ifndef EVENT_H
#define EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "../../src/trace/trace_format.h"

enum { NO_P = 0xffffffff };

enum {
	EVENT_MADE = 1,		/* not in the file: it must have been so */
	EVENT_MONITOR = 2	/* by the monitor */
};

/* States of a goroutine; the first five are those of TR_STATUS. */
enum g_state {
	G_DEAD, G_RUNNABLE, G_RUNNING, G_CALL, G_WAITING,
	G_PAUSED,
	G_UNBORN,		/* created further on in this trace */
	G_UNKNOWN
};

struct event {
	int64_t ns;		/* since the trace began; never less than
				 * before, except in TR_SAMPLE */
	uint64_t g;		/* what it is about, or 0 */
	uint64_t self;		/* what ran when it happened, or 0 */
	uint64_t extra;		/* TR_CREATE*, TR_STATUS: address of the site,
				 * or 0. Otherwise the first of `words` */
	const uint64_t *words;	/* those that follow the event, in the file, or
				 * NULL */
	uint32_t arg;
	uint32_t m;		/* 0: a thread that is no M: */
	uint32_t tid;		/* ... its id, or 0 */
	uint32_t p;		/* or NO_P */
	uint32_t stack;		/* 0: none; see stack.h */
	uint16_t text;		/* bytes of text, after the words */
	uint8_t type;		/* enum trace_type */
	uint8_t flags;
};

/* The text of a user's event or the name of TR_NAME: not terminated. */
static inline const char *
event_text(const struct event *e)
{
	static const uint8_t skip[TR_TYPES] = {
		[TR_TASK_BEGIN] = 2, [TR_REGION_BEGIN] = 1, [TR_LOG] = 1,
	};

	return e->words ? (const char *)(e->words + skip[e->type]) : "";
}

/* TR_STATUS: the state, and the number of the reason. */
static inline enum g_state
event_status(const struct event *e)
{
	return (enum g_state)(e->arg & 0xff);
}

static inline uint32_t
event_reason(const struct event *e)
{
	return e->type == TR_STATUS ? e->arg >> 8 : e->arg;
}

#endif
