/* SPDX-License-Identifier: MIT */
/*
 * Samples as a tree of calls: a node is a function called by the functions
 * above it. Node 0 is the root, which stands for all samples.
 */
#ifndef TREE_H
#define TREE_H

#include "profile.h"

struct tree_node {
	uint32_t parent, child, next;	/* 0: none; but parent of the first */
	uint32_t name;			/* in names */
	int64_t self, total;
	int64_t base_self, base_total;	/* of the profile compared with */
};

struct tree {
	struct tree_node *nodes;
	size_t n_nodes;
	const char **names;
	size_t n_names;
	/* hashes: see tree.c */
	uint32_t *name_hash, *node_hash;
	size_t name_slots, node_slots;
};

/* Which samples, and what of them. */
struct selection {
	const char *type;	/* name of the type, NULL: the default */
	const char *key, *value;	/* only with that label; NULL: all */
	const char *group;	/* the outermost frame is this label's value;
				 * NULL: none */
};

struct tree *tree_new(void);
/* What is counted of this profile; ends the program if it has no such type. */
const struct profile_type *tree_type(const struct profile *p,
    const struct selection *s);
/* Adds the samples; `base`: to the other columns. Returns how many. */
size_t tree_add(struct tree *t, const struct profile *p,
    const struct selection *s, bool base);
/* Computes the totals. */
void tree_sum(struct tree *t);

#endif
