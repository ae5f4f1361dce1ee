/* SPDX-License-Identifier: MIT */
/* The hard mode's dice: one generator for all threads, races welcome. */
#include "hard.h"

#ifdef WEFT_HARD
#include "atomic.h"
#include "insn.h"
#include "os.h"

static a64 dice = { 0x9e3779b97f4a7c15u };

static uint32_t
throw_dice(void)
{
	uint64_t x = a_load_relaxed(&dice);

	x = x * 6364136223846793005u + 1442695040888963407u;
	a_store_relaxed(&dice, x);
	return (uint32_t)(x >> 33);
}

void
hard_pause(void)
{
	uint32_t d = throw_dice() % 1024;

	if (d == 0)
		os_thread_yield();
	else if (d < 32)
		for (uint32_t i = 0; i < d * 8; i++)
			cpu_relax();
}

bool
hard_coin(void)
{
	return throw_dice() & 1;
}
#endif
