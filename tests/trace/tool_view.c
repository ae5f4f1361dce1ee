/* SPDX-License-Identifier: MIT */
/*
 * The page that weft-trace view writes: whole, with each column once, and with
 * nothing of the trace in it but base64. What it shows is tested in a browser
 * (tests/browser).
 */
#include "t.h"

#include <ctype.h>
#include <stdlib.h>

#include "converted.h"
#include "simulated.h"

static struct simulation sim;

static char *
page_of(const struct made_file *f)
{
	size_t bytes;

	return converted(f, command_view, &bytes);
}

static bool
ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

/* The text of a column, which is a line of its own, or NULL. */
static const char *
column(const char *page, const char *name)
{
	char head[128];
	const char *at;

	snprintf(head, sizeof head, "\n<script type=\"weft/column\" "
	    "data-name=\"%s\" data-coding=\"", name);
	at = strstr(page, head);
	if (!at)
		return NULL;
	OK(!strstr(at + 1, head));
	return strchr(at + strlen(head), '>') + 1;
}

static bool
is_base64(const char *s)
{
	while (isalnum((unsigned char)*s) || *s == '+' || *s == '/')
		s++;
	while (*s == '=')
		s++;
	return strncmp(s, "</script>\n", 10) == 0;
}

static void
check_page(const char *page)
{
	static const char *const names[] = {
		"meta", "rows.t", "rows.k", "rows.p", "rows.m", "rows.g",
		"rows.a", "rows.o", "rows.s", "g.id", "g.site", "g.name",
		"threads", "objects", "tasks", "regions", "samples", "logs",
		"world", "marks", "sites", "reasons", "stacks", "frames",
		"str.len", "str.bytes",
	};

	OK(strncmp(page, "<!DOCTYPE html>\n", 16) == 0);
	OK(ends_with(page, "</html>\n"));
	OK(!strstr(page, "@STYLE@") && !strstr(page, "@SCRIPT@"));
	OK(!strstr(page, "@DARK@") && !strstr(page, "@DATA@"));
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *text = column(page, names[i]);

		OK(text && is_base64(text));
	}
}

TEST(whole)
{
	for (uint64_t seed = 1; seed <= 6; seed++) {
		char *page;

		sim.drop = seed % 3;
		simulate(&sim, seed, 3000, 45, 100);
		page = page_of(&sim.file);
		check_page(page);
		free(page);
		made_free(&sim.file);
	}
}

/* A page has no address of another file: it works without a network. */
TEST(alone)
{
	char *page;

	simulate(&sim, 1, 100, 45, 100);
	page = page_of(&sim.file);
	OK(!strstr(page, "http:") && !strstr(page, "https:"));
	OK(!strstr(page, "<script src") && !strstr(page, "@import"));
	OK(strstr(page, "default-src 'none'"));
	free(page);
	made_free(&sim.file);
}
