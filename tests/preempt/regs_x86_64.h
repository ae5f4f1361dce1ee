/* SPDX-License-Identifier: MIT */
/* For sigframes.c: all registers of x86-64, loaded and stored at once. */
#include <cpuid.h>

_Static_assert((int)GREG_R8 == REG_R8 && (int)GREG_RDI == REG_RDI &&
    (int)GREG_RAX == REG_RAX && (int)GREG_RCX == REG_RCX &&
    (int)GREG_RSP == REG_RSP && (int)GREG_RIP == REG_RIP &&
    (int)GREG_FLAGS == REG_EFL, "as libc has them");

enum { FLAGS_TESTED = 0xcd5 };		/* CF PF AF ZF SF DF OF */

struct regs {
	uint64_t gpr[15];		/* all but rsp */
	uint64_t flags;
	uint64_t red[16];
	uint64_t mask;			/* for xsave */
	unsigned char x[4096] __attribute__((aligned(64)));
};
_Static_assert(offsetof(struct regs, flags) == 120 &&
    offsetof(struct regs, red) == 128 && offsetof(struct regs, mask) == 256 &&
    offsetof(struct regs, x) == 320, "asm below");

void window(const struct regs *in, struct regs *out);
__asm__(
"	.text\n"
"	.type	window, @function\n"
"window:\n"
"	pushq	%rbx\n"
"	pushq	%rbp\n"
"	pushq	%r12\n"
"	pushq	%r13\n"
"	pushq	%r14\n"
"	pushq	%r15\n"
"	subq	$32, %rsp\n"
"	movq	%rsi, (%rsp)\n"
"	fnstcw	16(%rsp)\n"
"	stmxcsr	20(%rsp)\n"
"	movl	256(%rdi), %eax\n"
"	xorl	%edx, %edx\n"
"	xrstor64 320(%rdi)\n"
"	pushq	120(%rdi)\n"
"	popfq\n"
"	.set	i, 0\n"
"	.rept	16\n"
"	movq	128+8*i(%rdi), %rax\n"
"	movq	%rax, -8-8*i(%rsp)\n"
"	.set	i, i+1\n"
"	.endr\n"
"	movq	0(%rdi), %rax\n"
"	movq	8(%rdi), %rcx\n"
"	movq	16(%rdi), %rdx\n"
"	movq	24(%rdi), %rbx\n"
"	movq	32(%rdi), %rsi\n"
"	movq	48(%rdi), %rbp\n"
"	movq	56(%rdi), %r8\n"
"	movq	64(%rdi), %r9\n"
"	movq	72(%rdi), %r10\n"
"	movq	80(%rdi), %r11\n"
"	movq	88(%rdi), %r12\n"
"	movq	96(%rdi), %r13\n"
"	movq	104(%rdi), %r14\n"
"	movq	112(%rdi), %r15\n"
"	movq	40(%rdi), %rdi\n"
"	.rept	200\n"
"	pause\n"
"	nop\n"
"	.endr\n"
"	movq	%rax, 24(%rsp)\n"
"	movq	(%rsp), %rax\n"
"	movq	%rcx, 8(%rax)\n"
"	movq	%rdx, 16(%rax)\n"
"	movq	%rbx, 24(%rax)\n"
"	movq	%rsi, 32(%rax)\n"
"	movq	%rdi, 40(%rax)\n"
"	movq	%rbp, 48(%rax)\n"
"	movq	%r8, 56(%rax)\n"
"	movq	%r9, 64(%rax)\n"
"	movq	%r10, 72(%rax)\n"
"	movq	%r11, 80(%rax)\n"
"	movq	%r12, 88(%rax)\n"
"	movq	%r13, 96(%rax)\n"
"	movq	%r14, 104(%rax)\n"
"	movq	%r15, 112(%rax)\n"
"	movq	24(%rsp), %rcx\n"
"	movq	%rcx, 0(%rax)\n"
"	.set	i, 0\n"
"	.rept	16\n"
"	movq	-8-8*i(%rsp), %rcx\n"
"	movq	%rcx, 128+8*i(%rax)\n"
"	.set	i, i+1\n"
"	.endr\n"
"	pushfq\n"
"	popq	120(%rax)\n"
"	cld\n"
"	movq	%rax, %rdi\n"
"	movl	256(%rdi), %eax\n"
"	xorl	%edx, %edx\n"
"	xsave64	320(%rdi)\n"
"	fninit\n"
"	fldcw	16(%rsp)\n"
"	ldmxcsr	20(%rsp)\n"
"	addq	$32, %rsp\n"
"	popq	%r15\n"
"	popq	%r14\n"
"	popq	%r13\n"
"	popq	%r12\n"
"	popq	%rbp\n"
"	popq	%rbx\n"
"	ret\n"
"	.size	window, . - window\n");

