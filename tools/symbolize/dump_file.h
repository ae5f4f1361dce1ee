/* SPDX-License-Identifier: MIT */
/* A dump as text: its modules, and which lines of it are frames. */
#ifndef DUMP_FILE_H
#define DUMP_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NAME_MAX_BYTES = 64, ID_MAX_BYTES = 65, PATH_MAX_BYTES = 512 };

struct dump_module {
	char name[NAME_MAX_BYTES];
	char id[ID_MAX_BYTES];		/* hexadecimal; "" if it has none */
	char path[PATH_MAX_BYTES];
	struct source *source;		/* see source.h; NULL: none found */
	bool sought;
};

struct dump_file {
	char *text;			/* lines are ended by NUL */
	size_t bytes;
	struct dump_module *modules;
	size_t n;
};

struct dump_frame {
	char name[NAME_MAX_BYTES];	/* of the module */
	uint64_t address;		/* in the module's file */
	bool known;			/* the function has a name already */
};

/* Reads all of a file ("-": standard input). False: said why. */
bool dump_file_read(struct dump_file *d, const char *path);
void dump_file_free(struct dump_file *d);
/* The line after this one, which may be NULL for the first; NULL: the end. */
char *dump_file_next(const struct dump_file *d, char *line);
/* Is it a frame with a module? */
bool dump_frame_parse(const char *line, struct dump_frame *f);
struct dump_module *dump_file_module(struct dump_file *d, const char *name);

#endif
