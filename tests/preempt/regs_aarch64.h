/* SPDX-License-Identifier: MIT */
/* For sigframes.c: all registers of aarch64, loaded and stored at once. */
#include <sys/auxv.h>

struct regs {
	uint64_t x[31];
	uint64_t nzcv;
	uint64_t fpcr, fpsr;
	uint64_t unused[2];
	unsigned char v[32][16];
	uint64_t vl;			/* of SVE, or 0 */
	uint64_t unused2;
	unsigned char z[32 * 256], p[16 * 32], ffr[32];
};
_Static_assert(offsetof(struct regs, nzcv) == 248 &&
    offsetof(struct regs, v) == 288 && offsetof(struct regs, z) == 816 &&
    offsetof(struct regs, p) == 9008 && offsetof(struct regs, ffr) == 9520,
    "asm below");

/* They jump while they wait, since an emulator takes signals only there. */
void window(const struct regs *in, struct regs *out);
void window_sve(const struct regs *in, struct regs *out);
__asm__(
"	.text\n"
"	.macro	enter\n"
"	stp	x29, x30, [sp, #-192]!\n"
"	stp	x19, x20, [sp, #16]\n"
"	stp	x21, x22, [sp, #32]\n"
"	stp	x23, x24, [sp, #48]\n"
"	stp	x25, x26, [sp, #64]\n"
"	stp	x27, x28, [sp, #80]\n"
"	stp	d8, d9, [sp, #96]\n"
"	stp	d10, d11, [sp, #112]\n"
"	stp	d12, d13, [sp, #128]\n"
"	stp	d14, d15, [sp, #144]\n"
"	stp	x1, x18, [sp, #160]\n"
"	.endm\n"
"	.macro	leave\n"
"	msr	fpcr, xzr\n"
"	ldr	x18, [sp, #168]\n"
"	ldp	x19, x20, [sp, #16]\n"
"	ldp	x21, x22, [sp, #32]\n"
"	ldp	x23, x24, [sp, #48]\n"
"	ldp	x25, x26, [sp, #64]\n"
"	ldp	x27, x28, [sp, #80]\n"
"	ldp	d8, d9, [sp, #96]\n"
"	ldp	d10, d11, [sp, #112]\n"
"	ldp	d12, d13, [sp, #128]\n"
"	ldp	d14, d15, [sp, #144]\n"
"	ldp	x29, x30, [sp], #192\n"
"	ret\n"
"	.endm\n"
"	.macro	linger\n"
"	.rept	200\n"
"	b	. + 4\n"
"	.endr\n"
"	.endm\n"
"	.type	window, %function\n"
"window:\n"
"	enter\n"
"	ldp	x2, x3, [x0, #248]\n"
"	ldr	x4, [x0, #264]\n"
"	msr	nzcv, x2\n"
"	msr	fpcr, x3\n"
"	msr	fpsr, x4\n"
"	add	x1, x0, #288\n"
"	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,"
	"22,23,24,25,26,27,28,29,30,31\n"
"	ldr	q\\n, [x1], #16\n"
"	.endr\n"
"	.irp	n, 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,"
	"22,23,24,25,26,27,28,29,30\n"
"	ldr	x\\n, [x0, #8 * \\n]\n"
"	.endr\n"
"	ldr	x0, [x0]\n"
"	linger\n"
"	str	x0, [sp, #176]\n"
"	ldr	x0, [sp, #160]\n"
"	.irp	n, 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,"
	"22,23,24,25,26,27,28,29,30\n"
"	str	x\\n, [x0, #8 * \\n]\n"
"	.endr\n"
"	ldr	x1, [sp, #176]\n"
"	str	x1, [x0]\n"
"	mrs	x2, nzcv\n"
"	mrs	x3, fpcr\n"
"	mrs	x4, fpsr\n"
"	stp	x2, x3, [x0, #248]\n"
"	str	x4, [x0, #264]\n"
"	add	x1, x0, #288\n"
"	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,"
	"22,23,24,25,26,27,28,29,30,31\n"
"	str	q\\n, [x1], #16\n"
"	.endr\n"
"	leave\n"
"	.size	window, . - window\n"
"	.arch_extension sve\n"
"	.type	window_sve, %function\n"
"window_sve:\n"
"	enter\n"
"	add	x2, x0, #816\n"
"	mov	x3, #9008\n"
"	add	x3, x0, x3\n"
"	mov	x4, #9520\n"
"	add	x4, x0, x4\n"
"	ldr	p0, [x4]\n"
"	wrffr	p0.b\n"
"	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
"	ldr	p\\n, [x3, #\\n, mul vl]\n"
"	.endr\n"
"	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,"
	"22,23,24,25,26,27,28,29,30,31\n"
"	ldr	z\\n, [x2, #\\n, mul vl]\n"
"	.endr\n"
"	linger\n"
"	ldr	x0, [sp, #160]\n"
"	add	x2, x0, #816\n"
"	mov	x3, #9008\n"
"	add	x3, x0, x3\n"
"	mov	x4, #9520\n"
"	add	x4, x0, x4\n"
"	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,"
	"22,23,24,25,26,27,28,29,30,31\n"
"	str	z\\n, [x2, #\\n, mul vl]\n"
"	.endr\n"
"	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
"	str	p\\n, [x3, #\\n, mul vl]\n"
"	.endr\n"
"	rdffr	p0.b\n"
"	str	p0, [x4]\n"
"	leave\n"
"	.size	window_sve, . - window_sve\n"
"	.type	sve_bytes, %function\n"
"sve_bytes:\n"
"	rdvl	x0, #1\n"
"	ret\n"
"	.size	sve_bytes, . - sve_bytes\n"
"	.arch_extension nosve\n");

