/* SPDX-License-Identifier: MIT */
/* Memory that is there, and arrays that grow. A tool without memory ends. */
#ifndef GROW_H
#define GROW_H

#include <stdarg.h>
#include <stddef.h>

/* Says it in one line on standard error, and exits with 1. */
__attribute__((noreturn, format(printf, 1, 2))) void die(const char *fmt, ...);

void *zeroed(size_t count, size_t bytes);
/* Room for one more than `count`; `room` is in elements. */
void *grown(void *old, size_t count, size_t *room, size_t bytes);

/* Room for array[count], as an lvalue: GROW(a->x, a->count, a->room) = ...; */
#define GROW(array, count, room) \
	(((array) = grown((array), (count), &(room), sizeof *(array))), \
	 &(array)[count])

/* Text that grows; always terminated once something was added. */
struct text { char *s; size_t bytes, room; };

__attribute__((format(printf, 2, 3)))
void text_add(struct text *t, const char *fmt, ...);
void text_put(struct text *t, const void *data, size_t bytes);
void text_free(struct text *t);

#endif
