/* SPDX-License-Identifier: MIT */
/* weft_config.max_threads: who needs one more dies. */
#include <stdint.h>

#include <weft.h>

#include "t.h"

static volatile bool forever = true;

__attribute__((constructor)) static void
set_limit(void)
{
	t_max_threads = 2;
}

static void
spin(void)
{
	while (forever)
		;
}

static void
be_busy(int n)
{
	for (int i = 0; i < n; i++)
		weft_go(spin);
	spin();
}

DIES(reached, 4, "thread limit reached: 2 threads in use")
{
	be_busy(4);
}

static weft_waitgroup all;
static int here;

static void
meet(void)
{
	__atomic_add_fetch(&here, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&here, __ATOMIC_SEQ_CST) < 2)
		;
	weft_waitgroup_done(&all);
}

/* Two threads are two: as many as two processors need. */
GTEST(not_reached, 2)
{
	weft_stats s;

	weft_waitgroup_add(&all, 2);
	OK(weft_go(meet) > 0);
	OK(weft_go(meet) > 0);
	weft_waitgroup_wait(&all);
	weft_stats_read(&s);
	EQ(s.threads, 2);
}
