/* SPDX-License-Identifier: MIT */
/*
 * Names of functions from files and from memory. Files that are truncated,
 * damaged at random, or no ELF files at all must give names or none, and never
 * a fault.
 */
#define _GNU_SOURCE
#include "symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "t.h"
#include "xorshift.h"

static int named(void) { return 1; }
int symbol_global(void);
int symbol_global(void) { return 2; }

static struct symbol
at(uintptr_t pc)
{
	struct symbol s;

	symbol_find(pc, &s);
	return s;
}

static bool
is(const char *name, const char *want)
{
	return name && !strcmp(name, want);
}

TEST(own_functions)
{
	uintptr_t pc = (uintptr_t)named;
	struct symbol s;

	EQ(named(), 1);
	EQ(at(pc).module != NULL, 0);
	module_list_refresh();
	s = at(pc + 1);
	OK(is(s.name, "named"));
	EQ(s.offset, 1);
	OK(s.module && strstr(s.module->m.name, "symbols_unit"));
	EQ(s.in_module, pc + 1 - s.module->m.base);
	OK(is(at((uintptr_t)symbol_global).name, "symbol_global"));
	OK(!at(1).module);
	OK(!at(0).name);
	OK(!at(UINTPTR_MAX).name);
	OK(!at((uintptr_t)&s).name);
}

TEST(of_libc)
{
	struct symbol s;

	module_list_refresh();
	s = at((uintptr_t)strtoull);
	OK(s.name && strstr(s.name, "strtou"));
	EQ(s.offset, 0);
}

TEST(refresh_twice)
{
	struct listed *first;
	unsigned n = 0;

	module_list_refresh();
	first = module_list();
	module_list_refresh();
	OK(first == module_list());
	for (struct listed *e = first; e; e = e->next)
		n++;
	EQ(first->number, n - 1);
}

TEST(build_id)
{
	char id[SYMBOL_ID_TEXT];
	struct module m = { .id = { 0x01, 0xfe, 0x80 }, .id_bytes = 3 };

	symbol_id_text(&m, id);
	OK(is(id, "01fe80"));
	m.id_bytes = 0;
	symbol_id_text(&m, id);
	OK(is(id, ""));
}

TEST(notes)
{
	const uint32_t note[] = {
		4, 2, 1, 0x00554e47, 0xffff,		/* another kind */
		4, 4, 3, 0x00554e47, 0x04030201
	};
	const uint32_t long_name[] = { 0xfffffffe, 4, 3, 0x00554e47, 0 };
	const uint32_t long_desc[] = { 4, 0xfffffffe, 3, 0x00554e47, 0 };
	uint8_t id[MODULE_ID];

	EQ(module_build_id(note, sizeof note, id), 4);
	EQ(id[3], 4);
	for (size_t cut = 0; cut < sizeof note; cut++)
		EQ(module_build_id(note, cut, id), 0);
	EQ(module_build_id(long_name, sizeof long_name, id), 0);
	EQ(module_build_id(long_desc, sizeof long_desc, id), 0);
}

/* ---- files ---- */

static char path[] = "/tmp/weft_symbolsXXXXXX";
static unsigned char *image;
static size_t image_bytes;

/* This program's own file, in memory, and a name for another. */
static void
load_own(void)
{
	FILE *f = fopen("/proc/self/exe", "r");
	struct stat st;
	int fd = mkstemp(path);

	if (!f || fd < 0 || fstat(fileno(f), &st) != 0) {
		t_skip("there is no file to try it with");
		return;
	}
	close(fd);
	image_bytes = (size_t)st.st_size;
	image = malloc(image_bytes);
	OK(image && fread(image, 1, image_bytes, f) == image_bytes);
	fclose(f);
}

static struct symbol_table *
read_image(const unsigned char *bytes, size_t n)
{
	FILE *f = fopen(path, "w");

	OK(f && fwrite(bytes, 1, n, f) == n);
	if (f)
		fclose(f);
	return symbol_table_read(path, NULL);
}

