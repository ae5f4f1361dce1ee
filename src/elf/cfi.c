/* SPDX-License-Identifier: MIT */
/*
 * Reads .eh_frame. A sorted table leads from an instruction to the entry of
 * its function (FDE), which belongs to a common head (CIE). Both hold a small
 * program that, run up to the instruction, yields the row that is valid there.
 *
 * A table may be damaged or be no table at all. Every read goes through a
 * cursor that stops at the end of the section and sets `bad`; what is read
 * then is 0, so it is enough to test `bad` at the end.
 */
#include "cfi.h"

#include <string.h>

enum {
	MAX_STEPS = 4096,	/* of the program for one function */
	MAX_REMEMBERED = 8	/* compilers nest them 1 deep */
};

struct cursor {
	const uint8_t *p, *end;
	bool bad;
};

/* A common head, and the function's own part. */
struct entry {
	uint64_t code_align;
	int64_t data_align;
	uint8_t pointer;	/* how addresses are written */
	bool augmented;		/* the FDE has augmentation data */
	struct cursor head, body;	/* the programs */
	uintptr_t lo, hi;	/* the function's code */
};

/* ---- reading ---- */

static const uint8_t *
take(struct cursor *c, size_t n)
{
	const uint8_t *p = c->p;

	if (n > (size_t)(c->end - c->p)) {
		c->bad = true;
		c->p = c->end;
		return NULL;
	}
	c->p += n;
	return p;
}

/* A number of n bytes, little-endian; 0 if it is not there. */
static uint64_t
fixed(struct cursor *c, size_t n)
{
	const uint8_t *p = take(c, n);
	uint64_t v = 0;

	for (size_t i = 0; p && i < n; i++)
		v |= (uint64_t)p[i] << 8 * i;
	return v;
}

static uint8_t
byte(struct cursor *c)
{
	return (uint8_t)fixed(c, 1);
}

/* LEB128: 7 bits a byte, and a bit that says that more follow. */
static uint64_t
leb(struct cursor *c, bool is_signed)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t b;

	do {
		b = byte(c);
		v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while ((b & 0x80) && shift < 63);
	if (b & 0x80)
		c->bad = true;
	if (is_signed && (b & 0x40))
		v |= ~UINT64_C(0) << shift;
	return v;
}

static uint64_t uleb(struct cursor *c) { return leb(c, false); }
static int64_t sleb(struct cursor *c) { return (int64_t)leb(c, true); }

/* How many bytes an address takes in this encoding; 0: not supported. */
static size_t
pointer_bytes(uint8_t enc)
{
	switch (enc & 0x0f) {
	case 0x00:		/* an address */
	case 0x04:		/* 64 bits, unsigned */
	case 0x0c:		/* 64 bits, signed */
		return 8;
	case 0x03:		/* 32 bits, unsigned */
	case 0x0b:		/* 32 bits, signed */
		return 4;
	}
	return 0;
}

static uint64_t
pointer_raw(struct cursor *c, uint8_t enc)
{
	size_t n = pointer_bytes(enc);
	uint64_t v = fixed(c, n);

	if (n == 0)
		c->bad = true;
	return (enc & 0x0f) == 0x0b ? (uint64_t)(int32_t)(uint32_t)v : v;
}

/* An address: absolute, or relative to where it is written. */
static uintptr_t
pointer(struct cursor *c, uint8_t enc)
{
	uintptr_t at = (uintptr_t)c->p;
	uint64_t v = pointer_raw(c, enc);

	switch (enc & 0xf0) {
	case 0x00:
		return v;
	case 0x10:
		return at + v;
	}
	c->bad = true;
	return 0;
}

/* ---- entries ---- */

/* Everything that belongs to the entry at this address, after its length. */
static struct cursor
contents(const struct module *m, uintptr_t at)
{
	struct cursor c = { NULL, NULL, true };
	uint64_t n;

	if (!range_holds(&m->eh_frame, at, 4))
		return c;
	c = (struct cursor){ (const uint8_t *)at,
	    (const uint8_t *)m->eh_frame.hi, false };
	n = fixed(&c, 4);
	/* All ones mean that a 64-bit length follows; 0 ends the section. */
	if (n == 0 || n > (uint64_t)(c.end - c.p))
		c.bad = true;
	else
		c.end = c.p + n;
	return c;
}

/*
 * The augmentation of a CIE, letter by letter: how addresses are encoded (R),
 * a personality routine (P) and the encoding of its data (L), a key for
 * signing (B). A signal frame (S) and unknown letters are refused.
 */
