/* SPDX-License-Identifier: MIT */
/* See registers.h. */
#include "registers.h"

#include <string.h>

#include "torture.h"

/* ---- general registers: 13 hold a pattern, rdi points here ---- */

struct general {
	uint64_t loops;
	uint64_t reg[13];
};

void
registers_general(uint64_t seed, uint64_t loops)
{
	struct general g = { loops, {0} }, *p = &g;

	for (unsigned i = 0; i < 13; i++)
		g.reg[i] = seed * (i + 1) ^ 0x5555;
	__asm__ volatile(
		"movq 8(%0), %%rax\n\tmovq 16(%0), %%rbx\n\t"
		"movq 24(%0), %%rcx\n\tmovq 32(%0), %%rdx\n\t"
		"movq 40(%0), %%rsi\n\tmovq 48(%0), %%r8\n\t"
		"movq 56(%0), %%r9\n\tmovq 64(%0), %%r10\n\t"
		"movq 72(%0), %%r11\n\tmovq 80(%0), %%r12\n\t"
		"movq 88(%0), %%r13\n\tmovq 96(%0), %%r14\n\t"
		"movq 104(%0), %%r15\n"
		"1:\tincq %%rax\n\tincq %%rbx\n\tincq %%rcx\n\tincq %%rdx\n\t"
		"incq %%rsi\n\tincq %%r8\n\tincq %%r9\n\tincq %%r10\n\t"
		"incq %%r11\n\tincq %%r12\n\tincq %%r13\n\tincq %%r14\n\t"
		"incq %%r15\n\tdecq (%0)\n\tjnz 1b\n\t"
		"movq %%rax, 8(%0)\n\tmovq %%rbx, 16(%0)\n\t"
		"movq %%rcx, 24(%0)\n\tmovq %%rdx, 32(%0)\n\t"
		"movq %%rsi, 40(%0)\n\tmovq %%r8, 48(%0)\n\t"
		"movq %%r9, 56(%0)\n\tmovq %%r10, 64(%0)\n\t"
		"movq %%r11, 72(%0)\n\tmovq %%r12, 80(%0)\n\t"
		"movq %%r13, 88(%0)\n\tmovq %%r14, 96(%0)\n\t"
		"movq %%r15, 104(%0)"
		: "+D"(p) : : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9",
		"r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc");
	MUST(p == &g);
	for (unsigned i = 0; i < 13; i++)
		MUST(g.reg[i] == (seed * (i + 1) ^ 0x5555) + loops);
}

/* ---- vectors: the last register is added to all others ---- */

#define EACH_15(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) \
	X(11) X(12) X(13) X(14)
#define EACH_31(X) EACH_15(X) X(15) X(16) X(17) X(18) X(19) X(20) X(21) \
	X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30)

enum { LANES = 16, ALL = 32 };	/* 32-bit lanes of the widest */

static void
fill(uint32_t v[ALL][LANES], uint64_t seed)
{
	for (uint32_t i = 0; i < ALL; i++)
		for (uint32_t k = 0; k < LANES; k++)
			v[i][k] = (uint32_t)seed * (i + 1) + k * 0x01010101;
}

static void
check(uint32_t v[ALL][LANES], uint64_t seed, uint32_t n, uint32_t lanes,
    uint64_t loops)
{
	uint32_t was[ALL][LANES];

	fill(was, seed);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < lanes; k++)
			MUST(v[i][k] == was[i][k] + (uint32_t)loops *
			    (i < n - 1 ? was[n - 1][k] : 0));
}

/* Register i is at i * 64 in all cases. */
#define LOAD_X(n) "movdqu " #n "*64(%0), %%xmm" #n "\n\t"
#define SAVE_X(n) "movdqu %%xmm" #n ", " #n "*64(%0)\n\t"
#define ADD_X(n) "paddd %%xmm15, %%xmm" #n "\n\t"
#define LOAD_Y(n) "vmovdqu " #n "*64(%0), %%ymm" #n "\n\t"
#define SAVE_Y(n) "vmovdqu %%ymm" #n ", " #n "*64(%0)\n\t"
#define ADD_Y(n) "vpaddd %%ymm15, %%ymm" #n ", %%ymm" #n "\n\t"
#define LOAD_Z(n) "vmovdqu64 " #n "*64(%0), %%zmm" #n "\n\t"
#define SAVE_Z(n) "vmovdqu64 %%zmm" #n ", " #n "*64(%0)\n\t"
#define ADD_Z(n) "vpaddd %%zmm31, %%zmm" #n ", %%zmm" #n "\n\t"
#define LOW "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", \
	"xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"
#define HIGH "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", \
	"xmm23", "xmm24", "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", \
	"xmm30", "xmm31"

static void
loop_128(uint32_t v[ALL][LANES], uint64_t loops)
{
	__asm__ volatile(
		EACH_15(LOAD_X) LOAD_X(15)
		"1:\t" EACH_15(ADD_X) "decq %1\n\tjnz 1b\n\t"
		EACH_15(SAVE_X) SAVE_X(15)
		: "+r"(v), "+r"(loops) : : "memory", "cc", LOW);
}

