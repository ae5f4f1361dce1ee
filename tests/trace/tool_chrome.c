/* SPDX-License-Identifier: MIT */
/* Conversion to JSON for Perfetto. */
#include "t.h"

#include <stdlib.h>

#include "converted.h"
#include "json.h"
#include "json_check.h"
#include "simulated.h"

static struct simulation sim;

/* How often a text is in another. */
static size_t
count(const char *s, const char *part)
{
	size_t n = 0;

	for (; (s = strstr(s, part)); s += strlen(part))
		n++;
	return n;
}

static char *
json_of(const struct made_file *f)
{
	size_t bytes;

	return converted(f, command_chrome, &bytes);
}

TEST(valid_and_complete)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		char *s;

		sim.drop = seed % 3;
		simulate(&sim, seed, 3000, 45, 100);
		s = json_of(&sim.file);
		OK(is_json(s));
		OK(count(s, "\"ph\":\"X\"") > 100);
		OK(count(s, "\"ph\":\"s\"") >= count(s, "\"ph\":\"f\""));
		if (!sim.drop) {
			EQ(count(s, "\"then\":\"end\""), sim.ended);
			EQ(count(s, "\"P 3\""), 1);
		}
		free(s);
		made_free(&sim.file);
	}
}

/* Any bytes at all are a string of JSON, and those of UTF-8 stay. */
TEST(strings)
{
	static const char odd[] = "a\"b\\c\n\x7f\xff\xc3\xa4\xed\xa0\x80\xc3";
	char *s = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&s, &bytes);

	json_string(out, odd, sizeof odd - 1);
	fclose(out);
	EQ(strcmp(s, "\"a\\\"b\\\\c\\u000a\\u007f\\ufffd\xc3\xa4\\ufffd"
	    "\\ufffd\\ufffd\\ufffd\""), 0);
	OK(is_json(s));
	OK(!is_json("{\"a\":1,}") && !is_json("[1 2]") && !is_json("\"a"));
	free(s);
}