static void
read_augmentation(struct cursor *c, const char *s, size_t n, struct entry *e)
{
	struct cursor extra;
	uint64_t bytes;
	uint8_t enc;

	if (n == 0)
		return;
	if (s[0] != 'z') {
		c->bad = true;
		return;
	}
	e->augmented = true;
	bytes = uleb(c);
	extra = *c;
	if (!take(c, bytes))
		return;
	extra.end = c->p;
	for (size_t i = 1; i < n; i++) {
		switch (s[i]) {
		case 'R':
			e->pointer = byte(&extra);
			break;
		case 'P':
			enc = byte(&extra);
			pointer_raw(&extra, enc);
			break;
		case 'L':
			byte(&extra);
			break;
		case 'B':
			break;
		default:
			c->bad = true;
		}
	}
	c->bad |= extra.bad;
}

static bool
read_head(const struct module *m, uintptr_t at, struct entry *e)
{
	struct cursor c = contents(m, at);
	const char *s;
	uint8_t version;
	size_t n = 0;
	uint64_t ra;

	if (fixed(&c, 4) != 0 || c.bad)
		return false;
	version = byte(&c);
	if (version != 1 && version != 3)
		return false;
	s = (const char *)c.p;
	while (byte(&c) && !c.bad)
		n++;
	e->code_align = uleb(&c);
	e->data_align = sleb(&c);
	ra = version == 1 ? byte(&c) : uleb(&c);
	if (c.bad || ra != DWARF_RA)
		return false;
	read_augmentation(&c, s, n, e);
	e->head = c;
	return !c.bad;
}

static bool
read_entry(const struct module *m, uintptr_t at, struct entry *e)
{
	struct cursor c = contents(m, at);
	uintptr_t field = (uintptr_t)c.p;
	uint64_t back = fixed(&c, 4);

	memset(e, 0, sizeof(*e));
	if (c.bad || back == 0 || !read_head(m, field - back, e))
		return false;
	e->lo = pointer(&c, e->pointer);
	e->hi = e->lo + pointer_raw(&c, e->pointer);
	if (e->augmented)
		take(&c, uleb(&c));
	e->body = c;
	return !c.bad && e->lo < e->hi;
}

/* The address of the entry for pc: the last row that begins before it. */
static bool
search(const struct module *m, uintptr_t pc, uintptr_t *at)
{
	size_t lo = 0, hi = m->fdes;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->eh_hdr + (uintptr_t)(intptr_t)m->fde[mid].pc <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0)
		return false;
	*at = m->eh_hdr + (uintptr_t)(intptr_t)m->fde[lo - 1].fde;
	return true;
}

/* ---- programs ---- */

struct machine {
	const struct entry *e;
	struct cursor c;
	uintptr_t at, pc;	/* the row's instruction, and the wanted one */
	bool past;		/* rows from here on are for later addresses */
	bool bad;
	struct cfi_row *row;
	const struct cfi_row *first;	/* after the CIE's program, or NULL */
	struct cfi_row kept[MAX_REMEMBERED];
	unsigned n_kept;
};

static void
advance(struct machine *v, uint64_t n)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(n, v->e->code_align, &bytes) ||
	    __builtin_add_overflow(v->at, bytes, &v->at))
		v->bad = true;
	v->past = v->at > v->pc;
}

/* An offset in a row; bad if it does not fit. */
static int32_t
offset(struct machine *v, int64_t n, int64_t scale)
{
	int32_t r;

	if (__builtin_mul_overflow(n, scale, &r)) {
		v->bad = true;
		return 0;
	}
	return r;
}

static int32_t
offset_unsigned(struct machine *v, int64_t scale)
{
	uint64_t n = uleb(&v->c);

	if (n > INT32_MAX) {
		v->bad = true;
		return 0;
	}
	return offset(v, (int64_t)n, scale);
}

static int32_t
offset_signed(struct machine *v)
{
	return offset(v, sleb(&v->c), v->e->data_align);
}

/* Registers that are not tracked (vectors, flags) may have any rule. */
static void
set(struct machine *v, uint64_t reg, enum cfi_rule rule, int32_t off)
{
	if (reg < DWARF_REGS) {
		v->row->rule[reg] = (uint8_t)rule;
		v->row->offset[reg] = off;
	}
}

static void
set_cfa_reg(struct machine *v, uint64_t reg)
{
	if (reg >= DWARF_REGS) {
		v->bad = true;
		return;
	}
	v->row->cfa_reg = (uint8_t)reg;
	v->row->has_cfa = true;
}

static void
restore(struct machine *v, uint64_t reg)
{
	if (!v->first)
		v->bad = true;
	else if (reg < DWARF_REGS)
		set(v, reg, v->first->rule[reg], v->first->offset[reg]);
}

static void
remember(struct machine *v)
{
	if (v->n_kept == MAX_REMEMBERED)
		v->bad = true;
	else
		v->kept[v->n_kept++] = *v->row;
}

