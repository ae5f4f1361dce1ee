/* SPDX-License-Identifier: MIT */
/*
 * Columns of numbers and bytes in a page: view/columns.js reads them, and says
 * how they are coded.
 */
#ifndef VIEW_COLUMN_H
#define VIEW_COLUMN_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct column { uint8_t *bytes; size_t count, room; };

void column_byte(struct column *c, uint8_t byte);
void column_bytes(struct column *c, const void *data, size_t bytes);
/* A varint. */
void column_put(struct column *c, uint64_t value);
/* 8 bytes: the difference to *last, which becomes the value. */
void column_word(struct column *c, uint64_t *last, uint64_t value);
/* Writes it as an element of the page, and frees it. */
void column_write(struct column *c, const char *name, FILE *out);

/* Texts, each kept once, numbered from 0, which is the empty one. */
struct strings;

struct strings *strings_new(void);
uint32_t strings_add(struct strings *s, const char *text, size_t bytes);
uint32_t strings_add_z(struct strings *s, const char *text);
/* As columns "str.len" and "str.bytes"; frees it. */
void strings_write(struct strings *s, FILE *out);

#endif