/* Whatever is in it: every address must be answered. */
static void
use(struct symbol_table *t)
{
	uint64_t start;
	size_t sum = 0;

	for (uint64_t a = 0; t && a < 1 << 16; a += 97) {
		const char *s = symbol_table_find(t, a, &start);

		sum += s ? strlen(s) : 0;
	}
	if (t) {
		OK(!symbol_table_find(t, UINT64_MAX, &start) || sum + 1);
		symbol_table_free(t);
	}
}

TEST(whole_file)
{
	struct symbol_table *t;

	load_own();
	t = read_image(image, image_bytes);
	OK(t && symbol_table_functions(t) > 100);
	use(t);
	unlink(path);
}

TEST(not_of_this_module)
{
	struct module m;
	struct symbol_table *t;

	OK(module_program(&m));
	t = symbol_table_read("/proc/self/exe", &m);
	OK(t != NULL);
	if (t)
		symbol_table_free(t);
	if (m.id_bytes)
		m.id[0] ^= 1;
	else
		m.load.hi++;
	OK(!symbol_table_read("/proc/self/exe", &m));
	OK(!symbol_table_read("/no/such/file", &m));
}

TEST(no_elf_file)
{
	static const unsigned char zeros[4096];

	load_own();
	OK(!read_image(zeros, sizeof zeros));
	OK(!read_image(zeros, 0));
	OK(!read_image((const unsigned char *)"\177ELF", 4));
	OK(!symbol_table_read("/", NULL));
	OK(!symbol_table_read("/dev/zero", NULL));
	OK(!symbol_table_read("/dev/null", NULL));
	unlink(path);
	OK(mkfifo(path, 0600) == 0);
	OK(!symbol_table_read(path, NULL));
	unlink(path);
}

TEST(truncated)
{
	uint64_t seed = 17;
	long rounds = t_scale(200);

	load_own();
	for (size_t n = 1; n < 64; n++)
		use(read_image(image, n));
	for (long i = 0; i < rounds; i++)
		use(read_image(image, xorshift(&seed) % image_bytes));
	unlink(path);
}

/* Writes random bytes where they matter: headers, and the sections' table. */
static void
damage(uint64_t *seed, size_t from, size_t bytes)
{
	static const uint64_t words[] = { 0, 1, UINT64_MAX, INT64_MAX,
	    UINT32_MAX, 1 << 16, UINT64_C(1) << 28 };
	size_t at = from + xorshift(seed) % bytes;
	uint64_t word = words[xorshift(seed) % 7];

	if (at + sizeof word > image_bytes)
		return;
	if (xorshift(seed) % 2)
		image[at] = (unsigned char)xorshift(seed);
	else
		memcpy(image + at / 8 * 8, &word, sizeof word);
}

TEST(damaged)
{
	uint64_t seed = 29;
	long rounds = t_scale(300);
	uint64_t sections;
	unsigned char *whole;

	load_own();
	memcpy(&sections, image + 40, sizeof sections);
	whole = malloc(image_bytes);
	memcpy(whole, image, image_bytes);
	for (long i = 0; i < rounds && sections < image_bytes; i++) {
		memcpy(image, whole, image_bytes);
		for (int k = 0; k < 4; k++)
			damage(&seed, i % 3 ? sections : 0,
			    i % 3 ? image_bytes - sections : 64);
		use(read_image(image, image_bytes));
	}
	free(whole);
	unlink(path);
}

/* Names and sizes that lead out of the tables. */
TEST(wild_symbols)
{
	uint64_t seed = 31;
	long rounds = t_scale(100);

	load_own();
	for (long i = 0; i < rounds; i++) {
		/* the symbol table comes after the code and data */
		for (int k = 0; k < 1000; k++)
			damage(&seed, image_bytes / 2, image_bytes / 2 - 4096);
		use(read_image(image, image_bytes));
	}
	unlink(path);
}
