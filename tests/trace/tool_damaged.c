/* SPDX-License-Identifier: MIT */
/*
 * Trace files that are truncated, damaged or hostile: what can be read is, and
 * nothing else happens. Whatever the bytes are, Go's rules hold for what is
 * converted, and JSON is JSON.
 */
#include "t.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "build_folder.h"
#include "check_go.h"
#include "command.h"
#include "json_check.h"
#include "simulated.h"

static struct simulation sim;
static char *text;		/* that a command wrote */
static size_t text_bytes;

static int
run(int (*command)(struct trace *, FILE *), struct trace *t)
{
	FILE *out;
	int status;

	free(text);
	text = NULL;
	out = open_memstream(&text, &text_bytes);
	status = command(t, out);
	fclose(out);
	return status;
}

/* Everything that can be done with it; false: it cannot be opened. */
static bool
try_all(const void *data, size_t bytes, bool convert)
{
	struct text why = {0};
	/* memory of exactly this size, so that what is behind it is noticed */
	uint64_t *copy = malloc(bytes ? bytes : 1);
	struct trace *t;
	struct go_check c;

	memcpy(copy, data, bytes);
	t = trace_open_memory(copy, bytes, &why);
	if (!t) {
		OK(why.bytes > 0 && !strchr(why.s, '\n'));
	} else {
		EQ(run(command_stats, t), 0);
		EQ(run(command_events, t), 0);
		if (convert) {
			EQ(run(command_go, t), 0);
			if (!go_check(&c, (uint8_t *)text, text_bytes))
				t_fail(__FILE__, __LINE__, c.error);
			go_check_free(&c);
			EQ(run(command_chrome, t), 0);
			OK(is_json(text));
		}
		trace_close(t);
	}
	free(copy);
	text_free(&why);
	return t != NULL;
}

static uint32_t
random_below(uint64_t *seed, uint32_t n)
{
	*seed = *seed * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)(*seed >> 33) % n;
}

TEST(cut_at_every_byte)
{
	size_t opened = 0;

	simulate(&sim, 3, 200, 45, 100);
	for (size_t n = 0; n < sim.file.bytes; n++)
		opened += try_all(sim.file.data, n, true);
	OK(opened > sim.file.bytes / 2);
	made_free(&sim.file);
}

/* Some events, some bytes anywhere: flipped, set, copied, cut out. */
static void
mutate(uint8_t *data, size_t *bytes, uint64_t *seed)
{
	for (uint32_t i = random_below(seed, 4) + 1; i && *bytes > 16; i--) {
		size_t at = random_below(seed, (uint32_t)*bytes);
		size_t left = *bytes - at, n;

		switch (random_below(seed, 5)) {
		case 0:
			data[at] ^= (uint8_t)(1 << random_below(seed, 8));
			break;
		case 1:
			data[at] = (uint8_t)random_below(seed, 256);
			break;
		case 2:		/* sizes and numbers that are too large */
			at &= ~(size_t)3;
			memset(data + at, 0xff, left < 4 ? left : 4);
			break;
		case 3:
			n = random_below(seed, (uint32_t)left) % 64;
			memmove(data + at, data + at + n, left - n);
			*bytes -= n;
			break;
		default:
			n = random_below(seed, (uint32_t)left) % 64 & ~7u;
			memmove(data + (at & ~(size_t)7) % (*bytes - n + 1),
			    data + random_below(seed,
			    (uint32_t)(*bytes - n + 1)), n);
			break;
		}
	}
}

static void
try_mutants(const uint8_t *data, size_t bytes, uint64_t seed, double until)
{
	uint8_t *copy = malloc(bytes);

	for (int i = 0; i < 400 && t_now() < until; i++) {
		size_t n = bytes;

		memcpy(copy, data, n);
		mutate(copy, &n, &seed);
		try_all(copy, n, true);
	}
	free(copy);
}

TEST(damaged_anywhere)
{
	double until = t_now() + t_share(4);

	for (uint64_t seed = 1; t_now() < until; seed++) {
		simulate(&sim, seed, 300, 45, 100);
		try_mutants(sim.file.data, sim.file.bytes, seed, until);
		made_free(&sim.file);
	}
}

