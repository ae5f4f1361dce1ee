/* SPDX-License-Identifier: MIT */
/*
 * Parses a profile. Its fields may come in any order, so it is read several
 * times: strings, functions, mappings, locations, samples. Whatever refers to
 * something that is not there is an error.
 */
#include "profile.h"

#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "proto.h"

enum {
	PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE, PROFILE_MAPPING,
	PROFILE_LOCATION, PROFILE_FUNCTION, PROFILE_STRING,
	PROFILE_TIME = 9, PROFILE_DURATION, PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD, PROFILE_COMMENT, PROFILE_DEFAULT_TYPE
};

/* What an id stands for: its place in an array. */
struct ref {
	uint64_t id;
	size_t at;
};

struct refs {
	struct ref *ref;
	size_t n;
};

struct parser {
	struct profile *p;
	const char *path;
	struct proto all;
	struct refs functions, mappings, locations;
	const char **function_names;
	int64_t default_type;	/* a string, 0: none */
};

__attribute__((__noreturn__)) static void
damaged(const struct parser *r, const char *what)
{
	die("%s: no profile, or damaged: %s", r->path, what);
}

/* One more element of an array whose capacity is the next power of 2. */
static void *
grow(void *array, size_t n, size_t size)
{
	if (n & (n - 1))
		return array;
	return take(array, n ? 2 * n : 1, size);
}
#define GROW(array, n) ((array) = grow(array, n, sizeof *(array)), \
	&(array)[(n)++])

