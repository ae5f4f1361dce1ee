/* SPDX-License-Identifier: MIT */
/*
 * A profile as pprof's format has it, with every number that refers to
 * something checked: what is in these arrays may be used without a check.
 */
#ifndef PROFILE_H
#define PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile_type {
	const char *name, *unit;
};

struct mapping {
	uint64_t id, start, limit, offset;
	const char *file, *build_id;
};

struct location {
	uint64_t id, address;
	size_t mapping;		/* + 1; 0: none */
	size_t first_line, n_lines;	/* in lines, innermost first */
};

struct line {
	const char *name;
	uint64_t function;	/* its id, until names are known */
	int64_t number;		/* 0: not known */
};

struct label {
	const char *key, *str;	/* str NULL: the number */
	int64_t num;
};

struct sample {
	size_t first_location, n_locations;	/* in stack, innermost first */
	size_t first_value;			/* in values, one a type */
	size_t first_label, n_labels;
};

struct profile {
	struct profile_type *types;
	size_t n_types, default_type;
	struct profile_type period_type;
	int64_t period, time_ns, duration_ns;
	char **comments;
	size_t n_comments;

	struct mapping *mappings;
	struct location *locations;
	struct line *lines;
	struct sample *samples;
	struct label *labels;
	size_t *stack;			/* of locations */
	int64_t *values;
	char **strings;
	size_t n_mappings, n_locations, n_lines, n_samples, n_labels, n_stack,
	    n_values, n_strings;
};

/* Ends the program if it is no profile, with a message that names `path`. */
struct profile *profile_parse(const uint8_t *data, size_t n,
    const char *path);

#endif
