/* SPDX-License-Identifier: MIT */
/*
 * Frame tables made by hand, one rule at a time, and then by chance: nothing
 * outside of the table is read, whatever is in it.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "cfi.h"
#include "t.h"
#include "unwind.h"
#include "xorshift.h"

enum {
	ROOM = 16384,
	FN_BYTES = 0x100,
	/* registers to talk about: preserved ones of both architectures */
	R1 = DWARF_FP,
	R2 = DWARF_FP - 3
};

static char *page;		/* with a guard on either side */
static struct module mod;
static uint8_t *at;		/* where the table is written to */
static uintptr_t fn;		/* code that is never looked at */
static struct fde_ref rows[1];

static void
put(const void *p, size_t n)
{
	memcpy(at, p, n);
	at += n;
}

static void put1(unsigned v) { put(&(uint8_t){ (uint8_t)v }, 1); }
static void put4(uint32_t v) { put(&v, 4); }

/* Writes the length of what was put since, with nops to a multiple of 4. */
static void
close_entry(uint8_t *start)
{
	uint32_t n;

	while ((at - start) % 4)
		put1(0);
	n = (uint32_t)(at - start - 4);
	memcpy(start, &n, 4);
}

struct table {
	unsigned version;
	const char *aug;	/* letters, and the bytes for them */
	const uint8_t *aug_data;
	size_t aug_bytes;
	unsigned ra;
	const uint8_t *code;	/* the function's program */
	size_t bytes;
};

static const uint8_t pcrel[] = { 0x1b };

static struct table
plain(const uint8_t *code, size_t bytes)
{
	return (struct table){ 1, "zR", pcrel, 1, DWARF_RA, code, bytes };
}
#define PLAIN(...) plain((const uint8_t[]){ __VA_ARGS__ }, \
	sizeof((const uint8_t[]){ __VA_ARGS__ }))

/* code unit 1, data unit -8, frame's end = sp + 16, R2 saved 16 below it. */
static uint8_t *
put_head(const struct table *t)
{
	uint8_t *start = at;

	put4(0);
	put4(0);
	put1(t->version);
	put(t->aug, strlen(t->aug) + 1);
	put1(1);
	put1(0x78);
	put1(t->ra);
	if (t->aug[0]) {
		put1((unsigned)t->aug_bytes);
		put(t->aug_data, t->aug_bytes);
	}
	put1(0x0c);
	put1(DWARF_SP);
	put1(16);
	put1(0x80 | R2);
	put1(2);
	close_entry(start);
	return start;
}

static void
put_function(const struct table *t, const uint8_t *head)
{
	uint8_t *start = at;

	put4(0);
	put4((uint32_t)(at - head));
	put4((uint32_t)(fn - (uintptr_t)at));
	put4(FN_BYTES);
	if (t->aug[0])
		put1(0);
	put(t->code, t->bytes);
	close_entry(start);
	rows[0].pc = (int32_t)(fn - mod.eh_hdr);
	rows[0].fde = (int32_t)((uintptr_t)start - mod.eh_hdr);
}