static int
compare_refs(const void *a, const void *b)
{
	const struct ref *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static void
add_ref(struct refs *r, uint64_t id)
{
	*GROW(r->ref, r->n) = (struct ref){ id, r->n - 1 };
}

static void
sort_refs(struct refs *r)
{
	if (r->n)
		qsort(r->ref, r->n, sizeof *r->ref, compare_refs);
}

/* Its place, or false. */
static bool
find(const struct refs *r, uint64_t id, size_t *at)
{
	struct ref key = { id, 0 }, *found = NULL;

	if (r->n)
		found = bsearch(&key, r->ref, r->n, sizeof key, compare_refs);
	if (found)
		*at = found->at;
	return found != NULL;
}

static const char *
string(const struct parser *r, uint64_t i)
{
	if (i >= r->p->n_strings)
		damaged(r, "a string that is not there");
	return r->p->strings[i];
}

/* Calls fn with each field of that number that is a message. */
static void
each(struct parser *r, unsigned number,
    void (*fn)(struct parser *r, struct proto *msg))
{
	struct proto all = r->all;
	struct proto_field f;

	while (proto_next(&all, &f)) {
		struct proto msg = proto_in(&f);

		if (f.number != number)
			continue;
		fn(r, &msg);
		if (msg.bad)
			damaged(r, "a message that is cut short");
	}
	if (all.bad)
		damaged(r, "it is cut short");
}

/* ---- strings, types ---- */

static void
read_string(struct parser *r, struct proto *msg)
{
	size_t n = (size_t)(msg->end - msg->at);
	char *s;

	if (msg->bad)
		return;
	s = take(NULL, n + 1, 1);
	memcpy(s, msg->at, n);
	s[n] = '\0';
	*GROW(r->p->strings, r->p->n_strings) = s;
}

static struct profile_type
read_type_of(struct parser *r, struct proto *msg)
{
	struct profile_type t = { "", "" };
	struct proto_field f;

	while (proto_next(msg, &f)) {
		if (f.number == 1)
			t.name = string(r, f.v);
		else if (f.number == 2)
			t.unit = string(r, f.v);
	}
	return t;
}

static void
read_type(struct parser *r, struct proto *msg)
{
	*GROW(r->p->types, r->p->n_types) = read_type_of(r, msg);
}

static void
read_period_type(struct parser *r, struct proto *msg)
{
	r->p->period_type = read_type_of(r, msg);
}

static void
read_numbers(struct parser *r)
{
	struct proto all = r->all;
	struct proto_field f;

	while (proto_next(&all, &f)) {
		if (f.bytes)
			continue;
		if (f.number == PROFILE_TIME)
			r->p->time_ns = (int64_t)f.v;
		else if (f.number == PROFILE_DURATION)
			r->p->duration_ns = (int64_t)f.v;
		else if (f.number == PROFILE_PERIOD)
			r->p->period = (int64_t)f.v;
		else if (f.number == PROFILE_DEFAULT_TYPE)
			r->default_type = (int64_t)f.v;
		else if (f.number == PROFILE_COMMENT)
			*GROW(r->p->comments, r->p->n_comments) =
			    (char *)(uintptr_t)string(r, f.v);
	}
}

/* pprof shows the last type if none is said to be the default. */
static void
choose_type(struct parser *r)
{
	const char *name = r->default_type ?
	    string(r, (uint64_t)r->default_type) : "";

	r->p->default_type = r->p->n_types - 1;
	for (size_t i = 0; *name && i < r->p->n_types; i++)
		if (strcmp(r->p->types[i].name, name) == 0)
			r->p->default_type = i;
}

/* ---- functions, mappings, locations ---- */

static void
read_function(struct parser *r, struct proto *msg)
{
	const char *name = "";
	struct proto_field f;
	uint64_t id = 0;

	while (proto_next(msg, &f)) {
		if (f.number == 1)
			id = f.v;
		else if (f.number == 2)
			name = string(r, f.v);
	}
	r->function_names = grow(r->function_names, r->functions.n,
	    sizeof *r->function_names);
	r->function_names[r->functions.n] = name;
	add_ref(&r->functions, id);
}

static void
read_mapping(struct parser *r, struct proto *msg)
{
	struct mapping m = { .file = "", .build_id = "" };
	struct proto_field f;

	while (proto_next(msg, &f)) {
		switch (f.number) {
		case 1: m.id = f.v; break;
		case 2: m.start = f.v; break;
		case 3: m.limit = f.v; break;
		case 4: m.offset = f.v; break;
		case 5: m.file = string(r, f.v); break;
		case 6: m.build_id = string(r, f.v); break;
		}
	}
	*GROW(r->p->mappings, r->p->n_mappings) = m;
	add_ref(&r->mappings, m.id);
}

static void
read_line(struct parser *r, struct proto msg)
{
	struct line l = { .name = "" };
	struct proto_field f;
	size_t at;

	while (proto_next(&msg, &f)) {
		if (f.number == 1)
			l.function = f.v;
		else if (f.number == 2)
			l.number = (int64_t)f.v;
	}
	if (msg.bad || !find(&r->functions, l.function, &at))
		damaged(r, "a function that is not there");
	l.name = r->function_names[at];
	*GROW(r->p->lines, r->p->n_lines) = l;
}

static void
read_location(struct parser *r, struct proto *msg)
{
	struct location l = { .first_line = r->p->n_lines };
	struct proto_field f;
	uint64_t mapping = 0;
	size_t at;

	while (proto_next(msg, &f)) {
		if (f.number == 1)
			l.id = f.v;
		else if (f.number == 2)
			mapping = f.v;
		else if (f.number == 3)
			l.address = f.v;
		else if (f.number == 4)
			read_line(r, proto_in(&f));
	}
	l.n_lines = r->p->n_lines - l.first_line;
	if (mapping && !find(&r->mappings, mapping, &at))
		damaged(r, "a mapping that is not there");
	l.mapping = mapping ? at + 1 : 0;
	*GROW(r->p->locations, r->p->n_locations) = l;
	add_ref(&r->locations, l.id);
}

/* ---- samples ---- */

static void
add_frame(uint64_t id, void *parser)
{
	struct parser *r = parser;
	size_t at;

	if (!find(&r->locations, id, &at))
		damaged(r, "a location that is not there");
	*GROW(r->p->stack, r->p->n_stack) = at;
}

static void
add_value(uint64_t v, void *parser)
{
	struct parser *r = parser;

	*GROW(r->p->values, r->p->n_values) = (int64_t)v;
}

static void
read_label(struct parser *r, struct proto msg)
{
	struct label l = { .key = "" };
	struct proto_field f;

	while (proto_next(&msg, &f)) {
		if (f.number == 1)
			l.key = string(r, f.v);
		else if (f.number == 2)
			l.str = string(r, f.v);
		else if (f.number == 3)
			l.num = (int64_t)f.v;
	}
	if (msg.bad)
		damaged(r, "a label that is cut short");
	*GROW(r->p->labels, r->p->n_labels) = l;
}

static void
read_sample(struct parser *r, struct proto *msg)
{
	struct profile *p = r->p;
	struct sample s = { .first_location = p->n_stack,
	    .first_value = p->n_values, .first_label = p->n_labels };
	struct proto_field f;

	while (proto_next(msg, &f)) {
		if ((f.number == 1 && !proto_numbers(&f, add_frame, r)) ||
		    (f.number == 2 && !proto_numbers(&f, add_value, r)))
			damaged(r, "a sample that is cut short");
		if (f.number == 3)
			read_label(r, proto_in(&f));
	}
	if (p->n_values - s.first_value != p->n_types)
		damaged(r, "a sample without all values");
	s.n_locations = p->n_stack - s.first_location;
	s.n_labels = p->n_labels - s.first_label;
	*GROW(p->samples, p->n_samples) = s;
}

/* ---- all ---- */

struct profile *
profile_parse(const uint8_t *data, size_t n, const char *path)
{
	struct profile *p = take(NULL, 1, sizeof *p);
	struct parser r = { .p = p, .path = path, .all = { data, data + n,
	    false } };

	*p = (struct profile){ .period_type = { "", "" } };
	each(&r, PROFILE_STRING, read_string);
	if (!p->n_strings)
		damaged(&r, "it has no strings");
	each(&r, PROFILE_SAMPLE_TYPE, read_type);
	if (!p->n_types)
		damaged(&r, "it does not say what was counted");
	each(&r, PROFILE_PERIOD_TYPE, read_period_type);
	read_numbers(&r);
	choose_type(&r);
	each(&r, PROFILE_FUNCTION, read_function);
	sort_refs(&r.functions);
	each(&r, PROFILE_MAPPING, read_mapping);
	sort_refs(&r.mappings);
	each(&r, PROFILE_LOCATION, read_location);
	sort_refs(&r.locations);
	each(&r, PROFILE_SAMPLE, read_sample);
	free(r.functions.ref);
	free(r.mappings.ref);
	free(r.locations.ref);
	free(r.function_names);
	return p;
}