static __attribute__((target("avx2"))) void
loop_256(uint32_t v[ALL][LANES], uint64_t loops)
{
	__asm__ volatile(
		EACH_15(LOAD_Y) LOAD_Y(15)
		"1:\t" EACH_15(ADD_Y) "decq %1\n\tjnz 1b\n\t"
		EACH_15(SAVE_Y) SAVE_Y(15) "vzeroupper"
		: "+r"(v), "+r"(loops) : : "memory", "cc", LOW);
}

static __attribute__((target("avx512f"))) void
loop_512(uint32_t v[ALL][LANES], uint64_t loops)
{
	__asm__ volatile(
		EACH_31(LOAD_Z) LOAD_Z(31)
		"1:\t" EACH_31(ADD_Z) "decq %1\n\tjnz 1b\n\t"
		EACH_31(SAVE_Z) SAVE_Z(31) "vzeroupper"
		: "+r"(v), "+r"(loops) : : "memory", "cc", LOW, HIGH);
}

/* The masks k1 to k7, which nothing changes. */
static __attribute__((target("avx512f"))) void
masks(uint64_t seed, uint64_t loops)
{
	uint32_t k[8], got[8], *from = k, *to = got;

	for (unsigned i = 0; i < 8; i++)
		k[i] = (uint32_t)(seed * (i + 3)) & 0xffff;
	__asm__ volatile(
		"kmovw 4(%0), %%k1\n\tkmovw 8(%0), %%k2\n\t"
		"kmovw 12(%0), %%k3\n\tkmovw 16(%0), %%k4\n\t"
		"kmovw 20(%0), %%k5\n\tkmovw 24(%0), %%k6\n\t"
		"kmovw 28(%0), %%k7\n1:\tdecq %2\n\tjnz 1b\n\t"
		"kmovw %%k1, 4(%1)\n\tkmovw %%k2, 8(%1)\n\t"
		"kmovw %%k3, 12(%1)\n\tkmovw %%k4, 16(%1)\n\t"
		"kmovw %%k5, 20(%1)\n\tkmovw %%k6, 24(%1)\n\t"
		"kmovw %%k7, 28(%1)"
		: "+r"(from), "+r"(to), "+r"(loops) : : "memory", "cc", "k1",
		"k2", "k3", "k4", "k5", "k6", "k7");
	for (unsigned i = 1; i < 8; i++)
		SAME(got[i] & 0xffff, k[i]);
}

/* The eight of the old unit, full. */
static void
stacked(uint64_t seed, uint64_t loops)
{
	double d[8], got[8], *from = d, *to = got;

	for (unsigned i = 0; i < 8; i++)
		d[i] = (double)(seed % 1000003) * (i + 1);
	__asm__ volatile(
		"fldl (%0)\n\tfldl 8(%0)\n\tfldl 16(%0)\n\tfldl 24(%0)\n\t"
		"fldl 32(%0)\n\tfldl 40(%0)\n\tfldl 48(%0)\n\tfldl 56(%0)\n"
		"1:\tdecq %2\n\tjnz 1b\n\t"
		"fstpl 56(%1)\n\tfstpl 48(%1)\n\tfstpl 40(%1)\n\t"
		"fstpl 32(%1)\n\tfstpl 24(%1)\n\tfstpl 16(%1)\n\t"
		"fstpl 8(%1)\n\tfstpl (%1)"
		: "+r"(from), "+r"(to), "+r"(loops) : : "memory", "cc", "st",
		"st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)");
	MUST(memcmp(d, got, sizeof d) == 0);
}

void
registers_vector(uint64_t seed, uint64_t loops)
{
	uint32_t v[ALL][LANES];

	fill(v, seed);
	loop_128(v, loops);
	check(v, seed, 16, 4, loops);
	stacked(seed, loops * 4);
	if (__builtin_cpu_supports("avx2")) {
		fill(v, seed);
		loop_256(v, loops);
		check(v, seed, 16, 8, loops);
	}
	if (__builtin_cpu_supports("avx512f")) {
		fill(v, seed);
		loop_512(v, loops);
		check(v, seed, 32, 16, loops);
		masks(seed, loops * 4);
	}
}

/* ---- control bits of both units ---- */

const uint64_t registers_control_default = UINT64_C(0x37f) << 32 | 0x1f80;
const uint64_t registers_control_up = UINT64_C(0xb7f) << 32 | 0x5f80;

uint64_t
registers_control(void)
{
	uint32_t mxcsr;
	uint16_t cw;

	__asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(cw));
	return (uint64_t)cw << 32 | (mxcsr & 0xffc0);
}

void
registers_control_set(uint64_t bits)
{
	uint32_t mxcsr = (uint32_t)bits;
	uint16_t cw = (uint16_t)(bits >> 32);

	__asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(mxcsr), "m"(cw));
}