/* Files that were damaging once, or are of an odd kind, and some like them. */
TEST(corpus)
{
	double until = t_now() + t_share(4);
	char path[1024];
	const char *folder = getenv("TRACE_CORPUS");
	struct dirent *e;
	DIR *d;
	int files = 0;

	snprintf(path, sizeof path, "tests/trace/corpus");
	d = opendir(folder ? folder : path);
	if (!d)
		t_skip("no corpus: run it at the top of the tree");
	while ((e = readdir(d))) {
		static uint8_t data[1 << 20];
		size_t n;
		FILE *f;

		snprintf(path, sizeof path, "%s/%s", folder ? folder :
		    "tests/trace/corpus", e->d_name);
		f = e->d_name[0] == '.' ? NULL : fopen(path, "r");
		if (!f)
			continue;
		n = fread(data, 1, sizeof data, f);
		fclose(f);
		try_all(data, n, true);
		try_mutants(data, n, (uint64_t)++files, until);
	}
	OK(files > 5);
	closedir(d);
}

/* ---- hostile ones ---- */

static struct made_file file;

TEST(sizes)
{
	static const uint32_t sizes[] = { 0, 1, 7, 8, 0x7fffffff, 0x80000000,
	    0xfffffff8, 0xffffffff };

	for (uint32_t type = 0; type <= 8; type++)
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			struct trace_block b = { .type = type,
			    .bytes = sizes[i], .ring = 3, .start = 1000000 };
			uint64_t words[9] = { [8] = ~0ull };

			made_begin(&file, 1000000000);
			made_event1(&file, 0, 1000100, TR_P_START, 5, 0);
			made_flush(&file, &file.ring[0]);
			made_put(&file, &b, sizeof b);
			made_put(&file, words, sizeof words);
			try_all(file.data, file.bytes, true);
			made_free(&file);
		}
}

/* Every type with every kind of argument, on every ring. */
TEST(events)
{
	static const uint32_t args[] = { 0, 1, 33, 0xffff, 0x10000,
	    0x04010000, 0x7fffffff, 0xffffffff };
	static const uint64_t word[] = { 0, 1, 0xffffffff, 1ull << 63, ~0ull };

	for (uint32_t i = 0; i < 64 * 8 * 5 * 2; i++) {
		uint32_t type = i % 64, ring = i / 64 / 40 ? 1 : MADE_RINGS;

		made_begin(&file, 1000000000);
		made_thread(&file, 1000100, 3, 4);
		made_event1(&file, 1, 1000100, TR_P_START, 5, 6);
		made_first(made_ring_at(&file, ring, 1000200), 1000200, type,
		    args[i / 64 % 8]);
		for (int k = 0; k < 40; k++)
			made_word(&file.ring[ring], word[i / 64 / 8 % 5]);
		made_event(&file, 1, 1000300, TR_END, 0);
		made_end(&file, 1010000);
		try_all(file.data, file.bytes, true);
		made_free(&file);
	}
}

TEST(clocks)
{
	static const uint64_t hz[] = { 0, 1, 1000, 3000000000, ~0ull };
	static const uint64_t last[] = { 0, 1, 999999, 1000001, 1ull << 62,
	    1ull << 63, ~0ull };

	for (size_t i = 0; i < 5 * 7; i++) {
		made_begin(&file, hz[i % 5]);
		made_thread(&file, 1000100, 0, 7);
		made_id(&file, MADE_RINGS, 1000100, TR_CREATE, 1);
		made_event1(&file, 0, last[i / 5], TR_P_START, 5, 0);
		made_id(&file, 0, last[i / 5] + 100, TR_START, 1);
		file.hz = 1000000000;
		made_end(&file, last[i / 5]);
		try_all(file.data, file.bytes, true);
		made_free(&file);
	}
}

/* Each goroutine has one event, each P too, each M, each site. */
TEST(a_million_of_each)
{
	uint64_t n = (uint64_t)t_scale(1000000), now = 1000100;

	made_begin(&file, 1000000000);
	file.block_words = 3000;
	for (uint64_t i = 1; i <= n; i++) {
		uint32_t kind = (uint32_t)(i % 4);

		made_thread(&file, now, (uint32_t)i, i);
		made_site(&file, MADE_RINGS, now, i * 8);
		made_id(&file, MADE_RINGS, now++, kind == 0 ? TR_UNBLOCK :
		    kind == 1 ? TR_CREATE : kind == 2 ? TR_YIELD : TR_END,
		    i << 8);
	}
	for (uint32_t i = 0; i < n / 10; i++) {
		uint64_t event = TR_P_STOP;
		struct trace_block b = { .type = TRACE_BLOCK_EVENTS,
		    .ring = i + 1, .start = now, .m = i + 1, .g = i + 1 };

		made_block(&file, b, &event, 8);
	}
	made_end(&file, now);
	OK(try_all(file.data, file.bytes, false));
	made_free(&file);
}
