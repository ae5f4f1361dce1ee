/* SPDX-License-Identifier: MIT */
/*
 * weft-prof view: the page flame.html with the tree in it. The page draws; it
 * gets names, and for each node its parent, name and own values, in an order
 * in which parents come first.
 */
#define _GNU_SOURCE 1		/* memmem */
#include "command.h"

#include <string.h>

/* flame.html, by page.S. */
extern const char prof_page[], prof_page_end[];

static const char marker[] = "/*DATA*/";

/* A string for a script inside a page. */
static void
put_string(const char *s, FILE *out)
{
	fputc('"', out);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c < 0x20 || strchr("\"\\<>&'", c) || c == 0x7f)
			fprintf(out, "\\u%04x", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

static void
put_names(const struct tree *t, FILE *out)
{
	fputs("names:[", out);
	for (size_t i = 0; i < t->n_names; i++) {
		if (i)
			fputs(i % 8 ? "," : ",\n", out);
		put_string(t->names[i], out);
	}
	fputs("],\n", out);
}

/* One column of all nodes. */
static void
put_column(const struct tree *t, const char *name, size_t member, bool wide,
    FILE *out)
{
	fprintf(out, "%s:[", name);
	for (size_t i = 0; i < t->n_nodes; i++) {
		const char *at = (const char *)&t->nodes[i] + member;

		if (i)
			fputs(i % 32 ? "," : ",\n", out);
		if (wide)
			fprintf(out, "%lld", (long long)*(const int64_t *)
			    (const void *)at);
		else
			fprintf(out, "%u", *(const uint32_t *)
			    (const void *)at);
	}
	fputs("],\n", out);
}

static void
put_comments(const struct profile *p, FILE *out)
{
	fputs("comments:[", out);
	for (size_t i = 0; i < p->n_comments; i++) {
		if (i)
			fputc(',', out);
		put_string(p->comments[i], out);
	}
	fputs("],\n", out);
}

static void
put_data(const struct job *j, FILE *out)
{
	const struct tree *t = j->tree;

	fputs("{file:", out);
	put_string(j->path, out);
	fputs(",type:", out);
	put_string(j->type->name, out);
	fputs(",unit:", out);
	put_string(j->type->unit, out);
	fprintf(out, ",samples:%zu,duration:%lld,base:", j->profile->n_samples,
	    (long long)j->profile->duration_ns);
	if (j->base_path)
		put_string(j->base_path, out);
	else
		fputs("null", out);
	fputs(",\n", out);
	put_comments(j->profile, out);
	put_names(t, out);
	put_column(t, "parent", offsetof(struct tree_node, parent), false,
	    out);
	put_column(t, "name", offsetof(struct tree_node, name), false, out);
	put_column(t, "self", offsetof(struct tree_node, self), true, out);
	if (j->base_path)
		put_column(t, "baseSelf", offsetof(struct tree_node,
		    base_self), true, out);
	fputs("}", out);
}

void
command_view(const struct job *j, FILE *out)
{
	size_t n = (size_t)(prof_page_end - prof_page);
	const char *at = memmem(prof_page, n, marker, strlen(marker));
	const char *rest = at + strlen(marker);

	fwrite(prof_page, 1, (size_t)(at - prof_page), out);
	put_data(j, out);
	fwrite(rest, 1, (size_t)(prof_page_end - rest), out);
}
