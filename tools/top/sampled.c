/* SPDX-License-Identifier: MIT */
/*
 * Which functions use the CPUs: a profile of each period, as folded stacks, of
 * which the innermost function counts. The request is sent when a period
 * begins, so its answer is there when the period ends, or soon after.
 */
#include <stdlib.h>
#include <string.h>

#include "top.h"

/* The last place is for all that have none. */
static struct named *
place_of(struct list *l, const char *name)
{
	int i = 0;

	while (i < l->n && strncmp(l->e[i].name, name, NAME - 1) != 0)
		i++;
	if (i == HOTS)
		return &l->e[HOTS - 1];
	if (i == l->n) {
		l->n++;
		l->e[i].n = 0;
		snprintf(l->e[i].name, NAME, "%s", i == HOTS - 1 ?
		    "(others)" : name);
	}
	return &l->e[i];
}

/* "main;serve;parse 12": parse, 12 times. False if it is no such line. */
static bool
take_line(struct sampled *s, char *line)
{
	char *blank = strrchr(line, ' '), *name, *end;
	long long n;

	if (!blank)
		return false;
	*blank = 0;
	n = strtoll(blank + 1, &end, 10);
	if (end == blank + 1 || *end || n <= 0 || n > INT32_MAX)
		return false;
	name = strrchr(line, ';');
	name = name ? name + 1 : line;
	for (char *c = name; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	place_of(&s->fn, name)->n += n;
	s->samples += n;
	return true;
}

void
sampled_parse(struct sampled *s, char *text)
{
	char *rest = NULL;

	s->samples = 0;
	s->fn.n = 0;
	s->why[0] = 0;
	for (char *line = strtok_r(text, "\n", &rest); line;
	    line = strtok_r(NULL, "\n", &rest))
		if (!take_line(s, line)) {
			snprintf(s->why, sizeof s->why, "the profile cannot "
			    "be read");
			return;
		}
	if (!s->samples)
		snprintf(s->why, sizeof s->why, "no CPU time was used");
	list_sort(&s->fn);
}

void
sampled_begin(struct sampled *s, const char *path, double seconds)
{
	char line[64];

	if (!s->on)
		return;
	snprintf(line, sizeof line, "profile cpu %.3f folded\n",
	    seconds < 600 ? seconds : 600);
	s->fd = source_send(path, line, s->why, sizeof s->why);
}

void
sampled_end(struct sampled *s)
{
	char *text;
	size_t len;

	if (s->fd < 0)
		return;
	s->fn.n = 0;
	if (source_answer(s->fd, &text, &len, s->why, sizeof s->why) == 0) {
		if (strncmp(text, "error: ", 7) == 0)
			source_describe("profile", "profile cpu\n", text,
			    len, s->why, sizeof s->why);
		else
			sampled_parse(s, text);
		free(text);
	}
	s->fd = -1;
}
