/* SPDX-License-Identifier: MIT */
/* Hard mode: one generator for all threads; races on it are welcome. */
#include "hard.h"

#ifdef WEFT_HARD
#include "atomic.h"
#include "insn.h"
#include "os.h"

static a64 state = { 0x9e3779b97f4a7c15u };

static uint32_t
next_random(void)
{
	uint64_t x = a_load_relaxed(&state);

	x = x * 6364136223846793005u + 1442695040888963407u;
	a_store_relaxed(&state, x);
	return (uint32_t)(x >> 33);
}

void
hard_pause(void)
{
	uint32_t d = next_random() % 1024;

	if (d == 0)
		os_thread_yield();
	else if (d < 32)
		for (uint32_t i = 0; i < d * 8; i++)
			cpu_relax();
}

bool
hard_coin(void)
{
	return next_random() & 1;
}
#endif
