/* SPDX-License-Identifier: MIT */
/*
 * The table for debuggers. What is read through it alone, as a debugger does,
 * must be what the headers say.
 */
#include "layout.h"

#include <string.h>

#include "g.h"
#include "sched.h"
#include "slab.h"
#include "t.h"
#include "text.h"
#include "weft.h"

static const struct debug_entry *
entry(const char *name)
{
	const struct debug_layout *l = &weft_debug_layout_;

	for (uint64_t i = 0; i < l->entries; i++)
		if (!strcmp(l->entry[i].name, name))
			return &l->entry[i];
	t_fail(__FILE__, __LINE__, name);
	return &l->entry[0];
}

static uint64_t
value(const char *name)
{
	return entry(name)->value.number;
}

/* A member of the object there, as wide as the table says. */
static uint64_t
member(const void *object, const char *name)
{
	const struct debug_entry *e = entry(name);
	uint64_t v = 0;

	memcpy(&v, (const char *)object + e->value.number,
	    e->bytes < sizeof v ? e->bytes : sizeof v);
	return v;
}

static const void *
pointer(const void *object, const char *name)
{
	return (const void *)(uintptr_t)member(object, name);
}

TEST(head)
{
	const struct debug_layout *l = &weft_debug_layout_;

	OK(!memcmp(l->magic, "weft layout\r\n\x1a\0\0", sizeof l->magic));
	EQ(l->version, DEBUG_LAYOUT_VERSION);
	EQ(l->entry_bytes, 40);
	EQ(sizeof *l, 40);
	OK(l->entries > 50);
}

TEST(names_differ_and_end)
{
	const struct debug_layout *l = &weft_debug_layout_;

	for (uint64_t i = 0; i < l->entries; i++) {
		const char *name = l->entry[i].name;

		OK(name[0] && !name[sizeof l->entry[i].name - 1]);
		OK(entry(name) == &l->entry[i]);
	}
}

#define IS(type, field) do {						\
	EQ(value(#type "." #field), offsetof(struct type, field));	\
	EQ(entry(#type "." #field)->bytes,				\
	    sizeof(((struct type *)0)->field));				\
} while (0)

TEST(offsets)
{
	IS(g, state);
	IS(g, id);
	IS(g, stack);
	IS(g, frame.sp);
	IS(g, frame.bp);
	IS(g, frame.pc);
	IS(m, curg);
	IS(m, prev_g);
	IS(m, tid);
	IS(m, own_hi);
	IS(p, mp);
	IS(p, q.deque.bottom);
	IS(sched, allp);
	EQ(value("sizeof chunk"), sizeof(struct chunk));
	EQ(value("G_WAITING"), G_WAITING);
	EQ(value("HOLD_PIN"), HOLD_PIN);
	OK(entry("&sched")->value.address == &sched);
	OK(text_is_ours((uintptr_t)value("&frame_entry")));
}

/* The record of that id, found through the table alone. */
static const char *
find(int64_t id)
{
	const void *slab = (const void *)(uintptr_t)value("&g_slab");
	uint64_t bytes = member(slab, "slab.record_bytes");
	const char *c = pointer(slab, "slab.chunks");

	for (; c; c = pointer(c, "chunk.next")) {
		const char *rec = c + value("sizeof chunk");
		uint64_t n = member(c, "chunk.used");

		for (; n; n--, rec += bytes)
			if (member(rec, "g.state") &&
			    (int64_t)member(rec, "g.id") == id)
				return rec;
	}
	return NULL;
}

static const char *
word_of(const char *table, uint64_t i)
{
	const struct debug_entry *e = entry(table);
	const char *const *names = e->value.address;

	return i < e->bytes / sizeof *names ? names[i] : "?";
}

static int64_t id;

static void
waits(weft_chan *c)
{
	int v;

	id = weft_self_id();
	weft_recv_ok(c, &v);
}

GTEST(a_parked_goroutine, 1)
{
	weft_chan *c = weft_chan_make(sizeof(int), 0);
	weft_opt opt = { .name = "parked" };
	const char *rec, *stack, *sp;

	weft_go_opt(opt, waits, c);
	do {
		weft_yield();
		rec = find(id);
	} while (!rec || member(rec, "g.state") != G_WAITING);
	OK(!strcmp(word_of("&g_state_names", member(rec, "g.state")),
	    "waiting"));
	OK(!strcmp(word_of("&g_reason_names", member(rec, "g.reason")),
	    "channel receive"));
	OK(!strcmp(rec + value("g.name"), "parked"));
	OK(!strcmp(pointer(pointer(rec, "g.site"), "weft_site.fn"), "waits"));
	stack = pointer(rec, "g.stack");
	sp = pointer(rec, "g.frame.sp");
	OK(sp < stack && sp >= (const char *)pointer(stack, "stack.lo"));
	OK(text_is_ours((uintptr_t)member(rec, "g.frame.pc")));
	weft_chan_close(c);
	weft_chan_release(c);
}

GTEST(the_running_one, 1)
{
	const char *rec = find(weft_self_id());

	OK(pointer(m_self(), "m.curg") == rec);
	EQ(member(m_self(), "m.tid"), os_thread_id());
	OK(pointer(m_p(m_self()), "p.mp") == m_self());
}
