/* SPDX-License-Identifier: MIT */
/*
 * Rows: changes of goroutines' states, out of events, as view/columns.js reads
 * them; and the goroutines, threads and objects that rows name by numbers.
 */
#ifndef VIEW_ROWS_H
#define VIEW_ROWS_H

#include "event.h"
#include "view_column.h"

enum { VIEW_P_MAX = 4096 };	/* a P above is shown as none */

struct rows;

struct rows *rows_new(struct strings *strings);
/* Any event; those that change no goroutine are passed over. */
void rows_add(struct rows *r, const struct event *e);

/* Numbers as in the columns: of a goroutine + 1, of a P + 1, of an M; 0: none,
 * or not seen yet. */
uint32_t rows_g(const struct rows *r, uint64_t id);
uint32_t rows_p(uint32_t p);
uint32_t rows_m(struct rows *r, uint32_t m);

/* Which number of a table of sites an address has: view.c knows. */
void rows_write(struct rows *r, uint32_t (*site)(void *, uint64_t),
    void *context, FILE *out);
/* Frees it. */
void rows_free(struct rows *r);

#endif