/* AVX and AVX-512: those parts of the state beyond the first 512 bytes. */
enum { XSTATE_TESTED = 0xe7 };
static struct { uint32_t at, bytes; } part[8];
static uint64_t parts;

static void
regs_init(void)
{
	uint32_t a, b, c, d;

	__cpuid(1, a, b, c, d);
	if (!(c & 1 << 27))
		t_skip("no xsave");
	parts = xstate_enabled() & XSTATE_TESTED;
	for (int i = 2; i < 8; i++) {
		__cpuid_count(0xd, i, a, b, c, d);
		if (!(parts & 1 << i))
			continue;
		part[i].bytes = a;
		part[i].at = b;
		if (a + b > sizeof(((struct regs *)NULL)->x))
			abort();
	}
	printf("# vector state %#lx\n", (unsigned long)parts);
}

static void
regs_fill(struct regs *r, uint64_t *seed)
{
	uint16_t cw, sw;
	uint32_t mxcsr;
	uint64_t rnd = 0;

	scramble(r, sizeof *r, seed);
	scramble(&rnd, 8, seed);
	r->flags = (r->flags & FLAGS_TESTED) | 0x202;
	r->mask = parts;
	cw = (uint16_t)(0x7f | (rnd & 0xc00) | (rnd & 1 ? 0x300 : 0x200));
	sw = (uint16_t)(rnd >> 16 & 0x7f3f);
	mxcsr = 0x1f80 | (rnd >> 32 & 0xe07f);
	memcpy(r->x, &cw, 2);
	memcpy(r->x + 2, &sw, 2);
	memset(r->x + 5, 0, 19);
	memcpy(r->x + 24, &mxcsr, 4);
	memset(r->x + 512, 0, 64);
	memcpy(r->x + 512, &parts, 8);
}

static void
regs_clear(struct regs *r)
{
	memset(r, 0, sizeof *r);
	r->mask = parts;
}

static void
regs_compare(struct g *g, const struct regs *a, const struct regs *b)
{
	if (memcmp(a->gpr, b->gpr, sizeof a->gpr))
		bad(g, "a general register");
	if ((a->flags ^ b->flags) & FLAGS_TESTED)
		bad(g, "flags");
	if (memcmp(a->red, b->red, sizeof a->red))
		bad(g, "the red zone");
	/* a status word's bit 6 is an x87 stack fault, bits 7 and 15 follow */
	if (memcmp(a->x, b->x, 5))
		bad(g, "x87 control, status or tags");
	if (memcmp(a->x + 24, b->x + 24, 4))
		bad(g, "mxcsr");
	for (int i = 0; i < 8; i++)
		if (memcmp(a->x + 32 + 16 * i, b->x + 32 + 16 * i, 10))
			bad(g, "an x87 register");
	if (memcmp(a->x + 160, b->x + 160, 256))
		bad(g, "an xmm register");
	for (int i = 2; i < 8; i++)
		if (memcmp(a->x + part[i].at, b->x + part[i].at, part[i].bytes))
			bad(g, "the upper part of a vector register");
}

static bool
state_is_usual(void)
{
	struct { uint16_t cw, p0, sw, p1, tag, p2; uint32_t rest[4]; } env;
	uint64_t flags;
	uint32_t mxcsr;

	__asm__ volatile("fnstenv %0\n\tfldcw %0" : "=m"(env));
	__asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
	__asm__ volatile("pushfq\n\tpopq %0" : "=r"(flags));
	return env.cw == 0x37f && env.tag == 0xffff &&
	    (mxcsr & 0xffc0) == 0x1f80 && !(flags & FLAGS_STRANGE);
}

static bool
at_call(const ucontext_t *uc, long nr)
{
	return !memcmp((void *)sigframe_pc(uc), "\x0f\x05", 2) &&
	    uc->uc_mcontext.gregs[REG_RAX] == nr;
}

static void
windows(const struct regs *in, struct regs *out)
{
	window(in, out);
}

static bool
regs_plausible(const ucontext_t *uc)
{
	uintptr_t r[DWARF_REGS];
	const greg_t *a = uc->uc_mcontext.gregs;
	const int dwarf[DWARF_REGS] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX,
	    REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8, REG_R9, REG_R10,
	    REG_R11, REG_R12, REG_R13, REG_R14, REG_R15 };

	if (dwarf_context(uc, r) != (uintptr_t)a[REG_RIP])
		return false;
	for (int i = 0; i < DWARF_RA; i++)
		if (r[i] != (uintptr_t)a[dwarf[i]])
			return false;
	return true;
}
