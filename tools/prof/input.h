/* SPDX-License-Identifier: MIT */
/* A file in memory; and the end of the program with a message. */
#ifndef INPUT_H
#define INPUT_H

#include <stddef.h>
#include <stdint.h>

/* One line on standard error, and exit status 1. */
__attribute__((__noreturn__, __format__(__printf__, 1, 2)))
void die(const char *fmt, ...);
/* Memory, or the end. n may be 0. */
void *take(void *old, size_t n, size_t size);

struct input {
	uint8_t *data;
	size_t n;
};

/* The whole file, or standard input for "-", uncompressed. Ends the program if
 * it cannot be read. */
struct input input_read(const char *path);

#endif