static void
recall(struct machine *v)
{
	if (v->n_kept == 0)
		v->bad = true;
	else
		*v->row = v->kept[--v->n_kept];
}

/* The CFA is defined differently from here on. */
static void
run_cfa(struct machine *v, uint8_t op)
{
	struct cfi_row *r = v->row;

	switch (op) {
	case 0x0c:		/* def_cfa */
		set_cfa_reg(v, uleb(&v->c));
		r->cfa_offset = offset_unsigned(v, 1);
		break;
	case 0x0d:		/* def_cfa_register */
		set_cfa_reg(v, uleb(&v->c));
		break;
	case 0x0e:		/* def_cfa_offset */
		r->cfa_offset = offset_unsigned(v, 1);
		break;
	case 0x12:		/* def_cfa_sf */
		set_cfa_reg(v, uleb(&v->c));
		r->cfa_offset = offset_signed(v);
		break;
	case 0x13:		/* def_cfa_offset_sf */
		r->cfa_offset = offset_signed(v);
		break;
	default:		/* def_cfa_expression among them */
		v->bad = true;
	}
}

/* A register is saved elsewhere from here on. */
static void
run_register(struct machine *v, uint8_t op)
{
	uint64_t reg = uleb(&v->c);

	switch (op) {
	case 0x05:		/* offset_extended */
		set(v, reg, CFI_AT, offset_unsigned(v, v->e->data_align));
		break;
	case 0x06:		/* restore_extended */
		restore(v, reg);
		break;
	case 0x07:		/* undefined */
		set(v, reg, CFI_UNDEFINED, 0);
		break;
	case 0x08:		/* same_value */
		set(v, reg, CFI_SAME, 0);
		break;
	case 0x11:		/* offset_extended_sf */
		set(v, reg, CFI_AT, offset_signed(v));
		break;
	case 0x14:		/* val_offset */
		set(v, reg, CFI_IS, offset_unsigned(v, v->e->data_align));
		break;
	case 0x15:		/* val_offset_sf */
		set(v, reg, CFI_IS, offset_signed(v));
		break;
	}
}

/* Refused: set_loc, register, the expressions, other vendors' operations. */
static void
run_other(struct machine *v, uint8_t op)
{
	switch (op) {
	case 0x00:		/* nop */
		break;
	case 0x02:		/* advance_loc1, 2, 4 */
	case 0x03:
	case 0x04:
		advance(v, fixed(&v->c, (size_t)1 << (op - 2)));
		break;
	case 0x05:
	case 0x06:
	case 0x07:
	case 0x08:
	case 0x11:
	case 0x14:
	case 0x15:
		run_register(v, op);
		break;
	case 0x0a:
		remember(v);
		break;
	case 0x0b:
		recall(v);
		break;
	case 0x2d:		/* AArch64: negate_ra_state */
		v->row->ra_signed = !v->row->ra_signed;
		v->bad |= !DWARF_SIGNS_RA;
		break;
	case 0x2e:		/* GNU_args_size: ignored */
		uleb(&v->c);
		break;
	default:
		run_cfa(v, op);
	}
}

/* The three most common have their first operand in the opcode. */
static void
run_one(struct machine *v)
{
	uint8_t op = byte(&v->c), low = op & 0x3f;

	switch (op >> 6) {
	case 1:
		advance(v, low);
		break;
	case 2:
		set(v, low, CFI_AT, offset_unsigned(v, v->e->data_align));
		break;
	case 3:
		restore(v, low);
		break;
	default:
		run_other(v, op);
	}
}

/* Runs one of the two programs, to its end or past the wanted address. */
static bool
run(struct machine *v, const struct cursor *program)
{
	v->c = *program;
	for (int n = 0; v->c.p < v->c.end && !v->past; n++) {
		if (n == MAX_STEPS)
			return false;
		run_one(v);
		if (v->bad || v->c.bad)
			return false;
	}
	return true;
}

bool
cfi_find(const struct module *m, uintptr_t pc, struct cfi_row *row,
    uintptr_t *fn)
{
	struct entry e;
	struct cfi_row first;
	struct machine v;
	uintptr_t at;

	if (!search(m, pc, &at) || !read_entry(m, at, &e) ||
	    pc < e.lo || pc >= e.hi)
		return false;
	memset(row, 0, sizeof(*row));
	v.e = &e;
	v.at = e.lo;
	v.pc = pc;
	v.past = v.bad = false;
	v.row = row;
	v.first = NULL;
	v.n_kept = 0;
	if (!run(&v, &e.head) || v.past)
		return false;
	first = *row;
	v.first = &first;
	*fn = e.lo;
	return run(&v, &e.body) && row->has_cfa;
}
