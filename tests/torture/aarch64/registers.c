/* SPDX-License-Identifier: MIT */
/* See registers.h. */
#include "registers.h"

#include <string.h>

#include "torture.h"

/* ---- general registers: x2 to x17 and x20 to x27 hold a pattern ---- */

#define PAIRS(X) X(2, 3) X(4, 5) X(6, 7) X(8, 9) X(10, 11) X(12, 13) \
	X(14, 15) X(16, 17) X(20, 21) X(22, 23) X(24, 25) X(26, 27)
#define LOAD(a, b) "ldp x" #a ", x" #b ", [%0, #" #a "*8]\n\t"
#define SAVE(a, b) "stp x" #a ", x" #b ", [%0, #" #a "*8]\n\t"
#define INC(a, b) "add x" #a ", x" #a ", #1\n\tadd x" #b ", x" #b ", #1\n\t"

void
registers_general(uint64_t seed, uint64_t loops)
{
	uint64_t reg[32];
	register uint64_t *p __asm__("x0") = reg;
	register uint64_t n __asm__("x1") = loops;

	for (unsigned i = 0; i < 32; i++)
		reg[i] = seed * (i + 1) ^ 0x5555;
	__asm__ volatile(
		PAIRS(LOAD) "1:\t" PAIRS(INC)
		"subs %1, %1, #1\n\tb.ne 1b\n\t" PAIRS(SAVE)
		: "+r"(p), "+r"(n) : : "x2", "x3", "x4", "x5", "x6", "x7",
		"x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16",
		"x17", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27",
		"memory", "cc");
	for (unsigned i = 2; i < 28; i++)
		if (i != 18 && i != 19)
			MUST(reg[i] == (seed * (i + 1) ^ 0x5555) + loops);
}

/* ---- vectors: the last register is added to all others ---- */

#define EACH_31(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) \
	X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) \
	X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30)
#define LOAD_V(n) "ldr q" #n ", [%0, #" #n "*16]\n\t"
#define SAVE_V(n) "str q" #n ", [%0, #" #n "*16]\n\t"
#define ADD_V(n) "add v" #n ".4s, v" #n ".4s, v31.4s\n\t"

void
registers_vector(uint64_t seed, uint64_t loops)
{
	uint32_t v[32][4], was[32][4];
	uint32_t (*at)[4] = v;
	uint64_t n = loops;

	for (uint32_t i = 0; i < 32; i++)
		for (uint32_t k = 0; k < 4; k++)
			v[i][k] = (uint32_t)seed * (i + 1) + k * 0x01010101;
	memcpy(was, v, sizeof v);
	__asm__ volatile(
		EACH_31(LOAD_V) LOAD_V(31)
		"1:\t" EACH_31(ADD_V) "subs %1, %1, #1\n\tb.ne 1b\n\t"
		EACH_31(SAVE_V) SAVE_V(31)
		: "+r"(at), "+r"(n) : : "memory", "cc", "v0", "v1", "v2", "v3",
		"v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12",
		"v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21",
		"v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30",
		"v31");
	for (uint32_t i = 0; i < 32; i++)
		for (uint32_t k = 0; k < 4; k++)
			MUST(v[i][k] == was[i][k] + (uint32_t)loops *
			    (i < 31 ? was[31][k] : 0));
}

/* ---- control bits ---- */

const uint64_t registers_control_default = 0;
const uint64_t registers_control_up = UINT64_C(1) << 22;

uint64_t
registers_control(void)
{
	uint64_t bits;

	__asm__ volatile("mrs %0, fpcr" : "=r"(bits));
	return bits;
}

void
registers_control_set(uint64_t bits)
{
	__asm__ volatile("msr fpcr, %0" : : "r"(bits));
}