/* The table, so that it ends with the page. */
static void
build(const struct table *t)
{
	size_t n;

	if (!page) {
		page = mmap(NULL, ROOM + 2 * 4096, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		OK(page != MAP_FAILED);
		page += 4096;
		OK(!mprotect(page, ROOM, PROT_READ | PROT_WRITE));
	}
	mod = (struct module){ .eh_hdr = (uintptr_t)page, .fde = rows,
	    .fdes = 1, .eh_frame = { (uintptr_t)page, (uintptr_t)page + ROOM },
	    .texts = 1 };
	fn = (uintptr_t)page + 0x100000;
	mod.text[0] = (struct range){ fn, fn + FN_BYTES };
	at = (uint8_t *)page;
	put_function(t, put_head(t));
	n = (size_t)(at - (uint8_t *)page);
	/* Relative addresses: once more, further up. */
	at = (uint8_t *)page + ROOM - n;
	put_function(t, put_head(t));
	OK(at == (uint8_t *)page + ROOM);
}

static bool
find(struct table t, unsigned offset, struct cfi_row *row)
{
	uintptr_t start;

	build(&t);
	return cfi_find(&mod, fn + offset, row, &start) && start == fn;
}

static bool
refused(struct table t)
{
	struct cfi_row row;

	return !find(t, 0, &row);
}

TEST(the_head)
{
	struct cfi_row r;

	OK(find(PLAIN(0), 0, &r));
	OK(r.has_cfa);
	EQ(r.cfa_reg, DWARF_SP);
	EQ(r.cfa_offset, 16);
	EQ(r.rule[R2], CFI_AT);
	EQ(r.offset[R2], -16);
	EQ(r.rule[R1], CFI_SAME);
	OK(find(PLAIN(0), FN_BYTES - 1, &r));
	OK(!find(PLAIN(0), FN_BYTES, &r));
	build(&(struct table){ 1, "zR", pcrel, 1, DWARF_RA, pcrel, 0 });
	OK(!cfi_find(&mod, fn - 1, &r, &(uintptr_t){ 0 }));
}

/* A row is valid from its own instruction on. */
TEST(advances)
{
	struct cfi_row r;

	for (unsigned i = 0; i < 16; i++) {
		OK(find(PLAIN(0x44, 0x0e, 32, 0x02, 4, 0x0e, 48,
		    0x03, 2, 0, 0x0e, 64, 0x04, 2, 0, 0, 0, 0x0e, 80), i, &r));
		EQ(r.cfa_offset, i < 4 ? 16 : i < 8 ? 32 : i < 10 ? 48 :
		    i < 12 ? 64 : 80);
	}
}

/* What comes later does not matter, even if it is nonsense. */
TEST(later_nonsense)
{
	struct cfi_row r;

	OK(find(PLAIN(0x44, 0x0f, 1, 0x96), 3, &r));
	OK(!find(PLAIN(0x44, 0x0f, 1, 0x96), 4, &r));
}

TEST(rules)
{
	struct cfi_row r;

	OK(find(PLAIN(0x80 | R1, 3), 0, &r));
	EQ(r.rule[R1], CFI_AT);
	EQ(r.offset[R1], -24);
	OK(find(PLAIN(0x05, R1, 0x80, 1), 0, &r));
	EQ(r.offset[R1], -1024);
	OK(find(PLAIN(0x11, R1, 0x7f), 0, &r));
	EQ(r.offset[R1], 8);
	OK(find(PLAIN(0x14, R1, 1), 0, &r));
	EQ(r.rule[R1], CFI_IS);
	EQ(r.offset[R1], -8);
	OK(find(PLAIN(0x15, R1, 0x7e), 0, &r));
	EQ(r.offset[R1], 16);
	OK(find(PLAIN(0x07, R1), 0, &r));
	EQ(r.rule[R1], CFI_UNDEFINED);
	OK(find(PLAIN(0x08, R2), 0, &r));
	EQ(r.rule[R2], CFI_SAME);
	OK(find(PLAIN(0x08, R2, 0xc0 | R2), 0, &r));
	EQ(r.rule[R2], CFI_AT);
	EQ(r.offset[R2], -16);
	OK(find(PLAIN(0x80 | R1, 3, 0x06, R1), 0, &r));
	EQ(r.rule[R1], CFI_SAME);
	OK(find(PLAIN(0x2e, 0x85, 0x01, 0x05, 72, 1), 0, &r));
}

TEST(frame_ends)
{
	struct cfi_row r;

	OK(find(PLAIN(0x0c, R1, 24), 0, &r));
	EQ(r.cfa_reg, R1);
	EQ(r.cfa_offset, 24);
	OK(find(PLAIN(0x0d, R1), 0, &r));
	EQ(r.cfa_reg, R1);
	EQ(r.cfa_offset, 16);
	OK(find(PLAIN(0x12, R1, 0x7d), 0, &r));
	EQ(r.cfa_offset, 24);
	OK(find(PLAIN(0x13, 0x7c), 0, &r));
	EQ(r.cfa_reg, DWARF_SP);
	EQ(r.cfa_offset, 32);
}

TEST(remembering)
{
	struct cfi_row r;

	OK(find(PLAIN(0x0a, 0x0e, 64, 0x80 | R1, 5, 0x0a, 0x07, R1, 0x0b),
	    0, &r));
	EQ(r.cfa_offset, 64);
	EQ(r.rule[R1], CFI_AT);
	OK(find(PLAIN(0x0a, 0x0e, 64, 0x80 | R1, 5, 0x0b), 0, &r));
	EQ(r.cfa_offset, 16);
	EQ(r.rule[R1], CFI_SAME);
	OK(refused(PLAIN(0x0b)));
	OK(refused(PLAIN(10, 10, 10, 10, 10, 10, 10, 10, 10)));
}

TEST(signed_return_addresses)
{
	struct cfi_row r;

	EQ(find(PLAIN(0x2d), 0, &r), DWARF_SIGNS_RA);
	OK(!DWARF_SIGNS_RA || r.ra_signed);
	EQ(find(PLAIN(0x0a, 0x2d, 0x0b), 0, &r), DWARF_SIGNS_RA);
	OK(!DWARF_SIGNS_RA || !r.ra_signed);
}

TEST(refusals)
{
	OK(refused(PLAIN(0x01, 0, 0, 0, 0)));	/* set_loc */
	OK(refused(PLAIN(0x09, R1, R2)));	/* register */
	OK(refused(PLAIN(0x0f, 2, 0x77, 8)));	/* expressions */
	OK(refused(PLAIN(0x10, R1, 2, 0x77, 8)));
	OK(refused(PLAIN(0x16, R1, 2, 0x77, 8)));
	OK(refused(PLAIN(0x1d, 0, 0, 0, 0, 0, 0, 0, 0)));
	OK(refused(PLAIN(0x2f, R1, 1)));
	OK(refused(PLAIN(0x3f)));
	OK(refused(PLAIN(0x0d, DWARF_REGS)));
	OK(refused(PLAIN(0x0e, 0xff, 0xff, 0xff, 0xff, 0x7f)));
	OK(refused(PLAIN(0x0e, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
	    0x80, 0x80, 0x80, 0x80, 0)));
	OK(refused(PLAIN(0x05, R1, 0x80)));	/* cut off */
	OK(refused(PLAIN(0x04, 1, 0)));
}

TEST(heads)
{
	static const uint8_t plr[] = { 0x9b, 1, 2, 3, 4, 0x1b, 0x1b };
	static const uint8_t nops[4];
	struct table t = { 1, "zPLR", plr, 7, DWARF_RA, nops, 4 };
	struct cfi_row r;

	OK(find(t, 0, &r));
	t = PLAIN(0);
	t.version = 3;
	OK(find(t, 0, &r));
	t.version = 4;
	OK(refused(t));
	t = PLAIN(0);
	t.ra = DWARF_FP;
	OK(refused(t));
	t = PLAIN(0);
	t.aug = "zRS";
	OK(refused(t));
	t.aug = "zRQ";
	OK(refused(t));
	t.aug = "eh";
	OK(refused(t));
	t.aug = "zRL";		/* more letters than bytes */
	OK(refused(t));
	t.aug = "zR";
	t.aug_data = (const uint8_t[]){ 0x9b };	/* indirect */
	OK(refused(t));
	t.aug_data = (const uint8_t[]){ 0x2b };	/* relative to what? */
	OK(refused(t));
}

/* ---- by chance ---- */

static uint64_t
dice(void)
{
	static uint64_t x = 2463534242u;

	return xorshift(&x);
}

static const uint8_t busy[] = {
	0x41, 0x0e, 32, 0x80 | R1, 3, 0x44, 0x0a, 0x0d, R1, 0x02, 9, 0x0b,
	0x48, 0x05, R2, 0x83, 1, 0x11, R1, 0x7f, 0x4a, 0xc0 | R1, 0x2e, 16,
	0x03, 9, 0, 0x12, R2, 0x60, 0x04, 1, 0, 0, 0, 0x07, R2
};

/* Looks and walks somewhere. Returns whether a row was found. */
static bool
try_out(void)
{
	uintptr_t stack[64], regs[DWARF_REGS], start, end;
	struct unwind_stack st = { (uintptr_t)stack, (uintptr_t)(stack + 64) };
	uintptr_t pc = fn + dice() % FN_BYTES;
	struct cfi_row row;

	for (int i = 0; i < 64; i++)
		stack[i] = dice() % 2 ? fn + dice() % FN_BYTES :
		    st.lo + dice() % 64 * 8;
	for (int i = 0; i < DWARF_REGS; i++)
		regs[i] = st.lo + dice() % 66 * 8;
	OK(unwind_walk(&mod, 1, regs, pc, &st, fn, fn + 1, &end) !=
	    UNWIND_ON);
	return cfi_find(&mod, pc, &row, &start);
}

TEST(spoiled_tables)
{
	const struct table t = plain(busy, sizeof(busy));
	long n = t_scale(300000), found = 0;
	static uint8_t good[ROOM];
	struct fde_ref good_row;

	build(&t);
	memcpy(good, page, ROOM);
	good_row = rows[0];
	for (long i = 0; i < n; i++) {
		size_t used = (size_t)(mod.eh_hdr + ROOM -
		    (mod.eh_hdr + (uintptr_t)good_row.fde)) + 32;

		memcpy(page, good, ROOM);
		rows[0] = good_row;
		for (uint64_t k = dice() % 4; k > 0; k--)
			page[ROOM - 1 - dice() % used] = (char)dice();
		if (dice() % 16 == 0)
			rows[0].fde = (int32_t)(dice() % (2 * ROOM)) - 100;
		found += try_out();
	}
	fprintf(stderr, "# %ld of %ld have a row\n", found, n);
	OK(found > n / 10);
	OK(found < n);
}

TEST(random_tables)
{
	const struct table t = plain(busy, sizeof(busy));

	build(&t);
	for (long i = 0; i < t_scale(1000); i++) {
		for (int k = 0; k < ROOM; k++)
			page[k] = (char)(dice() % 4 ? dice() % 8 : dice());
		for (int k = 0; k < 30; k++) {
			rows[0].fde = (int32_t)(dice() % ROOM);
			try_out();
		}
	}
}

/* Not even if each of its steps is harmless. */
TEST(a_program_that_goes_on)
{
	static uint8_t nops[6000];
	struct table t = plain(nops, 4000);
	struct cfi_row r;

	OK(find(t, 0, &r));
	t.bytes = 6000;
	OK(!find(t, 0, &r));
}
