/* SPDX-License-Identifier: MIT */
/*
 * The table for debuggers; layout.h says how it is read. Constant, and never
 * read by the library itself.
 */
#include "layout.h"

#include "g.h"
#include "sched.h"
#include "sigframe.h"
#include "slab.h"
#include "stack.h"
#include "text.h"

#define FIELD(type, member) {						\
	#type "." #member, { .number = offsetof(struct type, member) },	\
	sizeof(((struct type *)0)->member), 0 }
#define SIZE(type) { "sizeof " #type, { .number = sizeof(struct type) }, 0, 0 }
#define NUMBER(n) { #n, { .number = n }, 0, 0 }
#define ADDRESS(object) { "&" #object, { .address = &object }, 0, 0 }
#define NAMES(array) { "&" #array, { .address = array }, sizeof(array), 0 }
#define CODE(name) { "&" #name, { .address = (const void *)name }, 0, 0 }

static const char *const p_state_names[] = {
	[P_DEAD] = "dead",
	[P_IDLE] = "idle",
	[P_RUNNING] = "running",
	[P_STOPPED] = "stopped",
};

static const char *const detached_names[] = {
	[DETACHED_NOT] = "",
	[DETACHED_CALL] = "in a blocking call",
	[DETACHED_BLOCKED] = "blocked in the kernel",
	[DETACHED_RUNNING] = "it computed",
};

static const struct debug_entry entries[] = {
	ADDRESS(g_slab), ADDRESS(m_slab), ADDRESS(sched),
	ADDRESS(g_main_site),
	NAMES(g_state_names), NAMES(g_reason_names),
	NAMES(p_state_names), NAMES(detached_names),
	CODE(__start_weft_text), CODE(__stop_weft_text),
	CODE(__start_weft_calls), CODE(__stop_weft_calls),
	CODE(frame_entry), CODE(frame_entry_end), CODE(preempt_return),

	NUMBER(CHUNK_BYTES), SIZE(chunk),
	FIELD(slab, record_bytes), FIELD(slab, chunks),
	FIELD(chunk, next), FIELD(chunk, used),

	NUMBER(G_RUNNABLE), NUMBER(G_RUNNING), NUMBER(G_CALL),
	NUMBER(G_WAITING), NUMBER(HOLD_PIN),
	SIZE(g),
	FIELD(g, state), FIELD(g, hold), FIELD(g, named), FIELD(g, id),
	FIELD(g, fn), FIELD(g, site), FIELD(g, stack), FIELD(g, name),
	FIELD(g, reason), FIELD(g, paused),
	FIELD(g, frame.sp), FIELD(g, frame.bp), FIELD(g, frame.pc),
	SIZE(stack), FIELD(stack, pin), FIELD(stack, lo),
	FIELD(weft_site, fn), FIELD(weft_site, file), FIELD(weft_site, line),

	NUMBER(P_RUNNING),
	SIZE(m),
	FIELD(m, pp), FIELD(m, inside), FIELD(m, in_call), FIELD(m, curg),
	FIELD(m, prev_g), FIELD(m, can_signal), FIELD(m, tid), FIELD(m, id),
	FIELD(m, pinned), FIELD(m, detached), FIELD(m, spinning),
	FIELD(m, idle), FIELD(m, paused), FIELD(m, own_lo), FIELD(m, own_hi),

	SIZE(p), NUMBER(PROCS_MAX), NUMBER(RUNQ_SIZE),
	FIELD(p, id), FIELD(p, state), FIELD(p, mp),
	FIELD(p, q.head), FIELD(p, q.tail), FIELD(p, q.next),
	FIELD(p, q.deque.top), FIELD(p, q.deque.bottom),
	FIELD(p, timers.n),

	FIELD(sched, stopping), FIELD(sched, procs), FIELD(sched, n_m),
	FIELD(sched, n_idle_m), FIELD(sched, n_spinning),
	FIELD(sched, n_paused), FIELD(sched, globq.n), FIELD(sched, allp),
};

/* The linker may not drop it, though nothing refers to it. */
__attribute__((used)) public const struct debug_layout weft_debug_layout_ = {
	.magic = DEBUG_LAYOUT_MAGIC,
	.version = DEBUG_LAYOUT_VERSION,
	.entry_bytes = sizeof(struct debug_entry),
	.entry = entries,
	.entries = countof(entries),
};
