/* SPDX-License-Identifier: MIT */
/* Conversion to Go's format: its reader's rules hold. */
#include "t.h"

#include <stdlib.h>

#include "converted.h"
#include "simulated.h"
#include "check_go.h"

static struct simulation sim;

/* Converts and checks; the caller frees c. */
static void
expect_valid(const struct made_file *f, struct go_check *c)
{
	size_t bytes;
	char *data = converted(f, command_go, &bytes);

	if (!go_check(c, (uint8_t *)data, bytes))
		t_fail(__FILE__, __LINE__, c->error);
	free(data);
}

TEST(simulated)
{
	struct go_check c;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		simulate(&sim, seed, 3000, 45, 100);
		expect_valid(&sim.file, &c);
		EQ(c.generations, 1);
		EQ(c.types[17] + c.types[18], sim.ended);
		EQ(c.types[20], sim.blocked);
		go_check_free(&c);
		made_free(&sim.file);
	}
}

TEST(many_generations)
{
	struct go_check c;

	for (uint64_t seed = 1; seed <= 10; seed++) {
		simulate(&sim, seed, 5000, 45, 2000000);
		expect_valid(&sim.file, &c);
		OK(c.generations >= 8);
		EQ(c.types[17] + c.types[18], sim.ended);
		go_check_free(&c);
		made_free(&sim.file);
	}
}

TEST(flight_recordings)
{
	struct go_check c;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		sim.drop = 1 + seed % 4;
		simulate(&sim, seed, 4000, 45, seed % 2 ? 100 : 2000000);
		expect_valid(&sim.file, &c);
		OK(c.events > 100);
		go_check_free(&c);
		made_free(&sim.file);
	}
}

/* Blocks that are missing in the middle of a ring. */
TEST(lost_events)
{
	struct go_check c;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		uint64_t lost = 0;

		simulate(&sim, seed, 4000, 45, seed % 2 ? 100 : 2000000);
		for (size_t at = sizeof(struct trace_file);
		    at < sim.file.bytes; ) {
			struct trace_block *b =
			    (void *)(sim.file.data + at);

			at += sizeof *b + b->bytes;
			if (b->type == TRACE_BLOCK_EVENTS && at % 7 == 0) {
				b->type = 99;
				lost++;
			}
		}
		OK(lost > 3);
		expect_valid(&sim.file, &c);
		go_check_free(&c);
		made_free(&sim.file);
	}
}

/* The check itself finds what is wrong. */
TEST(check_fails)
{
	static const uint8_t start_of_nothing[] =
	    "go 1.23 trace\0\0\0" "\1\1\1\0\2\10\1" "\1\1\1\0\4\20\0\5\1";
	static const uint8_t block_without_g[] =
	    "go 1.23 trace\0\0\0" "\1\1\1\0\2\10\1" "\1\1\1\0\4\24\0\0\0";
	struct go_check c;

	OK(!go_check(&c, start_of_nothing, sizeof start_of_nothing - 1));
	OK(strstr(c.error, "no event can be next"));
	go_check_free(&c);
	OK(!go_check(&c, block_without_g, sizeof block_without_g - 1));
	OK(strstr(c.error, "no P, or no G"));
	go_check_free(&c);
}
