/* SPDX-License-Identifier: MIT */
#include "tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"

enum { FIRST_SLOTS = 1024, DEEPEST = 4096, MOST_NODES = 1 << 26 };

static uint64_t
mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

static uint64_t
hash_name(const char *s)
{
	uint64_t h = 7;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
	return mix(h, 0);
}

static uint64_t
hash_node(uint32_t parent, uint32_t name)
{
	return mix(mix(1, parent), name);
}

static uint32_t *
slots_new(size_t n)
{
	uint32_t *s = take(NULL, n, sizeof *s);

	memset(s, 0, n * sizeof *s);
	return s;
}

struct tree *
tree_new(void)
{
	struct tree *t = take(NULL, 1, sizeof *t);

	*t = (struct tree){ .name_slots = FIRST_SLOTS,
	    .node_slots = FIRST_SLOTS };
	t->name_hash = slots_new(FIRST_SLOTS);
	t->node_hash = slots_new(FIRST_SLOTS);
	t->nodes = take(NULL, FIRST_SLOTS, sizeof *t->nodes);
	t->names = take(NULL, FIRST_SLOTS, sizeof *t->names);
	t->nodes[0] = (struct tree_node){0};
	t->names[0] = "all";
	t->n_nodes = t->n_names = 1;
	return t;
}

/* ---- names and nodes, each once ---- */

static void
grow_names(struct tree *t)
{
	size_t slots = t->name_slots * 2;

	free(t->name_hash);
	t->name_hash = slots_new(slots);
	t->name_slots = slots;
	t->names = take(t->names, slots, sizeof *t->names);
	for (uint32_t i = 1; i < t->n_names; i++) {
		size_t at = hash_name(t->names[i]) % slots;

		while (t->name_hash[at])
			at = (at + 1) % slots;
		t->name_hash[at] = i;
	}
}

static uint32_t
name_of(struct tree *t, const char *name)
{
	size_t at;
	uint32_t i;

	if (t->n_names * 2 >= t->name_slots)
		grow_names(t);
	at = hash_name(name) % t->name_slots;
	while ((i = t->name_hash[at]) != 0) {
		if (strcmp(t->names[i], name) == 0)
			return i;
		at = (at + 1) % t->name_slots;
	}
	t->names[t->n_names] = name;
	return t->name_hash[at] = (uint32_t)t->n_names++;
}

static void
grow_nodes(struct tree *t)
{
	size_t slots = t->node_slots * 2;

	if (slots > MOST_NODES)
		die("too many different stacks");
	free(t->node_hash);
	t->node_hash = slots_new(slots);
	t->node_slots = slots;
	t->nodes = take(t->nodes, slots, sizeof *t->nodes);
	for (uint32_t i = 1; i < t->n_nodes; i++) {
		size_t at = hash_node(t->nodes[i].parent, t->nodes[i].name) %
		    slots;

		while (t->node_hash[at])
			at = (at + 1) % slots;
		t->node_hash[at] = i;
	}
}

static uint32_t
child_of(struct tree *t, uint32_t parent, uint32_t name)
{
	size_t at;
	uint32_t i;

	if (t->n_nodes * 2 >= t->node_slots)
		grow_nodes(t);
	at = hash_node(parent, name) % t->node_slots;
	while ((i = t->node_hash[at]) != 0) {
		if (t->nodes[i].parent == parent && t->nodes[i].name == name)
			return i;
		at = (at + 1) % t->node_slots;
	}
	i = (uint32_t)t->n_nodes++;
	t->nodes[i] = (struct tree_node){ .parent = parent, .name = name,
	    .next = t->nodes[parent].child };
	t->nodes[parent].child = i;
	return t->node_hash[at] = i;
}

/* ---- samples ---- */

/* Its value; a number is written to `text`. NULL: it has no such label. */
enum { NUMBER_BYTES = 24 };
static const char *
label_value(const struct profile *p, const struct sample *s, const char *key,
    char text[NUMBER_BYTES])
{
	for (size_t i = 0; i < s->n_labels; i++) {
		const struct label *l = &p->labels[s->first_label + i];

		if (strcmp(l->key, key) != 0)
			continue;
		if (l->str)
			return l->str;
		snprintf(text, NUMBER_BYTES, "%lld", (long long)l->num);
		return text;
	}
	return NULL;
}

static bool
is_selected(const struct profile *p, const struct sample *s,
    const struct selection *sel)
{
	char text[NUMBER_BYTES];
	const char *v;

	if (!sel->key)
		return true;
	v = label_value(p, s, sel->key, text);
	return v && strcmp(v, sel->value) == 0;
}

/* Names stay where they are: a number is copied, once. */
static uint32_t
group_name(struct tree *t, const struct profile *p, const struct sample *s,
    const char *key)
{
	char text[NUMBER_BYTES];
	const char *v = label_value(p, s, key, text);
	size_t before = t->n_names;
	uint32_t name;

	if (!v)
		return name_of(t, "(no label)");
	name = name_of(t, v);
	if (v == text && t->n_names > before)
		t->names[name] = strcpy(take(NULL, sizeof text, 1), text);
	return name;
}

/* The node of the sample's innermost frame. */
static uint32_t
descend(struct tree *t, const struct profile *p, const struct sample *s,
    const struct selection *sel)
{
	uint32_t node = 0;
	size_t depth = 0;

	if (sel->group)
		node = child_of(t, 0, group_name(t, p, s, sel->group));
	for (size_t i = s->n_locations; i > 0; i--) {
		const struct location *l =
		    &p->locations[p->stack[s->first_location + i - 1]];

		for (size_t k = l->n_lines; k > 0; k--) {
			if (depth++ == DEEPEST)
				return node;
			node = child_of(t, node, name_of(t,
			    p->lines[l->first_line + k - 1].name));
		}
	}
	return node;
}

static size_t
type_of(const struct profile *p, const char *name)
{
	if (!name)
		return p->default_type;
	for (size_t i = 0; i < p->n_types; i++)
		if (strcmp(p->types[i].name, name) == 0)
			return i;
	die("no type \"%s\" in it; the default is \"%s\"", name,
	    p->types[p->default_type].name);
}

/* Sums of hostile numbers wrap around, and are no undefined behaviour. */
static void
add(int64_t *to, int64_t v)
{
	*to = (int64_t)((uint64_t)*to + (uint64_t)v);
}

const struct profile_type *
tree_type(const struct profile *p, const struct selection *sel)
{
	return &p->types[type_of(p, sel->type)];
}

size_t
tree_add(struct tree *t, const struct profile *p, const struct selection *sel,
    bool base)
{
	size_t type = type_of(p, sel->type), added = 0;

	for (size_t i = 0; i < p->n_samples; i++) {
		const struct sample *s = &p->samples[i];
		uint32_t node;

		if (!is_selected(p, s, sel))
			continue;
		node = descend(t, p, s, sel);
		add(base ? &t->nodes[node].base_self : &t->nodes[node].self,
		    p->values[s->first_value + type]);
		added++;
	}
	return added;
}

/* A node comes after its parent. */
void
tree_sum(struct tree *t)
{
	for (size_t i = t->n_nodes; i-- > 0; ) {
		struct tree_node *n = &t->nodes[i];

		add(&n->total, n->self);
		add(&n->base_total, n->base_self);
		if (i > 0) {
			add(&t->nodes[n->parent].total, n->total);
			add(&t->nodes[n->parent].base_total, n->base_total);
		}
	}
}
