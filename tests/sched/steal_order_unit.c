/* SPDX-License-Identifier: MIT */
/* Orders of stealing: each visits every P once; different draws differ. */
#include <string.h>

#include "steal_order.h"
#include "t.h"

static struct steal_order_table table;

static void
visit_all(uint32_t count, uint32_t random)
{
	static unsigned char seen[1024];
	struct steal_order o = steal_order_start(&table, random);
	uint32_t n = 0;

	memset(seen, 0, sizeof seen);
	for (; steal_order_more(&o); steal_order_next(&o), n++) {
		OK(o.pos < count);
		OK(!seen[o.pos]);
		seen[o.pos] = 1;
	}
	EQ(n, count);
}

TEST(every_p_once)
{
	for (uint32_t count = 1; count <= 64; count++) {
		steal_order_init(&table, count);
		for (uint32_t r = 0; r < count * table.n_strides; r++)
			visit_all(count, r);
	}
	steal_order_init(&table, 1024);
	for (uint32_t r = 0; r < 5000; r += 7)
		visit_all(1024, r);
}

TEST(start_and_stride_do_not_repeat)
{
	static unsigned char seen[64][65];

	for (uint32_t count = 1; count <= 64; count++) {
		steal_order_init(&table, count);
		memset(seen, 0, sizeof seen);
		for (uint32_t r = 0; r < count * table.n_strides; r++) {
			struct steal_order o = steal_order_start(&table, r);

			OK(!seen[o.pos][o.stride]);
			seen[o.pos][o.stride] = 1;
		}
	}
}

/* ---- near ones first ---- */

static a32 position[STEAL_ORDER_MAX];

/* Visits each once, and none before one that is nearer. */
static void
visit_near_first(uint32_t count, uint32_t random, uint32_t here)
{
	static unsigned char seen[STEAL_ORDER_MAX];
	struct near_order n;
	uint32_t visited = 0, last = 0;

	memset(seen, 0, sizeof seen);
	near_order_start(&n, &table, random, position, here);
	for (; near_order_more(&n); near_order_next(&n), visited++) {
		uint32_t d = topology_distance(here,
		    a_load_relaxed(&position[n.o.pos]));

		OK(n.o.pos < count && !seen[n.o.pos]);
		seen[n.o.pos] = 1;
		OK(d >= last);
		last = d;
		/* It moves after it was visited, and others before. */
		if (random % 3 == 0)
			last = 0;
		if (random % 3 == 0)
			a_store_relaxed(&position[(n.o.pos + 1) % count],
			    random << (visited % 32));
	}
	EQ(visited, count);
}

/* CPU i of a machine of 2 nodes x 4 caches x 8 cores x 2 threads. */
static uint32_t
made_up(uint32_t cpu)
{
	return cpu / 64 << TOPOLOGY_NODE_SHIFT |
	    cpu / 16 << TOPOLOGY_CORE_BITS | cpu / 2;
}

TEST(each_once_near_first)
{
	static const uint32_t counts[] = { 1, 2, 3, 64, 127, 128, 1024 };

	for (uint32_t c = 0; c < sizeof counts / sizeof *counts; c++) {
		steal_order_init(&table, counts[c]);
		for (uint32_t r = 0; r < 200; r++) {
			for (uint32_t i = 0; i < counts[c]; i++)
				a_store_relaxed(&position[i],
				    made_up((i * 37 + r) % 128));
			visit_near_first(counts[c], r * 7919,
			    made_up(r % 128));
		}
	}
}

/* Ps at one distance are in an order that differs from draw to draw. */
TEST(random_among_near)
{
	uint32_t first = 0;
	struct near_order n;

	steal_order_init(&table, 128);
	for (uint32_t i = 0; i < 128; i++)
		a_store_relaxed(&position[i], made_up(i));
	for (uint32_t r = 0; r < 128 * 64; r += 13) {
		near_order_start(&n, &table, r, position, made_up(0));
		OK(n.o.pos < 2);
		for (int i = 0; i < 2; i++)
			near_order_next(&n);
		OK(n.o.pos >= 2 && n.o.pos < 16);
		first |= 1u << n.o.pos;
	}
	EQ(first, 0xfffc);
}
