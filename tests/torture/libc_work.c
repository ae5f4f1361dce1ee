/* SPDX-License-Identifier: MIT */
/* Works that use libc: memory, streams, sorting, matching, text. */
#include "torture.h"

#include <ctype.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include <weft.h>

/* ---- memory ---- */

enum { BLOCKS = 32, BLOCK_MAX = 4000 };

struct block {
	unsigned char *at;
	size_t bytes;
	unsigned char mark;
};

static void
block_check(const struct block *b)
{
	for (size_t i = 0; i < b->bytes; i++)
		if (b->at[i] != (unsigned char)(b->mark + i))
			torture_fail(__FILE__, __LINE__, "a block's byte",
			    (long long)i);
}

static void
block_fill(struct block *b, unsigned char mark)
{
	b->mark = mark;
	for (size_t i = 0; i < b->bytes; i++)
		b->at[i] = (unsigned char)(mark + i);
}

static void
block_resize(struct block *b, size_t bytes)
{
	unsigned char *p = realloc(b->at, bytes);

	MUST(p);
	b->at = p;
	if (bytes < b->bytes)
		b->bytes = bytes;
	block_check(b);
	b->bytes = bytes;
}

static void
memory(struct me *me)
{
	struct block b[BLOCKS] = {{0}};

	for (int k = 0; k < 200; k++) {
		struct block *one = &b[torture_random(me, BLOCKS)];
		size_t bytes = 1 + torture_random(me, BLOCK_MAX);

		block_check(one);
		if (!one->at || torture_random(me, 2)) {
			block_resize(one, bytes);
		} else {
			free(one->at);
			one->bytes = bytes;
			one->at = malloc(bytes);
			MUST(one->at);
		}
		block_fill(one, (unsigned char)torture_random(me, 256));
	}
	for (int i = 0; i < BLOCKS; i++) {
		block_check(&b[i]);
		free(b[i].at);
	}
}

/* What one allocates another frees. */
static void
memory_passed(struct me *me)
{
	static struct block *shared[16];	/* atomic */

	for (int k = 0; k < 50; k++) {
		struct block *b = malloc(sizeof *b);

		MUST(b);
		b->bytes = 1 + torture_random(me, 500);
		b->at = malloc(b->bytes);
		MUST(b->at);
		block_fill(b, (unsigned char)k);
		b = __atomic_exchange_n(&shared[torture_random(me, 16)], b,
		    __ATOMIC_ACQ_REL);
		if (b) {
			block_check(b);
			free(b->at);
			free(b);
		}
		torture_spin(500);
	}
}

/* ---- streams ---- */

static FILE *shared_null;

static void
streams_once(void)
{
	shared_null = fopen("/dev/null", "w");
}

static void
streams(struct me *me)
{
	char buf[128], *text = NULL;
	size_t bytes = 0, want = 0;
	FILE *f = open_memstream(&text, &bytes);

	MUST(f && shared_null);
	for (int i = 0; i < 40; i++) {
		int n = snprintf(buf, sizeof buf, "%d %s %.3f %08x|", i,
		    "text", i / 8.0, (unsigned)i * 2654435761u);

		MUST(n > 20 && buf[n - 1] == '|');
		SAME(fprintf(me->null, "%s %d\n", buf, i) > n, 1);
		SAME(fprintf(shared_null, "%s %d\n", buf, i) > n, 1);
		SAME(fprintf(f, "%s", buf), n);
		want += (size_t)n;
		torture_spin(200);
	}
	SAME(fclose(f), 0);
	SAME(bytes, want);
	SAME(strncmp(text, "0 text 0.000 00000000|1 text 0.125 9e3779b1|", 43),
	    0);
	free(text);
}

/* ---- sorting, with a callback that computes ---- */

static int
slowly(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	torture_spin(300);
	return x < y ? -1 : x > y;
}

static void
sorting(struct me *me)
{
	uint32_t v[200], sum = 0;

	for (int i = 0; i < 200; i++) {
		v[i] = (uint32_t)torture_random(me, UINT32_MAX);
		sum += v[i];
	}
	qsort(v, 200, sizeof v[0], slowly);
	sum -= v[0];
	for (int i = 1; i < 200; i++) {
		MUST(v[i - 1] <= v[i]);
		sum -= v[i];
	}
	SAME(sum, 0);
	MUST(bsearch(&v[57], v, 200, sizeof v[0], slowly));
}

