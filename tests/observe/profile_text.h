/* SPDX-License-Identifier: MIT */
/* What the tests of profiles share: folded profiles as text. */
#ifndef PROFILE_TEXT_H
#define PROFILE_TEXT_H

#define _GNU_SOURCE 1
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft.h>

#include "t.h"

/* The profile, folded, to be freed; NULL if it cannot be had. */
static inline char *
folded(weft_profile what)
{
	FILE *f = tmpfile();
	int err = weft_profile_write(what, fileno(f), WEFT_PROFILE_FOLDED);
	char *text = NULL;
	long n;

	fseek(f, 0, SEEK_END);
	n = ftell(f);
	rewind(f);
	if (!err) {
		text = calloc(1, (size_t)n + 1);
		EQ(fread(text, 1, (size_t)n, f), n);
	}
	fclose(f);
	return text;
}

/* The sum of the numbers of the stacks with that in them. */
static inline double
folded_sum(weft_profile what, const char *stack)
{
	char *text = folded(what), *save = NULL;
	double sum = 0;

	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line;
	    line = strtok_r(NULL, "\n", &save))
		if (strstr(line, stack))
			sum += strtod(strrchr(line, ' '), NULL);
	free(text);
	return sum;
}

/* Begins one, or skips the test where that cannot be. */
static inline void
cpu_profile(int hz, unsigned flags)
{
	int err = weft_profile_cpu_start(hz, flags);

	if (T_SANITIZED || t_valgrind())
		t_skip("no signals with a sanitizer or valgrind");
	if (err && t_emulated())
		t_skip("the emulator has no CPU clocks of threads");
	EQ(err, 0);
}

/* Is that stack sampled, while fn is called again and again? */
static inline bool
is_sampled(const char *stack, void (*fn)(void))
{
	for (double end = t_now() + 40; t_now() < end; ) {
		for (double some = t_now() + 0.05; t_now() < some; )
			fn();
		if (folded_sum(WEFT_PROFILE_CPU, stack) > 0)
			return true;
	}
	if (t_emulated())
		t_skip("the emulator sends no signals of CPU clocks");
	return false;
}

#endif
