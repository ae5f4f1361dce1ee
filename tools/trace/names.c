/* SPDX-License-Identifier: MIT */
/* See names.h. */
#include "names.h"

#include <stddef.h>

#include "event.h"

#define NAME(table, i) \
	((i) < sizeof table / sizeof *table && table[i] ? table[i] : "?")

const char *
type_name(uint32_t type)
{
	static const char *const name[TR_TYPES] = {
		[TR_P_START] = "P start", [TR_P_STOP] = "P stop",
		[TR_P_TAKEN] = "P taken", [TR_STEAL] = "steal",
		[TR_PROCS] = "procs", [TR_CREATE] = "create",
		[TR_CREATE_WAITING] = "create waiting", [TR_NAME] = "name",
		[TR_START] = "start", [TR_BLOCK] = "block",
		[TR_YIELD] = "yield", [TR_END] = "end",
		[TR_UNBLOCK] = "unblock", [TR_CALL_BEGIN] = "call",
		[TR_CALL_END] = "call end", [TR_PAUSE] = "pause",
		[TR_RESUME] = "resume", [TR_STATUS] = "status",
		[TR_TIMERS] = "timers", [TR_NETPOLL] = "netpoll",
		[TR_WORLD_STOP] = "world stop",
		[TR_WORLD_START] = "world start",
		[TR_TASK_BEGIN] = "task begin", [TR_TASK_END] = "task end",
		[TR_REGION_BEGIN] = "region begin",
		[TR_REGION_END] = "region end", [TR_LOG] = "log",
		[TR_SAMPLE] = "sample", [TR_RUNNING] = "running",
	};

	return NAME(name, type);
}

const char *
state_name(uint32_t state)
{
	static const char *const name[] = {
		[G_DEAD] = "dead", [G_RUNNABLE] = "runnable",
		[G_RUNNING] = "running", [G_CALL] = "call",
		[G_WAITING] = "waiting", [G_PAUSED] = "paused",
	};

	return NAME(name, state);
}

const char *
stop_name(uint32_t why)
{
	static const char *const name[] = {
		[TRACE_STOP_IDLE] = "idle",
		[TRACE_STOP_WORLD] = "the world stops",
		[TRACE_STOP_CALL] = "call", [TRACE_STOP_OTHER] = "handed on",
	};

	return NAME(name, why);
}

const char *
taken_name(uint32_t why)
{
	static const char *const name[] = {
		[TRACE_TAKEN_CALL] = "in a call",
		[TRACE_TAKEN_BLOCKED] = "blocked in the kernel",
		[TRACE_TAKEN_RUNNING] = "computing",
	};

	return NAME(name, why);
}

const char *
yield_name(uint32_t why)
{
	static const char *const name[] = {
		[TRACE_YIELD_ASKED] = "yield",
		[TRACE_YIELD_PREEMPTED] = "preempted",
		[TRACE_YIELD_NO_P] = "no P",
	};

	return NAME(name, why);
}