uint64_t sve_bytes(void);
static uint64_t vl;

static void
regs_init(void)
{
	if (getauxval(AT_HWCAP) & HWCAP_SVE)
		vl = sve_bytes();
	printf("# SVE registers of %d bytes\n", (int)vl);
}

static void
regs_fill(struct regs *r, uint64_t *seed)
{
	scramble(r, sizeof *r, seed);
	r->nzcv &= UINT64_C(0xf0000000);
	r->fpcr &= UINT64_C(3) << 22;	/* rounding */
	r->fpsr &= UINT64_C(0x0800009f);
	r->vl = vl;
	/* a first-fault register holds the first elements, and no others */
	memset(r->ffr, 0, sizeof r->ffr);
	memset(r->ffr, 0xff, *seed % (vl / 8 + 1));
}

static void
regs_clear(struct regs *r)
{
	memset(r, 0, sizeof *r);
}

static void
regs_compare(struct g *g, const struct regs *a, const struct regs *b)
{
	if (memcmp(a->x, b->x, sizeof a->x))
		bad(g, "a general register");
	if (a->nzcv != b->nzcv)
		bad(g, "flags");
	if (a->fpcr != b->fpcr || a->fpsr != b->fpsr)
		bad(g, "fpcr or fpsr");
	if (memcmp(a->v, b->v, sizeof a->v))
		bad(g, "a vector register");
	if (memcmp(a->z, b->z, 32 * a->vl))
		bad(g, "an SVE register");
	if (memcmp(a->p, b->p, 16 * a->vl / 8))
		bad(g, "a predicate");
	if (memcmp(a->ffr, b->ffr, a->vl / 8))
		bad(g, "the first-fault register");
}

static bool
state_is_usual(void)
{
	return fpctl_read() == FPCTL_OWN;
}

static bool
at_call(const ucontext_t *uc, long nr)
{
	return *(uint32_t *)sigframe_pc(uc) == INSN_SVC &&
	    uc->uc_mcontext.regs[8] == (uint64_t)nr;
}

static void
windows(const struct regs *in, struct regs *out)
{
	window(in, out);
	if (in->vl)
		window_sve(in, out);
}

static bool
regs_plausible(const ucontext_t *uc)
{
	uintptr_t r[DWARF_REGS];

	dwarf_context(uc, r);
	return r[0] == uc->uc_mcontext.regs[0] &&
	    r[30] == uc->uc_mcontext.regs[30] && r[31] == sigframe_sp(uc);
}
