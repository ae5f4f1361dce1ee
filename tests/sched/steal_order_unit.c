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