/* ---- matching ---- */

static void
matching(struct me *me)
{
	char text[64];
	unsigned n = (unsigned)torture_random(me, 1000000);
	regmatch_t at[3];
	regex_t re;

	SAME(regcomp(&re, "key([0-9]+)=(a|bc)*d$", REG_EXTENDED), 0);
	snprintf(text, sizeof text, "xx key%u=abcabcd", n);
	SAME(regexec(&re, text, 3, at, 0), 0);
	SAME(at[0].rm_so, 3);
	SAME(strtoul(text + at[1].rm_so, NULL, 10), n);
	SAME(regexec(&re, "key12=abccd", 3, at, 0), REG_NOMATCH);
	regfree(&re);
}

/* ---- numbers as text ---- */

static void
numerals(struct me *me)
{
	char buf[64], *end;

	for (int i = 0; i < 100; i++) {
		double d = (double)torture_random(me, 1u << 30) / 1024.0;
		long n = (long)torture_random(me, 1u << 30) - (1 << 29);

		snprintf(buf, sizeof buf, "%.17g,", d);
		MUST(strtod(buf, &end) == d && *end == ',');
		snprintf(buf, sizeof buf, "%ld;", n);
		MUST(strtol(buf, &end, 10) == n && *end == ';');
		snprintf(buf, sizeof buf, "%lx", (unsigned long)n);
		SAME(strtoul(buf, NULL, 16), (unsigned long)n);
	}
}

/* ---- strings; and character classes, whose table is the thread's ---- */

static void
strings(struct me *me)
{
	char a[300], b[300], *save = NULL;
	int words = 0;
	size_t n = 200 + torture_random(me, 90), upper = 0;

	for (size_t i = 0; i < n; i++)
		a[i] = (char)(i % 7 == 6 ? ' ' : i % 5 ? 'a' + i % 23 : 'Z');
	a[n] = '\0';
	SAME(strlen(a), n);
	strcpy(b, a);
	SAME(strcmp(a, b), 0);
	MUST(strchr(b, ' ') == b + 6 && strstr(b, a + n - 9) != NULL);
	for (int k = 0; k < 100; k++)
		for (size_t i = 0; i < n; i++)
			upper += isupper((unsigned char)a[i]) != 0;
	for (size_t i = 0; i < n; i++)
		upper -= a[i] == 'Z' ? 100 : 0;
	SAME(upper, 0);
	for (char *s = strtok_r(b, " ", &save); s; s = strtok_r(NULL, " ",
	    &save))
		words++;
	SAME(words, (n + 6) / 7);
	memset(b, 'x', sizeof b);
	memmove(b + 5, b, 200);
	memcpy(b, a, n);
	SAME(memcmp(b, a, n), 0);
}

/* ---- errors: errno, whose address is kept, and texts of unknown ones ---- */

static inline int
computed(int value)
{
	for (int i = 0; i < 2000; i++)
		__asm__ volatile("" : "+r"(value));
	return value;
}

static void
errors(struct me *me)
{
	char want[64];

	for (int k = 0; k < 50; k++) {
		int value = 1000 + (int)torture_random(me, 1000000);
		const char *text = strerror(value);

		errno = computed(value);
		SAME(errno, value);
		snprintf(want, sizeof want, "%d", value);
		torture_spin(500);
		MUST(strstr(text, want) || !strstr(text, "Unknown"));
	}
}

const struct work torture_libc[] = {
	{ "memory", memory, NULL, NULL },
	{ "memory passed", memory_passed, NULL, NULL },
	{ "streams", streams, streams_once, NULL },
	{ "sorting", sorting, NULL, NULL },
	{ "matching", matching, NULL, NULL },
	{ "numerals", numerals, NULL, NULL },
	{ "strings", strings, NULL, NULL },
	{ "errors", errors, NULL, NULL },
	{ NULL, NULL, NULL, NULL }
};
